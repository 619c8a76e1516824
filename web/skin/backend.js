// SPDX-License-Identifier: MIT
// Skins in the WebGPURenderer of three.js: the kernels write vertices, which are copied to where its geometries have them.
import { StaticDrawUsage } from 'three';
import { SinewGpu, webgpuRefuses } from './webgpu.js';

export class GpuBackEnd {
  // null where the renderer has no WebGPU, or the kernels cannot run the model.
  static for(renderer, model) {
    const device = renderer?.backend?.device;
    return device && !webgpuRefuses(model) ? new GpuBackEnd(renderer, device, model) : null;
  }

  constructor(renderer, device, model) {
    this.renderer = renderer, this.device = device;
    this.gpu = new SinewGpu(device, model, 1);
  }

  // parts: [{geometry, first}]. False where the renderer has not made their buffers yet: it does when it first draws them.
  run(input, parts) {
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
