#!/usr/bin/env bash
# The npm package sinew-skin: built, packed, unpacked, and used in Chromium by examples/three and by the code of docs/guide/three.md.
set -euo pipefail
src=${SINEW_SOURCE:-$(cd "$(dirname "$0")/.." && pwd)}
for package in three esbuild playwright-core; do
  [ -d "$src/node_modules/$package" ] || { echo "skipped: no node_modules/$package (npm ci)"; exit 77; }
done
[ -e "$SINEW_BUILD/page_runtime.wasm" ] || { echo "skipped: no page_runtime.wasm (needs clang, lld and wasi-libc)"; exit 77; }
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
mkdir -p "$SINEW_BUILD/view"
cd "$dir"

node "$src/web/package.mjs" "$SINEW_BUILD/page_runtime.wasm" dist
(cd dist && npm pack --silent --cache "$dir/npm" > ../packed) || { echo "FAILED: npm pack"; exit 1; }
mkdir -p site/node_modules/sinew-skin
tar -xzf "dist/$(cat packed)" -C site/node_modules/sinew-skin --strip-components=1
grep -q '"dependencies"' site/node_modules/sinew-skin/package.json && { echo "FAILED: the package has dependencies"; exit 1; }
# The types, where TypeScript and those of three.js are installed, in the checkout or in the folder SINEW_TYPES.
types=${SINEW_TYPES:-$src}/node_modules
if [ -d "$types/typescript" ] && [ -d "$types/@types/three" ]; then
  skin=$dir/site/node_modules/sinew-skin
  mkdir typed && cp "$src/test/web_types.ts" typed/use.ts
  cat > typed/tsconfig.json <<JSON
{ "compilerOptions": { "noEmit": true, "strict": true, "target": "es2022", "module": "esnext", "moduleResolution": "bundler", "lib": ["es2022", "dom"],
  "typeRoots": ["$types/@types"], "paths": { "three": ["$types/@types/three"], "sinew-skin": ["$skin/index.d.ts"], "sinew-skin/*": ["$skin/*.d.ts"] } } }
JSON
  node "$types/typescript/bin/tsc" -p typed || { echo "FAILED: the types"; exit 1; }
else
  echo "skipped: no typescript and @types/three (npm install --no-save): the types are not compiled"
fi
cp "$src"/examples/three/index.html "$src"/examples/three/main.js site

# A character with everything that people's files have: an armature with a scale, names that three.js spells otherwise, two
# meshes, morph targets, a texture.
"$SINEW" gen arm --vertices 600 --frames 13 -o arm --quiet
node "$src/test/edit_glb.mjs" arm/skeleton.glb site/character.glb halves morph texture bind-scale=100 names
given=(--rest site/character.glb --frames site/character.glb --skeleton site/character.glb --quiet)
train() { "$SINEW" train --method "$1" "${given[@]}" -o "site/$2.sinew"; }
train rotreg:bones=8 character
train lbs:weights=given given
train dqs dqs
node "$src/test/edit_glb.mjs" site/character.glb site/tangents.glb tangents
"$SINEW" train --method lbs:weights=given,tangents=1 --rest site/tangents.glb --skeleton site/tangents.glb -o site/tangents.sinew --quiet
"$SINEW" pack site/character.sinew -o site/character-packed.sinew --quiet
for name in character given dqs; do "$SINEW" eval site/$name.sinew --skeleton site/character.glb -o $name.pc2 --quiet; done
"$SINEW" train --method affine:stretch=1 --rest arm/rest.obj --frames arm/frames.pc2 --controls arm/controls.txt --quiet -o site/affine.sinew
"$SINEW" pack site/affine.sinew -o site/affine-packed.sinew --quiet
"$SINEW" pack site/affine.sinew --order blocks -o site/affine-blocks.sinew --quiet
"$SINEW" pack site/character.sinew --order blocks -o site/character-blocks.sinew --quiet
cp "$src"/test/golden/*.sinew site
# Helper joints of a body and of a face.
"$SINEW" train --method helpers:helpers=6 --rest arm/rest.obj --frames arm/frames.pc2 --skeleton arm/skeleton.glb --quiet -o site/helpers.sinew
"$SINEW" gen face --vertices 1500 -o face --quiet
"$SINEW" train --method helpers:helpers=6 --rest face/rest.obj --frames face/frames.pc2 --values face/values.csv --quiet -o site/face.sinew
# A character as people export them, where there is one.
foreign=$src/../shared/data/gltf/Soldier.glb
if [ -e "$foreign" ]; then
  cp "$foreign" site/foreign.glb
  "$SINEW" train --method lbs:weights=given --rest site/foreign.glb --skeleton site/foreign.glb --quiet -o site/foreign.sinew
fi

export SINEW_WEB_DIR=$dir SINEW_SOURCE=$src
node "$src/test/web_node_test.mjs"
command -v "${CHROMIUM:-chromium}" > /dev/null || { echo "skipped: no chromium; the package was built and tested in Node only"; exit 77; }
node "$src/test/web_test.mjs"
