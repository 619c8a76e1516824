// What three.js makes of a GLB or glTF file, against a PC2: its own loader, animation mixer, morph targets and skinning.
//   node three_points.mjs FILE.glb FRAMES.pc2 [FPS [CLIP [MOST [MODEL.sinew PACKAGE]]]]
// Prints {"max", "rms", "frames", "vertices", "diagonal"} as JSON; distances are over the diagonal of the PC2's first frame,
// at MOST frames (all by default), evenly chosen, the last among them.
// With a model it wears that skin, by the package sinew-skin in the folder PACKAGE.
// The order of vertices is that of nodes and primitives in the file. Values are those of FRAMES.csv, if that is there.
import fs from "fs";
import path from "path";
import { fileURLToPath, pathToFileURL } from "url";
import { createRequire } from "module";
import { cache } from "./measure.mjs";
import { driveHelpers } from "../web/skin/helpers.js";

const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), "..");
const three = path.join(root, "node_modules", "three");
globalThis.self = globalThis;
globalThis.ProgressEvent ??= class extends Event {};
const load = (file) => import(pathToFileURL(path.join(three, file)));
const THREE = await load("build/three.module.js");
const { GLTFLoader } = await load("examples/jsm/loaders/GLTFLoader.js");
const { MeshoptDecoder } = await load("examples/jsm/libs/meshopt_decoder.module.js");

// The decoder is a script, but its package says that all of its files are modules.
function dracoModule() {
  const text = fs.readFileSync(path.join(three, "examples/jsm/libs/draco/gltf/draco_decoder.js"), "utf8");
  return new Function("require", "__dirname", `${text}; return DracoDecoderModule;`)(createRequire(import.meta.url), three)();
}

// Draco's own decoder as three.js's loader needs it: without workers.
class Draco {
  async decodeDracoFile(buffer, callback, ids, types) {
    const module = await dracoModule();
    const decoder = new module.Decoder(), mesh = new module.Mesh(), bytes = new Int8Array(buffer), geometry = new THREE.BufferGeometry();
    decoder.DecodeArrayToMesh(bytes, bytes.length, mesh);
    const kinds = { Float32Array: module.DT_FLOAT32, Uint8Array: module.DT_UINT8, Uint16Array: module.DT_UINT16, Int8Array: module.DT_INT8,
      Int16Array: module.DT_INT16, Uint32Array: module.DT_UINT32 };
    for (const [name, id] of Object.entries(ids)) {
      const attribute = decoder.GetAttributeByUniqueId(mesh, id), Type = globalThis[types[name]], width = attribute.num_components();
      const count = mesh.num_points() * width, size = count * Type.BYTES_PER_ELEMENT, at = module._malloc(size);
      decoder.GetAttributeDataArrayForAllPoints(mesh, attribute, kinds[types[name]], size, at);
      geometry.setAttribute(name, new THREE.BufferAttribute(new Type(module.HEAPF32.buffer.slice(at, at + size)), width));
      module._free(at);
    }
    callback(geometry);
  }
  preload() {}
  dispose() {}
}

// Pictures have nothing to do with where vertices are, and node cannot decode them.
function withoutPictures(json) {
  delete json.materials, delete json.textures, delete json.images, delete json.samplers;
  for (const mesh of json.meshes ?? []) for (const p of mesh.primitives) delete p.material;
  const stay = (name) => !/texture|materials|lights|gpu_instancing/.test(name);
  for (const key of ["extensionsUsed", "extensionsRequired"]) if (json[key]) json[key] = json[key].filter(stay);
  for (const node of json.nodes ?? []) if (node.extensions) for (const name of Object.keys(node.extensions)) if (!stay(name)) delete node.extensions[name];
  return json;
}

function prepared(file) {
  const bytes = fs.readFileSync(file);
  if (bytes.toString("latin1", 0, 4) !== "glTF") return JSON.stringify(withoutPictures(JSON.parse(bytes)));
  const size = bytes.readUInt32LE(12), rest = bytes.subarray(20 + size);
  let text = Buffer.from(JSON.stringify(withoutPictures(JSON.parse(bytes.subarray(20, 20 + size)))));
  text = Buffer.concat([text, Buffer.alloc((4 - (text.length % 4)) % 4, " ")]);
  const head = Buffer.from(bytes.subarray(0, 20));
  head.writeUInt32LE(20 + text.length + rest.length, 8), head.writeUInt32LE(text.length, 12);
  const out = Buffer.concat([head, text, rest]);
  return out.buffer.slice(out.byteOffset, out.byteOffset + out.length);
}

