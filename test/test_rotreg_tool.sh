#!/usr/bin/env bash
# The tool end to end: a model of proxy bones trained, evaluated, and written as a glTF skin that moves the same way.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
"$SINEW" gen elbow --vertices 600 -o set --quiet
examples=(--rest set/rest.obj --frames set/frames.pc2 --skeleton set/skeleton.glb)
"$SINEW" train --method rotreg:bones=20 "${examples[@]}" --keys every:8 -o model.sinew --quiet
"$SINEW" eval model.sinew --skeleton set/skeleton.glb -o skin.glb --quiet
"$SINEW" convert skin.glb skin.pc2 --quiet
# How far the model is from the frames of its own glTF: nothing but rounding.
"$SINEW" eval model.sinew --skeleton set/skeleton.glb --rest set/rest.obj --frames skin.pc2 -o again.pc2 --quiet \
  --json report.json
grep -Eo '"max_pct_diag": *[0-9.e+-]+' report.json | grep -Eo '[0-9.e+-]+$' | awk '{ exit !($1 < 0.001) }' || {
  echo "the glTF skin differs from the model:"
  cat report.json
  exit 1
}
if "$SINEW" train --method rotreg:full=1 "${examples[@]}" -o full.sinew --quiet 2>message; then
  echo "the full form was written as a model"
  exit 1
fi
grep -q compare message
[ ! -e full.sinew ]
"$SINEW" compare --method lbs --method rotreg:bones=5 --method rotreg:bones=10 --method rotreg:full=1 "${examples[@]}" \
  --keys every:8 --plot curve.svg --plot-of bytes --quiet --json compare.json
grep -q '<svg' curve.svg
grep -q '"bytes": null' compare.json
