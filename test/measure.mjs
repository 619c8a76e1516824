// Error figures from files alone, every vertex of the file counted:
//   node measure.mjs rest.obj model.pc2 truth.pc2 [FRAME,FRAME-FRAME...]
// Prints {"rms_pct_diag", "max_pct_diag", "frames", "vertices"} as JSON. The frames are all unless they are listed.
import fs from "fs";

export function cache(file) {
  const bytes = fs.readFileSync(file), count = bytes.readInt32LE(16), frames = bytes.readInt32LE(28);
  return { count, frames, at: (f, i, c) => bytes.readFloatLE(32 + 4 * (3 * (f * count + i) + c)) };
}

export function diagonal(objFile) {
  const low = [Infinity, Infinity, Infinity], high = [-Infinity, -Infinity, -Infinity];
  for (const line of fs.readFileSync(objFile, "utf8").split("\n")) {
    if (!line.startsWith("v ")) continue;
    line.slice(2).trim().split(/\s+/).map(Number).forEach((v, k) => (low[k] = Math.min(low[k], v), high[k] = Math.max(high[k], v)));
  }
  return Math.hypot(...high.map((v, k) => v - low[k]));
}

export function measure(model, truth, size, list) {
  if (model.count !== truth.count || model.frames !== truth.frames) {
    throw new Error(`${model.frames} frames of ${model.count} vertices against ${truth.frames} of ${truth.count}`);
  }
  let sum = 0, most = 0;
  for (const f of list) {
    for (let i = 0; i < truth.count; i++) {
      const d = Math.hypot(...[0, 1, 2].map((c) => model.at(f, i, c) - truth.at(f, i, c)));
      sum += d * d, most = Math.max(most, d);
    }
  }
  return { rms_pct_diag: 100 * Math.sqrt(sum / (truth.count * list.length)) / size, max_pct_diag: 100 * most / size,
    frames: list.length, vertices: truth.count };
}

if (process.argv[1].endsWith("measure.mjs")) {
  const [rest, modelFile, truthFile, spec] = process.argv.slice(2), model = cache(modelFile), truth = cache(truthFile);
  const list = spec ? spec.split(",").flatMap((part) => {
    const [a, b = a] = part.split("-").map(Number);
    return Array.from({ length: b - a + 1 }, (_, k) => a + k);
  }) : Array.from({ length: truth.frames }, (_, f) => f);
  console.log(JSON.stringify(measure(model, truth, diagonal(rest), list)));
}
