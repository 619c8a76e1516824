// SPDX-License-Identifier: MIT
// The runtime in WebAssembly: web/wasm.c from JavaScript's side. Nothing here needs a page: it runs in workers and in Node too.

const infoNames = ['drive', 'correct', 'blend', 'shade', 'vertexCount', 'jointCount', 'controlCount', 'torqueCount',
  'paletteCount', 'triangleCount', 'maxInfluences', 'bytes', 'weightBits', 'valueCount', 'tangents'];
const maxInfluences = 8;
const headerSize = 128, entrySize = 40; // of a .sinew file (src/runtime/format.h)

// Whether a model has a drive, a correction or a blend that the basic build of the runtime lacks (its slots are bytes 24 to 26).
export const needsWhole = bytes => bytes.length >= headerSize && (![0, 4].includes(bytes[24]) || bytes[25] !== 0 || bytes[26] > 1);

// Throws if a model's input does not have the numbers that it needs.
export function checkInput(info, input) {
  for (const [name, count] of [['joints', 12 * info.jointCount], ['controls', 3 * info.controlCount], ['torques', info.torqueCount], ['values', info.valueCount]])
    if (count && input?.[name]?.length !== count) throw new Error(`the model takes ${count} numbers as ${name}, not ${input?.[name]?.length ?? 'none'}`);
}

export class Runtime {
  static async create(bytes) {
    const { instance } = await WebAssembly.instantiate(bytes, {});
    instance.exports._initialize();
    return new Runtime(instance.exports);
  }

  constructor(exports) {
    this.x = exports;
  }

  alloc(size) {
    const at = this.x.sw_alloc(size);
    if (!at) throw new Error('out of memory');
    return at;
  }

  // Views are made anew each time: memory that grows leaves old ones behind.
  floats(at, count) { return new Float32Array(this.x.memory.buffer, at, count); }
  bytes(at, count) { return new Uint8Array(this.x.memory.buffer, at, count); }

  text(at) {
    if (!at) return '';
    const memory = new Uint8Array(this.x.memory.buffer);
    return new TextDecoder().decode(memory.slice(at, memory.indexOf(0, at)));
  }
}

const buffers = ['file', 'joints', 'controls', 'torques', 'positions', 'normals', 'tangents', 'matrices'];

// An opened model with buffers for its input and output. Throws an Error that says what is wrong with the bytes. Any number of
// characters may share one: an evaluation's result is good until the next.
export class SinewModel {
  constructor(runtime, bytes) {
    this.rt = runtime;
    this.handle = 0;
    try {
      this.open(bytes);
    } catch (error) {
      this.dispose();
      throw error;
    }
  }

  open(bytes) {
    const runtime = this.rt;
    this.file = runtime.alloc(bytes.length);
    runtime.bytes(this.file, bytes.length).set(bytes);
    this.handle = runtime.x.sw_open(this.file, bytes.length);
    if (!this.handle) throw new Error('out of memory');
    const complaint = runtime.text(runtime.x.sw_error(this.handle));
    if (complaint) throw new Error(complaint);
    this.readInfo();
    const info = this.info;
    this.joints = runtime.alloc(48 * info.jointCount);
    this.controls = runtime.alloc(12 * info.controlCount);
    this.torques = runtime.alloc(4 * info.torqueCount);
    this.positions = runtime.alloc(12 * info.vertexCount);
    this.normals = runtime.alloc(12 * info.vertexCount);
    if (info.tangents) this.tangents = runtime.alloc(16 * info.vertexCount);
    this.matrices = runtime.alloc(48 * info.paletteCount);
  }

  // Gives everything back. A model that is used afterwards says so.
  dispose() {
    if (this.handle) this.rt.x.sw_close(this.handle);
    this.handle = 0;
    for (const buffer of buffers) {
      if (this[buffer]) this.rt.x.sw_free(this[buffer]);
      this[buffer] = 0;
    }
    this.restCache = this.sectionCache = null;
  }

  get disposed() { return !this.handle; }

  assertOpen() {
    if (!this.handle) throw new Error('the model was disposed of');
  }

  // ---- what is in the file -----------------------------------------------------------------------------------------------

