// SPDX-License-Identifier: MIT
// Loading models, without three.js: for pages, workers and Node.
import wasm from 'sinew-wasm'; // the runtime's bytes, which the build puts here
import { Runtime, SinewModel } from './runtime.js';

export { Runtime, SinewModel };
export { SinewGpu, webgpuDevice, webgpuRefuses } from './webgpu.js';
export { matchJoints, sanitiseName } from './names.js';

let shared = null;

// The evaluator that all models of this thread run in; `bytes` where they do not come with the package.
export function sinewRuntime(bytes = wasm) {
  shared ??= Runtime.create(bytes).catch(error => {
    shared = null;
    throw new Error(`this browser cannot run the evaluator (WebAssembly with SIMD): ${error.message}`);
  });
  return shared;
}

async function fetchBytes(source, options) {
  const response = source instanceof Response ? source : await fetch(source, options);
  if (!response.ok) throw new Error(`HTTP ${response.status} ${response.statusText}`.trim());
  return new Uint8Array(await response.arrayBuffer());
}

const nameOf = source => source instanceof Response || source instanceof Request ? source.url : String(source);

// A model from a URL, a Request, a Response or bytes. What is wrong is said in the error's message.
export async function loadSinew(source, options = {}) {
  const given = source instanceof ArrayBuffer ? new Uint8Array(source) : ArrayBuffer.isView(source) ? new Uint8Array(source.buffer, source.byteOffset, source.byteLength) : null;
  const name = options.name ?? (given ? 'model' : nameOf(source));
  try {
    const bytes = given ?? await fetchBytes(source, options.fetch);
    const runtime = await sinewRuntime(options.wasm);
    return new SinewModel(runtime, bytes);
  } catch (error) {
    if (error instanceof WebAssembly.RuntimeError) shared = null; // what it left behind is not to be trusted
    throw new Error(`${name}: ${error.message}`, { cause: error });
  }
}
