#!/usr/bin/env bash
# Seeds for fuzz_model: a small model of every drive, correction and blend. Usage: seeds_model.sh BUILD_FOLDER CORPUS_FOLDER
set -eu
tool=$(realpath "$1/sinew")
mkdir -p "$2"
out=$(realpath "$2")
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
"$tool" gen bar --vertices 60 --frames 4 -o bar --quiet
"$tool" gen leg --vertices 300 --frames 5 -o leg --quiet
for spec in lbs lbs:pack=1 lbs:extra=halfway dqs dqs:pack=1 cor cor:pack=1 psd:blend=centres psd:pack=1 psd:order=forward,pack=1 rotreg:bones=2,pack=1 psd psd:blend=dualquat psd:space=whole psd:space=whole,weighted=1 eigenskin rotreg:bones=2 rotreg:bones=2,psd=1 helpers:helpers=3 lbs:vertex_order=blocks rotreg:bones=2,pack=1,vertex_order=blocks; do
  "$tool" train --method "$spec" --rest bar/rest.obj --frames bar/frames.pc2 --skeleton bar/skeleton.glb \
    -o "$out/${spec//[:,=]/-}.sinew" --quiet
done
awk '/^v /{print; print "vt", $2, $3; next} /^f /{print "f", $2 "/" $2, $3 "/" $3, $4 "/" $4; next} {print}' bar/rest.obj > bar/textured.obj
for spec in lbs:tangents=1 dqs:tangents=1,pack=1; do
  "$tool" train --method "$spec" --rest bar/textured.obj --frames bar/frames.pc2 --skeleton bar/skeleton.glb -o "$out/${spec//[:,=]/-}.sinew" --quiet
done
"$tool" gen face --vertices 1500 --frames 8 --targets 2 -o face --quiet
"$tool" train --method psd --rest face/rest.obj --frames face/frames.pc2 --values face/values.csv -o "$out/values.sinew" --quiet
for spec in affine:bones=3,stretch=1 affine:bones=3,poisson=0; do
  "$tool" train --method "$spec" --rest bar/rest.obj --frames bar/frames.pc2 --controls 0,5 \
    -o "$out/${spec//[:,=]/-}.sinew" --quiet
done
"$tool" train --method torque:bones=2 --rest leg/rest.obj --frames leg/frames.pc2 --skeleton leg/skeleton.glb \
  --torque leg/torque.csv -o "$out/torque.sinew" --quiet
