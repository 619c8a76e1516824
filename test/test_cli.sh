#!/usr/bin/env bash
# The command line as a user sees it: exit statuses, messages, suggestions, reports, and that nothing half written stays.
. "$SINEW_SOURCE/test/common.sh"

# Usage.
expect 2 "Usage: sinew COMMAND" "$SINEW"
expect 0 "New here?" "$SINEW" --help
expect 0 "sinew 0." "$SINEW" --version
expect 2 "did you mean convert?" "$SINEW" convrt a b
expect 2 "unknown command" "$SINEW" frobnicate
for command in gen rig train eval compare bench view info convert demo; do
  expect 0 "Example:" "$SINEW" $command --help
done
expect 0 "influences" "$SINEW" compare --help all
expect 0 "sinew train --help NAME" "$SINEW" train --help
expect 0 "mahalanobis" "$SINEW" train --help all
expect 0 "degree_r" "$SINEW" compare --help torque
expect 2 "did you mean --frames?" "$SINEW" train --frame x
expect 2 "needs a value" "$SINEW" train --rest
expect 2 "needs a value" "$SINEW" train --json -o x.sinew
expect 2 "train: -o MODEL.sinew is missing: model to write" "$SINEW" train --rest a --frames b
expect 2 "a.obj follows no option; quote patterns" "$SINEW" rig a.obj -o x.glb
expect 2 "--method rotreg:bones=" "$SINEW" train --bones 20 -o x.sinew
expect 2 "options follow a colon" "$SINEW" train --method psd,blend=dualquat -o x.sinew
expect 2 "ends in .html" "$SINEW" view a.sinew -o x.pdf
expect 2 "--from needs --pose" "$SINEW" train --from a.sinew -o x.sinew
expect 2 "goes with --cuda" "$SINEW" bench a.sinew --characters 5
expect 0 "sinew rig --rest" "$SINEW" help rig
expect 2 "is given twice" "$SINEW" train --rest a --rest b
expect 2 "takes no value" "$SINEW" info --quiet=1 x
expect 2 "not a number" "$SINEW" gen bar --frames many
expect 2 "must be between" "$SINEW" info --threads -1 x
expect 2 "usage: sinew info FILE" "$SINEW" info
expect 2 "did you mean lbs?" "$SINEW" train --method lsb -o x.sinew --rest a --frames b
expect 2 "\`sinew train --help psd\` explains them" "$SINEW" train --method psd:ridg=1 -o x.sinew --rest a --frames b
expect 2 "\`sinew compare --help psd\` explains them" "$SINEW" compare --method psd:ridg=1 --rest a --frames b
expect 2 "the command comes first" "$SINEW" --method psd train
expect 0 "sinew train --help NAME" "$SINEW" train -h

# gen, info, convert.
expect 1 "did you mean" "$SINEW" gen elbw
expect 0 "bar" "$SINEW" gen bar -o set
for file in rest.obj frames.pc2 skeleton.glb torque.csv controls.txt README.txt; do
  checks=$((checks + 1))
  [ -s set/$file ] || fail "gen wrote no $file"
done
expect 0 "vertices" "$SINEW" info set/rest.obj
expect 0 "frames of" "$SINEW" info set/frames.pc2
expect 0 "joints" "$SINEW" info set/skeleton.glb --json info.json
holds 'report[0].command === "info" && report[0].version && report[0].options && report[0].input && r[0].joints === 2' info.json
expect 0 "" "$SINEW" convert set/frames.pc2 set/frames.mdd
expect 0 "" "$SINEW" convert set/frames.mdd set/back.pc2
expect 0 "" cmp set/frames.pc2 set/back.pc2
expect 0 "" "$SINEW" convert set/frames.pc2 set/objs --rest set/rest.obj
expect 0 "" "$SINEW" convert set/objs set/back.pc2
expect 0 "" cmp set/frames.pc2 set/back.pc2
expect 0 "" "$SINEW" convert "set/objs/frame_*.obj" set/back.pc2
expect 0 "" cmp set/frames.pc2 set/back.pc2
expect 0 "" "$SINEW" convert set/skeleton.glb set/copy.gltf
expect 0 "" "$SINEW" convert set/copy.gltf set/copy.glb
expect 0 "joints" "$SINEW" info set/copy.glb
expect 0 "" "$SINEW" convert set/rest.obj set/rest.glb
expect 1 "give --rest FILE" "$SINEW" convert set/frames.pc2 set/more
expect 0 "" "$SINEW" gen bar -o again --quiet
expect 0 "" cmp set/frames.pc2 again/frames.pc2
expect 0 "" cmp set/skeleton.glb again/skeleton.glb

