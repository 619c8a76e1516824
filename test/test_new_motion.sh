#!/usr/bin/env bash
# Clips that are only tested on; training without any.
. "$SINEW_SOURCE/test/common.sh"

"$SINEW" gen arm --vertices 800 --frames 40 -o a --quiet || fail "gen"
"$SINEW" gen arm --vertices 800 --frames 30 --seed 2 -o b --quiet || fail "gen of another seed"
# Weights that are known without frames.
for spec in lbs:weights=skeleton dqs:weights=skeleton lbs:weights=given; do
  "$SINEW" train --method $spec --rest a/rest.obj --skeleton a/skeleton.glb -o still.sinew --quiet || fail "$spec without frames"
  "$SINEW" eval still.sinew --skeleton a/skeleton.glb -o still.pc2 --quiet || fail "eval of $spec"
done
expect 1 "example frames are needed" "$SINEW" train --method lbs --rest a/rest.obj --skeleton a/skeleton.glb -o no.sinew
expect 1 "needs --skeleton" "$SINEW" train --method lbs:weights=skeleton --rest a/rest.obj -o no.sinew
a=(--rest a/rest.obj --frames a/frames.pc2 --skeleton a/skeleton.glb)
test_b=(--test-frames b/frames.pc2 --test-skeleton b/skeleton.glb)

# What is only tested on changes nothing in the model, and its figures are apart from those of the frames between the keys.
"$SINEW" train --method lbs "${a[@]}" --keys every:4 -o plain.sinew --json plain.json --quiet || fail "train"
"$SINEW" train --method lbs "${a[@]}" "${test_b[@]}" --keys every:4 -o tested.sinew --json tested.json --quiet || fail "train with a test clip"
cmp plain.sinew tested.sinew || fail "a test clip changed the model"
holds 'r[1].train.ee === r[0].train.ee && r[1].between.ee === r[0].test.ee && r[1].between.frames === 30 && r[1].test.frames === 30 && r[0].between === undefined && r[1].all.frames === 70' plain.json tested.json
# A clip tested on is measured as one that is evaluated.
"$SINEW" compare --method lbs --method dqs "${a[@]}" --test-frames a/frames.pc2 --test-skeleton a/skeleton.glb --json same.json --quiet || fail "compare"
holds 'r[0].methods.every(m => Math.abs(m.test.ee - m.train.ee) < 1e-9 && m.between === undefined)' same.json
# Several clips of both kinds.
"$SINEW" compare --method lbs --method rotreg:full=1 --loocv "${a[@]}" --frames b/frames.pc2 --skeleton b/skeleton.glb "${test_b[@]}" --test-frames a/frames.pc2 --test-skeleton a/skeleton.glb --keys 0,20,45 --json many.json --quiet || fail "several clips"
holds 'r[0].methods.every(m => m.test.frames === 70 && m.between.frames === 3)' many.json

expect 1 "1 --test-frames and 0 --test-skeleton" "$SINEW" compare "${a[@]}" --test-frames b/frames.pc2
expect 1 "need clips to train on" "$SINEW" train --rest a/rest.obj "${test_b[@]}" -o x.sinew
expect 1 "frame 40 does not exist" "$SINEW" train "${a[@]}" "${test_b[@]}" --keys 0,40 -o x.sinew
[ ! -e x.sinew ] || fail "a refused training wrote a model"

# --keys auto:N chooses N frames, the same ones every time, and none of a test clip.
"$SINEW" train --method lbs "${a[@]}" "${test_b[@]}" --keys auto:6 -o auto.sinew --json auto.json --quiet || fail "--keys auto"
"$SINEW" train --method lbs "${a[@]}" --keys auto:6 -o again.sinew --quiet && cmp auto.sinew again.sinew || fail "other frames were chosen"
holds 'r[0].train.frames === 6 && r[0].between.frames === 34' auto.json
grep -qx "frames chosen: $(node -p "JSON.parse(require('fs').readFileSync('auto.json')).input.keys.join()")" <("$SINEW" train --method lbs "${a[@]}" --keys auto:6 -o again.sinew) || fail "which frames were chosen is not told"
# Six chosen frames say more than the first six, which are near-copies.
"$SINEW" train --method lbs "${a[@]}" --keys 0-5 -o first.sinew --json first.json --quiet || fail "the first frames"
holds 'r[0].between.ee < r[1].test.ee' auto.json first.json
# Chosen frames leave less in the others than evenly spread ones: of a character of many joints, of named values, of shapes alone.
"$SINEW" gen athlete --vertices 2000 -o athlete --quiet && "$SINEW" gen face --vertices 1500 --frames 60 -o face --quiet && "$SINEW" gen cylinder --vertices 300 --frames 30 -o cylinder --quiet || fail "gen"
better() { # the ratio allowed, the frames chosen and those evenly spread; then what is trained on both
  local ratio=$1 chosen=$2 even=$3; shift 3
  "$SINEW" train "$@" --keys "$chosen" -o chosen.sinew --json chosen.json --quiet && "$SINEW" train "$@" --keys "$even" -o even.sinew --json even.json --quiet || fail "training of $*"
  holds "r[0].test.frames === r[1].test.frames && r[0].test.rms <= $ratio * r[1].test.rms" chosen.json even.json
}
better 0.85 auto:10 every:8 --method psd --rest athlete/rest.obj --frames athlete/frames.pc2 --skeleton athlete/skeleton.glb
better 0.85 auto:10 every:6 --method psd --rest face/rest.obj --frames face/frames.pc2 --values face/values.csv
better 1 auto:10 every:3 --method affine:bones=8 --controls auto:3 --rest cylinder/rest.obj --frames cylinder/frames.pc2
"$SINEW" train --method lbs "${a[@]}" --keys auto:40 -o all.sinew --json all.json --quiet && holds 'r[0].train.frames === 40' all.json
"$SINEW" train --method lbs "${a[@]}" --keys auto:1 -o one.sinew --json one.json --quiet && holds 'r[0].train.frames === 1' one.json
# Before there are frames, by the poses alone.
chosen=$("$SINEW" info athlete/skeleton.glb --keys auto:10 --json poses.json | sed -n 's/^frames chosen: //p')
[ "$chosen" = "$(node -p "JSON.parse(require('fs').readFileSync('poses.json')).input.keys.join()")" ] || fail "info told '$chosen'"
better 0.85 "$chosen" every:8 --method psd --rest athlete/rest.obj --frames athlete/frames.pc2 --skeleton athlete/skeleton.glb
expect 1 "rest.obj has none" "$SINEW" info a/rest.obj --keys auto:4
expect 2 "goes with --keys" "$SINEW" info a/skeleton.glb --clip motion
expect 1 "auto:N chooses 1 to 40 frames" "$SINEW" train "${a[@]}" "${test_b[@]}" --keys auto:41 -o x.sinew
expect 1 "auto:N chooses 1 to 40 frames" "$SINEW" train "${a[@]}" --keys auto:few -o x.sinew

