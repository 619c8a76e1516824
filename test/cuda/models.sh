#!/usr/bin/env bash
# Small models of every slot's choices: test/cuda/models.sh SINEW FOLDER VERTICES FRAMES
set -euo pipefail
sinew=$(realpath "$1")
source=$(realpath "$(dirname "$0")/../..")
mkdir -p "$2"
cd "$2"
rm -f ./*.sinew
"$sinew" gen arm --vertices "$3" --frames "$4" -o arm --quiet
inputs="--rest arm/rest.obj --frames arm/frames.pc2 --skeleton arm/skeleton.glb --keys every:2 --quiet"
n=0
for method in rigid lbs lbs:extra=halfway lbs:influences=8 dqs psd psd:blend=dualquat psd:blend=centres psd:order=forward \
  psd:space=whole,kernel=bspline,cardinal=1 psd:space=whole,kernel=shepard psd:space=whole,weighted=1 lbs:pack=1 dqs:pack=1 psd:pack=1 \
  rotreg:bones=24,pack=1 rotreg:bones=24,vertex_order=blocks cor eigenskin rotreg:bones=24 rotreg:bones=24,shade=transform rotreg:bones=24,psd=1 helpers; do
  # shellcheck disable=SC2086
  "$sinew" train --method $method $inputs -o "$(printf '%02d' $n)-${method//[:,=]/-}.sinew" > /dev/null
  n=$((n + 1))
done
# shellcheck disable=SC2086
"$sinew" train --method torque:bones=24 $inputs --torque arm/torque.csv -o torque.sinew > /dev/null
"$sinew" train --method affine:stretch=1 --rest arm/rest.obj --frames arm/frames.pc2 --controls auto:4 --quiet -o affine.sinew > /dev/null
"$sinew" gen face --vertices 1500 --frames 12 -o face --quiet
values="--method psd --rest face/rest.obj --frames face/frames.pc2 --values face/values.csv --quiet"
# shellcheck disable=SC2086
"$sinew" train $values --skeleton face/skeleton.glb -o values.sinew > /dev/null
# shellcheck disable=SC2086
"$sinew" train $values -o values-alone.sinew > /dev/null
# shellcheck disable=SC2086
"$sinew" train ${values/psd/helpers} -o values-helpers.sinew > /dev/null
cp "$source/test/golden/terms.sinew" terms-golden.sinew
cp "$source"/test/fuzz/corpus/fuzz_model/terms*.sinew .
