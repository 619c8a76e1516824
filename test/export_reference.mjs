// The reference evaluations of a driver table agree to 1e-5 on random poses, any sign of their quaternions, the rest pose among them:
//   node export_reference.mjs TABLE.json C_PROGRAM PYTHON_SCRIPT FOLDER
// Those of JavaScript are held against the runtime by three_points.mjs.
import fs from "fs";
import { execFileSync } from "child_process";
import { evaluateHelpers, evaluateShapes } from "../web/skin/helpers.js";

const [file, program, script, folder] = process.argv.slice(2), table = JSON.parse(fs.readFileSync(file));
let seed = 7;
const random = () => ((seed = (seed * 48271) % 2147483647) / 2147483647) * 2 - 1;
const unit = (q) => q.map((x) => x / Math.hypot(...q));
const pose = (p) => (p ? unit([random(), random(), random(), p < 20 ? 3 : random()]) : [0, 0, 0, 1]);
const poses = Array.from({ length: 40 }, (_, p) => table.drivers.map(({ value }) => (value === undefined ? pose(p) : p ? 1.5 * random() : 0)));
fs.writeFileSync("poses.json", JSON.stringify(poses));
const driverNumbers = (d) => (d.value === undefined ? [...d.before, ...d.after, ...d.rest, 0, 0] : [...Array(11).fill(0), d.low, d.high]);
const productNumbers = ({ products = [] }) => [products.length, ...products.flatMap(({ drivers, mix }) => [drivers.length, ...drivers, ...mix])];
const numbers = [table.drivers.length, table.helpers.length, poses.length, ...table.drivers.flatMap(driverNumbers),
  ...table.helpers.flatMap((h) => [...h.translation, ...h.rotation, ...h.low, ...h.high, h.functions.length, ...h.functions.flatMap((f) => [f.driver, ...f.mix.flat()]),
    ...productNumbers(h)]),
  ...shapeNumbers(), ...poses.flatMap((inputs) => inputs.flatMap((x) => (Array.isArray(x) ? x : [x, 0, 0, 0])))];
// Groups of terms; then every shape's factors of all terms.
function shapeNumbers() {
  const { terms = [], shapes = [] } = table, count = (group) => group.centres?.length ?? 9;
  const row = ({ functions }) => terms.flatMap((group, g) => functions.find((f) => f.terms === g)?.mix ?? Array(count(group)).fill(0));
  return [terms.length, shapes.length, ...terms.flatMap((g) => [g.drivers.length, ...g.drivers, count(g), g.width ?? 0, ...(g.centres ?? []).flat()]), ...shapes.flatMap(row)];
}
const place = (at) => [...at.translation, ...at.rotation, at.scale, ...(at.added ?? []).flat()];
const rows = (pose) => [...evaluateHelpers(table, pose).map(place), ...evaluateShapes(table, pose).map((x) => [x])];
const mine = poses.flatMap(rows), each = mine.length / poses.length, helpers = table.helpers.length;
const size = Math.max(...mine.flat().map(Math.abs));
const moving = mine.some((row, k) => row.some((x, c) => Math.abs(x - mine[k % each][c]) > 1e-2));
const clamped = !table.helpers.some((h) => h.functions.length) || mine.some((row, k) => k % each < helpers && Math.abs(row[7] - 1 - table.helpers[k % each].high[6]) < 1e-9);
const run = (input, ...args) => execFileSync(...args, { input, encoding: "utf8" }).trim().split("\n").map((line) => line.split(" ").map(Number));
const others = { c: run(numbers.join(" "), program, []), python: run("", "python3", [script, folder, file, "poses.json"]) };
for (const [name, rows] of Object.entries(others)) {
  const most = Math.max(...mine.flatMap((row, k) => row.map((x, c) => Math.abs(x - rows[k][c]))));
  console.log(name, most / size);
  if (!(most <= 1e-5 * size) || rows.length !== mine.length || !moving || !clamped) process.exit(1);
}
