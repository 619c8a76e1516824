#!/usr/bin/env bash
# Characters as other programs export them, made from generated sets by edit_glb.mjs: what Sinew makes of them must be what it
# makes of the set itself.
set -euo pipefail
src=${SINEW_SOURCE:-$(cd "$(dirname "$0")/.." && pwd)}
command -v node > /dev/null || { echo "skipped: no node"; exit 77; }
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"

fail() { echo "FAILED: $*"; exit 1; }
edit() { node "$src/test/edit_glb.mjs" "$@"; }
# check 'EXPRESSION of a, b, ...' A.json B.json ...: the reports as variables a, b, c
check() {
  local expression=$1; shift
  node -e 'const [e, ...files] = process.argv.slice(1), read = (f) => JSON.parse(require("fs").readFileSync(f));
    const values = files.map(read), near = (x, y, r = 1e-3) => Math.abs(x - y) <= r * Math.abs(y);
    if (!new Function("a", "b", "c", "near", "return " + e)(...[0, 1, 2].map((k) => values[k]), near)) {
      console.log(JSON.stringify(values.map((v) => v.result), null, 1).slice(0, 4000)); process.exit(1); }' \
    "$expression" "$@" || fail "$expression"
}
compare() { # compare REPORT FILE.glb METHODS...
  local report=$1 file=$2 methods=(); shift 2
  for m in "$@"; do methods+=(--method "$m"); done
  "$SINEW" compare --rest "$file" --frames "$file" --skeleton "$file" --keys every:4 "${methods[@]}" --json "$report" > log || fail "$file: $(cat log)"
}

"$SINEW" gen arm --vertices 800 --frames 13 -o arm --quiet
plain=arm/skeleton.glb

# 1. an armature with a scale: one space, the frames'
edit $plain scaled.glb bind-scale=100
"$SINEW" info $plain --json plain.info > log
"$SINEW" info scaled.glb --json scaled.info > log
grep -q "scaled by 0.01" log || fail "info does not say that the bind pose was scaled"
check 'near(a.result.diagonal, b.result.diagonal)' scaled.info plain.info
compare plain.json $plain rigid lbs:weights=given lbs dqs
compare scaled.json scaled.glb rigid lbs:weights=given lbs dqs
[ "$(grep -c "note: .*scaled by 0.01" log)" = 1 ] || fail "the note is not there once: $(cat log)"
check 'a.result.methods.every((m, k) => near(m.test.rms_pct_diag + 1e-4, b.result.methods[k].test.rms_pct_diag + 1e-4, 0.02))' \
  scaled.json plain.json

# Where the character looks, and how the file's nodes stand, does not rotate its rest mesh.
for angle in 90 180; do
  edit $plain looks.glb posed look=$angle
  "$SINEW" info looks.glb > looks.info
  [ "$(grep diagonal looks.info)" = "$("$SINEW" info $plain | grep diagonal)" ] || fail "it looks $angle degrees aside: $(grep diagonal looks.info)"
done

# 2. a scale that all joints share, and that changes: dual quaternions follow it exactly
edit $plain grows.glb pose-scale=0.25
edit $plain bound.glb bind-scale=100 pose-scale=3
compare grows.json grows.glb dqs dqs:weights=given
compare bound.json bound.glb dqs dqs:weights=given
compare still.json $plain dqs dqs:weights=given
check 'a.result.methods.every((m, k) => m.all.ee < 1.1 * c.result.methods[k].all.ee && b.result.methods[k].all.ee < 1.1 * c.result.methods[k].all.ee)' \
  grows.json bound.json still.json

# 3. vertices that only meet in the rest pose stay apart, and every vertex of the file is measured
edit $plain twin.glb twin
"$SINEW" convert twin.glb twin.pc2 --quiet
"$SINEW" convert twin.glb twin.obj --quiet
"$SINEW" train --rest twin.glb --frames twin.glb --skeleton twin.glb --method lbs:influences=1 -o twin.sinew --json train.json --quiet
"$SINEW" eval twin.sinew --skeleton twin.glb -o out.pc2 --quiet
node "$src/test/measure.mjs" twin.obj out.pc2 twin.pc2 > twin.measured
check 'a.input.vertices > 1.3 * 800 && near(a.result.train.rms_pct_diag, b.rms_pct_diag) && near(a.result.train.max_pct_diag, b.max_pct_diag)' \
  train.json twin.measured
