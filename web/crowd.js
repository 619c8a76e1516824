// SPDX-License-Identifier: MIT
// Many characters of one model, all posed differently: in WebGPU evaluated and drawn in batches, otherwise one after the other.
import * as THREE from 'three';
import { GpuFigure } from './gpufigure.js';
import { SinewGpu } from './skin/webgpu.js';

const golden = 0.6180339887498949;

export class Crowd {
  constructor(viewer) {
    this.viewer = viewer;
    this.times = { pose: 0, gpu: 0 };
  }

  // Everything for `count` characters of an entry.
  open(entry, count) {
    if (this.entry === entry && this.count === count && this.gpu === this.viewer.gpu) return;
    this.close();
    this.entry = entry, this.count = count, this.gpu = this.viewer.gpu;
    this.places = this.arrange(count);
    if (this.gpu && entry.figure instanceof GpuFigure && entry.figure.skinner) {
      this.skinner = new SinewGpu(this.gpu.device, entry.model, count);
      this.offsets = this.gpu.buffer(12 * count, GPUBufferUsage.VERTEX | GPUBufferUsage.COPY_DST, this.places);
    }
  }

  close() {
    this.skinner?.dispose(), this.offsets?.destroy();
    this.skinner = this.offsets = this.entry = null;
  }

  // Rows and columns on the ground, as far apart as the character is wide, and behind each other as it is deep or nearly as it is
  // tall; as many columns as give the crowd the shape of the
  // view, in which depths are shorter.
  arrange(count) {
    const box = new THREE.Box3().setFromPoints(this.viewer.sample().map(p => new THREE.Vector3(...p))), size = box.getSize(new THREE.Vector3());
    const { canvas } = this.viewer.stage, shape = (canvas.clientWidth || 1) / (canvas.clientHeight || 1);
    const across = 1.08 * Math.max(size.x, 0.25 * size.y), back = 1.08 * Math.max(size.z, 0.7 * size.y), out = new Float32Array(3 * count);
    let columns = 1;
    while (columns < count && columns * across < 0.4 * shape * (Math.ceil(count / columns) * back + size.y)) columns++;
    for (let k = 0; k < count; k++) out[3 * k] = (k % columns - (columns - 1) / 2) * across, out[3 * k + 2] = -Math.floor(k / columns) * back;
    this.box = box;
    return out;
  }

  // Corners of what the crowd covers.
  extent() {
    const { min, max } = this.box, out = [];
    for (let k = 0; k < this.count; k++) {
      const [x, , z] = this.places.subarray(3 * k, 3 * k + 3);
      out.push([min.x + x, min.y, min.z + z], [max.x + x, max.y, max.z + z]);
    }
    return out;
  }

  // What character k does now: somewhere else in the clip, forth and back; without a clip, rotated joints.
  input(k) {
    const { viewer, entry } = this, { set, state, pose } = viewer, { row } = entry, last = set.frame_count - 1;
    const out = { joints: entry.joints, controls: entry.controls, torques: entry.torques, values: entry.values };
    const at = (state.frame / Math.max(last, 1) + 2 * k * golden) % 2, t = last * (at > 1 ? 2 - at : at), f = Math.min(Math.floor(t), Math.max(last - 1, 0)), share = last ? t - f : 0;
    const between = (list, size, from, to) => {
      for (let n = 0; n < size; n++) to[n] = list[f * from.stride + from.at + n] * (1 - share) + (share ? list[(f + 1) * from.stride + from.at + n] * share : 0);
    };
    if (last > 0) {
      entry.jointMap.forEach((j, n) => between(set.poses, 12, { stride: 12 * pose.count, at: 12 * j }, out.joints.subarray(12 * n, 12 * n + 12)));
      if (out.controls.length && row.controls) between(row.controls, out.controls.length, { stride: out.controls.length, at: 0 }, out.controls);
      if (out.values.length && row.values) between(row.values, out.values.length, { stride: out.values.length, at: 0 }, out.values);
      if (out.torques.length && row.torques) between(row.torques, out.torques.length, { stride: out.torques.length, at: 0 }, out.torques);
    } else if (entry.jointMap.length) {
      const still = pose.matrices.slice(), angle = k * golden * 2 * Math.PI + state.frame;
      for (let n = 0; n < 3; n++) {
        const joint = (k + 5 * n) % pose.count;
        pose.rotate(joint, pose.axes(joint)[n], 0.5 * Math.sin(angle + n));
      }
      entry.jointMap.forEach((j, n) => out.joints.set(pose.matrices.subarray(12 * j, 12 * j + 12), 12 * n));
      pose.matrices.set(still);
    }
    return out;
  }

  // Poses all, where their model runs in WebGPU.
  pose() {
    if (!this.skinner) return;
    const begin = performance.now();
    for (let k = 0; k < this.count; k++) this.entry.model.beginMotion(), this.skinner.write(k, this.input(k));
    this.entry.model.beginMotion(); // no character goes on from another's pose
    this.skinner.upload();
    this.times.pose = performance.now() - begin;
  }

  // In one pane of the stage, with WebGPU.
  renderGpu(rect, matrices) {
    const { skinner, gpu } = this, { figure } = this.entry, begin = performance.now(), batches = Math.ceil(this.count / skinner.batch);
    const buffers = { ...figure.buffers, positions: skinner.positions, normals: skinner.normals };
    for (let k = 0; k < batches; k++) {
      const characters = Math.min(skinner.batch, this.count - k * skinner.batch);
      const draws = figure.surfaces(buffers).map(draw => ({ ...draw, characters, first: k * skinner.batch, offsets: this.offsets }));
      gpu.render([{ rect, ...matrices, draws }], encoder => skinner.encode(encoder, k, characters), k === 0, k === batches - 1);
    }
    gpu.device.queue.onSubmittedWorkDone().then(() => { this.times.gpu = performance.now() - begin, this.viewer.onRendered?.(); });
  }

  // One after the other, with the figure that the entry has: WebGL 2, or WebAssembly alone.
  renderEach(draw) {
    const { figure } = this.entry, begin = performance.now();
    for (let k = 0; k < this.count; k++) {
      this.entry.model.beginMotion();
      figure.update(this.input(k));
      figure.group.position.fromArray(this.places, 3 * k), figure.group.updateMatrixWorld(true);
      draw(k);
    }
    figure.group.position.set(0, 0, 0), figure.group.updateMatrixWorld(true);
    this.times.pose = performance.now() - begin, this.times.gpu = 0;
  }
}
