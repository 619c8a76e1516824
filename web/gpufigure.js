// SPDX-License-Identifier: MIT
// A character on the stage in WebGPU: what figure.js is in WebGL 2. The kernels of sinew-skin write its vertices where the stage reads
// them; what they cannot run, WebAssembly evaluates.
import * as THREE from 'three';
import { TruthNormals } from './figure.js';
import { modes } from './shader.js';
import { SinewGpu, webgpuRefuses } from './skin/webgpu.js';

// Edges of triangles, each once, as pairs.
function edgesOf(triangles) {
  const seen = new Set(), out = [];
  for (let t = 0; t < triangles.length; t++) {
    const a = triangles[t], b = triangles[t % 3 === 2 ? t - 2 : t + 1], key = a < b ? a * 4294967296 + b : b * 4294967296 + a;
    if (!seen.has(key)) seen.add(key), out.push(a, b);
  }
  return Uint32Array.from(out);
}

// What the figures of a set share.
export class GpuShared {
  constructor(stage, set, truth) {
    const { VERTEX, INDEX, COPY_DST } = GPUBufferUsage;
    this.stage = stage, this.set = set;
    this.index = stage.buffer(set.triangles.byteLength, INDEX | COPY_DST, set.triangles);
    this.indexCount = set.triangles.length;
    this.truth = stage.buffer(truth.byteLength, VERTEX | COPY_DST);
    this.uv = stage.buffer(8 * set.vertices, VERTEX | COPY_DST, set.look?.uv);
    this.looks = (set.look?.parts ?? []).map(part => ({ ...part, image: part.bitmap ? stage.image(part.bitmap) : null }));
  }

  get edges() {
    if (!this.edgeBuffer) {
      const edges = edgesOf(this.set.triangles);
      this.edgeBuffer = this.stage.buffer(edges.byteLength, GPUBufferUsage.INDEX | GPUBufferUsage.COPY_DST, edges), this.edgeCount = edges.length;
    }
    return this.edgeBuffer;
  }

  setTruth(positions) { this.stage.device.queue.writeBuffer(this.truth, 0, positions); }

  dispose() {
    for (const buffer of [this.index, this.truth, this.uv, this.edgeBuffer]) buffer?.destroy();
    for (const look of this.looks) look.image?.texture.destroy();
  }
}

export class GpuFigure {
  // model: null for the truth; gpu: whether the kernels may run.
  constructor(shared, model, gpu, colour) {
    const { stage, set } = shared, { VERTEX, COPY_DST } = GPUBufferUsage, size = 12 * set.vertices;
    this.shared = shared, this.model = model, this.colour = new THREE.Color(colour).toArray();
    this.group = new THREE.Group();
    this.group.userData.figure = this;
    this.skinner = model && gpu && !webgpuRefuses(model, stage.device) ? new SinewGpu(stage.device, model, 1) : null;
    this.skinned = this.skinner ? 'WebGPU' : null;
    this.own = this.skinner ? [] : [stage.buffer(size, VERTEX | COPY_DST), stage.buffer(size, VERTEX | COPY_DST)];
    this.field = stage.buffer(4 * set.vertices, VERTEX | COPY_DST);
    const [positions, normals] = this.skinner ? [this.skinner.positions, this.skinner.normals] : this.own;
    this.buffers = { positions, normals, truth: shared.truth, field: this.field, uv: shared.uv, vertices: set.vertices };
    this.state = { mode: modes.plain, unit: 0, wire: false, ghost: 0, look: true };
    this.truthNormals = model ? null : new TruthNormals(set);
    this.pending = false;
  }

  setPositions(positions, normals) {
    const { queue } = this.shared.stage.device;
    queue.writeBuffer(this.own[0], 0, positions), queue.writeBuffer(this.own[1], 0, normals);
  }

  // A model's input, or the truth's positions.
  update(input) {
    if (!this.model) return this.setPositions(input, this.truthNormals.of(input));
    if (this.skinner) {
      this.skinner.write(0, input, this.model.motion !== undefined && this.motion === this.model.motion), this.skinner.upload();
      this.motion = this.model.motion;
      this.pending = true;
    } else {
      this.model.load(input);
      const { positions, normals } = this.model.evaluate();
      this.setPositions(positions, normals);
    }
  }

  evaluate(encoder) {
    if (this.pending) this.skinner.encode(encoder);
    this.pending = false;
  }

  setColours(mode, unit = 0, field = null) {
    this.state.mode = modes[mode], this.state.unit = unit;
    if (field) this.shared.stage.device.queue.writeBuffer(this.field, 0, field);
  }

  setLook(visible) { this.state.look = visible; }
  setWire(visible) { this.state.wire = visible; }
  setGhost(opacity) { this.state.ghost = opacity; }

  // The surface's draws: one, or one for every part of the character that has a separate look.
  surfaces(buffers = this.buffers) {
    const { shared, state } = this, pipeline = state.ghost ? 'ghost' : 'solid', alpha = state.ghost || 1;
    const surface = (start, count, colour, picture) => ({ pipeline, item: { colour: [...colour, alpha], mode: state.mode, unit: state.unit }, buffers, index: shared.index, start, count, picture });
    if (!shared.looks.length || !state.look || state.mode !== modes.plain || state.ghost || !this.model) return [surface(0, shared.indexCount, this.colour)];
    return shared.looks.map(look => surface(3 * look.first, 3 * look.count, look.colour, look.image?.group));
  }

  draws() {
    const { shared, state } = this, list = this.surfaces(), light = state.mode !== modes.plain;
    if (state.wire) {
      list.push({ pipeline: 'wire', item: { colour: light ? [1, 1, 1, 0.22] : [0.006, 0.008, 0.011, 0.3], mode: 0, unit: 0, flat: true }, buffers: this.buffers, index: shared.edges, count: shared.edgeCount });
    }
    return list;
  }

  dispose() {
    this.skinner?.dispose();
    for (const buffer of [...this.own, this.field]) buffer.destroy();
  }
}
