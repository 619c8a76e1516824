// Turns a GLB that `sinew gen` wrote into one as other programs export them:
//   node edit_glb.mjs IN.glb OUT.glb EDIT[=VALUE]...
// The edits are the functions of `edits` below, applied in order. Written from the glTF specification alone.
import fs from "fs";

const readers = {
  5120: ["readInt8", "writeInt8", 1], 5121: ["readUInt8", "writeUInt8", 1], 5122: ["readInt16LE", "writeInt16LE", 2],
  5123: ["readUInt16LE", "writeUInt16LE", 2], 5125: ["readUInt32LE", "writeUInt32LE", 4],
  5126: ["readFloatLE", "writeFloatLE", 4],
};
const widths = { SCALAR: 1, VEC2: 2, VEC3: 3, VEC4: 4, MAT4: 16 };

export function open(file) {
  const bytes = fs.readFileSync(file), size = bytes.readUInt32LE(12);
  return { json: JSON.parse(bytes.subarray(20, 20 + size)), bin: Buffer.from(bytes.subarray(20 + size + 8)) };
}

export function rows(doc, index) {
  const a = doc.json.accessors[index], view = doc.json.bufferViews[a.bufferView], width = widths[a.type];
  const [read, , size] = readers[a.componentType];
  const stride = view.byteStride ?? size * width, start = (view.byteOffset ?? 0) + (a.byteOffset ?? 0);
  return Array.from({ length: a.count }, (_, i) =>
    Array.from({ length: width }, (_, k) => doc.bin[read](start + i * stride + k * size)));
}

// A new accessor with these rows.
export function add(doc, values, component, type, extra = {}) {
  const [, write, size] = readers[component], width = widths[type], offset = doc.bin.length;
  const bytes = Buffer.alloc(Math.ceil((values.length * width * size) / 4) * 4);
  values.forEach((row, i) => row.forEach((v, k) => bytes[write](v, (i * width + k) * size)));
  doc.bin = Buffer.concat([doc.bin, bytes]);
  doc.json.bufferViews.push({ buffer: 0, byteOffset: offset, byteLength: values.length * width * size });
  const accessor = { bufferView: doc.json.bufferViews.length - 1, componentType: component, count: values.length, type, ...extra };
  if (component === 5126 && type === "VEC3" || type === "SCALAR" && component === 5126) {
    accessor.min = values[0].map((_, k) => values.reduce((m, r) => Math.min(m, Math.fround(r[k])), Infinity));
    accessor.max = values[0].map((_, k) => values.reduce((m, r) => Math.max(m, Math.fround(r[k])), -Infinity));
  }
  doc.json.accessors.push(accessor);
  return doc.json.accessors.length - 1;
}

export function save(doc, file) {
  doc.json.buffers = [{ byteLength: doc.bin.length }];
  let text = Buffer.from(JSON.stringify(doc.json));
  text = Buffer.concat([text, Buffer.alloc((4 - (text.length % 4)) % 4, " ")]);
  const head = Buffer.alloc(20), chunk = Buffer.alloc(8);
  head.write("glTF"), head.writeUInt32LE(2, 4), head.writeUInt32LE(28 + text.length + doc.bin.length, 8);
  head.writeUInt32LE(text.length, 12), head.write("JSON", 16);
  chunk.writeUInt32LE(doc.bin.length, 0), chunk.write("BIN\0", 4);
  fs.writeFileSync(file, Buffer.concat([head, text, chunk, doc.bin]));
}

const primitivesOf = (doc) => doc.json.meshes.flatMap((mesh) => mesh.primitives);

