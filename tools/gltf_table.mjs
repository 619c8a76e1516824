// The table of docs/gltf.md: what becomes of every glTF file of a folder, with errors by test/measure.mjs, every vertex counted.
//   node tools/gltf_table.mjs build/sinew ../shared/data/gltf
import fs from "fs";
import os from "os";
import path from "path";
import { spawnSync } from "child_process";
import { cache, diagonal, measure } from "../test/measure.mjs";

const [tool, folder] = process.argv.slice(2).map((p) => path.resolve(p)), methods = ["rigid", "lbs:weights=given", "lbs", "dqs"];
const dir = fs.mkdtempSync(path.join(os.tmpdir(), "gltf-table-"));
const at = (name) => path.join(dir, name);
const run = (...words) => spawnSync(tool, [...words, "--quiet"], { encoding: "utf8", timeout: 120000 });
const all = (c) => Array.from({ length: c.frames }, (_, f) => f);
const three = (v) => (v < 5e-5 ? "0.0000" : v.toPrecision(3));

function row(file) {
  const info = run("info", file, "--json", at("info.json"));
  if (info.status) return `| ${path.basename(file)} | ${info.stderr.trim().replace(/.*?: .*?: /, "")} |`;
  const { result } = JSON.parse(fs.readFileSync(at("info.json")));
  const cells = [path.basename(file), result.vertices, result.joints, result.clips.length];
  if (run("convert", file, at("truth.pc2")).status || run("convert", file, at("rest.obj")).status) return `| ${cells.join(" | ")} | no frames |`;
  const truth = cache(at("truth.pc2")), size = diagonal(at("rest.obj"));
  for (const method of result.joints ? methods : []) {
    const trained = run("train", "--rest", file, "--frames", file, "--skeleton", file, "--keys", "every:5", "--method", method, "-o", at("m.sinew"), "--json", at("m.json"));
    const shown = trained.status ? trained : run("eval", at("m.sinew"), "--skeleton", file, "-o", at("m.pc2"));
    if (shown.status) { cells.push("failed: " + shown.stderr.trim()); continue; }
    const mine = measure(cache(at("m.pc2")), truth, size, all(truth)).rms_pct_diag;
    const printed = JSON.parse(fs.readFileSync(at("m.json"))).result.all.rms_pct_diag;
    cells.push(Math.abs(mine - printed) <= 1e-3 * mine + 5e-5 ? three(mine) : `${three(mine)}, but printed ${three(printed)}`);
    if (method !== "lbs") continue;
    const written = run("eval", at("m.sinew"), "--skeleton", file, "--rest", file, "-o", at("m.glb")).status || run("convert", at("m.glb"), at("glb.pc2")).status;
    cells.glb = written ? "failed" : (measure(cache(at("glb.pc2")), cache(at("m.pc2")), size, all(truth)).max_pct_diag / 100).toExponential(1);
  }
  return `| ${[...cells, cells.glb ?? "-"].join(" | ")} |`;
}

console.log("| file | vertices | joints | clips | rigid | lbs given | lbs fitted | dqs | eval -o .glb |\n| --- | --- | --- | --- | --- | --- | --- | --- | --- |");
for (const name of fs.readdirSync(folder).filter((n) => /\.gl(b|tf)$/.test(n)).sort()) console.log(row(path.join(folder, name)));
fs.rmSync(dir, { recursive: true });
