// SPDX-License-Identifier: MIT
// Draws figures in WebGPU, on a canvas behind that of three.js, which keeps bones, rings and handles.
import { rampBytes } from './colours.js';
import code from './gpustage.wgsl';
import { webgpuDevice } from './skin/webgpu.js';

const slot = 256, samples = 4;
const float = (size, stepMode = 'vertex') => (format, location) => ({ arrayStride: size, stepMode, attributes: [{ format, offset: 0, shaderLocation: location }] });

// An adapter that is the processor itself. Browsers without a GPU may not be able to show what it drew (Chromium's GPU process
// dies of it), so its pictures come back through memory.
const isSoftware = ({ adapterInfo: info }) => Boolean(info?.isFallbackAdapter || info?.architecture === 'swiftshader');

export class GpuStage {
  // null where the browser has no WebGPU, or it does not work.
  static async create(canvas) {
    try {
      const device = await webgpuDevice(), context = device && canvas.getContext(isSoftware(device) ? '2d' : 'webgpu');
      if (!context) return null;
      device.pushErrorScope('validation');
      const stage = new GpuStage(canvas, device, context), fault = await device.popErrorScope();
      return fault ? null : stage;
    } catch {
      return null;
    }
  }

  constructor(canvas, device, context) {
    this.canvas = canvas, this.device = device, this.context = context;
    this.software = isSoftware(device);
    this.format = this.software ? 'rgba8unorm' : navigator.gpu.getPreferredCanvasFormat();
    if (!this.software) context.configure({ device, format: this.format, alphaMode: 'premultiplied' });
    const { VERTEX, COPY_DST, UNIFORM } = GPUBufferUsage, visibility = GPUShaderStage.VERTEX | GPUShaderStage.FRAGMENT;
    const uniform = { binding: 0, visibility, buffer: { type: 'uniform', hasDynamicOffset: true } };
    const picture = [{ binding: 0, visibility: GPUShaderStage.FRAGMENT, texture: {} }, { binding: 1, visibility: GPUShaderStage.FRAGMENT, sampler: {} }];
    const layouts = [[uniform], [uniform], picture, picture].map(entries => device.createBindGroupLayout({ entries }));
    this.pictureLayout = layouts[3];
    const module = device.createShaderModule({ code }), buffers = [float(12)('float32x3', 0), float(12)('float32x3', 1), float(12)('float32x3', 2), float(4)('float32', 3), float(8)('float32x2', 4), float(12, 'instance')('float32x3', 5)];
    const blend = { color: { srcFactor: 'one', dstFactor: 'one-minus-src-alpha' }, alpha: { srcFactor: 'one', dstFactor: 'one-minus-src-alpha' } };
    const pipeline = (topology, ghost) => device.createRenderPipeline({
      layout: device.createPipelineLayout({ bindGroupLayouts: layouts }), vertex: { module, entryPoint: 'vertex', buffers },
      fragment: { module, entryPoint: 'fragment', targets: [{ format: this.format, blend }] }, primitive: { topology }, multisample: { count: samples },
      depthStencil: { format: 'depth24plus', depthWriteEnabled: !ghost && topology === 'triangle-list', depthCompare: 'less-equal',
        ...(topology === 'triangle-list' ? { depthBias: ghost ? -4 : 2, depthBiasSlopeScale: ghost ? -2 : 1 } : {}) },
    });
    this.pipelines = { solid: pipeline('triangle-list', false), ghost: pipeline('triangle-list', true), wire: pipeline('line-list', false) };
    const sampler = device.createSampler({ magFilter: 'linear', minFilter: 'linear' });
    this.sampler = device.createSampler({ magFilter: 'linear', minFilter: 'linear', addressModeU: 'repeat', addressModeV: 'repeat' });
    this.rampGroup = this.pictureGroup(layouts[2], this.texture(rampBytes(256), 256, 1), sampler);
    this.white = this.pictureGroup(layouts[3], this.texture(new Uint8Array([255, 255, 255, 255]), 1, 1), this.sampler);
    this.layouts = layouts;
    this.origin = this.buffer(12, VERTEX | COPY_DST);
    this.uniforms(64);
  }

