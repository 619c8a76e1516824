#!/usr/bin/env bash
# --scale, --axes and --offset: files that disagree are noticed, the message names the options to give, and with them the figures are
# those of files that agree.
. "$SINEW_SOURCE/test/common.sh"

"$SINEW" gen arm --vertices 800 --frames 30 -o set --quiet || exit 1
make() { "$SINEW" convert "$@" --quiet || fail "convert $*"; }
rms() { grep -o '"rms_pct_diag": [0-9.e+-]*' "$1" | head -1 | grep -o '[0-9.e+-]*$'; }
near() { awk -v a="$1" -v b="$2" -v off="${3:-0.01}" 'BEGIN { exit !(a > (1 - off) * b && a < (1 + off) * b) }'; }
train() { "$SINEW" train --method lbs --rest "$1" --frames "$2" --skeleton "$3" -o m.sinew --json r.json "${@:4}"; }

train set/rest.obj set/frames.pc2 set/skeleton.glb > right || fail "files that agree: $(cat right)"
grep -q "it may be" right && fail "files that agree: $(cat right)"
right=$(rms r.json)

# mended REST FRAMES SKELETON OPTIONS: the options that the message names, one after the other, are these and mend it.
mended() {
  local given=() named
  for _ in 1 2 3; do
    train "$1" "$2" "$3" "${given[@]}" > said 2>&1
    named=$(grep -Eo -- '--(scale|axes|offset) (rest|frames|skeleton)=[-0-9a-z.]*' said)
    [ -n "$named" ] || break
    # shellcheck disable=SC2206
    given+=($named)
  done
  checks=$((checks + 1))
  [ "${given[*]}" = "$4" ] && near "$(rms r.json)" "${5:-$right}" || fail "$1 $2 $3: named '${given[*]}', not '$4'; then $(cat said)"
}

# Units and axes of the frames, of the rest mesh, of the skeleton.
make set/frames.pc2 large.pc2 --scale 100
make set/frames.pc2 z.pc2 --axes x-zy
make set/frames.pc2 inches.pc2 --axes x-zy --scale 39.3701
make set/frames.pc2 odd.pc2 --scale 0.2
make set/rest.obj z.obj --axes x-zy
make set/rest.obj small.obj --scale 0.01 --axes x-zy
make set/skeleton.glb z.glb --axes x-zy
make set/skeleton.glb large.glb --scale 100
mended set/rest.obj large.pc2 set/skeleton.glb "--scale frames=0.01"
mended set/rest.obj z.pc2 set/skeleton.glb "--axes frames=xz-y"
mended set/rest.obj inches.pc2 set/skeleton.glb "--scale frames=0.0254 --axes frames=xz-y"
mended set/rest.obj set/frames.pc2 large.glb "--scale skeleton=0.01"
mended set/rest.obj set/frames.pc2 z.glb "--axes skeleton=xz-y"
mended z.obj z.pc2 set/skeleton.glb "--axes skeleton=x-zy"
mended z.obj set/frames.pc2 set/skeleton.glb "--axes rest=xz-y"
mended small.obj set/frames.pc2 set/skeleton.glb "--scale rest=100 --axes rest=xz-y"
mended set/rest.obj odd.pc2 set/skeleton.glb "--scale frames=5"
expect 0 "training 30 frames" train set/rest.obj z.pc2 set/skeleton.glb --axes frames=z-up
# What was given already is part of what the message names.
expect 1 "give --scale frames=0.01 (then" train set/rest.obj large.pc2 set/skeleton.glb --scale frames=0.1
expect 0 "training 30 frames" train set/rest.obj set/frames.pc2 set/skeleton.glb --scale 7 --axes -yxz
near "$(rms r.json)" "$right" || fail "all files in another unit: $(rms r.json), not $right"

