#!/usr/bin/env bash
# Wrong models and wrong sets in the page of `sinew view`, in Chromium with WebGPU: page.sh [MODELS [SETS]]; SINEW, SEED.
source "$(dirname "$0")/common.sh"
command -v "${CHROMIUM:-chromium}" > /dev/null || { echo "skipped: no chromium"; exit 77; }
[ -d "$here/../../node_modules/playwright-core" ] || { echo "skipped: no node_modules/playwright-core (npm ci)"; exit 77; }
"$SINEW" gen arm -o set --vertices 600 --frames 8 --quiet || exit 1
given=(--rest set/rest.obj --frames set/frames.pc2 --skeleton set/skeleton.glb --quiet)
models=()
train() { "$SINEW" train --method "$1" "${given[@]}" "${@:2}" -o "${1//[:=]/-}.sinew" && models+=("${1//[:=]/-}.sinew"); }
for method in rigid lbs lbs:extra=halfway dqs cor psd psd:blend=dualquat eigenskin rotreg; do train $method || exit 1; done
train torque --torque set/torque.csv && train affine --controls set/controls.txt || exit 1
"$SINEW" pack psd.sinew -o packed.sinew --quiet || exit 1
"$SINEW" view "${models[@]}" packed.sinew "${given[@]}" --torque set/torque.csv --controls set/controls.txt -o page.html || exit 1
node "$here/page.mjs" page.html "${SEED:-1}" "${1:-500}" "${2:-200}"
