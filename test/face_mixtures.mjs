// Largest errors of a face's model on its shapes and on 40 mixtures of all of them at random, whose truth is the sum:
//   node face_mixtures.mjs SINEW MODEL.sinew FOLDER; the folder's frames are the rest pose, then every shape alone.
import fs from "fs";
import { execFileSync } from "child_process";

const [sinew, model, folder] = process.argv.slice(2);
const points = (file) => { const bytes = fs.readFileSync(file); return new Float32Array(bytes.buffer.slice(bytes.byteOffset + 32)); };
const header = fs.readFileSync(folder + "/values.csv", "utf8").split("\n")[0], count = header.split(",").length - 1;
let seed = 7;
const random = () => (seed = (seed * 48271) % 2147483647) / 2147483647;
const rows = Array.from({ length: count + 40 }, (_, f) => Array.from({ length: count }, (_, s) => (f < count ? +(s === f) : Math.fround(random()))));
fs.writeFileSync("mixtures.csv", [header, ...rows.map((row, f) => [f, ...row].join()), ""].join("\n"));
execFileSync(sinew, ["eval", model, "--values", "mixtures.csv", "--quiet", "-o", "mixtures.pc2"]);
const frames = points(folder + "/frames.pc2"), made = points("mixtures.pc2"), n = frames.length / (count + 1), most = [0, 0];
rows.forEach((row, f) => {
  for (let i = 0; i < n; i++) {
    const truth = row.reduce((sum, v, s) => sum + v * (frames[(s + 1) * n + i] - frames[i]), frames[i]);
    most[+(f >= count)] = Math.max(most[+(f >= count)], Math.abs(made[f * n + i] - truth));
  }
});
console.log("single", most[0], "mixtures", most[1]);
process.exit(most[1] <= 1.1 * most[0] ? 0 : 1);
