// SPDX-License-Identifier: MIT
// Poses that were made on the page: kept in a list, written as JSON or as a clip in a .glb file, and read again.
import * as THREE from 'three';
import { matchJoints } from './skin/names.js';

const kind = 'sinew poses';

// The pose as it is now, with what each model has besides joints.
export function currentPose(viewer) {
  const inputs = {};
  for (const { name, model, controls, torques } of viewer.entries) {
    if (model && (controls.length || torques.length)) inputs[name] = { controls: Array.from(controls), torques: Array.from(torques) };
  }
  return { frame: viewer.state.frame, joints: Array.from(viewer.pose.matrices, Math.fround), inputs };
}

export const toJson = (viewer, poses) => JSON.stringify({ kind, version: 1, fps: viewer.set.fps || 30, joints: viewer.set.joints, poses });

// Joints of `names` by name into the order of the page's.
function reorder(viewer, names, matrices) {
  const found = matchJoints(viewer.set.joints, names.map(name => [name]));
  return found.flatMap(k => matrices.slice(12 * k, 12 * k + 12));
}

function fromJson(viewer, text) {
  let data;
  try {
    data = JSON.parse(text);
  } catch {
    throw new Error('it is neither JSON nor a .glb file');
  }
  if (data?.kind !== kind || !Array.isArray(data.poses) || !Array.isArray(data.joints)) throw new Error('it holds no poses of this page’s kind');
  return data.poses.map((pose, k) => {
    const good = list => Array.isArray(list) && list.every(Number.isFinite);
    if (!good(pose.joints) || pose.joints.length !== 12 * data.joints.length) throw new Error(`its pose ${k + 1} has no 12 numbers for every joint`);
    const inputs = Object.fromEntries(Object.entries(pose.inputs ?? {}).filter(([, i]) => good(i?.controls) && good(i?.torques)));
    return { frame: Number.isInteger(pose.frame) ? pose.frame : 0, joints: reorder(viewer, data.joints, pose.joints), inputs };
  });
}

// ---- .glb ---------------------------------------------------------------------------------------------------------------------

const matrixAt = (list, j) => new THREE.Matrix4().set(...Array.from(list.slice(12 * j, 12 * j + 12)), 0, 0, 0, 1);

// Where each joint is relative to its parent, when `matrices` move the rest pose.
function locals(viewer, matrices) {
  const { set } = viewer, world = set.joints.map((_, j) => matrixAt(matrices, j).multiply(matrixAt(set.rest, j)));
  return world.map((m, j) => {
    const out = { t: new THREE.Vector3(), r: new THREE.Quaternion(), s: new THREE.Vector3() }, p = set.parents[j];
    (p < 0 ? m.clone() : world[p].clone().invert().multiply(m)).decompose(out.t, out.r, out.s);
    return out;
  });
}

// A skeleton with one clip, a key per pose. Turns between keys are the short ones.
export function toGlb(viewer, poses) {
  const { set } = viewer, fps = set.fps || 30, identity = set.joints.flatMap(() => [1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0]), rest = locals(viewer, identity);
  const parts = [], views = [], accessors = [];
  let size = 0;
  const add = (numbers, type, extra = {}) => {
    const width = { SCALAR: 1, VEC3: 3, VEC4: 4, MAT4: 16 }[type], bytes = new Uint8Array(Float32Array.from(numbers).buffer);
    views.push({ buffer: 0, byteOffset: size, byteLength: bytes.length }), parts.push(bytes), size += bytes.length;
    return accessors.push({ bufferView: views.length - 1, componentType: 5126, count: numbers.length / width, type, ...extra }) - 1;
  };
  const times = poses.map((_, k) => k / fps), input = add(times, 'SCALAR', { min: [0], max: [Math.fround(times.at(-1))] });
  const keys = poses.map(pose => locals(viewer, pose.joints)), channels = [], samplers = [];
  set.joints.forEach((_, j) => {
    for (let k = 1; k < keys.length; k++) if (keys[k][j].r.dot(keys[k - 1][j].r) < 0) keys[k][j].r.set(...keys[k][j].r.toArray().map(x => -x));
    for (const [path, key, type] of [['translation', 't', 'VEC3'], ['rotation', 'r', 'VEC4'], ['scale', 's', 'VEC3']]) {
      samplers.push({ input, output: add(keys.flatMap(pose => pose[j][key].toArray()), type), interpolation: 'LINEAR' });
      channels.push({ sampler: samplers.length - 1, target: { node: j, path } });
    }
  });
  const inverse = add(set.joints.flatMap((_, j) => matrixAt(set.rest, j).invert().toArray()), 'MAT4');
  const nodes = set.joints.map((name, j) => ({ name, translation: rest[j].t.toArray(), rotation: rest[j].r.toArray(), scale: rest[j].s.toArray() }));
  set.parents.forEach((p, j) => { if (p >= 0) (nodes[p].children ??= []).push(j); });
  const json = { asset: { version: '2.0', generator: `Sinew ${set.version}` }, scene: 0, scenes: [{ nodes: set.parents.flatMap((p, j) => p < 0 ? [j] : []) }], nodes,
    skins: [{ joints: set.joints.map((_, j) => j), inverseBindMatrices: inverse }], animations: [{ name: 'poses', channels, samplers }],
    accessors, bufferViews: views, buffers: [{ byteLength: size }] };
  return container(json, parts, size);
}

