// SPDX-License-Identifier: MIT
// The evaluator for crowds in WebGPU: palettes and skins of many characters at once, from the model's own bytes. What WGSL lacks,
// double precision, the pose spaces of corrections and the functions of helper joints need: their values, and the matrices of helpers
// (a few numbers per character), come from WebAssembly.
import common from './wgsl/common.wgsl';
import control from './wgsl/control.wgsl';
import drive from './wgsl/drive.wgsl';
import math from './wgsl/math.wgsl';
import skin from './wgsl/skin.wgsl';
import split from './wgsl/split.wgsl';
import { checkInput } from './runtime.js';

// Sections that the kernels read, and those that change nothing in what they compute.
const sectionNames = ['drive.extra', 'drive.joints', 'drive.keys', 'drive.pairs', 'drive.solve', 'drive.torques', 'drive.offsets', 'control.frames', 'control.centres',
  'control.map', 'control.solve', 'joint.rest', 'joint.reference', 'skin.groups', 'skin.lanes', 'skin.rest', 'skin.normals', 'skin.weights',
  'skin.centres', 'skin.tuples', 'correct.start', 'correct.entries', 'correct.deltas', 'correct.limits', 'shade.start', 'shade.fans', 'shade.own'];
const otherSections = ['skin.chunks', 'control.head', 'control.points', 'correct.head', 'correct.fields', 'correct.joints', 'correct.numbers',
  'correct.terms', 'correct.mix', 'drive.helpers', 'drive.terms', 'drive.mix', 'drive.linear'];
const harmless = /^(test|mesh|joint|value)\./;
const camel = name => name.replace(/\.(.)/, (_, c) => c.toUpperCase());
const fields = ['first', 'vertexCount', 'jointCount', 'paletteCount', 'controlCount', 'blockCount', 'weightBits', 'shade', 'blend', 'forward', 'limitAfter',
  'givenStride', 'controlsAt', 'torquesAt', 'goesOnAt', 'valuesAt', 'helpersAt', 'workStride', 'turnsAt', 'blendsAt', 'columnsAt', 'kernelsAt', 'outputsAt',
  'dualquatsAt', 'stretchesAt', 'rigidAt', 'frames', 'outputs', 'flags', 'scale', 'fanBytes', ...sectionNames.map(camel)];
const code = [`struct Params { ${fields.map(name => `${name}: u32`).join(', ')} }`, common, math, drive, control, split, skin].join('\n');
const blends = { linear: 0, dualquat: 1, centres: 2 };
const bindings = ['uniform', 'read-only-storage', 'read-only-storage', 'read-only-storage', 'storage', 'storage', 'storage', 'storage'], storageBuffers = bindings.length - 1;

// A device with as much memory to a buffer as there is; null where the browser has no WebGPU.
export async function webgpuDevice(gpu = globalThis.navigator?.gpu) {
  const adapter = await gpu?.requestAdapter({ powerPreference: 'high-performance' }).catch(() => null);
  if (!adapter) return null;
  const { maxStorageBufferBindingSize, maxBufferSize } = adapter.limits;
  return adapter.requestDevice({ requiredLimits: { maxStorageBufferBindingSize, maxBufferSize } }).catch(() => null);
}

// Why the kernels cannot run a model, or not on this device where one is given; null where they can.
export function webgpuRefuses(model, device = null) {
  const { info } = model, strange = Object.keys(model.sections()).find(name => !sectionNames.includes(name) && !otherSections.includes(name) && !harmless.test(name));
  if (strange) return `section ${strange} is not known to the WebGPU kernels`;
  if (blends[info.blendName] === undefined) return `the blend ${info.blendName} is not known to the WebGPU kernels`;
  if (info.vertexCount > 8 * 65535 * 8) return 'it has too many vertices for one dispatch';
  return device ? exceeds(device.limits, largestBuffer(model, parameters(model))) : null;
}

// The model's own bytes, or what one character takes.
const eachCharacter = ({ info }, { workStride }) => Math.max(12 * info.vertexCount, 48 * info.paletteCount, 4 * workStride);
const largestBuffer = (model, params) => Math.max(model.info.bytes, eachCharacter(model, params), 8 * params.blockCount, 4 * params.givenStride);