export async function open(file) {
  const loader = new GLTFLoader().setMeshoptDecoder(MeshoptDecoder).setDRACOLoader(new Draco());
  const gltf = await loader.parseAsync(prepared(file), path.dirname(path.resolve(file)) + "/");
  const parts = [];
  gltf.scene.traverse((object) => {
    if (!object.isMesh) return;
    const link = gltf.parser.associations.get(object);
    let node = object, nodeLink;
    while (node && (nodeLink = gltf.parser.associations.get(node))?.nodes === undefined) node = node.parent;
    parts.push({ object, node: nodeLink?.nodes ?? 0, primitive: link?.primitives ?? 0 });
  });
  parts.sort((a, b) => a.node - b.node || a.primitive - b.primitive);
  return { gltf, parts };
}

// Positions of all vertices as the scene stands.
export function* points({ gltf, parts }) {
  const v = new THREE.Vector3();
  gltf.scene.updateMatrixWorld(true);
  for (const { object } of parts) {
    if (object.isSkinnedMesh) object.skeleton.update();
    for (let i = 0; i < object.geometry.attributes.position.count; i++) {
      object.getVertexPosition(i, v);
      yield v.applyMatrix4(object.matrixWorld);
    }
  }
}

// glTF's rotations are unit quaternions; files round them, and three.js would scale by what is left.
function makeUnit(animation) {
  for (const track of animation.tracks) {
    for (let k = 0; track.ValueTypeName === "quaternion" && track.values.length === 4 * track.times.length && k < track.values.length; k += 4) {
      const length = Math.hypot(...track.values.subarray(k, k + 4));
      for (let c = 0; c < 4; c++) track.values[k + c] /= length;
    }
  }
}

// Puts a model's skin on the character: its meshes take the place of the file's, in the model's order.
async function wear(scene, model, folder) {
  const { loadSinew, skinCharacter } = await import(pathToFileURL(path.resolve(folder, "index.js")));
  const skin = skinCharacter(await loadSinew(fs.readFileSync(model)), scene.gltf);
  scene.parts = skin.parts.map(({ mesh }) => ({ object: mesh }));
}

// Named values of every frame; of a file that is not there none.
function table(file) {
  if (!fs.existsSync(file)) return null;
  const [names, ...rows] = fs.readFileSync(file, "utf8").trim().split("\n").map((line) => line.split(",").slice(1));
  return rows.map((row) => Object.fromEntries(row.map((x, k) => [names[k], Number(x)])));
}

export async function compare(file, pc2, { fps = 30, clip = 0, most = Infinity, model, folder } = {}) {
  const scene = await open(file), truth = cache(pc2), animation = scene.gltf.animations[clip];
  if (model) await wear(scene, model, folder);
  const mixer = new THREE.AnimationMixer(scene.gltf.scene);
  const start = animation ? Math.min(...animation.tracks.map((t) => t.times[0])) : 0;
  const low = [Infinity, Infinity, Infinity], high = low.map((x) => -x);
  for (let i = 0; i < truth.count; i++) low.forEach((_, c) => (low[c] = Math.min(low[c], truth.at(0, i, c)), high[c] = Math.max(high[c], truth.at(0, i, c))));
  const diagonal = Math.hypot(...high.map((x, c) => x - low[c]));
  if (animation) {
    makeUnit(animation);
    const action = mixer.clipAction(animation);
    action.setLoop(THREE.LoopOnce, 1), action.clampWhenFinished = true, action.play();
  }
  const helpers = scene.gltf.userData.sinew && driveHelpers(scene.gltf), values = table(pc2.replace(/pc2$/, "csv"));
  let max = 0, sum = 0, vertices = 0;
  const count = Math.min(most, truth.frames), list = Array.from({ length: count }, (_, k) => Math.round((k * (truth.frames - 1)) / Math.max(count - 1, 1)));
  for (const f of list) {
    mixer.setTime(start + f / fps);
    if (values) Object.assign(helpers.values, values[f]);
    helpers?.update();
    vertices = 0;
    for (const p of points(scene)) {
      if (vertices < truth.count) {
        const d = Math.hypot(p.x - truth.at(f, vertices, 0), p.y - truth.at(f, vertices, 1), p.z - truth.at(f, vertices, 2));
        max = Math.max(max, d), sum += d * d;
      }
      vertices++;
    }
    if (vertices !== truth.count) throw new Error(`three.js shows ${vertices} vertices, the frames have ${truth.count}`);
  }
  return { max: max / diagonal, rms: Math.sqrt(sum / (count * vertices)) / diagonal, frames: count, vertices, diagonal };
}

if (process.argv[1].endsWith("three_points.mjs")) {
  const [file, pc2, fps = "30", clip = "0", most = "Infinity", model, folder] = process.argv.slice(2);
  console.log(JSON.stringify(await compare(file, pc2, { fps: Number(fps), clip: Number(clip), most: Number(most), model, folder })));
}
