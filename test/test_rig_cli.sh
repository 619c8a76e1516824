#!/usr/bin/env bash
# sinew rig as a user sees it. The written GLB is evaluated by evaluate_glb.mjs, which shares no code with Sinew, and must
# give the reported error.
. "$SINEW_SOURCE/test/common.sh"
here=$SINEW_SOURCE/test
command -v node >/dev/null || { echo "skipped: node is not here"; exit 77; }

# agree REPORT GLB PC2 [GAP]: the independent evaluation gives the reported error, and joints hang together to GAP percent
# of the diagonal (0.01 by default).
agree() {
  checks=$((checks + 1))
  node "$here/evaluate_glb.mjs" "$2" "$3" > own.json || { fail "$2 cannot be evaluated"; return; }
  node -e '
    const fs = require("fs"), r = JSON.parse(fs.readFileSync(process.argv[1])), own = JSON.parse(fs.readFileSync("own.json"));
    const gap = 100 * own.joint_gap / r.input.diagonal;
    const near = Math.abs(own.e_rms - r.result.e_rms) <= 1e-4 * r.result.e_rms + 1e-4;
    if (!near || !(gap <= Number(process.argv[2])) || own.frames !== r.input.frames) {
      console.error("FAILED: reported", r.result.e_rms, "evaluated", own.e_rms, "joint gap", gap, "%");
      process.exit(1);
    }' "$1" "${4:-0.01}" || fail "$2 is not as reported"
}

"$SINEW" gen leg --vertices 700 --frames 24 -o leg --quiet || exit 1
"$SINEW" gen bar -o bar --quiet || exit 1
in=(--rest leg/rest.obj --frames leg/frames.pc2)

expect 0 "6 bones" "$SINEW" rig "${in[@]}" --bones 6 --keep-bones -o tree.glb --json tree.json
agree tree.json tree.glb leg/frames.pc2
expect 0 "6 bones" "$SINEW" rig "${in[@]}" --bones 6 --keep-bones --joints none -o free.glb --json free.json
agree free.json free.glb leg/frames.pc2
expect 0 "6 bones" "$SINEW" rig "${in[@]}" --bones 6 --keep-bones --joints none --bone-type affine -o affine.glb --json affine.json
agree affine.json affine.glb leg/frames.pc2
expect 0 "bones" "$SINEW" rig --rest bar/rest.obj --frames bar/frames.pc2 --error 0.5 --influences 8 -o auto.glb --json auto.json
agree auto.json auto.glb bar/frames.pc2
checks=$((checks + 1))
node -e '
  const read = f => JSON.parse(require("fs").readFileSync(f)).result, [tree, free, affine, auto] = ["tree", "free", "affine", "auto"].map(n => read(n + ".json"));
  const fields = ["bones", "influences", "rms", "rms_pct_diag", "max_pct_diag", "e_rms", "std_pct_diag", "joint_gap_pct_diag", "seconds", "iterations"];
  const missing = fields.filter(f => typeof tree[f] !== "number");
  const good = missing.length === 0 && free.e_rms <= tree.e_rms * 1.02 && affine.e_rms <= free.e_rms * 1.02 && auto.rms_pct_diag <= 0.5 &&
    tree.frame_rms.length === 24 && tree.vertex_rms.length === 700 && tree.influences_histogram.reduce((a, b) => a + b) === 700;
  if (!good) { console.error("FAILED: reports", missing, tree.e_rms, free.e_rms, affine.e_rms, auto.rms_pct_diag); process.exit(1) }' || fail "the reports"

