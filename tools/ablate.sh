#!/usr/bin/env bash
# The effect of a rule of training on the error: tools/ablate.sh NAME [option of lab/suite/suite.py ...] builds the tool with SN_ABLATE_NAME defined,
# in build-ablate-NAME, and runs the quick suite on group A with it, against the same of build/sinew.
set -euo pipefail
cd "$(dirname "$0")/.."
name=${1:?which rule? NAME of an #ifdef SN_ABLATE_NAME in src} && shift
grep -rqw "SN_ABLATE_$name" src || { echo "ablate: nothing in src depends on SN_ABLATE_$name" >&2; exit 1; }
build=build-ablate-$name methods=lbs,dqs,psd,psd:blend=dualquat,eigenskin,rotreg
cmake --preset release -B "$build" -DCMAKE_C_FLAGS="-DSN_ABLATE_$name" -DSINEW_TESTS=OFF -DSINEW_BENCH=OFF > "$build.log"
for b in "$build" build; do cmake --build "$b" --target sinew >> "$build.log" || { tail -30 "$build.log"; exit 1; }; done
lab/suite/suite.py --tool build/sinew --quick --group A --methods "$methods" "$@" > /dev/null
lab/suite/suite.py --tool "$build/sinew" --quick --group A --methods "$methods" --compare build/suite.json "$@"
