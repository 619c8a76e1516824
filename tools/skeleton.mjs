// SPDX-License-Identifier: MIT
// A picture of a rig, front and side: node tools/skeleton.mjs RIG.glb OUT.png [SIZE]. Grey: the mesh; red: joints, and a line to each
// one's parent.
import { readFileSync, writeFileSync } from 'node:fs';
import { deflateSync } from 'node:zlib';

const [file, out, text] = process.argv.slice(2), size = Number(text ?? 500);
if (!out) {
  console.error('usage: node tools/skeleton.mjs RIG.glb OUT.png [SIZE]');
  process.exit(2);
}

// ---- the rig: vertices, and joints where the inverse bind matrices have them ---------------------------------------------------
const bytes = readFileSync(file), length = bytes.readUInt32LE(12), gltf = JSON.parse(bytes.toString('utf8', 20, 20 + length));
function floats(accessor, width) {
  const a = gltf.accessors[accessor], view = gltf.bufferViews[a.bufferView], step = view.byteStride ?? 4 * width;
  const start = 28 + length + (view.byteOffset ?? 0) + (a.byteOffset ?? 0);
  return Array.from({ length: a.count }, (_, k) => Array.from({ length: width }, (_, c) => bytes.readFloatLE(start + k * step + 4 * c)));
}
const points = gltf.meshes.flatMap(m => m.primitives).flatMap(p => floats(p.attributes.POSITION, 3)), skin = gltf.skins[0];
const joints = floats(skin.inverseBindMatrices, 16).map(m => { // the point that m takes to the origin
  const [a, b, c, t] = [0, 4, 8, 12].map(k => m.slice(k, k + 3)), cross = (u, v) => [0, 1, 2].map(k => u[(k + 1) % 3] * v[(k + 2) % 3] - u[(k + 2) % 3] * v[(k + 1) % 3]);
  const dot = (u, v) => u[0] * v[0] + u[1] * v[1] + u[2] * v[2], volume = dot(a, cross(b, c));
  return [cross(b, c), cross(c, a), cross(a, b)].map(row => -dot(row, t) / volume);
});
const bone = new Map(skin.joints.map((node, k) => [node, k])), parent = joints.map(() => -1);
gltf.nodes.forEach((node, k) => node.children?.forEach(child => bone.has(child) && bone.has(k) && (parent[bone.get(child)] = bone.get(k))));

// ---- drawing ------------------------------------------------------------------------------------------------------------------
const wide = 2 * size, image = Buffer.alloc(3 * wide * size, 255);
const low = [0, 1, 2].map(c => Math.min(...points.map(p => p[c]))), high = [0, 1, 2].map(c => Math.max(...points.map(p => p[c])));
const scale = 0.94 * size / Math.max(...high.map((h, c) => h - low[c]));
const place = (p, [across, up], left) => [left + size / 2 + scale * (p[across] - (low[across] + high[across]) / 2), size / 2 - scale * (p[up] - (low[up] + high[up]) / 2)];
function dot([x, y], radius, colour) {
  for (let v = Math.round(y - radius); v <= y + radius; v++)
    for (let u = Math.round(x - radius); u <= x + radius; u++) if (u >= 0 && v >= 0 && u < wide && v < size) colour.forEach((c, k) => (image[3 * (v * wide + u) + k] = c));
}
[[0, 1], [2, 1]].forEach((axes, view) => {
  const at = p => place(p, axes, view * size);
  points.forEach(p => dot(at(p), 0.5, [190, 190, 190]));
  joints.forEach((p, j) => {
    const a = at(p), b = parent[j] < 0 ? a : at(joints[parent[j]]), steps = 1 + Math.hypot(a[0] - b[0], a[1] - b[1]);
    for (let k = 0; k <= steps; k++) dot([a[0] + (b[0] - a[0]) * k / steps, a[1] + (b[1] - a[1]) * k / steps], 0.5, [220, 80, 40]);
    dot(a, parent[j] < 0 ? 4 : 2.5, [160, 0, 0]);
  });
});

const table = Int32Array.from({ length: 256 }, (_, n) => { for (let k = 0; k < 8; k++) n = n & 1 ? 0xedb88320 ^ (n >>> 1) : n >>> 1; return n; });
function chunk(kind, data) {
  const body = Buffer.concat([Buffer.from(kind, 'latin1'), data]), head = Buffer.alloc(4), sum = Buffer.alloc(4);
  head.writeUInt32BE(data.length), sum.writeInt32BE(body.reduce((c, b) => table[(c ^ b) & 255] ^ (c >>> 8), -1) ^ -1);
  return Buffer.concat([head, body, sum]);
}
const header = Buffer.alloc(13), rows = Array.from({ length: size }, (_, y) => Buffer.concat([Buffer.alloc(1), image.subarray(3 * y * wide, 3 * (y + 1) * wide)]));
header.writeUInt32BE(wide, 0), header.writeUInt32BE(size, 4), header[8] = 8, header[9] = 2;
writeFileSync(out, Buffer.concat([Buffer.from('\x89PNG\r\n\x1a\n', 'latin1'), chunk('IHDR', header), chunk('IDAT', deflateSync(Buffer.concat(rows))), chunk('IEND', Buffer.alloc(0))]));
console.log(`${out}: ${points.length} vertices, ${joints.length} joints`);
