#!/usr/bin/env bash
# The NEON kernels against the scalar ones, on a 64-bit ARM machine that qemu-user makes up: models of several methods, packed and numbered by their blocks, and not.
set -euo pipefail
source_folder=${SINEW_SOURCE:-$(cd "$(dirname "$0")/.." && pwd)}
compiler=aarch64-linux-gnu-gcc
qemu=$(command -v qemu-aarch64 || command -v qemu-aarch64-static || true)
if [ -z "$qemu" ] || ! echo '#include <math.h>' | $compiler -E - > /dev/null 2>&1; then
  echo "skipped: needs gcc-aarch64-linux-gnu, libc6-dev-arm64-cross and qemu-user (Debian)"
  exit 77
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
$compiler -std=c17 -O1 -static -ffp-contract=off -I"$source_folder/include" -I"$source_folder/src" \
  "$source_folder"/src/runtime/*.c "$source_folder/test/paths_driver.c" -lm -o "$work/driver"
cd "$work"
"$SINEW" gen arm --vertices 700 --frames 6 -o arm --quiet
awk '/^v /{print; print "vt", $2, $3; next} /^f /{print "f", $2 "/" $2, $3 "/" $3, $4 "/" $4; next} {print}' arm/rest.obj > arm/textured.obj
for spec in lbs:tangents=1 dqs:tangents=1 psd psd:order=forward rotreg:bones=8,tangents=1; do
  for pack in 0 1,vertex_order=blocks; do
    "$SINEW" train --method "${spec}$([[ $spec == *:* ]] && echo , || echo :)pack=$pack" --rest arm/textured.obj --frames arm/frames.pc2 \
      --skeleton arm/skeleton.glb -o "${spec//[:=]/-}-$pack.sinew" --quiet
  done
done
cp "$source_folder/test/golden/terms.sinew" .
"$qemu" ./driver neon ./*.sinew
