#!/usr/bin/env bash
# Trains every method on every generated set and prints a checksum of each model: run it before and after a change that
# must not change what is learned, and compare. Usage: tools/model_bytes.sh [SINEW] (build/sinew by default)
set -euo pipefail
sinew=$(realpath "${1:-build/sinew}")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

sum() { if [ -f "$2" ]; then printf '%s  %s\n' "$(sha256sum < "$2" | cut -c1-16)" "$1"; else echo "-                 $1"; fi; }

for set in bar elbow cylinder arm leg shoulder body; do
  "$sinew" gen $set -o $set --quiet
  inputs="--rest $set/rest.obj --frames $set/frames.pc2 --keys every:4 --quiet"
  [ -f $set/skeleton.glb ] && inputs="$inputs --skeleton $set/skeleton.glb"
  [ -f $set/torque.csv ] && torque="--torque $set/torque.csv" || torque=
  for method in rigid lbs lbs:extra=halfway lbs:weights=given lbs:smooth=0.01 dqs dqs:weights=fit cor psd psd:blend=dualquat \
    psd:weighted=1 psd:kernel=bspline,cardinal=1 eigenskin eigenskin:blend=dualquat rotreg rotreg:psd=1; do
    # shellcheck disable=SC2086
    "$sinew" train --method $method $inputs -o m.sinew > /dev/null 2>&1 || true
    sum "$set $method" m.sinew; rm -f m.sinew
  done
  # shellcheck disable=SC2086
  [ -z "$torque" ] || "$sinew" train --method torque $inputs $torque -o m.sinew > /dev/null 2>&1 || true
  sum "$set torque" m.sinew; rm -f m.sinew
  # shellcheck disable=SC2086
  "$sinew" train --method affine --controls auto:4 $inputs -o m.sinew > /dev/null 2>&1 || true
  sum "$set affine" m.sinew; rm -f m.sinew
  "$sinew" rig --rest $set/rest.obj --frames $set/frames.pc2 --bones 8 --quiet -o m.glb > /dev/null 2>&1 || true
  sum "$set rig" m.glb; rm -f m.glb
done