# A poor rig says so first, and what to try: too few bones; vertices that were left far away.
first() { # PATTERN WORDS...
  local pattern=$1
  shift
  "$SINEW" rig "$@" > all 2> said
  check grep -q "$pattern" <(head -1 all)
}
first "^poor.glb: a poor rig, rms .*try --bones 4 --keep-bones" "${in[@]}" --bones 1 -o poor.glb
first "^poor.glb: 6 bones" "${in[@]}" --bones 6 --keep-bones -o poor.glb
"$SINEW" convert leg/frames.pc2 stray --rest leg/rest.obj --quiet
for f in leg/rest.obj stray/*.obj; do # behind the others, so that the faces stay
  { grep '^v ' "$f"; echo 'v 9000 0 0'; echo 'v 0 -8000 7000'; grep -v '^v ' "$f"; } > moved && cp moved "stray/$(basename "$f")"
done
mv stray/rest.obj stray.obj
first "without 2 stray vertices: delete those.*vertex 701" --rest stray.obj --frames stray --bones 6 -o poor.glb --json poor.json
check grep -q '"poor": "a poor rig' poor.json

# A rig over a rig: the old joints have the very names that new ones would get, and other parents.
expect 0 "7 bones" "$SINEW" rig --rest tree.glb --frames leg/frames.pc2 --bones 7 --keep-bones -o again.glb --json again.json
agree again.json again.glb leg/frames.pc2
expect 0 "3 bones" "$SINEW" rig --rest tree.glb --frames leg/frames.pc2 --bones 3 --keep-bones -o fewer.glb --json fewer.json
agree fewer.json fewer.glb leg/frames.pc2

# More bones requested are found, and never leave a larger error: fingers are far smaller than the trunk.
"$SINEW" gen body --joints 40 --vertices 2500 --frames 12 -o body --quiet
for bones in 9 20 30; do
  expect 0 "$bones bones" "$SINEW" rig --rest body/rest.obj --frames body/frames.pc2 --bones $bones --keep-bones -o more.glb --json more$bones.json
done
checks=$((checks + 1))
node -e '
  const e = [9, 20, 30].map(n => JSON.parse(require("fs").readFileSync(`more${n}.json`)).result.rms);
  if (!(e[1] <= 1.02 * e[0] && e[2] <= 1.02 * e[1])) { console.error("FAILED: errors by bones", e); process.exit(1) }' || fail "errors by bones"

# Any frame as rest pose: the file's mesh is that frame, and the one that bends least is found.
expect 0 "rest pose: frame 5" "$SINEW" rig "${in[@]}" --rest-frame 5 --bones 4 --keep-bones -o posed.glb --json posed.json
agree posed.json posed.glb leg/frames.pc2
expect 0 "rest pose: frame" "$SINEW" rig "${in[@]}" --rest-frame auto --bones 4 --keep-bones -o posed.glb
expect 0 "4 bones" "$SINEW" rig "${in[@]}" --solver schaefer --bones 4 --keep-bones -o schaefer.glb
expect 1 "leave out joints none" "$SINEW" rig "${in[@]}" --solver hasler --joints none --bones 4 -o no.glb
expect 1 "0 to 23, or auto" "$SINEW" rig "${in[@]}" --rest-frame 99 --bones 4 -o no.glb

# Frames that bring faces need no --rest; the mesh of a .glb takes the pose, normals and all.
expect 0 "rest pose: frame 3" "$SINEW" rig --frames tree.glb --rest-frame 3 --bones 4 --keep-bones -o faces.glb --json faces.json
"$SINEW" convert tree.glb tree.pc2 --quiet || fail "see above"
agree faces.json faces.glb tree.pc2
expect 0 "rest pose: frame" "$SINEW" rig --rest leg/skeleton.glb --frames leg/frames.pc2 --rest-frame auto --bones 4 --keep-bones -o posed2.glb --json posed2.json
agree posed2.json posed2.glb leg/frames.pc2
"$SINEW" convert leg/frames.pc2 objs/ --rest leg/rest.obj --quiet || fail "see above"
expect 0 "4 bones" "$SINEW" rig --frames objs --rest-frame auto --bones 4 --keep-bones -o objs.glb --json objs.json
agree objs.json objs.glb leg/frames.pc2
# The same frames as .glb and .ply files, in the order of their numbers; a topology that changes is refused.
mkdir glbs plys
for f in objs/*.obj; do
  number=$((10#$(basename "$f" .obj | tr -dc 0-9)))
  "$SINEW" convert "$f" glbs/$number.glb --quiet || fail "see above"
  { printf 'ply\nformat ascii 1.0\nelement vertex %d\nproperty float x\nproperty float y\nproperty float z\nelement face %d\n' \
      "$(grep -c '^v ' "$f")" "$(grep -c '^f ' "$f")"
    printf 'property list uchar int vertex_indices\nend_header\n'
    awk '/^v /{print $2, $3, $4} /^f /{print 3, $2 - 1, $3 - 1, $4 - 1}' "$f"; } > plys/$number.ply
done
expect 0 "4 bones" "$SINEW" rig --frames glbs --rest-frame auto --bones 4 --keep-bones -o glbs.glb --json glbs.json
agree glbs.json glbs.glb leg/frames.pc2
expect 0 "4 bones" "$SINEW" rig --frames 'plys/*.ply' --rest-frame auto --bones 4 --keep-bones -o plys.glb --json plys.json
agree plys.json plys.glb leg/frames.pc2
sed -i '$d' plys/7.ply # one triangle less
awk '/^element face/{$3 -= 1} {print}' plys/7.ply > less && mv less plys/7.ply
expect 1 "plys/7.ply has 1395 triangles, but plys/0.ply has 1396" "$SINEW" rig --frames plys --bones 4 -o no.glb

grep "^v " leg/rest.obj > points.obj
expect 1 "has no triangles: give --rest a mesh with faces" "$SINEW" rig --rest points.obj --frames leg/frames.pc2 --bones 4 -o no.glb
expect 1 "bring one" "$SINEW" rig --frames leg/frames.pc2 --bones 4 -o no.glb

# Several clips in one solve; a range of frames.
"$SINEW" gen leg --vertices 700 --frames 24 --seed 2 -o leg2 --quiet
expect 0 "5 bones" "$SINEW" rig "${in[@]}" --frames leg2/frames.pc2 --bones 5 --keep-bones -o two.glb --json two.json
expect 0 "24 frames" "$SINEW" info two.glb
checks=$((checks + 1))
[ "$("$SINEW" info two.glb | grep -c "  clip ")" = 2 ] || fail "two clips expected"
expect 0 "5 bones" "$SINEW" rig "${in[@]}" --keys 0-9 --bones 5 --keep-bones -o range.glb
expect 0 "10 frames" "$SINEW" info range.glb

# A given skeleton: weights only, motion only, both; locked joints; helpers.
given=("${in[@]}" --skeleton leg/skeleton.glb)
expect 0 "3 bones" "$SINEW" rig "${given[@]}" -o weights.glb --json weights.json
agree weights.json weights.glb leg/frames.pc2
expect 0 "3 bones" "$SINEW" rig "${given[@]}" --solve motion -o motion.glb --json motion.json
agree motion.json motion.glb leg/frames.pc2
expect 0 "3 bones" "$SINEW" rig "${given[@]}" --solve both --lock thigh -o both.glb --json both.json
agree both.json both.glb leg/frames.pc2
expect 0 "5 bones" "$SINEW" rig "${given[@]}" --helpers 2 -o helpers.glb --json helpers.json
agree helpers.json helpers.glb leg/frames.pc2 100 # helpers move freely
expect 1 "did you mean" "$SINEW" rig "${given[@]}" --solve both --lock thihg -o no.glb

# A GLB as rest mesh keeps its vertex order; heat as colours; the result trains.
expect 0 "4 bones" "$SINEW" rig --rest leg/skeleton.glb --frames leg/frames.pc2 --bones 4 --keep-bones --heat -o heat.glb
expect 0 "enveloping error" "$SINEW" train --method lbs "${in[@]}" --skeleton tree.glb --keys every:4 -o leg.sinew

# The page shows what people see: the same figures as the report of the rig.
expect 0 "enveloping error" "$SINEW" train --method lbs:weights=given "${in[@]}" --skeleton tree.glb -o tree.sinew
if "$SINEW" view tree.sinew "${in[@]}" --skeleton tree.glb -o tree.html --quiet 2>/dev/null; then
  checks=$((checks + 1))
  node -e '
    const fs = require("fs"), rig = JSON.parse(fs.readFileSync("tree.json")).result, page = fs.readFileSync("tree.html", "utf8");
    const shown = name => Number(new RegExp(`"${name}": ?([-0-9.e]+)`).exec(page)?.[1]);
    const off = ["p99_pct_diag", "roughness", "joints_inside_pct"].filter(n => !(Math.abs(shown(n) - rig[n]) <= 0.02 * rig[n] + 1e-3));
    if (off.length) { console.error("FAILED: the page has other figures", off.map(n => [n, shown(n), rig[n]])); process.exit(1) }' || fail "see above"
fi

# The same bytes at any thread count.
expect 0 "" "$SINEW" rig "${in[@]}" --bones 6 --keep-bones --threads 1 -o one.glb
expect 0 "" "$SINEW" rig "${in[@]}" --bones 6 --keep-bones --threads 3 -o three.glb
expect 0 "" cmp one.glb three.glb

# Wrong usage and wrong input.
expect 2 "add --joints none" "$SINEW" rig "${in[@]}" --bone-type affine -o no.glb
expect 2 "need --skeleton" "$SINEW" rig "${in[@]}" --helpers 2 -o no.glb
expect 2 "choose one of tree|none" "$SINEW" rig "${in[@]}" --joints maybe -o no.glb
expect 2 ".glb, .gltf or .fbx" "$SINEW" rig "${in[@]}" -o no.xyz
expect 1 "--match" "$SINEW" rig --rest bar/rest.obj --frames leg/frames.pc2 -o no.glb
expect 0 "fewer bones" "$SINEW" rig --rest bar/rest.obj --frames bar/frames.pc2 --bones 90 -o many.glb
checks=$((checks + 1))
[ ! -e no.glb ] || fail "no.glb was written"

# A symmetric rest mesh gets a symmetric skeleton, at hardly any error; names tell the sides.
"$SINEW" gen body --vertices 2000 --frames 16 -o body --quiet || exit 1
sides=(--rest body/rest.obj --frames body/frames.pc2 --bones 16 --keep-bones)
expect 0 "joints have a mirror image" "$SINEW" rig "${sides[@]}" -o sides.glb --json sides.json
agree sides.json sides.glb body/frames.pc2
expect 0 "16 bones" "$SINEW" rig "${sides[@]}" --symmetry none -o plain.glb --json plain.json
expect 1 "symmetry y:" "$SINEW" rig "${sides[@]}" --symmetry y -o no.glb
checks=$((checks + 1))
node -e '
  const fs = require("fs"), read = (f) => JSON.parse(fs.readFileSync(f)), bytes = fs.readFileSync("sides.glb");
  const doc = JSON.parse(bytes.subarray(20, 20 + bytes.readUInt32LE(12))), place = {};
  const walk = (k, x) => { const n = doc.nodes[k], t = n.translation || [0, 0, 0], at = t.map((v, c) => v + x[c]);
    place[n.name] = at; (n.children || []).forEach((c) => walk(c, at)); };
  doc.scenes[0].nodes.forEach((k) => walk(k, [0, 0, 0]));
  const left = Object.keys(place).filter((n) => n.endsWith(".L"));
  const middle = left.map((n) => (place[n][0] + place[n.slice(0, -1) + "R"][0]) / 2), size = read("sides.json").input.diagonal;
  const off = left.map((n, k) => Math.hypot(middle[k] - middle[0], place[n][1] - place[n.slice(0, -1) + "R"][1], place[n][2] - place[n.slice(0, -1) + "R"][2]));
  const with_ = read("sides.json").result, without = read("plain.json").result;
  if (left.length < 4 || Math.max(...off) > 1e-5 * size || with_.rms_pct_diag > 1.06 * without.rms_pct_diag + 0.002 || without.symmetric) {
    console.error("FAILED: symmetry", left.length, Math.max(...off) / size, with_.rms_pct_diag, without.rms_pct_diag); process.exit(1); }' ||
  fail "symmetry"

# What was written is valid glTF.
if [ -d "$SINEW_SOURCE/node_modules/gltf-validator" ]; then
  expect 0 "0 errors" node "$here/validate_gltf.mjs" tree.glb free.glb affine.glb two.glb helpers.glb heat.glb
fi

# A mesh without a size has no errors in percent of it.
printf 'v 1 1 1\nv 1 1 1\nv 1 1 1\nf 1 2 3\n' > point.obj
mkdir points && cp point.obj points/a.obj && cp point.obj points/b.obj
expect 1 "all vertices of the rest mesh are at one place" "$SINEW" rig --rest point.obj --frames points --bones 2 -o point.glb
[ ! -e point.glb ] || fail "a rig of a point"

finish
