// Evaluates the skins and clips of a GLB from the glTF specification alone (no code of Sinew's), and compares with a PC2:
//   node evaluate_glb.mjs rig.glb frames.pc2 [fps]
// Prints {"e_rms", "max", "joint_gap", "frames", "vertices"} as JSON; all clips' frames count, one after the other.
import fs from "fs";

const [file, cache, fps = "30"] = process.argv.slice(2);
const bytes = fs.readFileSync(file);
const jsonSize = bytes.readUInt32LE(12);
const gltf = JSON.parse(bytes.subarray(20, 20 + jsonSize));
const bin = bytes.subarray(20 + jsonSize + 8);

const readers = {
  5120: ["readInt8", 1], 5121: ["readUInt8", 1], 5122: ["readInt16LE", 2], 5123: ["readUInt16LE", 2],
  5125: ["readUInt32LE", 4], 5126: ["readFloatLE", 4],
};
const widths = { SCALAR: 1, VEC2: 2, VEC3: 3, VEC4: 4, MAT4: 16 };

function accessor(index) {
  const a = gltf.accessors[index], view = gltf.bufferViews[a.bufferView], width = widths[a.type];
  const [read, size] = readers[a.componentType];
  const stride = view.byteStride ?? size * width, start = (view.byteOffset ?? 0) + (a.byteOffset ?? 0);
  const scale = a.normalized ? { 5121: 255, 5123: 65535 }[a.componentType] : 1;
  return Array.from({ length: a.count }, (_, i) =>
    Array.from({ length: width }, (_, k) => bin[read](start + i * stride + k * size) / scale));
}

// 4x4 matrices as 16 numbers, column-major as in the file.
const multiply = (a, b) => Array.from({ length: 16 }, (_, i) => {
  let sum = 0;
  for (let k = 0; k < 4; k++) sum += a[(i % 4) + 4 * k] * b[k + 4 * (i >> 2)];
  return sum;
});
function fromTrs(t, [x, y, z, w], s) {
  return [
    (1 - 2 * (y * y + z * z)) * s[0], 2 * (x * y + w * z) * s[0], 2 * (x * z - w * y) * s[0], 0,
    2 * (x * y - w * z) * s[1], (1 - 2 * (x * x + z * z)) * s[1], 2 * (y * z + w * x) * s[1], 0,
    2 * (x * z + w * y) * s[2], 2 * (y * z - w * x) * s[2], (1 - 2 * (x * x + y * y)) * s[2], 0, ...t, 1];
}
const apply = (m, [x, y, z]) => [0, 1, 2].map((r) => m[r] * x + m[r + 4] * y + m[r + 8] * z + m[r + 12]);

function slerp(a, b, t) {
  let dot = a.reduce((sum, v, k) => sum + v * b[k], 0);
  if (dot < 0) b = b.map((v) => -v), dot = -dot;
  const angle = Math.acos(Math.min(1, dot));
  const [p, q] = angle < 1e-6 ? [1 - t, t] : [Math.sin((1 - t) * angle), Math.sin(t * angle)].map((v) => v / Math.sin(angle));
  const out = a.map((v, k) => p * v + q * b[k]), length = Math.hypot(...out);
  return out.map((v) => v / length);
}

function sample(times, values, t, rotation) {
  let k = times.findIndex(([time]) => time > t);
  if (k === 0) return values[0];
  if (k < 0) return values[values.length - 1];
  const s = (t - times[k - 1][0]) / (times[k][0] - times[k - 1][0]);
  return rotation ? slerp(values[k - 1], values[k], s) : values[k - 1].map((v, c) => v + s * (values[k][c] - v));
}

const parents = new Array(gltf.nodes.length).fill(-1);
gltf.nodes.forEach((node, i) => (node.children ?? []).forEach((child) => (parents[child] = i)));