  buffer(size, usage, data) {
    const buffer = this.device.createBuffer({ size: Math.max(16, Math.ceil(size / 4) * 4), usage });
    if (data) this.device.queue.writeBuffer(buffer, 0, data);
    return buffer;
  }

  texture(bytes, width, height) {
    const texture = this.device.createTexture({ size: [width, height], format: 'rgba8unorm-srgb', usage: GPUTextureUsage.TEXTURE_BINDING | GPUTextureUsage.COPY_DST | GPUTextureUsage.RENDER_ATTACHMENT });
    if (bytes) this.device.queue.writeTexture({ texture }, bytes, { bytesPerRow: 4 * width }, [width, height]);
    return texture;
  }

  pictureGroup(layout, texture, sampler) {
    return this.device.createBindGroup({ layout, entries: [{ binding: 0, resource: texture.createView() }, { binding: 1, resource: sampler }] });
  }

  // A picture of the character's, as three.js loaded it.
  image(bitmap) {
    const texture = this.texture(null, bitmap.width, bitmap.height);
    this.device.queue.copyExternalImageToTexture({ source: bitmap }, { texture }, [bitmap.width, bitmap.height]);
    return { texture, group: this.pictureGroup(this.pictureLayout, texture, this.sampler) };
  }

  // Room for `count` views and items.
  uniforms(count) {
    this.room = count;
    this.uniformBuffer?.destroy();
    this.uniformBuffer = this.buffer(slot * count, GPUBufferUsage.UNIFORM | GPUBufferUsage.COPY_DST);
    const group = (layout, size) => this.device.createBindGroup({ layout, entries: [{ binding: 0, resource: { buffer: this.uniformBuffer, size } }] });
    this.viewGroup = group(this.layouts[0], 128), this.itemGroup = group(this.layouts[1], 32);
  }

  resize() {
    const { canvas } = this, ratio = Math.min(devicePixelRatio || 1, 2), width = Math.max(1, Math.round(canvas.clientWidth * ratio)), height = Math.max(1, Math.round(canvas.clientHeight * ratio));
    if (this.depth && canvas.width === width && canvas.height === height) return ratio;
    canvas.width = width, canvas.height = height;
    this.depth?.destroy(), this.colour?.destroy();
    const make = (format, sampleCount, usage = 0) => this.device.createTexture({ size: [width, height], format, sampleCount, usage: GPUTextureUsage.RENDER_ATTACHMENT | usage });
    this.depth = make('depth24plus', samples), this.colour = make(this.format, samples);
    if (this.software) this.picture?.destroy(), this.picture = make(this.format, 1, GPUTextureUsage.COPY_SRC);
    return ratio;
  }