// Which limit of a device a buffer of `size` bytes exceeds, beside the seven others; null: none.
function exceeds({ maxStorageBufferBindingSize, maxBufferSize, maxStorageBuffersPerShaderStage }, size) {
  const most = Math.min(maxStorageBufferBindingSize, maxBufferSize);
  if (maxStorageBuffersPerShaderStage < storageBuffers) return `the kernels need ${storageBuffers} storage buffers, the WebGPU device allows ${maxStorageBuffersPerShaderStage}`;
  return size > most ? `a buffer of ${size} bytes is needed, the WebGPU device allows ${most}` : null;
}

// Where every block's group is, and the first vertex of its chunk.
function blockTable(model, blockCount) {
  const chunks = model.section('skin.chunks', Uint32Array), groups = model.section('skin.groups', Uint32Array), table = new Uint32Array(2 * blockCount);
  const grain = new DataView(model.bytes().buffer).getUint32(48, true);
  for (let c = 0; c + 1 < chunks.length; c++) {
    for (let g = chunks[c]; g < chunks[c + 1]; g++) {
      const first = groups[8 * g], count = groups[8 * g + 3] & 0xffff;
      for (let b = first; b < first + count; b++) table[2 * b] = g, table[2 * b + 1] = c * grain;
    }
  }
  return table;
}

// What the drives and dual quaternions keep for a character, in floats.
function workLayout(model, params) {
  const { jointCount: joints, paletteCount: palette, driveName, blendName } = model.info, proxies = ['rotreg', 'torque'].includes(driveName);
  let size = 0;
  const room = (name, count) => { params[name] = size, size += count; };
  room('turnsAt', 8 * joints), room('blendsAt', driveName === 'torque' ? 2 * joints : 0);
  room('columnsAt', proxies ? 9 * (palette - joints) : driveName === 'controls' ? 9 * palette : 0);
  room('kernelsAt', driveName === 'controls' ? params.frames + 1 : 0), room('outputsAt', driveName === 'controls' ? palette * params.outputs : 0);
  const dual = blendName === 'linear' ? 0 : palette;
  room('dualquatsAt', 8 * dual), room('stretchesAt', 12 * dual), room('rigidAt', dual ? dual + 2 : 0);
  params.workStride = Math.max(size, 1);
}

const helperCount = info => info.driveName === 'helpers' ? info.paletteCount - info.jointCount : 0;

function parameters(model) {
  const { info } = model, sections = model.sections(), p = Object.fromEntries(fields.map(name => [name, 0]));
  for (const name of sectionNames) p[camel(name)] = (sections[name]?.offset ?? 0) / 4;
  for (const name of ['vertexCount', 'jointCount', 'paletteCount', 'controlCount', 'weightBits', 'shade']) p[name] = info[name];
  p.blend = blends[info.blendName], p.blockCount = sections['skin.lanes'].size / 16, p.fanBytes = info.vertexCount <= 65536 ? 2 : 4;
  if (info.driveName !== 'joints') p.jointReference = 0; // signs follow references in the drive `joints` only
  const correct = model.section('correct.head', Uint32Array), head = model.section('control.head', Uint32Array);
  p.forward = correct?.[0] ?? 0, p.limitAfter = p.correctLimits && correct?.[5] ? 1 : 0;
  if (!correct?.[4]) p.correctStart = p.limitAfter = 0;
  if (head) [p.frames, p.outputs, p.flags, p.scale] = head;
  p.controlsAt = 12 * info.jointCount, p.torquesAt = p.controlsAt + 3 * info.controlCount, p.goesOnAt = p.torquesAt + info.torqueCount, p.valuesAt = p.goesOnAt + 1;
  p.helpersAt = p.valuesAt + (correct?.[3] ?? 0);
  p.givenStride = Math.max(p.helpersAt + 12 * helperCount(info), 1);
  workLayout(model, p);
  return p;
}

