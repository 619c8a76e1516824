#!/usr/bin/env bash
# Blender shows a GLB of Sinew's as Sinew evaluates it: skins and corrections (morph targets).
set -euo pipefail
src=${SINEW_SOURCE:-$(cd "$(dirname "$0")/.." && pwd)}
for tool in blender node; do
  command -v $tool > /dev/null || { echo "skipped: no $tool"; exit 77; }
done
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
export HOME=$dir # Blender writes its settings there
"$SINEW" gen arm --vertices 700 --frames 9 -o arm --quiet
for method in psd eigenskin; do # weights of eigenskin have both signs
  "$SINEW" train --rest arm/rest.obj --frames arm/frames.pc2 --skeleton arm/skeleton.glb --method $method -o $method.sinew --quiet
  "$SINEW" eval $method.sinew --skeleton arm/skeleton.glb -o $method.glb --quiet
  "$SINEW" eval $method.sinew --skeleton arm/skeleton.glb -o $method.pc2 --quiet
  timeout 300 blender -b --factory-startup -P "$src/test/blender_glb.py" -- $method.glb $method.shown.pc2 9 30 > log 2>&1 || { cat log; exit 1; }
  node "$src/test/measure.mjs" arm/rest.obj $method.shown.pc2 $method.pc2 | tee $method.json
  node -e 'const m = JSON.parse(require("fs").readFileSync(process.argv[1])); if (!(m.max_pct_diag <= 1e-3)) process.exit(1)' $method.json \
    || { echo "FAILED: Blender shows $method otherwise"; exit 1; }
done
