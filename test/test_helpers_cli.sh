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

# Under a limit on bytes fewer helpers are chosen, and the report names these.
check "$sinew" train --method helpers:helpers=6 "${rom[@]}" --quiet -o six.sinew
expect 0 ', *6 helpers' "$sinew" train --method helpers:helpers=auto "${rom[@]}" --max-bytes "$(stat -c %s six.sinew)" -o limited.sinew
check cmp -s six.sinew limited.sinew

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

# A skeleton of one joint: its helpers can follow nothing but the character's own rotation.
check "$sinew" gen bar --quiet -o bar
check "$sinew" rig --rest bar/rest.obj --frames bar/frames.pc2 --bones 1 --quiet -o root.glb
bar=(--rest bar/rest.obj --frames bar/frames.pc2)
expect 0 'the skeleton has one joint' "$sinew" train --method helpers:helpers=4 "${bar[@]}" --skeleton root.glb --json root.json -o root.sinew
holds 'r[0].train.ee < 0.5' root.json
check "$sinew" eval root.sinew --skeleton root.glb --quiet -o root.pc2

# More helpers than vertices: at most as many.
expect 0 'helpers=200: the mesh has 80 vertices' "$sinew" train --method helpers:helpers=200 "${bar[@]}" --skeleton bar/skeleton.glb --json many.json -o many.sinew
check "$sinew" info many.sinew --quiet --json info.json
holds 'r[0].palette <= r[0].joints + 80' info.json

# Blend shapes as bones: within the numbers requested, better with more of them, the same bytes at any number of threads.
check "$sinew" gen face --vertices 1500 --frames 40 --targets 12 --quiet -o face
face=(--rest face/rest.obj --frames face/frames.pc2 --values face/values.csv)
for spec in helpers=20 helpers=20,influences=8,numbers=150 helpers=20,influences=8,numbers=1200; do
  check "$sinew" train --method helpers:$spec "${face[@]}" --threads 1 --quiet --json "$spec.json" -o "$spec.sinew"
done
check "$sinew" train --method helpers:helpers=20 "${face[@]}" --threads 3 --quiet -o three.sinew
check cmp -s helpers=20.sinew three.sinew
check "$sinew" info helpers=20,influences=8,numbers=150.sinew --quiet --json info.json
holds "r[0].drive === 'helpers' && r[0].joints === 0 && r[0].palette <= 21 && r[0].sections['drive.linear'] <= 2 * 8 * 150" info.json # a product takes two
holds 'r[0].train.rms_pct_diag > 1.2 * r[1].train.rms_pct_diag && r[1].train.rms_pct_diag < 0.05' helpers=20,influences=8,numbers=150.json helpers=20,influences=8,numbers=1200.json

# Products of values, where the frames combine them: nearer to new mixtures than any sum of shapes (0.025 %).
check "$sinew" gen face --vertices 1500 --frames 120 --quiet -o mixtures
mixtures=(--rest mixtures/rest.obj --frames mixtures/frames.pc2 --values mixtures/values.csv)
expect 0 '6 shapes and 5 products' "$sinew" train --method helpers:influences=8 "${mixtures[@]}" --keys every:2 -o products.sinew
check "$sinew" eval products.sinew "${mixtures[@]}" --quiet --json products.json -o products.pc2
holds 'r[0].all.rms_pct_diag < 0.015' products.json

# Learned from single shapes, linear in the values: half a shape is the mean of the rest mesh and the shape, two shapes are their sum.
expect 0 ' 0 products' "$sinew" train --method helpers:helpers=20 "${face[@]}" --keys 1-12 -o alone.sinew
head -1 face/values.csv > parts.csv
printf '%s\n' 0,1,0,0,0,0,0,0,0,0,0,0,0 1,0,1,0,0,0,0,0,0,0,0,0,0 2,0.5,0,0,0,0,0,0,0,0,0,0,0 3,1,1,0,0,0,0,0,0,0,0,0,0 4,0,0,0,0,0,0,0,0,0,0,0,0 >> parts.csv
check "$sinew" eval alone.sinew --values parts.csv --quiet -o parts.pc2
check node -e "
const bytes = require('fs').readFileSync('parts.pc2'), x = new Float32Array(bytes.buffer.slice(bytes.byteOffset + 32)), n = x.length / 5;
let most = 0, moved = 0;
for (let i = 0; i < n; i++) {
  const [a, b, half, both, rest] = [0, 1, 2, 3, 4].map(f => x[f * n + i]);
  most = Math.max(most, Math.abs(half - (a + rest) / 2), Math.abs(both - (a + b - rest))), moved = Math.max(moved, Math.abs(a - rest));
}
if (!(most < 1e-5 * moved)) { console.log(most, moved); process.exit(1) }"

