// SPDX-License-Identifier: MIT
// Skins in the WebGPURenderer of three.js: the kernels write vertices, which are copied to where its geometries have them.
import { StaticDrawUsage } from 'three';
import { SinewGpu, webgpuRefuses } from './webgpu.js';

const tell = reason => console.warn(`sinew-skin: ${reason}; the skin runs in WebAssembly`);

export class GpuBackEnd {
  // null where the renderer has no WebGPU, or the kernels cannot run the model on its device: the console then says why.
  static for(renderer, model) {
    const device = renderer?.backend?.device, reason = device ? webgpuRefuses(model, device) : null;
    if (reason) tell(reason);
    return device && !reason ? new GpuBackEnd(renderer, device, model) : null;
  }

  constructor(renderer, device, model) {
    this.renderer = renderer, this.device = device, this.works = true;
    device.pushErrorScope('out-of-memory'), device.pushErrorScope('validation');
    this.gpu = new SinewGpu(device, model, 1);
    for (let k = 0; k < 2; k++) device.popErrorScope().then(fault => fault && this.fail(`WebGPU: ${fault.message || 'out of memory'}`), () => {});
  }

  // From here on WebAssembly has the vertices.
  fail(reason) {
    if (this.works) tell(reason);
    this.works = false;
  }

  // parts: [{geometry, first}]. False where the device is lost, and where the renderer has not made their buffers yet: it does when it first
  // draws them.
  run(input, parts) {
    if (this.gpu.lost) this.fail(this.gpu.lost);
    if (!this.works) return false;
    // Dynamic ones three.js sends again for every frame: over what the kernels wrote.
    for (const { geometry } of parts) for (const name of ['position', 'normal']) geometry.attributes[name].usage = StaticDrawUsage;
    const copies = parts.flatMap(({ geometry, first }) => ['position', 'normal'].map(name => {
      const attribute = geometry.attributes[name];
      return { from: this.gpu[`${name}s`], to: this.renderer.backend.get(attribute)?.buffer, first: 12 * first, size: 12 * attribute.count };
    }));
    if (copies.some(copy => !copy.to)) return false;
    this.gpu.write(0, input), this.gpu.upload();
    const encoder = this.device.createCommandEncoder();
    this.gpu.encode(encoder);
    for (const { from, to, first, size } of copies) encoder.copyBufferToBuffer(from, first, to, 0, size);
    this.device.queue.submit([encoder.finish()]);
    return true;
  }

  dispose() { this.gpu.dispose(); }
}
