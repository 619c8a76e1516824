#!/usr/bin/env bash
# Everything that test_gltf writes goes through the Khronos validator.
set -eu
if [ ! -d "$SINEW_SOURCE/node_modules/gltf-validator" ] || ! command -v node >/dev/null; then
  echo "skipped: the Khronos validator is not here (npm ci in $SINEW_SOURCE installs it)"
  exit 77
fi
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
SINEW_GLTF_OUT=$folder "$SINEW_BUILD/test_gltf" >"$folder/log" 2>&1 || { cat "$folder/log"; exit 1; }
node "$SINEW_SOURCE/test/validate_gltf.mjs" "$folder"/*.glb "$folder"/*.gltf
