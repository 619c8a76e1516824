#!/usr/bin/env bash
# Renews the pictures of README.md and of the guides from the present page, and the drawings of meshes in docs/figures: tools/pictures.sh,
# `make pictures`. SINEW is the tool (build/sinew by default), BUILD the folder of the build.
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
sinew=$(realpath "${SINEW:-$root/build/sinew}")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
"$sinew" gen athlete --motion rom -o rom --quiet
"$sinew" gen athlete -o new --quiet
train=(--rest rom/rest.obj --frames rom/frames.pc2 --skeleton rom/skeleton.glb --quiet)
"$sinew" train --method lbs "${train[@]}" -o lbs.sinew
"$sinew" train --method psd:blend=dualquat "${train[@]}" -o learned.sinew
"$sinew" view lbs.sinew learned.sinew --rest new/rest.obj --frames new/frames.pc2 --skeleton new/skeleton.glb -o page.html --quiet
node "$root/tools/picture.mjs" page.html "$root/docs/learned.png" width=640 height=330 step=3 colours=64
"${BUILD:-$root/build}/figures" drawings > figures.txt
node "$root/tools/drawings.mjs" drawings "$root/docs/figures" figure-6=wang-6 figure-7=wang-7 figure-13-elbow=wang-13 figure-14=wang-14 \
  murtagh-5-1=murtagh-5-1 murtagh-5-2=murtagh-5-2 murtagh-5-3=murtagh-5-3 murtagh-5-7=murtagh-5-7 murtagh-5-8=murtagh-5-8
PICTURES=1 "$root/tools/guides.sh"
