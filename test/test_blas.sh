#!/usr/bin/env bash
# OpenBLAS starts no threads of its own: every BLAS that the tool loads is the serial one, and little address space is enough.
set -u
tool=${SINEW:?}
if ldd "$tool" | grep -q libasan; then
  echo "skipped: the address sanitizer needs more address space"
  exit 77
fi
wrong=$(ldd "$tool" | grep -E 'lib(openblas|blas|lapack)\.so' | grep -v openblas-serial)
if [ -n "$wrong" ]; then
  echo "not the serial OpenBLAS:"
  echo "$wrong"
  exit 1
fi
(ulimit -v 300000; timeout 20 "$tool" --version > /dev/null) || { echo "sinew --version fails with 300 MB of address space"; exit 1; }
echo "serial OpenBLAS, and --version within 300 MB"