function globals(channels, t) {
  const local = gltf.nodes.map((node) => ({
    translation: node.translation ?? [0, 0, 0], rotation: node.rotation ?? [0, 0, 0, 1], scale: node.scale ?? [1, 1, 1] }));
  for (const c of channels) local[c.node][c.path] = sample(c.times, c.values, t, c.path === "rotation");
  const done = new Array(gltf.nodes.length);
  const global = (i) => (done[i] ??= (() => {
    const own = gltf.nodes[i].matrix ?? fromTrs(local[i].translation, local[i].rotation, local[i].scale);
    return parents[i] < 0 ? own : multiply(global(parents[i]), own);
  })());
  return gltf.nodes.map((_, i) => global(i));
}

const meshNode = gltf.nodes.find((node) => node.mesh !== undefined && node.skin !== undefined);
const primitive = gltf.meshes[meshNode.mesh].primitives[0], skin = gltf.skins[meshNode.skin];
const positions = accessor(primitive.attributes.POSITION), inverse = accessor(skin.inverseBindMatrices);
const influences = positions.map(() => []);
for (let set = 0; primitive.attributes[`JOINTS_${set}`] !== undefined; set++) {
  const joints = accessor(primitive.attributes[`JOINTS_${set}`]), weights = accessor(primitive.attributes[`WEIGHTS_${set}`]);
  joints.forEach((row, i) => row.forEach((j, k) => weights[i][k] > 0 && influences[i].push([j, weights[i][k]])));
}

const header = fs.readFileSync(cache), count = header.readInt32LE(16), frames = header.readInt32LE(28);
const truth = new Float32Array(header.buffer, header.byteOffset + 32, count * frames * 3);
if (count !== positions.length) throw new Error(`${count} vertices in ${cache}, ${positions.length} in ${file}`);

let sum = 0, largest = 0, gap = 0, frame = 0;
for (const animation of gltf.animations) {
  const channels = animation.channels.map(({ sampler, target }) => ({
    node: target.node, path: target.path, times: accessor(animation.samplers[sampler].input),
    values: accessor(animation.samplers[sampler].output) }));
  const start = Math.min(...channels.map((c) => c.times[0][0])), end = Math.max(...channels.map((c) => c.times.at(-1)[0]));
  for (let f = 0; f <= Math.round((end - start) * fps); f++, frame++) {
    const world = globals(channels, start + f / fps), matrices = skin.joints.map((node, j) => multiply(world[node], inverse[j]));
    skin.joints.forEach((node, j) => {
      const p = skin.joints.indexOf(parents[node]);
      if (p < 0) return;
      const centre = restPosition(j), a = apply(matrices[j], centre), b = apply(matrices[p], centre);
      gap = Math.max(gap, Math.hypot(a[0] - b[0], a[1] - b[1], a[2] - b[2]));
    });
    positions.forEach((p, i) => {
      const out = [0, 0, 0];
      for (const [j, w] of influences[i]) apply(matrices[j], p).forEach((v, c) => (out[c] += w * v));
      const at = 3 * (frame * count + i), d = Math.hypot(...out.map((v, c) => v - truth[at + c]));
      sum += d * d, largest = Math.max(largest, d);
    });
  }
}

// Where the inverse bind matrix maps to the origin: minus its inverse applied to its translation.
function restPosition(j) {
  const m = inverse[j], [a, b, c, , d, e, f, , g, h, i, , x, y, z] = m;
  const det = a * (e * i - f * h) - d * (b * i - c * h) + g * (b * f - c * e);
  const inv = [e * i - f * h, c * h - b * i, b * f - c * e, f * g - d * i, a * i - c * g, c * d - a * f, d * h - e * g,
    b * g - a * h, a * e - b * d].map((v) => v / det);
  return [0, 1, 2].map((r) => -(inv[r] * x + inv[r + 3] * y + inv[r + 6] * z));
}

if (frame !== frames) throw new Error(`${frames} frames in ${cache}, ${frame} in ${file}`);
console.log(JSON.stringify({ e_rms: 1000 * Math.sqrt(sum / (3 * count * frames)), max: largest, joint_gap: gap, frames, vertices: count }));