function container(json, parts, size) {
  const plain = new TextEncoder().encode(JSON.stringify(json)), text = new Uint8Array(Math.ceil(plain.length / 4) * 4).fill(32);
  text.set(plain);
  const out = new Uint8Array(28 + text.length + size), view = new DataView(out.buffer);
  [0x46546c67, 2, out.length, text.length, 0x4e4f534a].forEach((word, k) => view.setUint32(4 * k, word, true));
  out.set(text, 20);
  view.setUint32(20 + text.length, size, true), view.setUint32(24 + text.length, 0x004e4942, true);
  let at = 28 + text.length;
  for (const part of parts) out.set(part, at), at += part.length;
  return out;
}

function readAccessor(json, binary, index) {
  const a = json.accessors?.[index], view = json.bufferViews?.[a?.bufferView], width = { SCALAR: 1, VEC3: 3, VEC4: 4, MAT4: 16 }[a?.type];
  if (!view || a.componentType !== 5126 || view.byteStride || !width) throw new Error('its clip is not of 32-bit floats, as this page writes them');
  const start = (view.byteOffset ?? 0) + (a.byteOffset ?? 0);
  return new Float32Array(binary.slice(start, start + 4 * width * a.count));
}

// A clip as this page writes it: every pose is a key.
function fromGlb(viewer, bytes) {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength), length = view.getUint32(12, true);
  const json = JSON.parse(new TextDecoder().decode(bytes.subarray(20, 20 + length))), binary = bytes.slice(28 + length).buffer;
  const [clip] = json.animations ?? [], nodes = json.nodes ?? [];
  if (!clip) throw new Error('it has no clip');
  const tracks = nodes.map(() => ({}));
  for (const { sampler, target } of clip.channels) tracks[target.node][target.path] = readAccessor(json, binary, clip.samplers[sampler].output);
  const times = readAccessor(json, binary, clip.samplers[clip.channels[0].sampler].input), parents = nodes.map((_, n) => nodes.findIndex(o => o.children?.includes(n)));
  const inverse = readAccessor(json, binary, json.skins[0].inverseBindMatrices), { joints } = json.skins[0];
  return Array.from(times, (_, k) => {
    const pick = (n, path, width, rest) => tracks[n][path]?.subarray(width * k, width * k + width) ?? rest, world = [];
    const place = n => world[n] ??= (parents[n] < 0 ? new THREE.Matrix4() : place(parents[n]).clone()).multiply(new THREE.Matrix4().compose(
      new THREE.Vector3(...pick(n, 'translation', 3, nodes[n].translation ?? [0, 0, 0])), new THREE.Quaternion(...pick(n, 'rotation', 4, nodes[n].rotation ?? [0, 0, 0, 1])),
      new THREE.Vector3(...pick(n, 'scale', 3, nodes[n].scale ?? [1, 1, 1]))));
    const rows = joints.flatMap((n, j) => place(n).clone().multiply(new THREE.Matrix4().fromArray(inverse, 16 * j)).transpose().toArray().slice(0, 12));
    return { frame: 0, joints: reorder(viewer, joints.map(n => nodes[n].name), rows), inputs: {} };
  });
}

// Poses of a file that this page wrote.
export function readPoses(viewer, bytes) {
  const glb = bytes.length > 28 && new DataView(bytes.buffer, bytes.byteOffset, 4).getUint32(0, true) === 0x46546c67;
  return glb ? fromGlb(viewer, bytes) : fromJson(viewer, new TextDecoder().decode(bytes));
}
