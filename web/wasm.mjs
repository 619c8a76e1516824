// SPDX-License-Identifier: MIT
// Compiles web/wasm.c and the runtime to WebAssembly: node web/wasm.mjs CLANG OUT.wasm [OPTION...]
// The page has the whole runtime. The npm package also has the basic one (-DSN_RT_BASIC, src/runtime/internal.h).
import { execFileSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const [clang, out, ...options] = process.argv.slice(2);
const web = dirname(fileURLToPath(import.meta.url)), root = dirname(web), runtime = join(root, 'src/runtime');
const sources = readdirSync(runtime).filter(name => name.endsWith('.c')).map(name => join(runtime, name));

execFileSync(clang, [
  '--target=wasm32-wasi', '--sysroot=/usr', '-mexec-model=reactor', '-msimd128', '-O3', '-std=c17',
  '-ffp-contract=off', '-fno-math-errno', '-I' + join(root, 'include'), '-I' + join(root, 'src'), '-Wl,--strip-all', ...options,
  '-o', out, join(web, 'wasm.c'), ...sources], { stdio: 'inherit' });
