#!/bin/bash
# The method `helpers` as a user sees it. Its error lies between those of lbs and of psd, the .glb that eval writes is the
# model in any engine (evaluate_glb.mjs shares no code with Sinew), and poor input gives a sentence and a sensible model.
sinew=${SINEW:-$PWD/sinew}
here=$(cd "$(dirname "$0")" && pwd)
. "$here/common.sh"

for motion in rom mixed; do check "$sinew" gen arm --motion $motion --quiet -o $motion; done
rom=(--rest rom/rest.obj --frames rom/frames.pc2 --skeleton rom/skeleton.glb)

check "$sinew" compare "${rom[@]}" --test-frames mixed/frames.pc2 --test-skeleton mixed/skeleton.glb --method lbs --method helpers \
  --method helpers:helpers=4 --method psd:blend=linear --models . --quiet --json compare.json > /dev/null
holds 'r[0].methods[1].test.ee < 0.7 * r[0].methods[0].test.ee && r[0].methods[1].train.ee < 0.3 * r[0].methods[0].train.ee' compare.json
holds 'r[0].methods[2].train.ee > r[0].methods[1].train.ee && r[0].methods[2].train.ee < r[0].methods[0].train.ee' compare.json
holds 'r[0].methods[1].train.ee > r[0].methods[3].train.ee && r[0].methods[2].bytes < r[0].methods[1].bytes' compare.json

# The same bytes at any number of threads.
check "$sinew" train --method helpers "${rom[@]}" --threads 1 --quiet -o one.sinew
check "$sinew" train --method helpers "${rom[@]}" --threads 3 --quiet -o three.sinew
check cmp -s one.sinew three.sinew
check "$sinew" info one.sinew --quiet --json info.json
holds "r[0].drive === 'helpers' && r[0].blend === 'linear' && r[0].palette <= r[0].joints + 24" info.json
check "$sinew" bench one.sinew --quiet

for out in clip.glb clip.pc2; do check "$sinew" eval one.sinew --skeleton mixed/skeleton.glb --quiet -o $out; done
check node "$here/evaluate_glb.mjs" clip.glb clip.pc2 > own.json
check node -e "const r = JSON.parse(require('fs').readFileSync('own.json')); if (!(r.frames === 50 && r.max < 1e-5)) { console.log(r); process.exit(1) }"
check "$sinew" eval one.sinew --skeleton mixed/skeleton.glb --quiet -o clip.fbx

# Nothing to explain: frames that linear blending made.
check "$sinew" train --method lbs:weights=given "${rom[@]}" --quiet -o plain.sinew
check "$sinew" eval plain.sinew --skeleton rom/skeleton.glb --quiet -o plain.pc2
expect 0 'no helpers: linear blending leaves no residual' "$sinew" train --method helpers:weights=given --rest rom/rest.obj --frames plain.pc2 \
  --skeleton rom/skeleton.glb -o none.sinew
check "$sinew" info none.sinew --quiet --json none.json
holds "r[0].drive === 'joints'" none.json

# Joints that never move explain nothing.
expect 0 'no helpers: ' "$sinew" train --method helpers "${rom[@]}" --keys 0 -o still.sinew
expect 2 'helpers' "$sinew" train --method helpers:helpers=0 "${rom[@]}" -o zero.sinew
check test ! -e zero.sinew
expect 1 'needs' "$sinew" train --method helpers --rest rom/rest.obj --frames rom/frames.pc2 -o bare.sinew
finish
