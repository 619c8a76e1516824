#!/usr/bin/env bash
# The Blender add-on, inside Blender without a window. SINEW_ZIP: the add-on as it is installed (make test-blender); else the
# sources with the library of this build.
set -euo pipefail
command -v blender > /dev/null || { echo "skipped: Blender is not installed"; exit 77; }
library=$SINEW_BUILD/python/libsinew-python.so
if [ -z "${SINEW_ZIP:-}" ]; then
  [ -e "$library" ] || { echo "skipped: libsinew-python.so is not built"; exit 77; }
  export SINEW_ADDON=$SINEW_SOURCE/blender SINEW_LIBRARY=$library PYTHONPATH=$SINEW_SOURCE/python
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# Blender finds its own modules by its own means; what is installed and set by the user stays out of the test.
export PYTHONDONTWRITEBYTECODE=1 BLENDER_USER_SCRIPTS=$work/scripts BLENDER_USER_CONFIG=$work/config HOME=$work
mkdir -p "$work/scripts/addons"
if ! blender -b --factory-startup --python-use-system-env --python-exit-code 3 --python-expr 'import numpy' > "$work/log" 2>&1; then
  echo "skipped: this Blender's Python has no numpy"; exit 77
fi
timeout 400 blender -b --factory-startup --python-use-system-env --python-exit-code 1 -P "$SINEW_SOURCE/blender/test/test_addon.py" -- "$work" \
  > "$work/log" 2>&1 || { cat "$work/log"; exit 1; }
grep -E '^(test_|  )' "$work/log"

# What was exported, in three.js: the character with the model's skin, the one with helpers as bones by itself, and driven by its joints.
if ! command -v node > /dev/null || [ ! -d "$SINEW_SOURCE/node_modules/three" ] || [ ! -e "$SINEW_BUILD/page_runtime.wasm" ]; then
  echo "the exported files were not tried in three.js: node, npm's packages or the WebAssembly runtime is missing"
  exit 0
fi
ln -s "$SINEW_SOURCE/node_modules" "$work/node_modules"
node "$SINEW_SOURCE/web/package.mjs" "$SINEW_BUILD/page_runtime.wasm" "$work/package"
cd "$work"
for method in psd helpers driven; do
  skin=(); [ $method != psd ] || skin=($method.sinew package)
  node "$SINEW_SOURCE/test/three_points.mjs" $method.glb ${method/driven/helpers}.pc2 24 0 Infinity "${skin[@]}" > said || { echo "FAILED: $method.glb in three.js"; exit 1; }
  node -e 'const r = JSON.parse(require("fs").readFileSync("said")); process.exit(r.max <= 1e-4 && r.frames > 9 ? 0 : 1)' || { echo "FAILED: $method: $(cat said)"; exit 1; }
  echo "  $method.glb in three.js: $(cat said)"
done
