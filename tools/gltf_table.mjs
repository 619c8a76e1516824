// The table of docs/reference/gltf.md: what becomes of every glTF file of a folder, from `info` to `view`. Errors are those of
// test/measure.mjs, which counts every vertex of the file, and are compared with what Sinew prints; agreement is with three.js, which
// loads, animates and skins the file itself and everything that is written as .glb.
//   node tools/gltf_table.mjs build/sinew ../shared/data/gltf [NAME...]
import fs from "fs";
import os from "os";
import path from "path";
import { spawnSync } from "child_process";
import { cache, diagonal, measure } from "../test/measure.mjs";
import { compare } from "../test/three_points.mjs";

const [tool, folder] = process.argv.slice(2, 4).map((p) => path.resolve(p)), only = process.argv.slice(4);
const columns = { "rigid": "rigid", "lbs given": "lbs:weights=given", "lbs": "lbs", "dqs": "dqs", "psd": "psd", "rotreg": "rotreg" };
const frames_by_three = 5, every = 5;
const dir = fs.mkdtempSync(path.join(os.tmpdir(), "gltf-table-"));
const at = (name) => path.join(dir, name);
const run = (...words) => spawnSync(tool, [...words, "--quiet"], { encoding: "utf8", timeout: 600000 });
const report = (name) => JSON.parse(fs.readFileSync(at(name))).result;
const all = (c) => Array.from({ length: c.frames }, (_, f) => f);
const digits = (v) => (v < 5e-5 ? "0.0000" : v.toPrecision(3));
const trouble = (r) => (r.signal || r.status === null ? "took too long" : r.stderr.trim().split("\n").at(-1).replace(/^sinew: (\S*\.\w+: )?/, "").slice(0, 60));
// The script's figure, and Sinew's where that is another one.
const told = (mine, printed) => (Math.abs(mine - printed) <= 1e-3 * mine + 5e-5 ? digits(mine) : `${digits(mine)}, but printed ${digits(printed)}`);

// Every fifth frame of a cache as a cache.
function thinned(from, to) {
  const bytes = fs.readFileSync(from), size = 12 * bytes.readInt32LE(16), frames = bytes.readInt32LE(28), parts = [Buffer.from(bytes.subarray(0, 32))];
  for (let f = 0; f < frames; f += every) parts.push(bytes.subarray(32 + f * size, 32 + (f + 1) * size));
  parts[0].writeInt32LE(parts.length - 1, 28);
  fs.writeFileSync(to, Buffer.concat(parts));
}

// Bones found from every fifth frame, as three.js shows the file that is written.
async function rig(file, size) {
  const made = run("rig", "--rest", file, "--frames", file, "--keys", `every:${every}`, "--bones", "20", "-o", at("rig.glb"), "--json", at("rig.json"));
  if (made.status) return trouble(made);
  thinned(at("truth.pc2"), at("keys.pc2"));
  const seen = await compare(at("rig.glb"), at("keys.pc2"));
  return told((100 * seen.rms * seen.diagonal) / size, report("rig.json").rms_pct_diag);
}

async function trained(file, method, truth, size, agreement) {
  const made = run("train", "--rest", file, "--frames", file, "--skeleton", file, "--keys", `every:${every}`, "--method", method, "-o", at("m.sinew"), "--json", at("m.json"));
  const shown = made.status ? made : run("eval", at("m.sinew"), "--skeleton", file, "-o", at("m.pc2"));
  if (shown.status) return trouble(shown);
  const mine = measure(cache(at("m.pc2")), truth, size, all(truth)).rms_pct_diag;
  const written = method === "dqs" ? { status: 1 } : run("eval", at("m.sinew"), "--skeleton", file, "--rest", file, "-o", at("m.glb"));
  if (written.status === 0) agreement.push((await compare(at("m.glb"), at("m.pc2"), 30, 0, frames_by_three)).max);
  else if (method !== "dqs") console.error(`${path.basename(file)}: ${method} as .glb: ${trouble(written)}`);
  return told(mine, report("m.json").all.rms_pct_diag);
}

function page(file) {
  const made = run("view", at("m.sinew"), "--rest", file, "--skeleton", file, "-o", at("page.html"));
  return made.status ? trouble(made) : `${(fs.statSync(at("page.html")).size / 1e6).toFixed(1)} MB`;
}

async function row(file) {
  for (const name of fs.readdirSync(dir)) fs.rmSync(at(name));
  const info = run("info", file, "--json", at("info.json"));
  if (info.status) return [path.basename(file), trouble(info)];
  const { vertices, joints, clips, morphs } = report("info.json"), cells = [path.basename(file), vertices, joints, morphs.length, clips.length];
  const converted = [run("convert", file, at("truth.pc2")), run("convert", file, at("rest.obj"))].find((r) => r.status);
  if (converted) return [...cells, trouble(converted)];
  const truth = cache(at("truth.pc2")), size = diagonal(at("rest.obj")), agreement = [(await compare(file, at("truth.pc2"), 30, 0, frames_by_three)).max];
  cells.push(await rig(file, size));
  for (const method of Object.values(columns)) cells.push(joints ? await trained(file, method, truth, size, agreement) : "-");
  cells.push(Math.max(...agreement).toExponential(1), joints ? page(file) : "-");
  return cells;
}

const heads = ["file", "vertices", "joints", "morphs", "clips", "rig", ...Object.keys(columns), "three.js", "view"];
console.log(`| ${heads.join(" | ")} |\n|${" --- |".repeat(heads.length)}`);
for (const name of fs.readdirSync(folder).filter((n) => /\.gl(b|tf)$/.test(n) && (!only.length || only.includes(n))).sort()) {
  console.log(`| ${(await row(path.join(folder, name))).join(" | ")} |`);
}
fs.rmSync(dir, { recursive: true });
