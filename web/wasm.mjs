// SPDX-License-Identifier: MIT
// Compiles web/wasm.c and the runtime to WebAssembly: node web/wasm.mjs CLANG BUILD_FOLDER
// The page has the whole runtime, page_runtime.wasm. The npm package also has the basic one (SN_RT_BASIC in src/runtime/internal.h).
import { execFile } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const [clang, folder] = process.argv.slice(2);
const web = dirname(fileURLToPath(import.meta.url)), root = dirname(web), runtime = join(root, 'src/runtime');
const sources = readdirSync(runtime).filter(name => name.endsWith('.c')).map(name => join(runtime, name));

const compile = (name, options) => promisify(execFile)(clang, [
  '--target=wasm32-wasi', '--sysroot=/usr', '-mexec-model=reactor', '-msimd128', '-O3', '-std=c17',
  '-ffp-contract=off', '-fno-math-errno', '-I' + join(root, 'include'), '-I' + join(root, 'src'), '-Wl,--strip-all', ...options,
  '-o', join(folder, name), join(web, 'wasm.c'), ...sources]);

await Promise.all([compile('page_runtime.wasm', []), compile('page_runtime_basic.wasm', ['-DSN_RT_BASIC'])]);
