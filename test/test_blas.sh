#!/usr/bin/env bash
# Every BLAS that the tool loads is the one that may be called from several threads at once.
set -u
tool=${SINEW:?}
wrong=$(ldd "$tool" | grep -E 'lib(openblas|blas|lapack)\.so' | grep -v openblas-pthread)
if [ -n "$wrong" ]; then
  echo "not the thread-safe OpenBLAS:"
  echo "$wrong"
  exit 1
fi
echo "the thread-safe OpenBLAS"
