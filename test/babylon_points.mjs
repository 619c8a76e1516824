// babylon_measure.mjs in node, where nothing is drawn (NullEngine):
//   node babylon_points.mjs FOLDER FILE.glb FRAMES.pc2 FPS
// FOLDER has node_modules/@babylonjs. Prints {"max", "frames", "vertices"} as JSON.
import fs from "fs";
import path from "path";
import { pathToFileURL } from "url";
import { measure } from "./babylon_measure.mjs";
import { cache } from "./measure.mjs";

const [folder, file, pc2, fps] = process.argv.slice(2);
const load = (name) => import(pathToFileURL(path.join(folder, "node_modules/@babylonjs", name)));
globalThis.XMLHttpRequest ??= class {};
const core = await load("core/index.js");
await load("loaders/glTF/index.js");
const url = `data:model/gltf-binary;base64,${fs.readFileSync(file).toString("base64")}`;
console.log(JSON.stringify(await measure(core, new core.NullEngine(), url, cache(pc2), fps)));
process.exit(0);
