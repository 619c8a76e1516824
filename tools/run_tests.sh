#!/usr/bin/env bash
# Runs the tests of a build: tools/run_tests.sh BUILD JOBS [CTEST OPTIONS]. Says what was skipped and why; tests that leave something
# in the temporary folder fail. The last line counts.
set -uo pipefail
build=$1 jobs=$2
shift 2
TMPDIR=$(mktemp -d "${TMPDIR:-/tmp}/sinew-tests-XXXXXX") || exit 1
# Where libraries of other programs (PulseAudio in Blender) keep what is of a session.
XDG_RUNTIME_DIR=$(mktemp -d "${TMPDIR%/*}/sinew-session-XXXXXX") || exit 1
export TMPDIR XDG_RUNTIME_DIR
trap 'rm -rf "$TMPDIR" "$XDG_RUNTIME_DIR"' EXIT
trap 'exit 130' INT TERM HUP

report=$(realpath "$build")/tests.log
ctest --test-dir "$build" --no-tests=error --output-on-failure --output-log "$report" -j "$jobs" "$@"
status=$?
count() { grep -cE "^ *[0-9]+/[0-9]+ Test +#[0-9]+: .*$1" "$report"; }
passed=$(count ' Passed ') skipped=$(count '\*\*\*Skipped')
failed=$(($(count '') - passed - skipped))

# Whole programs and scripts, then single tests of a program.
awk 'FNR == NR {if (sub(/ \.*\*\*\*Skipped.*/, "")) whole[$NF] = 1; next}
  /^[0-9]+\/[0-9]+ Testing: /{name = $3; why = ""}
  /^ *skipped: /{sub(/^ *skipped: /, ""); why = $0}
  /^\[ *SKIPPED *\] [^0-9 ]/{if (!seen[name, $NF]++) print "skipped in " name ": " $NF (why == "" ? "" : " (" why ")"); why = ""}
  /^<end of output>/{if (name in whole) print "skipped: " name " (" why ")"}' "$report" "$(realpath "$build")/Testing/Temporary/LastTest.log"

left=$(find "$TMPDIR" -mindepth 1 -maxdepth 1 -printf '%f ')
if [ -n "$left" ]; then
  echo "FAILED: tests left in the temporary folder: $left"
  failed=$((failed + 1)) status=1
fi
echo "$passed passed, $failed failed, $skipped skipped"
exit "$status"
