// SPDX-License-Identifier: MIT
// The parts of the shaders that are Sinew's: matrix-palette skinning (Wang 2007, section 6) and colours by value.

export const paletteWidth = 768; // texels; three of them, the rows of a 3x4 matrix, are one palette entry

// Attributes bones0/1 and weights0/1 hold up to eight influences. Normals go by the cofactors of the blended matrix: the
// inverse transpose but for a factor.
export const skinning = /* glsl */`
uniform highp sampler2D palette;
in vec4 bones0, bones1, weights0, weights1;
void sinewAdd(float bone, float weight, inout vec4 r0, inout vec4 r1, inout vec4 r2) {
  int at = 3 * int(bone);
  ivec2 texel = ivec2(at % ${paletteWidth}, at / ${paletteWidth});
  r0 += weight * texelFetch(palette, texel, 0);
  r1 += weight * texelFetch(palette, texel + ivec2(1, 0), 0);
  r2 += weight * texelFetch(palette, texel + ivec2(2, 0), 0);
}
void sinewSkin(vec3 p, vec3 n, out vec3 position_, out vec3 normal_) {
  vec4 r0 = vec4(0.0), r1 = vec4(0.0), r2 = vec4(0.0);
  for (int k = 0; k < 4; k++) {
    sinewAdd(bones0[k], weights0[k], r0, r1, r2);
    sinewAdd(bones1[k], weights1[k], r0, r1, r2);
  }
  position_ = vec3(dot(r0, vec4(p, 1.0)), dot(r1, vec4(p, 1.0)), dot(r2, vec4(p, 1.0)));
  normal_ = vec3(dot(cross(r1.xyz, r2.xyz), n), dot(cross(r2.xyz, r0.xyz), n), dot(cross(r0.xyz, r1.xyz), n));
}`;

// Colour modes of the uniform `sinewMode`.
export const modes = { plain: 0, error: 1, field: 2, normals: 3 };

const declarations = skinned => /* glsl */`
uniform int sinewMode;
uniform float sinewUnit;
in vec3 truth;
in float field;
out float sinewValue;
out vec3 sinewNormal;
${skinned ? skinning : ''}`;

// Puts Sinew's parts into one of three's materials. uniforms: sinewMode, sinewUnit, ramp and, where skinned, palette.
export function extend(material, uniforms, skinned) {
  material.onBeforeCompile = shader => {
    Object.assign(shader.uniforms, uniforms);
    const moved = skinned ? 'sinewSkin(position, normal, sinewP, sinewN);' : 'sinewP = position; sinewN = normal;';
    shader.vertexShader = shader.vertexShader
      .replace('#include <common>', `#include <common>\n${declarations(skinned)}`)
      .replace('void main() {', /* glsl */`void main() {
        vec3 sinewP, sinewN;
        ${moved}
        sinewNormal = sinewN;
        sinewValue = sinewMode == ${modes.error} ? sqrt(distance(sinewP, truth) * sinewUnit) : field;`)
      .replace('#include <beginnormal_vertex>', 'vec3 objectNormal = sinewN;')
      .replace('#include <begin_vertex>', 'vec3 transformed = sinewP;');
    shader.fragmentShader = shader.fragmentShader
      .replace('#include <common>', /* glsl */`#include <common>
        uniform int sinewMode;
        uniform sampler2D ramp;
        in float sinewValue;
        in vec3 sinewNormal;`)
      .replace('#include <color_fragment>', /* glsl */`
        vec3 sinewColour = vec3(0.0);
        float sinewGlow = 0.0;
        if (sinewMode == ${modes.normals}) {
          sinewColour = pow(normalize(sinewNormal) * 0.5 + 0.5, vec3(2.2)), sinewGlow = 0.8;
        } else if (sinewMode != ${modes.plain}) {
          sinewColour = texture(ramp, vec2(clamp(sinewValue, 0.0, 1.0) * 0.996 + 0.002, 0.5)).rgb, sinewGlow = 0.65;
        }
        if (sinewMode != ${modes.plain}) diffuseColor.rgb = sinewColour * (1.0 - sinewGlow);`)
      .replace('#include <emissivemap_fragment>', 'totalEmissiveRadiance += sinewColour * sinewGlow;');
  };
  material.customProgramCacheKey = () => `sinew-${skinned}`;
  return material;
}