  // {name: {offset, size}} of all sections, in bytes from the beginning of the file.
  sections() {
    this.assertOpen();
    if (this.sectionCache) return this.sectionCache;
    const { bytes } = this.info, view = new DataView(this.rt.x.memory.buffer, this.file, bytes), text = new TextDecoder();
    this.sectionCache = {};
    for (let k = 0, count = view.getUint32(12, true); k < count; k++) {
      const at = headerSize + entrySize * k, name = text.decode(this.rt.bytes(this.file + at, 16).slice()).replace(/\0.*/s, '');
      this.sectionCache[name] = { offset: Number(view.getBigUint64(at + 16, true)), size: Number(view.getBigUint64(at + 24, true)) };
    }
    return this.sectionCache;
  }

  // A copy of a section as numbers of a type; null where the file has none.
  section(name, Type) {
    const at = this.sections()[name];
    if (!at) return null;
    return new Type(this.rt.x.memory.buffer.slice(this.file + at.offset, this.file + at.offset + at.size));
  }

  // A copy of the file.
  bytes() {
    this.assertOpen();
    return this.rt.bytes(this.file, this.info.bytes).slice();
  }

  // Three vertices per triangle; empty where the file has none.
  get triangles() {
    this.assertOpen();
    const { rt } = this, count = 3 * this.info.triangleCount, at = rt.alloc(4 * count);
    rt.x.sw_triangles(this.handle, at);
    const triangles = new Uint32Array(rt.x.memory.buffer, at, count).slice();
    rt.x.sw_free(at);
    return triangles;
  }

  // Joint to world in the rest pose, 3x4 row by row for each joint; null where the file has none.
  get jointRest() { return this.section('joint.rest', Float32Array); }

  // The rest file's number of every vertex, where the model was renumbered (sinew pack --order blocks); else null.
  get order() { return this.section('mesh.order', Uint32Array); }

  // Where the control points are in the rest pose.
  get restControls() {
    const points = this.section('control.points', Uint32Array) ?? [], { positions } = this.rest(), { order } = this;
    const vertices = order ? points.map(v => order.indexOf(v)) : points;
    return Float32Array.from({ length: 3 * vertices.length }, (_, k) => positions[3 * vertices[Math.floor(k / 3)] + k % 3]);
  }

  readInfo() {
    const { rt } = this, at = rt.alloc(4 * infoNames.length);
    rt.x.sw_info(this.handle, at);
    const values = new Uint32Array(rt.x.memory.buffer, at, infoNames.length);
    this.info = Object.fromEntries(infoNames.map((name, k) => [name, values[k]]));
    rt.x.sw_free(at);
    for (const slot of ['drive', 'correct', 'blend', 'path']) this.info[slot + 'Name'] = rt.text(rt.x[`sw_${slot}_name`](this.handle));
    this.jointNames = Array.from({ length: this.info.jointCount }, (_, j) => rt.text(rt.x.sw_joint_name(this.handle, j)));
    this.valueNames = Array.from({ length: this.info.valueCount }, (_, v) => rt.text(rt.x.sw_value_name(this.handle, v)));
    this.jointParents = this.jointNames.map((_, j) => rt.x.sw_joint_parent(this.handle, j));
  }

  // What world matrices of a character's joints are multiplied with, for its bind pose (12 numbers per joint, row by row; zeros where none
  // knows). Throws where a joint is elsewhere than the model's.
  bind(matrices) {
    this.assertOpen();
    const { rt } = this, size = 12 * this.info.jointCount;
    checkInput({ jointCount: this.info.jointCount }, { joints: matrices });
    const at = rt.alloc(4 * (2 * size + 12));
    rt.floats(at, size).set(matrices);
    const status = rt.x.sw_bind(this.handle, at, at + 4 * size, at + 8 * size), toRest = rt.floats(at + 4 * size, size).slice();
    rt.x.sw_free(at);
    this.check(status);
    return toRest;
  }

  // [least, largest] torque of a joint that make a difference, or null.
  torqueRange(joint) {
    const { rt } = this, at = rt.alloc(8), there = rt.x.sw_torque_range(this.handle, joint, at), range = Array.from(rt.floats(at, 2));
    rt.x.sw_free(at);
    return there ? range : null;
  }

  // [least, largest] of a named value: beyond them the nearest counts.
  valueRange(value) {
    const { rt } = this, at = rt.alloc(8);
    rt.x.sw_value_range(this.handle, value, at);
    const range = Array.from(rt.floats(at, 2));
    rt.x.sw_free(at);
    return range;
  }

