#!/usr/bin/env bash
# train --method auto: the choice is near the best there is, keeps its limits, and says what it was made from.
. "$SINEW_SOURCE/test/common.sh"

"$SINEW" gen arm --vertices 600 --frames 18 -o own --quiet || fail "gen"
"$SINEW" gen arm --vertices 600 --frames 20 --seed 2 -o mixed --quiet || fail "gen of another seed"
a=(--rest own/rest.obj --frames own/frames.pc2 --skeleton own/skeleton.glb)
clip=(--test-frames mixed/frames.pc2 --test-skeleton mixed/skeleton.glb)

# On motion never seen, near the best method: of methods whose held-out errors differ by 2 % at most the smallest model is taken.
"$SINEW" train --method auto "${a[@]}" "${clip[@]}" -o auto.sinew --json auto.json --quiet || fail "auto"
"$SINEW" compare --method lbs --method dqs --method helpers --method eigenskin --method eigenskin:blend=dualquat --method psd --method psd:blend=dualquat --method rotreg "${a[@]}" "${clip[@]}" --json all.json --quiet || fail "compare"
holds 'r[0].test.ee <= 1.15 * Math.min(...r[1].methods.map(m => m.test.ee))' auto.json all.json
# It chose the least error of its table, and the model is that of the spec.
holds 'r[0].candidates.filter(c => c.chosen).length === 1 && r[0].candidates.find(c => c.chosen).spec === r[0].method' auto.json
holds 'r[0].candidates.filter(c => c.left_out).every(c => 1.051 * c.left_out.rms_pct_diag >= r[0].candidates.find(c => c.chosen).left_out.rms_pct_diag)' auto.json
holds 'r[0].candidates.length >= 9 && r[0].cross_validated > 0' auto.json
spec=$(node -p "JSON.parse(require('fs').readFileSync('auto.json')).result.method")
"$SINEW" train --method "$spec" "${a[@]}" -o same.sinew --quiet && cmp auto.sinew same.sinew || fail "another model than that of $spec"
# What it costs: five trainings on four fifths of the poses and one on all of them (the seconds are the machine's: with room).
holds 'r[0].candidates.reduce((s, c) => s + c.seconds, 0) <= 9 * r[1].methods.reduce((s, m) => s + m.seconds, 0)' auto.json all.json

# Methods far behind are trained on some folds only, and are still chosen where the best is too large.
"$SINEW" gen shoulder --vertices 600 --frames 18 -o shoulder --quiet || fail "gen"
s=(--rest shoulder/rest.obj --frames shoulder/frames.pc2 --skeleton shoulder/skeleton.glb)
"$SINEW" train --method auto "${s[@]}" -o race.sinew --json race.json > race.txt || fail "auto of the shoulder"
holds '(c => c.some(m => m.parts < m.left_out.frames && m.parts < c.find(m => m.chosen).parts) && c.every(m => m.chosen || m.parts < c.find(m => m.chosen).parts || 1.03 * m.left_out.rms >= c.find(m => m.chosen).left_out.rms))(r[0].candidates)' race.json
grep -q "far behind" race.txt || fail "the table does not say who was far behind"
"$SINEW" train --method auto --max-bytes $(($(stat -c %s race.sinew) - 1)) "${s[@]}" -o next.sinew --quiet || fail "the next best"
[ "$(stat -c %s next.sinew)" -lt "$(stat -c %s race.sinew)" ] || fail "the next best is not smaller"

# Limits.
"$SINEW" train --method auto --max-bytes 60000 "${a[@]}" "${clip[@]}" -o small.sinew --json small.json --quiet || fail "--max-bytes"
[ "$(stat -c %s small.sinew)" -le 60000 ] || fail "the model is larger than --max-bytes"
holds 'r[0].candidates.some(c => c.refused === "too large" && c.left_out === null) && r[0].test.ee >= r[1].test.ee' small.json auto.json
"$SINEW" train --method auto --max-bytes 60000 --error 0.9 "${a[@]}" -o enough.sinew --json enough.json --quiet || fail "--error"
holds 'r[0].candidates.find(c => c.chosen).left_out.rms_pct_diag <= 0.9 && r[0].candidates.every(c => c.chosen || c.refused || c.left_out.rms_pct_diag > 0.9 || c.bytes >= r[0].candidates.find(c => c.chosen).bytes)' enough.json
"$SINEW" train --method auto --max-bytes 60000 --max-time 2.5 "${a[@]}" -o fast.sinew --json fast.json --quiet || fail "--max-time"
holds 'r[0].candidates.find(c => c.chosen).ratio_lbs <= 2.5' fast.json

expect 1 "no method stays within the limits" "$SINEW" train --method auto --max-bytes 100 "${a[@]}" -o no.sinew
expect 1 "no method reaches an error of 1e-06 %" "$SINEW" train --method auto --max-bytes 60000 --error 1e-6 "${a[@]}" -o no.sinew
expect 1 "what drives the skin? Give --skeleton" "$SINEW" train --method auto --rest own/rest.obj --frames own/frames.pc2 -o no.sinew
[ ! -e no.sinew ] || fail "a refused training wrote a model"

# Control points and no skeleton.
"$SINEW" gen cylinder --vertices 300 --frames 14 -o cylinder --quiet
"$SINEW" train --method auto --controls auto:4 --rest cylinder/rest.obj --frames cylinder/frames.pc2 -o controls.sinew --json controls.json --quiet || fail "control points"
holds 'r[0].method === "affine"' controls.json

# Few poses, one of them the rest pose: it is never held out, and a correction beats the file's weights on the other frames.
"$SINEW" train --method dqs:weights=given --keys 0 "${a[@]}" -o given.sinew --json given.json --quiet || fail "the file's weights"
for keys in 5 0,5 0,5,10 0,3,9,15; do
  "$SINEW" train --keys $keys "${a[@]}" -o few.sinew --json few.json > few.txt || fail "auto of frames $keys"
  holds 'r[0].test.rms < 0.9 * r[1].test.rms' few.json given.json
done
holds 'r[0].cross_validated > 0 && r[0].candidates.find(c => c.chosen).left_out.frames === 3' few.json
"$SINEW" train --keys 0,5,10 "${a[@]}" -o few.sinew --json few.json > few.txt || fail "auto of two poses"
holds 'r[0].candidates.every(c => c.left_out === null) && !r[0].cross_validated && /too few differ from the rest pose/.test(r[0].note)' few.json
grep -q "^method, on training poses" few.txt || fail "the table does not say that no pose was held out"
# Shapes of values, each in one frame: none can be held out. The only method's own error where one is missing.
"$SINEW" gen face --vertices 1500 --frames 9 -o face --quiet || fail "gen face"
f=(--rest face/rest.obj --frames face/frames.pc2 --values face/values.csv)
"$SINEW" train --keys 0-6 "${f[@]}" -o face.sinew --json face.json --quiet || fail "each shape once"
holds 'r[0].method === "psd" && r[0].train.rms_pct_diag < 0.01' face.json
expect 1 "value 'smile' is 0 at the rest mesh" "$SINEW" train --keys 1 "${f[@]}" -o no.sinew

finish