# train, eval, compare, bench.
data=(--rest set/rest.obj --frames set/frames.pc2 --skeleton set/skeleton.glb)
expect 0 "enveloping error" "$SINEW" train --method lbs "${data[@]}" --keys every:3 -o m.sinew --json train.json
holds 'r[0].train.ee > 0 && r[0].test.rms > 0 && r[0].bytes > 0 && r[0].seconds >= 0 && report[0].options.method === "lbs" && r[0].options.influences === 4 && r[0].options.weights === "fit" && report[0].input.frames > 0' train.json
expect 0 "none: --keys every:4" "$SINEW" train --method lbs "${data[@]}" -o all.sinew --json train.json
holds 'r[0].test === null && r[0].train.ee > 0 && r[0].all.ee === r[0].train.ee' train.json
expect 0 "drive joints" "$SINEW" info m.sinew
expect 0 "x lbs" "$SINEW" bench m.sinew --seconds 0.02 --json bench.json
holds 'r[0].us_per_frame > 0 && r[0].ratio_lbs > 0 && r[0].ratio_copy > 0' bench.json
expect 0 "" "$SINEW" eval m.sinew --skeleton set/skeleton.glb -o out.pc2
expect 0 "" "$SINEW" eval m.sinew --skeleton set/skeleton.glb -o out.glb
expect 0 "" "$SINEW" eval m.sinew --skeleton set/skeleton.glb -o out
expect 0 "" "$SINEW" convert out objs.pc2
expect 0 "" cmp out.pc2 objs.pc2
# The GLB, read by the glTF reader and skinned by it, is what the runtime computed.
expect 0 "" "$SINEW" convert out.glb glb.pc2
checks=$((checks + 1))
node -e '
const fs = require("fs"), read = f => { const b = fs.readFileSync(f); return new Float32Array(b.buffer, b.byteOffset + 32) };
const a = read("out.pc2"), b = read("glb.pc2");
let worst = a.length === b.length ? 0 : Infinity;
for (let k = 0; k < a.length; k++) worst = Math.max(worst, Math.abs(a[k] - b[k]));
if (!(worst < 1e-4)) { console.error("out.glb differs from out.pc2 by", worst); process.exit(1) }' || fail "out.glb is not out.pc2"
expect 0 "" "$SINEW" train --method dqs "${data[@]}" -o d.sinew
expect 1 "out.pc2" "$SINEW" eval d.sinew --skeleton set/skeleton.glb -o no.glb
expect 0 "" "$SINEW" train --method lbs:extra=halfway "${data[@]}" -o h.sinew
expect 0 "" "$SINEW" eval h.sinew --skeleton set/skeleton.glb -o h.glb
expect 1 "give --skeleton" "$SINEW" eval m.sinew -o no.pc2
expect 0 "dqs" "$SINEW" compare "${data[@]}" --keys every:2 --json compare.json --plot plot.svg
holds 'r[0].methods.length === 3 && r[0].methods.every(m => m.spec && m.train.ee > 0 && m.test.ee > 0 && m.all.ee > 0 && m.bytes > 0 && m.flops > 0 && m.us_per_frame > 0 && m.seconds >= 0)' compare.json
expect 0 "</svg>" cat plot.svg
expect 2 "ends in .svg" "$SINEW" compare "${data[@]}" --method lbs --plot plot.png
expect 1 "not a file with joints" "$SINEW" train --rest set/rest.obj --frames set/frames.pc2 --skeleton set/rest.obj -o no.sinew
expect 1 "from 0.001 to 1e+06" "$SINEW" convert set/skeleton.glb no.pc2 --fps 1e9
expect 0 "leave one out" "$SINEW" compare "${data[@]}" --method lbs --loocv
expect 0 '"methods"' "$SINEW" compare "${data[@]}" --method lbs --json -