check 'b.rms_pct_diag > 0.01 && b.rms_pct_diag < 10' train.json twin.measured

# 6. several clips of one file
edit $plain clips.glb back
both() { "$SINEW" compare --rest clips.glb "$@" --method lbs:weights=given --json both.json > log || fail "$*: $(cat log)"; }
for way in "--frames clips.glb --skeleton clips.glb --clip all" "--frames clips.glb --skeleton clips.glb --clip motion --clip back" \
  "--frames clips.glb#motion --frames clips.glb#back --skeleton clips.glb#0 --skeleton clips.glb#1"; do
  both $way
  check 'a.input.clips === 2 && a.input.frames === 26 && a.result.methods[0].all.rms_pct_diag < 1e-3' both.json
done
both --frames clips.glb#motion --skeleton clips.glb#motion --test-frames clips.glb#back --test-skeleton clips.glb#back
check 'a.input.frames === 26 && a.result.methods[0].test.frames === 13' both.json
"$SINEW" compare --rest clips.glb --frames clips.glb#back --skeleton clips.glb --clip all --method rigid > log 2>&1 && fail "clips that do not pair up"
grep -q "pair up" log || fail "no word about pairs: $(cat log)"
"$SINEW" convert clips.glb#nope x.pc2 > log 2>&1 && fail "a clip that is not there"
grep -q "motion" log || fail "the clips there are are not listed: $(cat log)"

# 7. frames that do not belong to the poses: the cause is named, exit status 1
refused() { # refused FRAMES WORDS
  "$SINEW" compare --rest $plain --frames "$1" --skeleton $plain --method rigid > log 2>&1 && fail "$1 passed"
  grep -q -- "$2" log || fail "$1: $(cat log)"
}
"$SINEW" convert $plain slow.pc2 --fps 24 --quiet
refused slow.pc2 "--fps 24"
"$SINEW" convert $plain half.pc2 --fps 15 --quiet
refused half.pc2 "--fps 15"
"$SINEW" convert $plain right.pc2 --quiet
node -e 'const fs = require("fs"), b = fs.readFileSync("right.pc2"), n = b.readInt32LE(16), k = b.readInt32LE(28);
  const write = (name, frame, map) => {
    const out = Buffer.from(b), at = (f, i, c) => 32 + 4 * (3 * (f * n + i) + c);
    for (let f = 0; f < k; f++) for (let i = 0; i < n; i++)
      map([0, 1, 2].map((c) => b.readFloatLE(at(frame(f), i, c)))).forEach((v, c) => out.writeFloatLE(v, at(f, i, c)));
    fs.writeFileSync(name, out);
  };
  write("back.pc2", (f) => k - 1 - f, (p) => p);
  write("late.pc2", (f) => Math.min(f + 2, k - 1), (p) => p);
  write("mixed.pc2", (f) => (5 * f + 3) % k, (p) => p);
  write("up.pc2", (f) => f, ([x, y, z]) => [x, -z, y]);
  write("unit.pc2", (f) => f, (p) => p.map((v) => 100 * v));'
refused back.pc2 "backwards"
refused late.pc2 "2 frames later"
refused mixed.pc2 "another clip or take"
refused up.pc2 "other axes"
refused unit.pc2 "100 times as large"
"$SINEW" compare --rest $plain --frames right.pc2 --skeleton $plain --method rigid > log || fail "right frames: $(cat log)"

# 9. normals: split vertices that the file shades smoothly stay smooth, hard edges stay hard
for kind in smooth flat; do
  edit $plain $kind.glb split=$kind
  compare $kind.json $kind.glb lbs:weights=given rotreg:shade=recompute rotreg:psd=1
done
check 'a.input.vertices === c.input.vertices && a.input.file_vertices > 5 * a.input.vertices && near(a.result.methods[0].test.normal_deg, c.result.methods[1].test.normal_deg, 0.1)' \
  smooth.json flat.json plain.json