# eval names the joints that leave the trained range, the frames, and by how much; a clip within it has none.
"$SINEW" train --method psd "${a[@]}" --keys 0-9 -o range.sinew --quiet || fail "train"
"$SINEW" eval range.sinew --skeleton a/skeleton.glb -o range.pc2 --json range.json > range.txt || fail "eval"
holds 'Object.keys(r[0].outside).length > 0 && Object.values(r[0].outside).every(o => o.degrees > 1 && o.frames.includes(o.worst) && o.frames.every(f => f > 9))' range.json
grep -q "leaves the range of the training at" range.txt || fail "eval does not say it"
"$SINEW" train --method rotreg:bones=8 "${a[@]}" -o whole.sinew --quiet && "$SINEW" eval whole.sinew --skeleton a/skeleton.glb -o range.pc2 --json whole.json --quiet || fail "eval of rotreg"
holds 'Object.keys(r[0].outside).length === 0' whole.json
# Weights know no range.
"$SINEW" train --method lbs "${a[@]}" -o none.sinew --quiet && "$SINEW" eval none.sinew --skeleton a/skeleton.glb -o range.pc2 --json none.json --quiet || fail "eval of lbs"
holds 'Object.keys(r[0].outside).length === 0' none.json

# Some thirty poses of many joints: fields of single joints are not large numbers that cancel, so that the largest are enough.
if [ -d "${SINEW_DATA:-}/cheburashka-pose" ]; then
  real=$SINEW_DATA/cheburashka-pose
  "$SINEW" train --method eigenskin:blend=dualquat --rest "$real/rest.obj" --frames "$real/frames.pc2" --skeleton "$real/skeleton.glb" --keys 0-26 -o few.sinew --json few.json --quiet || fail "eigenskin of 27 poses"
  holds 'r[0].train.ee < 0.02 && r[0].test.ee < 0.2' few.json
  better 0.95 auto:16 every:5 --method psd --rest "$real/rest.obj" --frames "$real/frames.pc2" --skeleton "$real/skeleton.glb"
fi

# Many joints: rotreg between the frames and on new motion.
"$SINEW" gen athlete --vertices 2000 --frames 40 -o own --quiet && "$SINEW" gen athlete --vertices 2000 --frames 30 --motion mixed -o mixed --quiet || fail "gen athlete"
"$SINEW" compare --method lbs:weights=given --method lbs --method rotreg --rest own/rest.obj --frames own/frames.pc2 --skeleton own/skeleton.glb --keys every:2 --test-frames mixed/frames.pc2 --test-skeleton mixed/skeleton.glb --json many.json --quiet || fail "rotreg of many joints"
holds 'r[0].methods[2].between.ee < 0.3 * r[0].methods[1].between.ee && r[0].methods[2].test.ee < 0.9 * r[0].methods[0].test.ee' many.json
"$SINEW" train --method rotreg --rest own/rest.obj --frames own/frames.pc2 --skeleton own/skeleton.glb --test-frames mixed/frames.pc2 --test-skeleton mixed/skeleton.glb -o many.sinew --json many.json --quiet || fail "train rotreg of many joints"
holds 'r[0].cross_validated > 0' many.json
# Corrections are learned from half a clip, too: what cross-validation found is reported, and with which base.
"$SINEW" train --method psd:blend=dualquat --rest own/rest.obj --frames own/frames.pc2 --skeleton own/skeleton.glb --keys 0-19 -o psd.sinew --json psd.json --quiet || fail "psd of half a clip"
holds 'r[0].cross_validated > 0 && /^Base: the file.s weights refitted[.] Corrections: /.test(r[0].learned)' psd.json
# A clip in which every joint is always rotated, and then one joint at a time: what stays at rest must be at rest.
"$SINEW" gen athlete --vertices 2000 --motion rom -o rom --quiet || fail "gen athlete rom"
"$SINEW" compare --method lbs:weights=given --method rotreg --rest own/rest.obj --frames mixed/frames.pc2 --skeleton mixed/skeleton.glb --test-frames rom/frames.pc2 --test-skeleton rom/skeleton.glb --json rest.json --quiet || fail "rotreg from mixed motion to a range of motion"
holds 'r[0].methods[1].test.ee < 0.8 * r[0].methods[0].test.ee' rest.json

finish
