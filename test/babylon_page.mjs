// babylon_measure.mjs in Chromium, which draws every frame:
//   node babylon_page.mjs FOLDER FPS OUT.png NAME...
// NAME-babylon.glb and NAME.pc2 are what is compared. FOLDER has node_modules/@babylonjs. Prints {"max", "frames", "vertices"} as JSON for every
// NAME, on a line each; OUT.png is a picture of the last frame.
import fs from "fs";
import path from "path";
import { build } from "esbuild";
import { fileURLToPath } from "url";
import { launch } from "../tools/browser.mjs";

const [folder, fps, picture, ...names] = process.argv.slice(2), here = path.dirname(fileURLToPath(import.meta.url));
const entry = `import * as core from "@babylonjs/core"; import "@babylonjs/loaders/glTF"; import { measure } from "${here}/babylon_measure.mjs";
window.compare = async (url, pc2, fps) => {
  const bytes = await (await fetch(pc2)).arrayBuffer(), view = new DataView(bytes), count = view.getInt32(16, true), x = new Float32Array(bytes, 32);
  const engine = new core.Engine(document.querySelector("canvas"), true, { preserveDrawingBuffer: true });
  return measure(core, engine, url, { count, frames: view.getInt32(28, true), at: (f, i, c) => x[3 * (f * count + i) + c] }, fps);
};`;
const { outputFiles: [script] } = await build({ stdin: { contents: entry, resolveDir: folder }, bundle: true, format: "iife", target: "es2022", write: false });
const browser = await launch(), page = await browser.newPage({ viewport: { width: 400, height: 300 } }), complaints = [];
page.on("console", (m) => m.type() === "error" && complaints.push(m.text()));
page.on("pageerror", (e) => complaints.push(e.message));
const data = (file) => `data:model/gltf-binary;base64,${fs.readFileSync(file).toString("base64")}`;
for (const name of names) {
  await page.setContent("<canvas width=400 height=300></canvas>");
  await page.addScriptTag({ content: script.text });
  console.log(JSON.stringify(await page.evaluate((given) => window.compare(...given), [data(`${name}-babylon.glb`), data(`${name}.pc2`), fps])));
}
await page.screenshot({ path: picture });
await browser.close();
if (complaints.length) console.error(complaints.join("\n")), process.exit(1);
