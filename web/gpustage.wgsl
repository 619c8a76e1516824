// SPDX-License-Identifier: MIT
// The stage in WebGPU: the same lights, colours and modes as the shaders of web/shader.js.
struct View { projection: mat4x4f, view: mat4x4f }
struct Item { colour: vec4f, mode: u32, unit: f32, flat: u32, textured: u32 }
@group(0) @binding(0) var<uniform> view: View;
@group(1) @binding(0) var<uniform> item: Item;
@group(2) @binding(0) var ramp: texture_2d<f32>;
@group(2) @binding(1) var linearSampler: sampler;
@group(3) @binding(0) var image: texture_2d<f32>;
@group(3) @binding(1) var imageSampler: sampler;

struct In { @location(0) position: vec3f, @location(1) normal: vec3f, @location(2) truth: vec3f, @location(3) field: f32, @location(4) uv: vec2f, @location(5) offset: vec3f }
struct Out { @builtin(position) place: vec4f, @location(0) normal: vec3f, @location(1) seen: vec3f, @location(2) value: f32, @location(3) uv: vec2f }

const plain = 0u;
const error = 1u;
const field = 2u;
const directions = 3u;

@vertex fn vertex(v: In) -> Out {
  let world = v.position + v.offset;
  let seen = view.view * vec4f(world, 1);
  var out: Out;
  out.place = view.projection * seen;
  out.normal = v.normal;
  out.seen = seen.xyz;
  out.value = select(v.field, sqrt(distance(v.position, v.truth) * item.unit), item.mode == error);
  out.uv = v.uv;
  return out;
}

fn toScreen(c: vec3f) -> vec3f { return select(1.055 * pow(max(c, vec3f(0)), vec3f(1 / 2.4)) - 0.055, 12.92 * c, c <= vec3f(0.0031308)); }

@fragment fn fragment(v: Out, @builtin(front_facing) front: bool) -> @location(0) vec4f {
  let texel = textureSample(image, imageSampler, v.uv);
  let heat = textureSample(ramp, linearSampler, vec2f(clamp(v.value, 0.0, 1.0) * 0.996 + 0.002, 0.5)).rgb;
  if (item.flat != 0u) { return vec4f(toScreen(item.colour.rgb) * item.colour.a, item.colour.a); }
  var diffuse = item.colour.rgb;
  if (item.textured != 0u) { diffuse *= texel.rgb; }
  var glow = vec3f();
  let outward = normalize(v.normal);
  if (item.mode == directions) {
    let c = pow(outward * 0.5 + 0.5, vec3f(2.2));
    diffuse = 0.2 * c;
    glow = 0.8 * c;
  } else if (item.mode != plain) {
    diffuse = 0.35 * heat;
    glow = 0.65 * heat;
  }
  let n = select(-outward, outward, front);
  let eye = normalize((view.view * vec4f(n, 0)).xyz);
  let sky = mix(vec3f(0.254, 0.275, 0.314), vec3f(1), 0.5 * n.y + 0.5) * 1.15;
  let key = 2.1 * max(dot(eye, normalize(vec3f(-0.6, 0.9, 1.9))), 0.0);
  let fill = 0.7 * max(dot(eye, normalize(vec3f(0.9, 0.1, 1.4))), 0.0) * vec3f(0.624, 0.745, 1);
  let shine = 0.04 * pow(max(dot(eye, normalize(normalize(vec3f(-0.6, 0.9, 1.9)) + normalize(-v.seen))), 0.0), 12.0) * key;
  let light = diffuse / 3.14159265 * (sky + key + fill) + glow + shine;
  return vec4f(toScreen(light) * item.colour.a, item.colour.a);
}