export const edits = {
  // Positions times k in bind space, inverse bind matrices over k: the same frames, as with a scaled armature.
  "bind-scale"(doc, k) {
    for (const p of primitivesOf(doc)) {
      p.attributes.POSITION = add(doc, rows(doc, p.attributes.POSITION).map((r) => r.map((v) => v * k)), 5126, "VEC3");
    }
    for (const skin of doc.json.skins) {
      const scaled = rows(doc, skin.inverseBindMatrices).map((m) => m.map((v, e) => (e < 12 ? v / k : v)));
      skin.inverseBindMatrices = add(doc, scaled, 5126, "MAT4");
    }
  },
  // Every joint's node below one more node that the clip scales from 1 to k: all joints share a scale that changes.
  "pose-scale"(doc, k) {
    const { json } = doc, scene = json.scenes[json.scene ?? 0], clip = json.animations[0];
    const times = rows(doc, clip.samplers[0].input).map(([t]) => t), span = times.at(-1) - times[0];
    json.nodes.push({ name: "grow", children: scene.nodes });
    scene.nodes = [json.nodes.length - 1];
    const values = times.map((t) => Array(3).fill(1 + ((k - 1) * (t - times[0])) / span));
    clip.samplers.push({ input: clip.samplers[0].input, output: add(doc, values, 5126, "VEC3"), interpolation: "LINEAR" });
    clip.channels.push({ sampler: clip.samplers.length - 1, target: { node: json.nodes.length - 1, path: "scale" } });
  },
  // The joints' nodes as the clip's last frame has them, not as they were bound.
  posed(doc) {
    const clip = doc.json.animations[0];
    for (const { sampler, target } of clip.channels) doc.json.nodes[target.node][target.path] = rows(doc, clip.samplers[sampler].output).at(-1);
  },
  // The first joint looks elsewhere, k degrees about the y axis, in the clip and in the scene. The bind pose stays.
  look(doc, k) {
    const { json } = doc, clip = json.animations[0], node = json.skins[0].joints[0];
    const [c, s] = [Math.cos((k * Math.PI) / 180), Math.sin((k * Math.PI) / 180)], [cosine, sine] = [Math.cos((k * Math.PI) / 360), Math.sin((k * Math.PI) / 360)];
    const turned = { rotation: ([x, y, z, w]) => [cosine * x + sine * z, cosine * y + sine * w, cosine * z - sine * x, cosine * w - sine * y],
      translation: ([x, y, z]) => [c * x + s * z, y, c * z - s * x] };
    for (const [path, turn] of Object.entries(turned)) {
      if (json.nodes[node][path]) json.nodes[node][path] = turn(json.nodes[node][path]);
      for (const { sampler, target } of clip.channels) {
        if (target.node !== node || target.path !== path) continue;
        clip.samplers[sampler].output = add(doc, rows(doc, clip.samplers[sampler].output).map(turn), 5126, path === "rotation" ? "VEC4" : "VEC3");
      }
    }
  },
  // Joints that are k times as large at rest, as with an armature of another unit: the same frames.
  "joint-scale"(doc, k) {
    const { json } = doc;
    for (const skin of json.skins) {
      const inner = new Set(skin.joints.flatMap((j) => json.nodes[j].children ?? []).filter((c) => skin.joints.includes(c)));
      for (const j of skin.joints) {
        if (!inner.has(j)) json.nodes[j].scale = (json.nodes[j].scale ?? [1, 1, 1]).map((v) => v * k);
        else if (json.nodes[j].translation) json.nodes[j].translation = json.nodes[j].translation.map((v) => v / k);
      }
      for (const clip of json.animations) {
        for (const { sampler, target } of clip.channels) {
          if (target.path !== "translation" || !inner.has(target.node)) continue;
          clip.samplers[sampler].output = add(doc, rows(doc, clip.samplers[sampler].output).map((r) => r.map((v) => v / k)), 5126, "VEC3");
        }
      }
      const matrices = rows(doc, skin.inverseBindMatrices).map((m) => m.map((v, e) => (e % 4 < 3 ? v / k : v)));
      skin.inverseBindMatrices = add(doc, matrices, 5126, "MAT4");
    }
  },
  // Every joint's axes rotated by 90 degrees about x and then y: the same frames.
  axes(doc) {
    const { json } = doc, q = [0.5, 0.5, 0.5, 0.5], back = [-0.5, -0.5, -0.5, 0.5]; // x to y to z to x
    const times = (a, b) => [
      a[3] * b[0] + a[0] * b[3] + a[1] * b[2] - a[2] * b[1], a[3] * b[1] - a[0] * b[2] + a[1] * b[3] + a[2] * b[0],
      a[3] * b[2] + a[0] * b[1] - a[1] * b[0] + a[2] * b[3], a[3] * b[3] - a[0] * b[0] - a[1] * b[1] - a[2] * b[2]];
    const joints = new Set(json.skins.flatMap((skin) => skin.joints));
    const inner = new Set([...joints].flatMap((j) => json.nodes[j].children ?? []).filter((c) => joints.has(c)));
    const turn = { rotation: (j, r) => times(inner.has(j) ? times(back, r) : r, q), translation: (j, t) => (inner.has(j) ? [t[1], t[2], t[0]] : t) };
    for (const j of joints) {
      const node = json.nodes[j];
      node.rotation = turn.rotation(j, node.rotation ?? [0, 0, 0, 1]), node.translation = turn.translation(j, node.translation ?? [0, 0, 0]);
    }
    for (const { channels, samplers } of json.animations) {
      for (const { sampler, target } of channels.filter(({ target }) => joints.has(target.node) && turn[target.path])) {
        const values = rows(doc, samplers[sampler].output).map((r) => turn[target.path](target.node, r));
        samplers[sampler].output = add(doc, values, 5126, target.path === "rotation" ? "VEC4" : "VEC3");
      }
    }
    for (const skin of json.skins) {
      const matrices = rows(doc, skin.inverseBindMatrices).map((m) => m.map((v, e) => (e % 4 < 3 ? m[e - (e % 4) + (((e % 4) + 1) % 3)] : v)));
      skin.inverseBindMatrices = add(doc, matrices, 5126, "MAT4");
    }
  },
  // A node above the scene that rotates it by 90 degrees about x and makes it k times as large.
  armature(doc, k) {
    const scene = doc.json.scenes[doc.json.scene ?? 0];
    doc.json.nodes.push({ name: "Armature", rotation: [Math.SQRT1_2, 0, 0, Math.SQRT1_2], scale: [k, k, k], children: scene.nodes });
    scene.nodes = [doc.json.nodes.length - 1];
  },
  // As Dem Bones marks what is not to be solved for: the first joint is locked, the first half of the vertices is white; all
  // weights are on the first joint.
  locks(doc) {
    const { json } = doc;
    json.nodes[json.skins[0].joints[0]].extras = { demLock: true };
    for (const p of primitivesOf(doc)) {
      const count = json.accessors[p.attributes.POSITION].count, each = (row) => Array.from({ length: count }, (_, i) => row(i));
      p.attributes.COLOR_0 = add(doc, each((i) => Array(3).fill(i < count / 2 ? 1 : 0)), 5126, "VEC3");
      p.attributes.JOINTS_0 = add(doc, each(() => [0, 0, 0, 0]), 5121, "VEC4");
      p.attributes.WEIGHTS_0 = add(doc, each(() => [1, 0, 0, 0]), 5126, "VEC4");
      delete p.attributes.JOINTS_1, delete p.attributes.WEIGHTS_1;
    }
  },
  // A second animation: the first one backwards, called "back".
  back(doc) {
    const { json } = doc, clip = structuredClone(json.animations[0]);
    clip.name = "back";
    for (const sampler of clip.samplers) {
      const a = json.accessors[sampler.output];
      sampler.output = add(doc, rows(doc, sampler.output).reverse(), a.componentType, a.type);
    }
    json.animations.push(clip);
  },
  // Clips end this part of a frame (at 30 per second) early.
  shorten(doc, part) {
    for (const clip of doc.json.animations) {
      for (const sampler of clip.samplers) {
        const times = rows(doc, sampler.input);
        times.at(-1)[0] -= part / 30;
        sampler.input = add(doc, times, 5126, "SCALAR");
      }
    }
  },
  // No edit: fails where a set of weights is all zero, a morph weight is not within [0, 1], or more than a tenth of the bytes is
  // in no accessor and no image that something uses.
  "expect-tidy"(doc) {
    const { json } = doc, used = new Set();
    for (const p of primitivesOf(doc)) {
      for (const [key, index] of [...Object.entries(p.attributes), ["indices", p.indices], ...(p.targets ?? []).flatMap(Object.entries)]) {
        if (index === undefined) continue;
        used.add(index);
        if (key.startsWith("WEIGHTS") && rows(doc, index).flat().every((v) => v === 0)) throw new Error(`${key} is all zero`);
      }
    }
    for (const clip of json.animations) {
      for (const { sampler, target } of clip.channels) {
        const { input, output } = clip.samplers[sampler];
        used.add(input), used.add(output);
        if (target.path === "weights" && rows(doc, output).some(([w]) => w < 0 || w > 1)) throw new Error("a morph weight is outside [0, 1]");
      }
    }
    json.skins.forEach((skin) => used.add(skin.inverseBindMatrices));
    const size = (a) => a.count * widths[a.type] * readers[a.componentType][2];
    let bytes = [...used].reduce((sum, k) => sum + size(json.accessors[k]), 0);
    for (const image of json.images ?? []) bytes += json.bufferViews[image.bufferView]?.byteLength ?? 0;
    if (bytes < 0.9 * doc.bin.length) throw new Error(`${bytes} of ${doc.bin.length} bytes are used`);
  },
  // The mesh a second time, at the same place but on the first joint alone: it parts from the first when that moves.
  twin(doc) {
    for (const mesh of doc.json.meshes) {
      const copy = structuredClone(mesh.primitives[0]), count = doc.json.accessors[copy.attributes.POSITION].count;
      copy.attributes.JOINTS_0 = add(doc, Array.from({ length: count }, () => [0, 0, 0, 0]), 5121, "VEC4");
      copy.attributes.WEIGHTS_0 = add(doc, Array.from({ length: count }, () => [1, 0, 0, 0]), 5126, "VEC4");
      delete copy.attributes.JOINTS_1, delete copy.attributes.WEIGHTS_1;
      mesh.primitives.push(copy);
    }
  },
  // Joints named as Mixamo and Blender do, with characters that three.js drops from names.
  names(doc) {
    const joints = new Set(doc.json.skins.flatMap((skin) => skin.joints));
    for (const j of joints) doc.json.nodes[j].name = `rig:${doc.json.nodes[j].name}.x y`;
  },
  // Every mesh in two, in separate nodes, each with half of the triangles and the vertices those need.
  halves(doc) {
    const { json } = doc, scene = json.scenes[json.scene ?? 0];
    for (const [n, node] of [...json.nodes.entries()].filter(([, node]) => node.mesh !== undefined)) {
      const [p] = json.meshes[node.mesh].primitives, corners = rows(doc, p.indices).map(([i]) => i), middle = 3 * Math.floor(corners.length / 6);
      const halves = [corners.slice(0, middle), corners.slice(middle)].map((list) => {
        const used = [...new Set(list)], place = new Map(used.map((i, k) => [i, k])), attributes = {};
        for (const [key, index] of Object.entries(p.attributes)) {
          const a = json.accessors[index], values = rows(doc, index);
          attributes[key] = add(doc, used.map((i) => values[i]), a.componentType, a.type, a.normalized ? { normalized: true } : {});
        }
        return { ...p, attributes, indices: add(doc, list.map((i) => [place.get(i)]), 5125, "SCALAR") };
      });
      json.meshes[node.mesh] = { name: "upper", primitives: [halves[0]] };
      json.meshes.push({ name: "lower", primitives: [halves[1]] });
      json.nodes.push({ name: "lower", mesh: json.meshes.length - 1, skin: json.nodes[n].skin });
      scene.nodes.push(json.nodes.length - 1);
    }
  },
  // A morph target "grow" of every mesh that moves all vertices outwards by a tenth of its size, with a weight of 0.
  morph(doc) {
    for (const mesh of doc.json.meshes) {
      for (const p of mesh.primitives) {
        const at = rows(doc, p.attributes.POSITION), middle = [0, 1, 2].map((k) => at.reduce((s, r) => s + r[k], 0) / at.length);
        p.targets = [{ POSITION: add(doc, at.map((r) => r.map((v, k) => 0.1 * (v - middle[k]))), 5126, "VEC3") }];
      }
      mesh.weights = [0], mesh.extras = { targetNames: ["grow"] };
    }
  },
  // The first clip again under other names: k clips in all.
  clips(doc, k) {
    const [first] = doc.json.animations;
    doc.json.animations = Array.from({ length: Number(k) }, (_, n) => ({ ...first, name: `clip ${n}` }));
  },
  // Texture coordinates, a texture of two by two pixels, and a base colour.
  texture(doc, colour = 0.5) {
    const png = Buffer.from("iVBORw0KGgoAAAANSUhEUgAAAAIAAAACCAIAAAD91JpzAAAAF0lEQVR4nGP4////swoNBpuKZ////wcAP7AJG0FIHcUAAAAASUVORK5CYII=", "base64"), offset = doc.bin.length;
    doc.bin = Buffer.concat([doc.bin, png, Buffer.alloc((4 - (png.length % 4)) % 4)]);
    doc.json.bufferViews.push({ buffer: 0, byteOffset: offset, byteLength: png.length });
    doc.json.images = [{ bufferView: doc.json.bufferViews.length - 1, mimeType: "image/png" }];
    doc.json.textures = [{ source: 0 }];
    doc.json.materials = [{ pbrMetallicRoughness: { baseColorTexture: { index: 0 }, baseColorFactor: [1, colour, 0.25, 1], metallicFactor: 0 } }];
    for (const p of primitivesOf(doc)) {
      p.attributes.TEXCOORD_0 = add(doc, rows(doc, p.attributes.POSITION).map(([x, y]) => [x, y]), 5126, "VEC2");
      p.material = 0;
    }
  },
  // Tangents at right angles to the normals and to z, left-handed: nothing that a texture's coordinates say.
  tangents(doc) {
    for (const p of primitivesOf(doc)) {
      const values = rows(doc, p.attributes.NORMAL).map(([x, y]) => {
        const size = Math.hypot(x, y);
        return size > 1e-3 ? [-y / size, x / size, 0, -1] : [1, 0, 0, -1];
      });
      p.attributes.TANGENT = add(doc, values, 5126, "VEC4");
    }
  },
  // Copies of the mesh without a skin: "door" rotates by its node, "lid" rotates below the last joint, "floor" stands still, and k
  // bubbles that are tiny in the scene's default pose and grow in the first frame.
  parts(doc, k) {
    const { json } = doc, clip = json.animations[0], scene = json.scenes[json.scene ?? 0];
    const times = rows(doc, clip.samplers[0].input), shown = structuredClone(json.meshes[0].primitives[0]);
    for (const key of ["JOINTS_0", "WEIGHTS_0", "JOINTS_1", "WEIGHTS_1"]) delete shown.attributes[key];
    delete shown.targets;
    json.meshes.push({ primitives: [shown] });
    const show = (name, above, extra = {}) => {
      json.nodes.push({ name, mesh: json.meshes.length - 1, ...extra });
      (above ? (above.children ??= []) : scene.nodes).push(json.nodes.length - 1);
      return json.nodes.length - 1;
    };
    const animate = (node, path, type, at) => {
      clip.samplers.push({ input: clip.samplers[0].input, output: add(doc, times.map(([t]) => at(t)), 5126, type) });
      clip.channels.push({ sampler: clip.samplers.length - 1, target: { node, path } });
    };
    const turn = (t) => [Math.sin(t), 0, 0, Math.cos(t)];
    animate(show("door", null, { translation: [0, 1, 0] }), "rotation", "VEC4", turn);
    animate(show("lid", json.nodes[json.skins[0].joints.at(-1)], { translation: [0, 0, 1] }), "rotation", "VEC4", turn);
    show("floor", null, { translation: [0, -1, 0] });
    for (let b = 0; b < k; b++) {
      const bubble = show(`bubble${b}`, null, { translation: [0, 0, 0.1 * b], scale: [0.02, 0.02, 0.02] });
      animate(bubble, "scale", "VEC3", (t) => Array(3).fill(1 - 0.5 * t));
    }
  },
  // Every triangle with separate vertices; `smooth` keeps the normals, `flat` gives each triangle its own.
  split(doc, kind) {
    for (const p of primitivesOf(doc)) {
      const corners = rows(doc, p.indices).map(([i]) => i), accessors = doc.json.accessors;
      const spread = {};
      for (const [key, index] of Object.entries(p.attributes)) {
        const a = accessors[index], values = rows(doc, index);
        spread[key] = [corners.map((i) => values[i]), a.componentType, a.type, a.normalized ? { normalized: true } : {}];
      }
      if (kind === "flat") {
        const at = spread.POSITION[0];
        spread.NORMAL[0] = at.map((_, c) => {
          const [p0, p1, p2] = [0, 1, 2].map((k) => at[c - (c % 3) + k]), u = p1.map((v, k) => v - p0[k]), w = p2.map((v, k) => v - p0[k]);
          const n = [u[1] * w[2] - u[2] * w[1], u[2] * w[0] - u[0] * w[2], u[0] * w[1] - u[1] * w[0]], l = Math.hypot(...n) || 1;
          return n.map((v) => v / l);
        });
      }
      for (const [key, args] of Object.entries(spread)) p.attributes[key] = add(doc, ...args);
      delete p.indices;
    }
  },
};

if (process.argv[1].endsWith("edit_glb.mjs")) {
  const [from, to, ...list] = process.argv.slice(2), doc = open(from);
  for (const edit of list) {
    const [name, value] = edit.split("=");
    edits[name](doc, value === undefined || isNaN(value) ? value : Number(value));
  }
  save(doc, to);
}
