// SPDX-License-Identifier: MIT
// Compiles web/wasm.c and the runtime to WebAssembly.
import { execFileSync } from 'node:child_process';
import { readFileSync, readdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const web = dirname(fileURLToPath(import.meta.url)), root = dirname(web);

export function compileRuntime(clang, out) {
  const runtime = join(root, 'src/runtime');
  const sources = readdirSync(runtime).filter(name => name.endsWith('.c')).map(name => join(runtime, name));
  execFileSync(clang, ['--target=wasm32-wasi', '--sysroot=/usr', '-mexec-model=reactor', '-msimd128', '-O3', '-std=c17',
    '-ffp-contract=off', '-fno-math-errno', '-I' + join(root, 'include'), '-I' + join(root, 'src'), '-Wl,--strip-all',
    '-o', out, join(web, 'wasm.c'), ...sources], { stdio: 'inherit' });
  return readFileSync(out);
}