// [entry point, invocations] of one evaluation, in order.
function stages(model, p) {
  const { info } = model, { driveName } = info, bones = info.paletteCount - info.jointCount, list = [];
  if (info.jointCount) list.push(['joints', info.jointCount]);
  if (helperCount(info)) list.push(['helpers', bones]);
  if (driveName === 'joints' && bones) list.push(['extras', 0]);
  if (driveName === 'rotreg' || driveName === 'torque') list.push(['turns', info.jointCount], ['logarithms', info.jointCount], ['predict', bones], ['solve', bones]);
  if (driveName === 'controls') list.push(['kernels', p.frames + 1], ['outputs', info.paletteCount * p.outputs], ['gradients', info.paletteCount], ['places', info.paletteCount]);
  if (info.blendName !== 'linear') {
    if (p.jointReference) list.push(['signs', 0]);
    list.push(['split', info.paletteCount], ['scales', 0], ['rescale', info.paletteCount]);
  }
  list.push(['skin', 8 * p.blockCount]);
  if (info.shade) list.push(['shade', info.vertexCount]);
  return list;
}

const modules = new WeakMap(); // device: {layout, pipelines}

function shared(device) {
  if (!modules.has(device)) {
    const entry = (binding, type) => ({ binding, visibility: GPUShaderStage.COMPUTE, buffer: { type } });
    const layout = device.createBindGroupLayout({ entries: bindings.map((type, k) => entry(k, type)) });
    modules.set(device, { layout, module: device.createShaderModule({ code }), pipelines: new Map(), pipelineLayout: device.createPipelineLayout({ bindGroupLayouts: [layout] }) });
  }
  return modules.get(device);
}

export class SinewGpu {
  // As new, and throws where the device finds fault with anything.
  static async create(device, model, characters = 1) {
    device.pushErrorScope('out-of-memory'), device.pushErrorScope('validation');
    let gpu, thrown;
    try {
      gpu = new SinewGpu(device, model, characters);
      for (const [entryPoint] of gpu.stages) gpu.pipeline(entryPoint);
    } catch (error) {
      thrown = error;
    }
    const faults = [await device.popErrorScope(), await device.popErrorScope()].filter(Boolean);
    if (!thrown && !faults.length) return gpu;
    gpu?.dispose();
    throw thrown ?? new Error(`WebGPU: ${faults[0].message || 'out of memory'}`);
  }

  // Room for `characters` of one model. `batch` of them are evaluated at a time: as many as fit into a buffer.
  constructor(device, model, characters = 1) {
    const reason = webgpuRefuses(model, device);
    if (reason) throw new Error(reason);
    if (!(Number.isInteger(characters) && characters > 0)) throw new Error(`${characters} characters make no crowd`);
    this.device = device, this.model = model, this.characters = characters;
    this.params = parameters(model), this.stages = stages(model, this.params);
    const { maxStorageBufferBindingSize, maxBufferSize } = device.limits, most = Math.min(maxStorageBufferBindingSize, maxBufferSize);
    const many = exceeds(device.limits, 4 * characters * this.params.givenStride);
    if (many) throw new Error(`${characters} characters: ${many}; make several crowds`);
    this.batch = Math.max(1, Math.min(characters, Math.floor(most / eachCharacter(model, this.params)), 65535));
    this.given = new Float32Array(characters * this.params.givenStride);
    this.lost = ''; // why the device is of no use any more
    device.lost?.then(({ message, reason: why }) => { this.lost = `the WebGPU device was lost (${message || why})`; });
    this.makeBuffers();
  }

  makeBuffers() {
    const { STORAGE, COPY_DST, COPY_SRC, VERTEX, UNIFORM } = GPUBufferUsage, { info } = this.model, { batch, params } = this;
    this.buffers = [];
    const make = (size, usage, data) => {
      const buffer = this.device.createBuffer({ size: Math.max(16, Math.ceil(size / 16) * 16), usage });
      if (data) this.device.queue.writeBuffer(buffer, 0, data);
      this.buffers.push(buffer);
      return buffer;
    };
    const file = this.model.bytes(), padded = new Uint8Array(Math.ceil(file.length / 4) * 4);
    padded.set(file);
    const table = blockTable(this.model, params.blockCount);
    this.inputBuffer = make(this.given.byteLength, STORAGE | COPY_DST);
    this.positions = make(12 * info.vertexCount * batch, STORAGE | COPY_SRC | VERTEX);
    this.normals = make(12 * info.vertexCount * batch, STORAGE | COPY_SRC | VERTEX);
    const resources = [null, make(padded.length, STORAGE | COPY_DST, padded), make(table.byteLength, STORAGE | COPY_DST, table), this.inputBuffer,
      make(48 * info.paletteCount * batch, STORAGE | COPY_SRC), make(4 * params.workStride * batch, STORAGE), this.positions, this.normals];
    const { layout } = shared(this.device);
    this.groups = Array.from({ length: Math.ceil(this.characters / batch) }, (_, k) => {
      const values = Uint32Array.from(fields, name => name === 'first' ? k * batch : params[name]);
      resources[0] = make(4 * fields.length, UNIFORM | COPY_DST, values);
      return this.device.createBindGroup({ layout, entries: resources.map((buffer, binding) => ({ binding, resource: { buffer } })) });
    });
  }

