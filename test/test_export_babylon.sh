#!/usr/bin/env bash
# What `sinew export --to babylon` writes, run by Babylon.js in node and in Chromium: its behaviour graph puts the vertices where the runtime does. Needs
# @babylonjs/core and @babylonjs/loaders in node_modules of the checkout, or of the folder SINEW_BABYLON.
. "$(dirname "$0")/common.sh"
babylon=${SINEW_BABYLON:-$SINEW_SOURCE}
[ -d "$babylon/node_modules/@babylonjs/loaders" ] || { echo "skipped: no @babylonjs/core and @babylonjs/loaders (npm install --no-save)"; exit 77; }
. "$SINEW_SOURCE/test/export_fixture.sh"
for name in arm tall named psd; do
  check "$SINEW" export $name.sinew --skeleton $name.glb --to babylon --quiet -o $name-babylon.glb
  check node "$SINEW_SOURCE/test/validate_gltf.mjs" $name-babylon.glb
  check node "$SINEW_SOURCE/test/babylon_points.mjs" "$babylon" $name-babylon.glb $name.pc2 30 > log
  tail -1 log > said
  same said "babylon $name" || cat log
done
# Chromium draws them, too.
if command -v "${CHROMIUM:-chromium}" > /dev/null && [ -d "$SINEW_SOURCE/node_modules/playwright-core" ] && [ -d "$SINEW_SOURCE/node_modules/esbuild" ]; then
  mkdir -p "$SINEW_BUILD/view"
  check node "$SINEW_SOURCE/test/babylon_page.mjs" "$babylon" 30 "$SINEW_BUILD/view/babylon.png" arm named psd > log
  check test "$(wc -l < log)" = 3
  while read -r line; do echo "$line" > said && same said 'babylon in Chromium'; done < log
else
  echo "skipped: no chromium, playwright-core or esbuild; Babylon.js ran in node only"
fi
finish