  // One frame. panes: [{rect, projection, view, draws}], draws: [{pipeline, item: {colour, mode, unit, flat, textured}, buffers, index,
  // start, count, offset, instance, picture}]. `evaluate(encoder)` puts compute passes before. A frame may come in several
  // parts, whose vertices share buffers: `first` and `last` say which this is.
  render(panes, evaluate = () => {}, first = true, last = true) {
    const { device } = this, ratio = this.resize(), count = panes.reduce((n, p) => n + 1 + p.draws.length, 0);
    if (count > this.room) this.uniforms(2 * count);
    const data = new ArrayBuffer(slot * count), encoder = device.createCommandEncoder();
    evaluate(encoder);
    if (first) this.target = (this.software ? this.picture : this.context.getCurrentTexture()).createView();
    const pass = encoder.beginRenderPass({
      colorAttachments: [{ view: this.colour.createView(), resolveTarget: last ? this.target : undefined, clearValue: [0, 0, 0, 0], loadOp: first ? 'clear' : 'load', storeOp: last ? 'discard' : 'store' }],
      depthStencilAttachment: { view: this.depth.createView(), depthClearValue: 1, depthLoadOp: first ? 'clear' : 'load', depthStoreOp: last ? 'discard' : 'store' },
    });
    pass.setBindGroup(2, this.rampGroup);
    let at = 0;
    for (const { rect, projection, view, draws } of panes) {
      new Float32Array(data, slot * at, 32).set([...projection, ...view]);
      const [x, y, w, h] = [rect.x, rect.y, rect.w, rect.h].map(v => v * ratio);
      pass.setViewport(x, y, Math.min(w, this.canvas.width - x), Math.min(h, this.canvas.height - y), 0, 1);
      pass.setScissorRect(Math.floor(x), Math.floor(y), Math.min(Math.floor(w), this.canvas.width - Math.floor(x)), Math.min(Math.floor(h), this.canvas.height - Math.floor(y)));
      pass.setBindGroup(0, this.viewGroup, [slot * at++]);
      for (const draw of draws) {
        const { item } = draw;
        new Float32Array(data, slot * at, 6).set([...item.colour, 0, item.unit]);
        new Uint32Array(data, slot * at + 16, 1)[0] = item.mode, new Uint32Array(data, slot * at + 24, 2).set([item.flat ? 1 : 0, draw.picture ? 1 : 0]);
        pass.setPipeline(this.pipelines[draw.pipeline]);
        pass.setBindGroup(1, this.itemGroup, [slot * at++]);
        pass.setBindGroup(3, draw.picture ?? this.white);
        this.draw(pass, draw);
      }
    }
    pass.end();
    const shown = last && this.software ? this.copyOut(encoder) : null;
    device.queue.writeBuffer(this.uniformBuffer, 0, data);
    device.queue.submit([encoder.finish()]);
    shown?.();
  }

  // Of a software adapter: copies the picture to memory and, when that is done, onto the canvas. The newest one counts.
  copyOut(encoder) {
    const { width, height } = this.canvas, stride = Math.ceil(4 * width / 256) * 256, number = this.copies = (this.copies ?? 0) + 1;
    const copy = this.device.createBuffer({ size: stride * height, usage: GPUBufferUsage.MAP_READ | GPUBufferUsage.COPY_DST });
    encoder.copyTextureToBuffer({ texture: this.picture }, { buffer: copy, bytesPerRow: stride }, [width, height]);
    return async () => {
      await copy.mapAsync(GPUMapMode.READ).catch(() => {});
      if (number > (this.shownCopy ?? 0) && copy.mapState === 'mapped' && this.canvas.width === width && this.canvas.height === height) {
        const from = new Uint8Array(copy.getMappedRange()), image = this.context.createImageData(width, height), { data } = image;
        for (let y = 0; y < height; y++) data.set(from.subarray(stride * y, stride * y + 4 * width), 4 * width * y);
        for (let k = 3; k < data.length; k += 4) {
          if (data[k] === 0 || data[k] === 255) continue;
          for (let c = k - 3; c < k; c++) data[c] = data[c] * 255 / data[k]; // canvases keep colours undivided by alpha
        }
        this.context.putImageData(image, 0, 0);
        this.shownCopy = number;
      }
      copy.destroy();
    };
  }

  // characters: how many lie one after the other in the buffers, from number `first` on; offsets: where each stands.
  draw(pass, { buffers, index, start = 0, count, characters = 1, first = 0, offsets }) {
    pass.setIndexBuffer(index, 'uint32');
    for (const [k, name] of ['truth', 'field', 'uv'].entries()) pass.setVertexBuffer(2 + k, buffers[name]);
    pass.setVertexBuffer(5, offsets ?? this.origin);
    for (let c = 0; c < characters; c++) {
      pass.setVertexBuffer(0, buffers.positions, 12 * buffers.vertices * c), pass.setVertexBuffer(1, buffers.normals, 12 * buffers.vertices * c);
      pass.drawIndexed(count, 1, start, 0, first + c);
    }
  }
}
