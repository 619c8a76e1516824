#!/usr/bin/env bash
# --values at the command line: training, evaluation beyond the range, wrong tables.
. "$SINEW_SOURCE/test/common.sh"
"$SINEW" gen face --vertices 1500 --frames 12 --targets 3 -o face --quiet || fail gen
given=(--rest face/rest.obj --frames face/frames.pc2)
"$SINEW" train --method psd "${given[@]}" --values face/values.csv -o face.sinew --quiet || fail train
"$SINEW" info face.sinew | grep -q "value smile: 0 to 1" || fail info
"$SINEW" eval face.sinew --values face/values.csv "${given[@]}" -o out.pc2 --json eval.json --quiet || fail eval
printf 'frame,smile,frown,jaw_open\n0,2,0,0\n1,0.5,-1,0\n' > beyond.csv
said=$("$SINEW" eval face.sinew --values beyond.csv -o beyond.pc2) || fail "eval beyond"
case $said in *"the value smile is outside 0 to 1"*"at 1 of 2 frames"*) ;; *) fail "nothing said of values beyond: $said" ;; esac
"$SINEW" eval face.sinew --values beyond.csv -o beyond.glb --quiet || fail "eval .glb"
expect 1 "--values" "$SINEW" eval face.sinew -o out.pc2
printf 'frame,smile,frown\n0,1,0\n' > short.csv
expect 1 "no value called 'jaw_open'" "$SINEW" eval face.sinew --values short.csv -o out.pc2
expect 1 "12 frames" "$SINEW" train --method psd "${given[@]}" --values short.csv -o no.sinew
sed 's/^\([0-9]*\),.*/\1,7/; s/^frame,.*/frame,age/' face/values.csv > still.csv
sed -i '1a rest,7' still.csv
expect 1 "value 'age' is" "$SINEW" train --method psd "${given[@]}" --values still.csv -o no.sinew
expect 1 "needs --skeleton" "$SINEW" train --method psd "${given[@]}" -o no.sinew
expect 1 "only face takes --targets" "$SINEW" gen arm --targets 9 -o no
expect 1 "too few" "$SINEW" gen face --targets 50 --frames 10 -o no
[ ! -e no.sinew ] && [ ! -e no ] || fail "half-written output"

# Shapes alone are learned as they are; all of them at once are their sum where they displace in the same direction.
"$SINEW" gen face --vertices 1500 --frames 40 --targets 12 -o many --quiet || fail gen
said=$("$SINEW" train --method psd --rest many/targets.glb --frames many/targets.glb -o many.sinew) || fail "train on targets"
case $said in *"rms 0.0000 % of the diagonal, largest 0.000 %"*) ;; *) fail "shapes are not exact: $said" ;; esac
head -1 many/values.csv > sum.csv
for f in {1..12}; do echo "$f$(for v in {1..12}; do printf ,$((v == f)); done)"; done >> sum.csv
echo "0$(printf ',1%.0s' {1..12})" >> sum.csv
echo "13$(printf ',0%.0s' {1..12})" >> sum.csv
"$SINEW" eval many.sinew --values sum.csv -o sum.pc2 --quiet || fail "eval of sums"
node -e "
const bytes = require('fs').readFileSync('sum.pc2'), x = new Float32Array(bytes.buffer.slice(bytes.byteOffset + 32)), n = x.length / 14;
let most = 0, moved = 0;
for (let i = 0; i < n; i++) {
  let sum = x[13 * n + i];
  for (let f = 1; f <= 12; f++) sum += x[f * n + i] - x[13 * n + i];
  most = Math.max(most, Math.abs(x[i] - sum)), moved = Math.max(moved, Math.abs(sum - x[13 * n + i]));
}
if (!(most < 1e-4 * moved)) { console.log(most, moved); process.exit(1) }" || fail "mixtures of shapes are not sums"

# A .glb has a morph target per value, under its name, and the file's own weights play it.
"$SINEW" eval many.sinew --values sum.csv -o sum.glb --quiet || fail "eval .glb of shapes"
names=$(head -1 many/values.csv | sed 's/frame,//; s/,/, /g')
said=$("$SINEW" info sum.glb)
case $said in *"12 morph targets: $names"*) ;; *) fail "names of shapes: $said" ;; esac
finish
