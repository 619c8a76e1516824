#!/usr/bin/env bash
# make test-cuda: trains small models of every slot's choices with the tool and runs test_cuda on them.
# Usage: test/cuda/run.sh SINEW FOLDER
set -euo pipefail
command -v nvcc > /dev/null || { echo "test-cuda: skipped (no nvcc)"; exit 0; }
sinew=$(realpath "$1")
mkdir -p "$2"
out=$(realpath "$2")
bash "$(dirname "$0")/build.sh" "$out"
bash "$(dirname "$0")/models.sh" "$sinew" "$out" 1500 24
cd "$out"
status=0
./test_cuda ./*.sinew || status=$?
[ $status = 77 ] && { echo "test-cuda: built, not run"; exit 0; }
if [ $status = 0 ] && command -v compute-sanitizer > /dev/null; then compute-sanitizer --error-exitcode 1 ./test_cuda ./*.sinew | tail -1; fi
exit $status
