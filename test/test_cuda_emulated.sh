#!/usr/bin/env bash
# The kernels of src/cuda on the processor, under the sanitizers: small models of every slot's choices against the scalar path, and the same
# numbers whichever thread of a block comes first between two barriers.
. "$(dirname "$(realpath "$0")")/common.sh"
emulated=$SINEW_BUILD/sinew-cuda-emulated
[ -x "$emulated" ] || { echo "skipped: no C++ compiler"; exit 77; }
export SINEW_CROWD=12 # besides the 70 that fill warps
check bash "$SINEW_SOURCE/test/cuda/models.sh" "$SINEW" models 600 8
check "$emulated" models/*.sinew > forwards.txt
check env SINEW_EMULATE=backwards "$emulated" models/*.sinew > backwards.txt
check cmp forwards.txt backwards.txt
grep -A2 FAILED forwards.txt backwards.txt
tail -1 forwards.txt
finish
