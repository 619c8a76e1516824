// SPDX-License-Identifier: MIT
// Loading models, without three.js: for pages, workers and Node.
import { Runtime, SinewModel, needsWhole } from './runtime.js';

export { Runtime, SinewModel };
export { SinewGpu, webgpuDevice, webgpuRefuses } from './webgpu.js';
export { matchJoints, sanitiseName } from './names.js';

// The two builds of the evaluator, which the package has beside this module: lbs, dqs and helpers need the basic one alone.
const builds = { basic: () => import('./runtime-basic.js'), whole: () => import('./runtime-whole.js') };
const shared = new Map(); // build, or bytes that were given: the evaluator

async function bytesOf(build) {
  let text;
  try {
    text = (await builds[build]()).default;
  } catch (error) {
    throw new Error(`runtime-${build}.js of sinew-skin could not be loaded, which has the evaluator; it belongs beside core.js on the server (${error.message})`);
  }
  const packed = Uint8Array.from(atob(text), c => c.charCodeAt(0));
  return new Response(new Blob([packed]).stream().pipeThrough(new DecompressionStream('deflate'))).arrayBuffer();
}

async function start(source) {
  const bytes = typeof source === 'string' ? await bytesOf(source) : source;
  return Runtime.create(bytes).catch(error => { throw new Error(`this browser cannot run the evaluator (WebAssembly with SIMD): ${error.message}`); });
}

// The evaluator that all models of this thread run in: 'basic', 'whole', or bytes of one that does not come with the package.
export function sinewRuntime(source = 'whole') {
  if (typeof source === 'string' && !builds[source]) throw new Error(`there is no runtime “${source}”: basic or whole`);
  if (!shared.has(source)) shared.set(source, start(source).catch(error => { shared.delete(source); throw error; }));
  return shared.get(source);
}

// Servers of single-page applications send their page, with status 200, where a file is missing.
const isPage = bytes => /^\s*<(!doctype|html)/i.test(new TextDecoder().decode(bytes.subarray(0, 64)));

async function fetchBytes(source, options) {
  const response = source instanceof Response ? source : await fetch(source, options).catch(error => { throw new Error(`the server does not answer (${error.message})`); });
  if (!response.ok) throw new Error(`HTTP ${response.status} ${response.statusText}`.trim() + (response.status === 404 ? ': there is no such file on the server' : ''));
  const bytes = new Uint8Array(await response.arrayBuffer());
  if (isPage(bytes)) throw new Error('the server sent a page of HTML instead of a model: there is no such file');
  return bytes;
}

const nameOf = source => source instanceof Response || source instanceof Request ? source.url : String(source);

// A model from a URL, a Request, a Response or bytes. The error's message says what is wrong.
export async function loadSinew(source, options = {}) {
  const given = source instanceof ArrayBuffer ? new Uint8Array(source) : ArrayBuffer.isView(source) ? new Uint8Array(source.buffer, source.byteOffset, source.byteLength) : null;
  const name = options.name ?? (given ? 'model' : nameOf(source));
  let build = options.wasm;
  try {
    const bytes = given ?? await fetchBytes(source, options.fetch);
    build ??= needsWhole(bytes) ? 'whole' : 'basic';
    return new SinewModel(await sinewRuntime(build), bytes);
  } catch (error) {
    if (error instanceof WebAssembly.RuntimeError) shared.delete(build); // what it left behind is not to be trusted
    throw new Error(`${name}: ${error.message}`, { cause: error });
  }
}