  // input: {joints, controls, torques, values}, of which only what info counts is read.
  load(input) {
    const { rt, info } = this;
    this.assertOpen();
    checkInput(info, input);
    if (info.jointCount) rt.floats(this.joints, 12 * info.jointCount).set(input.joints);
    if (info.controlCount) rt.floats(this.controls, 3 * info.controlCount).set(input.controls);
    if (info.torqueCount) rt.floats(this.torques, info.torqueCount).set(input.torques);
    if (info.valueCount) rt.floats(rt.x.sw_named_values(this.handle), info.valueCount).set(input.values);
  }

  // A motion begins: joints continue to rotate from one evaluation to the next, and nothing jumps at 180 degrees.
  beginMotion() {
    this.assertOpen();
    this.rt.x.sw_begin_motion(this.handle);
    this.motion = (this.motion ?? 0) + 1; // which motion it is, for those who evaluate elsewhere
  }

  check(status) {
    if (status) throw new Error(this.rt.text(this.rt.x.sw_error(this.handle)));
  }

  // The palette for what load() was given: paletteCount 3x4 matrices, row by row. Valid until memory is allocated again.
  palette() {
    const { rt } = this;
    this.assertOpen();
    this.check(rt.x.sw_palette(this.handle, this.joints, this.controls, this.torques));
    rt.x.sw_palette_matrices(this.handle, this.matrices);
    return rt.floats(this.matrices, 12 * this.info.paletteCount);
  }

  // What the displacement fields of corrections are multiplied with, for what load() was given.
  values() {
    const { rt } = this, at = rt.alloc(4);
    this.assertOpen();
    this.check(rt.x.sw_palette(this.handle, this.joints, this.controls, this.torques));
    const count = rt.x.sw_values(this.handle, at), values = rt.floats(new Uint32Array(rt.x.memory.buffer, at, 1)[0], count).slice();
    rt.x.sw_free(at);
    return values;
  }

  // tangents: null where the model has none.
  evaluate() {
    const { rt, info } = this;
    this.assertOpen();
    this.check(rt.x.sw_evaluate(this.handle, this.joints, this.controls, this.torques, this.positions, this.normals, this.tangents ?? 0));
    return {
      positions: rt.floats(this.positions, 3 * info.vertexCount), normals: rt.floats(this.normals, 3 * info.vertexCount),
      tangents: info.tangents ? rt.floats(this.tangents, 4 * info.vertexCount) : null,
    };
  }

  // Rest positions, normals, eight bones and weights per vertex, and tangents (null where the model has none).
  rest() {
    this.assertOpen();
    if (this.restCache) return this.restCache;
    const { rt } = this, n = this.info.vertexCount;
    const at = [12, 12, 2 * maxInfluences, 4 * maxInfluences, 16].map(size => rt.alloc(size * n));
    rt.x.sw_rest(this.handle, ...at);
    this.restCache = {
      positions: rt.floats(at[0], 3 * n).slice(), normals: rt.floats(at[1], 3 * n).slice(),
      bones: new Uint16Array(rt.x.memory.buffer, at[2], maxInfluences * n).slice(), weights: rt.floats(at[3], maxInfluences * n).slice(),
      tangents: this.info.tangents ? rt.floats(at[4], 4 * n).slice() : null,
    };
    at.forEach(a => rt.x.sw_free(a));
    return this.restCache;
  }

  // Microseconds of one evaluation: a quantile over batches of a few milliseconds. A browser's clock may have
  // steps of 0.1 ms, so single calls cannot be timed; longer batches are often disturbed by other work, hence
  // the lower quartile and no median.
  time(milliseconds = 80, quantile = 0.25) {
    const { x } = this.rt, times = [];
    const batch = size => {
      const start = performance.now();
      for (let k = 0; k < size; k++) x.sw_evaluate(this.handle, this.joints, this.controls, this.torques, this.positions, this.normals, 0);
      return performance.now() - start;
    };
    let size = 1;
    while (size < 1e5 && Math.min(batch(size), batch(size), batch(size)) < 2) size *= 2;
    const start = performance.now();
    do times.push(1000 * batch(size) / size); while (performance.now() - start < milliseconds || times.length < 9);
    return times.sort((a, b) => a - b)[Math.floor(quantile * times.length)];
  }
}
