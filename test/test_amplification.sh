#!/usr/bin/env bash
# Small files that ask for much: refused, or as cheap as they are small.
set -u
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir" || exit 1
failures=0
fail() {
  echo "FAILED: $*"
  failures=$((failures + 1))
}

cat > make.mjs <<'JS'
import { writeFileSync } from 'node:fs';
const floats = (...values) => Buffer.from(new Float32Array(values).buffer);
function write(name, parts, accessors, rest) {
  let offset = 0;
  const bufferViews = parts.map(p => { const view = { buffer: 0, byteOffset: offset, byteLength: p.length }; offset += p.length; return view; });
  const data = Buffer.concat(parts);
  const uri = `data:application/octet-stream;base64,${data.toString('base64')}`;
  writeFileSync(name, JSON.stringify({ asset: { version: '2.0' }, scene: 0, buffers: [{ byteLength: data.length, uri }], bufferViews, accessors, ...rest }));
}
const triangle = floats(0, 0, 0, 1, 0, 0, 0, 1, 0), corners = { bufferView: 0, componentType: 5126, count: 3, type: 'VEC3', min: [0, 0, 0], max: [1, 1, 0] };
const meshes = [{ primitives: [{ attributes: { POSITION: 0 } }] }];
for (const [name, n] of [['chain', 10000], ['deep', 10001]])
  write(`${name}.gltf`, [triangle], [corners], { meshes, scenes: [{ nodes: [0] }],
    nodes: Array.from({ length: n }, (_, k) => k < n - 1 ? { mesh: 0, children: [k + 1] } : { mesh: 0 }) });
const clip = (joints, seconds) => [[triangle, floats(0, seconds), floats(0, 0, 0, 1, 0, 0), Buffer.alloc(24), floats(...[1, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0])],
  [corners, { bufferView: 1, componentType: 5126, count: 2, type: 'SCALAR', min: [0], max: [seconds] }, { bufferView: 2, componentType: 5126, count: 2, type: 'VEC3' },
    { bufferView: 3, componentType: 5123, count: 3, type: 'VEC4' }, { bufferView: 4, componentType: 5126, count: 3, type: 'VEC4' }],
  { meshes: [{ primitives: [{ attributes: { POSITION: 0, JOINTS_0: 3, WEIGHTS_0: 4 } }] }], scenes: [{ nodes: [0, 1] }], skins: [{ joints: Array.from({ length: joints }, (_, k) => k + 1) }],
    nodes: [{ mesh: 0, skin: 0 }, { children: Array.from({ length: joints - 1 }, (_, k) => k + 2) }, ...Array.from({ length: joints - 1 }, () => ({}))],
    animations: [{ channels: [{ sampler: 0, target: { node: 1, path: 'translation' } }], samplers: [{ input: 1, output: 2 }] }] }];
write('long.gltf', ...clip(2, 333000));
write('sparse.gltf', ...clip(2, 60)); // two keys, a minute: what people do
write('joints.gltf', ...clip(60000, 0.1));
JS
node make.mjs || exit 1

limited() { timeout 120 "$SINEW" "$@" --memory 200M --quiet; }
refused() { # TEXT COMMAND...
  local text=$1 said
  shift
  said=$(limited "$@" 2>&1) && fail "$*: went through"
  grep -qF -- "$text" <<< "$said" || fail "$*: $said"
}
limited info chain.gltf || fail "a chain of nodes takes too long"
refused "deep.gltf: node 10000: lies more than 10000 nodes deep" info deep.gltf
refused "9990001 frames at 30 per second are too many for 2 keys" convert long.gltf x.pc2
limited convert sparse.gltf sparse.pc2 || fail "a minute between two keys"
limited train --method rigid --rest sparse.gltf --frames sparse.gltf --skeleton sparse.gltf -o m.sinew || fail "rigid"
refused "9990001 frames" eval m.sinew --skeleton long.gltf -o x.pc2
limited train --method lbs --rest joints.gltf --frames joints.gltf --skeleton joints.gltf -o joints.sinew || fail "a skin of many joints"
limited info joints.gltf > /dev/null || fail "many joints"
[ ! -e x.pc2 ] && [ ! -e x.sinew ] || fail "an output of what was refused"
[ $failures -eq 0 ] && echo "amplification: none"
exit $((failures > 0))