# Learned from single shapes, the errors of 40 mixtures of all shapes are not much larger than those of the shapes.
check "$sinew" gen face --vertices 1500 --targets 40 --frames 41 --quiet -o single
check "$sinew" train --method helpers:helpers=12,numbers=800 --rest single/rest.obj --frames single/frames.pc2 --values single/values.csv --keys 1-40 --quiet -o single.sinew
check node "$here/face_mixtures.mjs" "$sinew" single.sinew single

# Without --values a .glb has a pose of every shape, under its name, and is the model in any engine.
check "$sinew" eval helpers=20.sinew --quiet -o face.glb
check node -e "
const bytes = require('fs').readFileSync('face.glb'), g = JSON.parse(bytes.subarray(20, 20 + bytes.readUInt32LE(12)));
const names = require('fs').readFileSync('face/values.csv', 'utf8').split('\n')[0].split(',').slice(1);
if (g.animations.map(a => a.name).join() !== names.join() || !g.skins) process.exit(1)"
check "$sinew" eval helpers=20.sinew --values face/values.csv --quiet -o clip.glb
check "$sinew" eval helpers=20.sinew --values face/values.csv --quiet -o clip.pc2
check node "$here/evaluate_glb.mjs" clip.glb clip.pc2 > own.json
check node -e "const r = JSON.parse(require('fs').readFileSync('own.json')); if (!(r.frames === 40 && r.max < 1e-5)) { console.log(r); process.exit(1) }"
expect 1 'values' "$sinew" eval helpers=20.sinew -o no.pc2

# Poor input: values that never change, values that move nothing, more bones than vertices, a skeleton beside.
sed '2,$s/,.*/,0,0,0,0,0,0,0,0,0,0,0,0/' face/values.csv > zero.csv
expect 1 "none of the 12 values ('jaw_open', ...) changes" "$sinew" train --method helpers "${face[@]:0:4}" --values zero.csv -o no.sinew
sed '1s/$/,idle/; 2,$s/$/,7/' face/values.csv > idle.csv
sed -i '1a rest,0,0,0,0,0,0,0,0,0,0,0,0,7' idle.csv
expect 0 "1 of 13 values ('idle') never change" "$sinew" train --method helpers:helpers=4 "${face[@]:0:4}" --values idle.csv -o idle.sinew
mkdir still corner
cp face/rest.obj still/0.obj
printf 'frame,a\n0,1\n' > one.csv
expect 0 'no helpers: the values move no vertex' "$sinew" train --method helpers --rest face/rest.obj --frames still --values one.csv -o still.sinew
check "$sinew" eval still.sinew --values one.csv --quiet -o still.pc2
printf 'v %s\nv 1 0 0\nv 0 1 0\nf 1 2 3\n' '0 0 0' > corner.obj
printf 'v %s\nv 1 0 0\nv 0 1 0\nf 1 2 3\n' '0 0 1' > corner/0.obj
expect 0 'the mesh has 3 vertices, and at most as many helpers' "$sinew" train --method helpers --rest corner.obj --frames corner --values one.csv -o few.sinew
awk 'NR == 1 { print "frame,a" } { print NR - 1 ",1" }' <(seq 1000) | head -26 > many.csv
expect 1 'this skeleton has' "$sinew" train --method helpers "${rom[@]}" --values many.csv -o no.sinew
check test ! -e no.sinew
finish