# Times: whole frames, and parts of one.
cut_right() { train set/rest.obj set/frames.pc2 set/skeleton.glb --keys "$1" > /dev/null 2>&1; rms r.json; }
make set/skeleton.glb late.glb --offset 0.0333333
make set/skeleton.glb half.glb --offset 0.02
mended set/rest.obj set/frames.pc2 late.glb "--offset skeleton=-0.0333333" "$(cut_right 1-29)"
expect 0 "the frames are 0.6 frames earlier than the poses: give --offset skeleton=-0.02" train set/rest.obj set/frames.pc2 half.glb
expect 0 "1 of 30 frames have no pose once those are shifted, and are left out" train set/rest.obj set/frames.pc2 half.glb --offset skeleton=-0.02
near "$(rms r.json)" "$(cut_right 1-29)" 0.2 || fail "poses between the keys: $(rms r.json)" # interpolated twice
# A third of a frame, where the skin's own error is many times larger than what the shift costs; and none where there is none.
"$SINEW" gen elbow --vertices 800 --frames 30 -o elbow --quiet || exit 1
make elbow/skeleton.glb third.glb --offset 0.01
expect 0 "frames earlier than the poses: give --offset skeleton=-0.01" train elbow/rest.obj elbow/frames.pc2 third.glb
train elbow/rest.obj elbow/frames.pc2 elbow/skeleton.glb > said 2>&1
check [ "$(grep -c "than the poses" said)" = 0 ]
# Expressions of a head that stands still say nothing about the pace of its poses.
"$SINEW" gen face --vertices 1500 -o face --quiet || exit 1
train face/rest.obj face/frames.pc2 face/skeleton.glb > said 2>&1
check [ "$(grep -c perhaps said)" = 0 ]
# Less than a tenth of a frame is no rounding error where it costs more than the skin's own error.
make set/skeleton.glb own.pc2
make set/skeleton.glb tenth.glb --offset 0.003
expect 0 "frames earlier than the poses: give --offset skeleton=-0.00" train set/rest.obj own.pc2 tenth.glb
make set/skeleton.glb later.glb --offset 0.1
expect 0 "training 27 frames" train set/rest.obj set/frames.pc2 later.glb --offset frames=0.1
near "$(rms r.json)" "$(cut_right 3-29)" || fail "frames cut: $(rms r.json)"
expect 0 "training 27 frames" train set/rest.obj set/frames.pc2 later.glb --offset skeleton=-0.1
near "$(rms r.json)" "$(cut_right 3-29)" || fail "poses shifted: $(rms r.json)"
"$SINEW" train --method lbs --rest set/rest.obj --frames set/frames.pc2 --skeleton later.glb --frames set/frames.pc2 --skeleton later.glb --offset skeleton=-0.1 -o m.sinew --json r.json --quiet
holds 'report[0].input.frames === 54' r.json
near "$(rms r.json)" "$(cut_right 3-29)" || fail "two clips shifted: $(rms r.json)"
expect 1 "shift the poses instead: --offset skeleton=-0.11" train set/rest.obj set/frames.pc2 later.glb --offset frames=0.11
expect 1 "later.glb: --offset skeleton=-7: its clip of 0.866667 s has no pose for any frame" train set/rest.obj set/frames.pc2 later.glb --offset skeleton=-7

# What cannot be.
expect 1 "--scale 0: must be a positive number" train set/rest.obj set/frames.pc2 set/skeleton.glb --scale 0
expect 1 "--axes frames=xxz: give the file's axes" train set/rest.obj set/frames.pc2 set/skeleton.glb --axes frames=xxz
expect 1 "--offset rest=1: must be seconds" train set/rest.obj set/frames.pc2 set/skeleton.glb --offset rest=1
expect 1 "convert reads one file" "$SINEW" convert set/frames.pc2 x.pc2 --scale frames=2

