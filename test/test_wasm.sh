#!/usr/bin/env bash
# The runtime in WebAssembly, with and without SIMD: golden models evaluated in node give what the native scalar path gave.
set -euo pipefail
src=${SINEW_SOURCE:-$(cd "$(dirname "$0")/.." && pwd)}
for tool in clang wasm-ld node; do
  command -v $tool > /dev/null || { echo "skipped: no $tool"; exit 77; }
done
[ -d /usr/lib/wasm32-wasi ] || { echo "skipped: no wasi-libc"; exit 77; }
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT

build() { # name, flags...
  local name=$1
  shift
  clang --target=wasm32-wasi --sysroot=/usr -mexec-model=reactor -O1 -std=c17 -Wall -Wextra -Werror -ffp-contract=off "$@" \
    -I"$src/include" -I"$src/src" "$src"/src/runtime/*.c "$src/test/wasm_driver.c" -o "$out/$name.wasm" 2> "$out/log" || {
    if grep -q "cannot find\|cannot open\|unable to find" "$out/log"; then cat "$out/log"; echo "skipped: WebAssembly libraries are incomplete"; exit 77; fi
    cat "$out/log"
    exit 1
  }
  echo "$name: $(stat -c %s "$out/$name.wasm") bytes"
}

build simd -msimd128
build scalar
cat > "$out/run.mjs" <<'JS'
import fs from 'node:fs';
const scalar = 1, wasm = 5;
const [folder, ...models] = process.argv.slice(2);
const wasi = new Proxy({}, { get: () => () => 0 });
for (const [name, paths] of [['simd', [scalar, wasm]], ['scalar', [scalar]]]) {
  const { instance } = await WebAssembly.instantiate(fs.readFileSync(`${folder}/${name}.wasm`), { wasi_snapshot_preview1: wasi });
  const e = instance.exports;
  e._initialize?.();
  for (const file of models) {
    const bytes = fs.readFileSync(file);
    const at = e.reserve(bytes.length);
    new Uint8Array(e.memory.buffer).set(bytes, at);
    if (e.best_path(at, bytes.length) !== paths.at(-1)) throw new Error(`${name}: chose path ${e.best_path(at, bytes.length)}`);
    for (const path of paths) {
      const difference = e.largest_difference(at, bytes.length, path);
      console.log(name, file.split('/').pop(), 'path', path, 'largest difference', difference);
      if (!(difference >= 0 && difference < 2e-5)) process.exit(1);
    }
  }
}
JS
node "$out/run.mjs" "$out" "$src"/test/golden/*.sinew
