// node perturb.mjs FROM TO SEED: the example set FROM with its vertices moved by up to 1e-6 of the diagonal (SEED 1, 2, ...), or with
// frames and vertices in another order (SEED 0).
import fs from "node:fs";
const [from, to, text] = process.argv.slice(2), seed = Number(text);
let state = 12345 + seed;
const random = () => (state = (Math.imul(state, 1664525) + 1013904223) >>> 0) / 2 ** 32 - 0.5;
const shuffled = count => {
  const order = [...Array(count).keys()];
  for (let k = count - 1; k > 0; k--) {
    const other = Math.floor((random() + 0.5) * (k + 1));
    [order[k], order[other]] = [order[other], order[k]];
  }
  return order;
};
const lines = fs.readFileSync(`${from}/rest.obj`, "utf8").split("\n");
const rest = lines.filter(l => l.startsWith("v ")).map(l => l.split(/\s+/).slice(1, 4).map(Number));
const sides = [0, 1, 2].map(c => rest.reduce((m, v) => [Math.min(m[0], v[c]), Math.max(m[1], v[c])], [Infinity, -Infinity]));
const size = seed ? 2e-6 * Math.hypot(...sides.map(s => s[1] - s[0])) : 0;
const bytes = fs.readFileSync(`${from}/frames.pc2`), head = bytes.subarray(0, 32), n = rest.length;
const frames = bytes.readInt32LE(28), vertex = seed ? [...Array(n).keys()] : shuffled(n), place = [];
const frame = seed ? [...Array(frames).keys()] : shuffled(frames);
vertex.forEach((v, k) => (place[v] = k));
const moved = x => x + size * random();
fs.mkdirSync(to, { recursive: true });
const faces = lines.filter(l => l.startsWith("f ")).map(l => "f " + l.trim().split(/\s+/).slice(1).map(t => place[parseInt(t) - 1] + 1).join(" "));
fs.writeFileSync(`${to}/rest.obj`, vertex.map(v => "v " + rest[v].map(moved).join(" ")).concat(faces).join("\n") + "\n");
const out = Buffer.alloc(12 * n * frames);
for (let f = 0; f < frames; f++)
  for (let k = 0; k < n; k++)
    for (let c = 0; c < 3; c++) out.writeFloatLE(moved(bytes.readFloatLE(32 + 12 * (frame[f] * n + vertex[k]) + 4 * c)), 12 * (f * n + k) + 4 * c);
fs.writeFileSync(`${to}/frames.pc2`, Buffer.concat([head, out]));
