// SPDX-License-Identifier: MIT
// Many characters of one model in WebGPU: `inputs` has one { joints, values, ... } for each, as model.load() takes them. Vertices and normals are
// then in the buffers crowd.positions and crowd.normals, for a render pass of this device (that of three.js is renderer.backend.device).
import { SinewGpu, webgpuRefuses } from 'sinew-skin';

export async function makeCrowd(device, model, inputs) {
  const reason = webgpuRefuses(model, device);
  if (reason) throw new Error(reason);
  const crowd = await SinewGpu.create(device, model, inputs.length);
  inputs.forEach((input, k) => crowd.write(k, input));
  crowd.upload();
  const encoder = device.createCommandEncoder();
  crowd.encode(encoder); // the first batch: all of them, unless they are too many for a buffer
  device.queue.submit([encoder.finish()]);
  return crowd; // crowd.dispose() gives it back
}
