#!/usr/bin/env bash
# Seeds for fuzz_fbx: the small files that test_fbx_read makes. Usage: seeds_fbx.sh BUILD_FOLDER CORPUS_FOLDER
set -eu
mkdir -p "$2"
SINEW_FBX_OUT=$2 "$1/test_fbx_read" >/dev/null 2>&1
