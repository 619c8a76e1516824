#!/usr/bin/env bash
# Builds test_cuda and bench_cuda with nvcc and the C compiler alone (no other package): test/cuda/build.sh FOLDER
set -euo pipefail
cd "$(dirname "$0")/../.."
out=$1
mkdir -p "$out"
arch=${CUDA_ARCH:-native}
jobs=()
for f in src/cuda/*.cu test/cuda/test_cuda.cu bench/bench_cuda.cu; do
  fused=true
  case $f in src/cuda/drive.cu | src/cuda/helpers.cu | src/cuda/terms.cu) fused=false ;; esac # as in cmake/cuda.cmake
  nvcc -std=c++17 -O3 -arch="$arch" -fmad=$fused -lineinfo -Iinclude -Isrc -c "$f" -o "$out/$(basename "$f").o" & jobs+=($!)
done
for f in src/runtime/*.c src/cuda/*.c; do
  cc -std=c17 -O2 -ffp-contract=off -D_GNU_SOURCE -Iinclude -Isrc -c "$f" -o "$out/$(basename "$f").o" & jobs+=($!)
done
for j in "${jobs[@]}"; do wait "$j"; done
cd "$out"
libs=$(ls ./*.o | grep -v -e test_cuda -e bench_cuda)
# shellcheck disable=SC2086
nvcc -arch="$arch" test_cuda.cu.o $libs -o test_cuda
# shellcheck disable=SC2086
nvcc -arch="$arch" bench_cuda.cu.o $libs -o bench_cuda
