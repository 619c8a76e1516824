#!/usr/bin/env bash
# The page of `sinew view` in Chromium: every method of this tree trained on generated sets, put into pages, and compared
# with the native runtime. Screenshots stay in $SINEW_BUILD/view.
set -euo pipefail
src=${SINEW_SOURCE:-$(cd "$(dirname "$0")/.." && pwd)}
command -v "${CHROMIUM:-chromium}" > /dev/null || { echo "skipped: no chromium"; exit 77; }
for package in three esbuild playwright-core; do
  [ -d "$src/node_modules/$package" ] || { echo "skipped: no node_modules/$package (npm ci)"; exit 77; }
done
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
shots=$SINEW_BUILD/view
mkdir -p "$shots"
cd "$dir"
export SINEW_VIEW_DIR=$dir SINEW_VIEW_SHOTS=$shots
cc -std=c17 -O2 -I"$src/include" "$src/test/view_native.c" "$SINEW_BUILD/libsinew-runtime.a" -lm -o native

# train NAME SPEC SET [OPTIONS]: the model NAME.sinew, unless this tree has no such method.
train() {
  local name=$1 spec=$2 set=$3
  shift 3
  if "$SINEW" train --method "$spec" --rest "$set/rest.obj" --frames "$set/frames.pc2" --skeleton "$set/skeleton.glb" \
    --keys every:4 -o "$name.sinew" --quiet "$@" 2> train.log; then
    models+=("$name.sinew")
  elif grep -q "unknown method" train.log; then
    echo "no $spec in this tree"
  else
    echo "FAILED: $spec: $(cat train.log)"
    exit 1
  fi
}

"$SINEW" gen arm -o arm --vertices 1500 --quiet
models=()
train rigid rigid arm
train lbs lbs arm
train halfway lbs:extra=halfway arm
train dqs dqs arm
train psd psd arm
train psd-dualquat psd:blend=dualquat arm
train eigenskin eigenskin arm
train rotreg rotreg arm
train torque torque arm --torque arm/torque.csv
train affine affine arm --controls arm/controls.txt
"$SINEW" view "${models[@]}" --rest arm/rest.obj --frames arm/frames.pc2 --skeleton arm/skeleton.glb --torque arm/torque.csv \
  --controls arm/controls.txt --keys every:4 --title 'Arm <1 & 2>' -o arm.html --quiet
for model in "${models[@]}"; do
  case $model in # what eval needs besides the skeleton comes from the page's own input
  affine*|torque*) ;;
  *) "$SINEW" eval "$model" --skeleton arm/skeleton.glb -o "${model%.sinew}.pc2" --quiet ;;
  esac
done

# What the WebGPU kernels leave to WebAssembly, and another blend, on a page beside the first.
models=()
train cor cor arm
train helpers helpers arm
"$SINEW" pack psd.sinew -o packed.sinew --quiet
"$SINEW" view packed.sinew "${models[@]}" --rest arm/rest.obj --frames arm/frames.pc2 --skeleton arm/skeleton.glb -o more.html --quiet

# A character with a texture and a base colour.
node "$src/test/edit_glb.mjs" arm/skeleton.glb painted.glb texture=0.5
"$SINEW" train --method lbs:weights=given --rest painted.glb --skeleton painted.glb -o painted.sinew --quiet
"$SINEW" view painted.sinew --rest painted.glb --skeleton painted.glb -o painted.html --quiet

# A face, driven by named values.
"$SINEW" gen face -o face --vertices 1500 --quiet
"$SINEW" train --method psd --rest face/rest.obj --frames face/frames.pc2 --values face/values.csv --keys every:2 -o face.sinew --quiet
"$SINEW" view face.sinew --rest face/rest.obj --frames face/frames.pc2 --values face/values.csv -o face.html --quiet

# A model alone, without any examples; pages joined; a page for the size and the times.
"$SINEW" pack lbs.sinew --order blocks -o blocks.sinew --quiet
"$SINEW" view lbs.sinew --title Alone -o alone.html --quiet
"$SINEW" view arm.html alone.html -o both.html --quiet
"$SINEW" gen body -o body --vertices 10000 --frames 60 --quiet
big=()
for name in lbs dqs psd:space=whole rotreg; do
  "$SINEW" train --method $name --rest body/rest.obj --frames body/frames.pc2 --skeleton body/skeleton.glb --keys every:4 \
    -o big-$name.sinew --quiet
  big+=("big-$name.sinew")
done
"$SINEW" view "${big[@]}" --rest body/rest.obj --frames body/frames.pc2 --skeleton body/skeleton.glb -o big.html --quiet
size=$(stat -c %s big.html)
echo "a page of $("$SINEW" info big-lbs.sinew | grep -o '[0-9]* vertices'), 60 frames and four models: $size bytes"
[ "$size" -lt 10000000 ] || { echo "FAILED: the page is over 10 MB"; exit 1; }

node "$src/test/view_test.mjs"