# Frames from another place, frames that stand still while the skeleton moves, a frame that is missing, one that is there twice.
node -e "const fs = require('fs'), moved = fs.readFileSync('set/frames.pc2'), still = Buffer.from(moved), size = 12 * moved.readInt32LE(16);
for (let k = 32; k < moved.length; k += 12) moved.writeFloatLE(moved.readFloatLE(k) + 5, k);
for (let k = 32 + size; k < still.length; k += size) still.copy(still, k, 32, 32 + size);
fs.writeFileSync('moved.pc2', moved), fs.writeFileSync('still.pc2', still);
const whole = fs.readFileSync('set/frames.pc2'), at = k => 32 + k * size, counted = (parts, count) => {
  const cache = Buffer.concat(parts);
  cache.writeInt32LE(count, 28);
  return cache;
};
fs.writeFileSync('missing.pc2', counted([whole.subarray(0, at(12)), whole.subarray(at(13))], 29));
fs.writeFileSync('twice.pc2', counted([whole.subarray(0, at(13)), whole.subarray(at(12), at(29))], 30));"
expect 1 "export both from the same place" "$SINEW" train --method lbs --rest set/rest.obj --frames moved.pc2 --skeleton set/skeleton.glb -o x.sinew
expect 0 "1 frame too few before frame 12: export the frames again" train set/rest.obj missing.pc2 set/skeleton.glb
expect 0 "1 frame too many before frame 14: export the frames again" train set/rest.obj twice.pc2 set/skeleton.glb
expect 1 "do not follow the poses" "$SINEW" train --method lbs --rest set/rest.obj --frames still.pc2 --skeleton set/skeleton.glb -o x.sinew

# eval, rig, --match and --pose.
"$SINEW" train --method lbs --rest set/rest.obj --frames set/frames.pc2 --skeleton set/skeleton.glb -o m.sinew --quiet
"$SINEW" eval m.sinew --skeleton set/skeleton.glb --rest set/rest.obj --frames set/frames.pc2 -o e.pc2 --json right.json --quiet
"$SINEW" eval m.sinew --skeleton z.glb --axes skeleton=z-up --rest set/rest.obj --frames large.pc2 --scale frames=0.01 -o e2.pc2 --json r.json --quiet
check near "$(rms r.json)" "$(rms right.json)"
expect 0 "times as large as set/rest.obj; if that is another unit, give --scale frames=0.01" \
  "$SINEW" rig --rest set/rest.obj --frames large.pc2 --bones 3 -o r.glb
"$SINEW" rig --rest set/rest.obj --frames set/frames.pc2 --bones 3 -o r.glb --json right.json --quiet
expect 0 "3 bones" "$SINEW" rig --rest set/rest.obj --frames large.pc2 --scale frames=0.01 --bones 3 -o r.glb --json r.json
check near "$(rms r.json)" "$(rms right.json)"
expect 0 "3 bones" "$SINEW" rig --rest set/skeleton.glb --frames z.pc2 --axes rest=x-zy --bones 3 -o r.glb --json r.json # over a document
check near "$(rms r.json)" "$(rms right.json)"
make set/rest.obj match.obj --scale 100
expect 0 "3 bones" "$SINEW" rig --rest set/rest.obj --frames large.pc2 --match match.obj --scale frames=0.01 --bones 3 -o r.glb
make set/frames.pc2 objs --rest set/rest.obj --scale 100
expect 0 "trained" "$SINEW" train --method lbs --rest set/rest.obj --skeleton set/skeleton.glb --pose 12=objs/frame_0012.obj --scale frames=0.01 -o m.sinew --json r.json
check near "$(rms r.json)" "$("$SINEW" train --method lbs --rest set/rest.obj --skeleton set/skeleton.glb --frames set/frames.pc2 --keys 12 -o m.sinew --json k.json --quiet; rms k.json)"

# convert: of a document the same motion, of an archive and of meshes the same points; a mirror image twice is the original.
make z.glb back.pc2 --axes xz-y
node "$SINEW_SOURCE/test/measure.mjs" set/rest.obj back.pc2 own.pc2 > m.json || fail "measure"
check awk -F'[:,]' '{ exit !($4 < 1e-4) }' m.json
make set/frames.pc2 a.abc --rest set/rest.obj
make a.abc a.pc2 --scale 2 --axes z-up --offset 0.1
make set/frames.pc2 b.pc2 --scale 2 --axes z-up --offset 0.1
node "$SINEW_SOURCE/test/measure.mjs" set/rest.obj a.pc2 b.pc2 > m.json || fail "measure"
check awk -F'[:,]' '{ exit !($4 < 1e-4 && $6 == 27) }' m.json
make set/rest.obj plain.obj
make set/rest.obj mirror.obj --axes -xyz
make mirror.obj twice.obj --axes -xyz
check cmp -s plain.obj twice.obj
check test "$(grep '^f' mirror.obj | head -1)" != "$(grep '^f' plain.obj | head -1)"
check test "$(ls e.pc2 e2.pc2 | wc -l)" = 2
finish