check '[a, b].every((r) => [1, 2].every((k) => r.result.methods[k].test.normal_deg < 0.5))' smooth.json flat.json

# 10. eval -o .glb: the clip's name, its end, other clips, no empty second set of weights, nothing unused
edit $plain partial.glb back shorten=0.4
"$SINEW" train --rest partial.glb --frames partial.glb --skeleton partial.glb --method psd -o psd.sinew --quiet
"$SINEW" eval psd.sinew --skeleton partial.glb --rest partial.glb -o psd.glb --quiet
"$SINEW" eval psd.sinew --skeleton partial.glb -o psd.pc2 --quiet
"$SINEW" convert psd.glb shown.pc2 --quiet
"$SINEW" convert partial.glb partial.obj --quiet
node "$src/test/measure.mjs" partial.obj shown.pc2 psd.pc2 > shown.json
check 'a.max_pct_diag < 1e-3' shown.json
"$SINEW" info partial.glb --json before.json --quiet
"$SINEW" info psd.glb --json after.json --quiet
check 'b.result.clips.length === 2 && a.result.clips.every((c, k) => c.name === b.result.clips[k].name && near(b.result.clips[k].end - b.result.clips[k].start, c.end - c.start, 1e-6))' \
  before.json after.json
for clip in motion back; do
  "$SINEW" convert partial.glb#$clip one.pc2 --quiet
  "$SINEW" train --rest partial.glb --frames partial.glb --skeleton partial.glb --method lbs:weights=given -o given.sinew --quiet
  "$SINEW" eval given.sinew --skeleton partial.glb --rest partial.glb -o given.glb --quiet
  "$SINEW" convert given.glb#$clip two.pc2 --quiet
  node "$src/test/measure.mjs" partial.obj two.pc2 one.pc2 > shown.json
  check 'a.max_pct_diag < 1e-3' shown.json
done
node "$src/test/edit_glb.mjs" psd.glb /dev/null expect-tidy || fail "the written file is not tidy"

# 11. parts that nodes move, below a joint or not, and parts that stand still: each has its joint, and nothing is refused
edit $plain parts.glb parts=40
"$SINEW" info parts.glb --json parts.info > log
grep -q "43 of them: nodes that carry parts without a skin" log || fail "joints of parts: $(cat log)"
compare parts.json parts.glb lbs:weights=given rigid
check 'a.result.methods.every((m) => m.all.rms_pct_diag < 1) && a.result.methods[0].all.rms_pct_diag < 1e-3' parts.json
"$SINEW" train --rest parts.glb --frames parts.glb --skeleton parts.glb --method lbs:weights=given -o parts.sinew --quiet
"$SINEW" eval parts.sinew --skeleton parts.glb --rest parts.glb -o parts-out.glb --quiet
"$SINEW" eval parts.sinew --skeleton parts.glb -o parts.pc2 --quiet
"$SINEW" convert parts-out.glb shown.pc2 --quiet
"$SINEW" convert parts.glb parts.obj --quiet
node "$src/test/measure.mjs" parts.obj shown.pc2 parts.pc2 > shown.json
check 'a.max_pct_diag < 1e-3' shown.json

# 12. words: what info says of a document, one number as control points
for words in "1 mesh in 1 part, 1 skin" "bounding-box diagonal .*: x .* y .* z " "keys (30 per second)"; do
  "$SINEW" info $plain > log
  grep -q "$words" log || fail "info does not say '$words': $(cat log)"
done
"$SINEW" train --method affine:bones=6 --rest arm/rest.obj --frames arm/frames.pc2 --controls 4 -o one.sinew > log
grep -q "one control point, vertex 4; auto:4" log || fail "a number alone as control points: $(cat log)"

# 15. control points that never move
mkdir still
for k in 0 1 2; do cp arm/rest.obj still/$k.obj; done
if "$SINEW" train --method affine:bones=6 --rest arm/rest.obj --frames still --controls 1,2 -o still.sinew > log 2>&1; then fail "still control points were taken"; fi
grep -q "no control point moves" log && [ ! -e still.sinew ] || fail "still control points: $(cat log)"

echo "characters: all as they should be"
