// SPDX-License-Identifier: MIT
// What all kernels share: the model's own bytes, and where things are. `Params` is made by webgpu.js; offsets of sections are in
// words from the beginning of the file, 0 where there is none. y of an invocation is the character.
@group(0) @binding(0) var<uniform> P: Params;
@group(0) @binding(1) var<storage, read> file: array<u32>;
@group(0) @binding(2) var<storage, read> aux: array<u32>;     // per block: its group, and the first vertex of its chunk
@group(0) @binding(3) var<storage, read> given: array<f32>;   // per character: joints, controls, torques, values, helpers
@group(0) @binding(4) var<storage, read_write> palette: array<vec4f>; // [character][entry][3]: rows
@group(0) @binding(5) var<storage, read_write> work: array<f32>;      // per character, for the drives
@group(0) @binding(6) var<storage, read_write> positions: array<f32>;
@group(0) @binding(7) var<storage, read_write> normals: array<f32>;

const noJoint = 0xffffu;

fn number(at: u32) -> f32 { return bitcast<f32>(file[at]); }
fn point(at: u32) -> vec3f { return vec3f(number(at), number(at + 1u), number(at + 2u)); }
// 16 bits, 8 bits: item i of an array that begins at word `base`.
fn short(base: u32, i: u32) -> u32 { return (file[base + (i >> 1u)] >> (16u * (i & 1u))) & 0xffffu; }
fn delta16(base: u32, i: u32) -> f32 { return f32(bitcast<i32>(short(base, i) << 16u) >> 16u); }
fn small(base: u32, i: u32) -> u32 { return (file[base + (i >> 2u)] >> (8u * (i & 3u))) & 0xffu; }

fn givenAt(character: u32) -> u32 { return (P.first + character) * P.givenStride; }
fn workAt(character: u32) -> u32 { return character * P.workStride; }
fn entryAt(character: u32, entry: u32) -> u32 { return 3u * (character * P.paletteCount + entry); }

// src/runtime/vertex.h
fn unit(n: vec3f) -> vec3f { return n * inverseSqrt(max(dot(n, n), 1e-37)); }
