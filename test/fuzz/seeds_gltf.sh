#!/usr/bin/env bash
# Seeds for fuzz_gltf: the small files that test_gltf writes. Usage: seeds_gltf.sh BUILD_FOLDER CORPUS_FOLDER
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
SINEW_GLTF_OUT=$folder "$1/test_gltf" >/dev/null 2>&1
mkdir -p "$2"
find "$folder" -maxdepth 1 \( -name '*.glb' -o -name '*.gltf' \) -size -48k -exec cp {} "$2/" \;