# Wrong input: a message that names the culprit, status 1, and nothing left behind.
expect 1 "cannot open" "$SINEW" info nothing.obj
mkdir folder.obj empty
expect 1 "folder.obj" "$SINEW" info folder.obj
expect 1 "no .obj, .glb, .gltf or .ply files" "$SINEW" info empty
head -c 100 set/frames.pc2 > short.pc2
expect 1 "short.pc2: truncated" "$SINEW" info short.pc2
head -c 1000 set/skeleton.glb > short.glb
expect 1 "short.glb" "$SINEW" info short.glb
head -c 300 m.sinew > short.sinew
expect 1 "short.sinew" "$SINEW" info short.sinew
printf 'v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 4\n' > bad.obj
expect 1 "bad.obj:4" "$SINEW" info bad.obj
printf 'v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n' > small.obj
expect 1 "--match" "$SINEW" train --rest small.obj --frames set/frames.pc2 --skeleton set/skeleton.glb -o no.sinew
expect 1 "frame 900 does not exist" "$SINEW" train "${data[@]}" --keys 0,900 -o no.sinew
expect 1 "has no clip" "$SINEW" train "${data[@]}" --clip nothing -o no.sinew
expect 1 "clip" "$SINEW" train "${data[@]}" --fps 15 -o no.sinew
expect 1 "pair up" "$SINEW" train "${data[@]}" --frames set/frames.pc2 -o no.sinew
expect 1 "there is no folder missing" "$SINEW" train "${data[@]}" -o no.sinew --json missing/report.json
expect 1 "--scale frames=1" "$SINEW" train "${data[@]}" --scale frames=0.01 -o no.sinew
printf 'a,b\n1,2\n' > table.csv
expect 1 "not a kind of mesh" "$SINEW" info table.csv
expect 1 "there is no folder missing/folder" "$SINEW" train "${data[@]}" -o missing/folder/no.sinew
if [ -e /dev/full ] && [ "$(id -u)" = 0 ] && mkdir tiny && mount -t tmpfs -o size=16k tmpfs tiny 2>/dev/null; then
  expect 1 "No space left" "$SINEW" convert set/frames.pc2 tiny/f.pc2
  checks=$((checks + 1))
  [ -z "$(ls tiny)" ] || fail "a full disk left $(ls tiny)"
  umount tiny
fi
(ulimit -f 8; trap '' XFSZ; "$SINEW" convert set/frames.pc2 limited.pc2 2>said) && fail "a write past the limit succeeded"
checks=$((checks + 2))
grep -q "limited.pc2: cannot write" said || fail "a failed write is not named: $(cat said)"
left=$(find . -name 'no.*' -o -name 'limited*' -o -regex '.*\.[0-9]+-[0-9]+') # FILE.PID-ATTEMPT: see src/base/file.c
[ -z "$left" ] || fail "left behind: $left"

# The demo.
expect 0 "errors.svg" "$SINEW" demo -o "the demo" --vertices 800
expect 0 "" "$SINEW" info "the demo/arm.glb"
expect 0 "drive controls" "$SINEW" info "the demo/models/affine.sinew"
expect 0 "" "$SINEW" info "the demo/models/lbs-extra=halfway.sinew"
expect 0 "16 joints" "$SINEW" info "the demo/rigged.glb"

finish
