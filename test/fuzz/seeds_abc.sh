#!/usr/bin/env bash
# Seeds for fuzz_abc: the archives that test_abc_read makes. Usage: seeds_abc.sh BUILD_FOLDER CORPUS_FOLDER
set -eu
mkdir -p "$2"
SINEW_ABC_OUT=$2 "$1/test_abc_read" >/dev/null 2>&1
