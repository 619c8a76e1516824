#!/usr/bin/env bash
# three.js, in node, loads, animates and skins what Sinew reads and what Sinew writes: its vertices are Sinew's, to 1e-5 of the
# diagonal. On generated files, and on those of ../shared/data/gltf where they are.
set -euo pipefail
src=${SINEW_SOURCE:-$(cd "$(dirname "$0")/.." && pwd)}
command -v node > /dev/null || { echo "skipped: no node"; exit 77; }
[ -d "$src/node_modules/three" ] || { echo "skipped: three is not installed (npm install)"; exit 77; }
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"

fail() { echo "FAILED: $*"; exit 1; }
agree() { # agree FILE.glb FRAMES.pc2 [MOST]
  node "$src/test/three_points.mjs" "$1" "$2" 30 0 "${3:-Infinity}" > said 2> trouble || fail "$1: $(tail -3 trouble)"
  node -e 'const r = JSON.parse(require("fs").readFileSync("said")); process.exit(r.max <= 1e-5 && r.frames > 0 ? 0 : 1)' || fail "$1: $(cat said)"
}
read_by_both() { # read_by_both FILE [MOST]
  "$SINEW" convert "$1" read.pc2 --quiet
  agree "$1" read.pc2 "${2:-Infinity}"
}

# What is read: scaled armatures, parts that nodes move, morph targets, several clips.
"$SINEW" gen arm --vertices 600 --frames 9 -o arm --quiet
edit() { node "$src/test/edit_glb.mjs" arm/skeleton.glb "$@"; }
edit scaled.glb bind-scale=100
edit grows.glb pose-scale=0.25
edit parts.glb parts=3
edit split.glb split=flat back shorten=0.4
for file in arm/skeleton.glb scaled.glb grows.glb parts.glb split.glb; do read_by_both $file; done

# What is written: every method that a GLB can hold.
skeleton=(--skeleton arm/skeleton.glb --torque arm/torque.csv)
for method in rigid lbs psd eigenskin rotreg torque; do
  "$SINEW" train --rest arm/rest.obj --frames arm/frames.pc2 "${skeleton[@]}" --method $method -o m.sinew --quiet
  "$SINEW" eval m.sinew "${skeleton[@]}" -o m.pc2 --quiet
  "$SINEW" eval m.sinew "${skeleton[@]}" -o m.glb --quiet
  agree m.glb m.pc2
done
"$SINEW" gen cylinder --vertices 300 --frames 9 -o cylinder --quiet
"$SINEW" train --rest cylinder/rest.obj --frames cylinder/frames.pc2 --controls cylinder/controls.txt --method affine:stretch=1 -o a.sinew --quiet
"$SINEW" eval a.sinew --controls cylinder/frames.pc2 -o a.pc2 --quiet
"$SINEW" eval a.sinew --controls cylinder/frames.pc2 -o a.glb --quiet
agree a.glb a.pc2

# Files that others made; one of them is written back too.
shopt -s nullglob
for file in "${SINEW_DATA:-/nowhere}"/gltf/*.gl{b,tf}; do
  read_by_both "$file" 4
done
if [ -f "${SINEW_DATA:-/nowhere}/gltf/CesiumMan.glb" ]; then
  man=$SINEW_DATA/gltf/CesiumMan.glb
  "$SINEW" train --rest "$man" --frames "$man" --skeleton "$man" --keys every:10 --method psd -o m.sinew --quiet
  "$SINEW" eval m.sinew --skeleton "$man" -o m.pc2 --quiet
  "$SINEW" eval m.sinew --skeleton "$man" --rest "$man" -o m.glb --quiet
  agree m.glb m.pc2 6
fi
echo "three.js agrees"
