#!/usr/bin/env bash
# What `sinew export --to blender` writes, run by Blender without Sinew: its vertices are the runtime's.
. "$(dirname "$0")/common.sh"
command -v blender > /dev/null || { echo "skipped: no blender"; exit 77; }
. "$SINEW_SOURCE/test/export_fixture.sh"
export HOME=$dir # Blender writes its settings there
for name in arm tall named psd face head; do
  check "$SINEW" export $name.sinew --skeleton $name.glb --to blender --quiet -o $name.py
  check timeout 300 blender -b --factory-startup -P "$SINEW_SOURCE/test/blender_glb.py" -- $name.py shown.pc2 50 30 > log 2>&1
  check node "$SINEW_SOURCE/test/measure.mjs" rom/rest.obj shown.pc2 $name.pc2 > said || cat log
  same said "blender $name"
done
finish