  pipeline(entryPoint) {
    const { module, pipelines, pipelineLayout } = shared(this.device);
    if (!pipelines.has(entryPoint)) pipelines.set(entryPoint, this.device.createComputePipeline({ layout: pipelineLayout, compute: { module, entryPoint } }));
    return pipelines.get(entryPoint);
  }

  // The input of one character: {joints, controls, torques, values}. goesOn: its joints continue to rotate from its last evaluation, and nothing jumps
  // at 180 degrees (as with model.beginMotion()); where all characters are one batch.
  write(character, input, goesOn = false) {
    const { info } = this.model, { params } = this, at = character * params.givenStride;
    if (!(character >= 0 && character < this.characters)) throw new Error(`there is no character ${character} among ${this.characters}`);
    checkInput(info, input);
    if (info.jointCount) this.given.set(input.joints, at);
    if (info.controlCount) this.given.set(input.controls, at + params.controlsAt);
    if (info.torqueCount) this.given.set(input.torques, at + params.torquesAt);
    this.given[at + params.goesOnAt] = goesOn && this.groups.length === 1 ? 1 : 0;
    if (params.correctStart || helperCount(info)) this.model.load(input);
    if (params.correctStart) this.given.set(this.model.values(), at + params.valuesAt);
    if (helperCount(info)) this.given.set(this.model.palette().subarray(12 * info.jointCount), at + params.helpersAt);
  }

  // Sends what write() was given.
  upload(count = this.characters) {
    this.device.queue.writeBuffer(this.inputBuffer, 0, this.given, 0, count * this.params.givenStride);
  }

  // Batch k of the characters: the first of them is character k * batch. Positions and normals are in the buffers of that name.
  encode(encoder, k = 0, count = Math.min(this.batch, this.characters - k * this.batch)) {
    const pass = encoder.beginComputePass();
    pass.setBindGroup(0, this.groups[k]);
    for (const [entryPoint, invocations] of this.stages) {
      pass.setPipeline(this.pipeline(entryPoint));
      pass.dispatchWorkgroups(invocations ? Math.ceil(invocations / 64) : 1, count);
    }
    pass.end();
  }

  // The vertices of all characters, back in JavaScript.
  async read() {
    const size = 12 * this.model.info.vertexCount, out = { positions: [], normals: [] };
    if (this.lost) throw new Error(this.lost);
    this.upload();
    for (let k = 0; k * this.batch < this.characters; k++) {
      const count = Math.min(this.batch, this.characters - k * this.batch), encoder = this.device.createCommandEncoder();
      this.encode(encoder, k, count);
      const copies = ['positions', 'normals'].map(name => {
        const copy = this.device.createBuffer({ size: size * count, usage: GPUBufferUsage.MAP_READ | GPUBufferUsage.COPY_DST });
        encoder.copyBufferToBuffer(this[name], 0, copy, 0, size * count);
        return [name, copy];
      });
      this.device.queue.submit([encoder.finish()]);
      for (const [name, copy] of copies) {
        await copy.mapAsync(GPUMapMode.READ).catch(error => { throw new Error(this.lost || `WebGPU: ${error.message}`); });
        const all = new Float32Array(copy.getMappedRange().slice(0));
        for (let c = 0; c < count; c++) out[name].push(all.subarray(c * size / 4, (c + 1) * size / 4));
        copy.destroy();
      }
    }
    return out;
  }

  dispose() {
    for (const buffer of this.buffers) buffer.destroy();
    this.buffers = [];
  }
}
