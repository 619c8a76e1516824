#!/usr/bin/env bash
# The long campaign: hours, in parts. What is done stays done (build/torture/PART.log): run it again to go on, remove the folder
# to begin anew. torture.sh [ROUNDS]: rounds of allocations, kills, writers, pages and fuzzing (20 by default), each with another seed.
set -u
root=$(cd "$(dirname "$0")/.." && pwd)
export SINEW=${SINEW:-$root/build/sinew} SINEW_SOURCE=$root SINEW_BUILD=$root/build
rounds=${1:-20}
logs=$root/build/torture
mkdir -p "$logs"
failed=0

part() { # NAME COMMAND...
  local log=$logs/$1.log
  shift
  if [ -f "$log" ]; then
    echo "$(basename "$log" .log): $(tail -n 1 "$log") (done before)"
    return
  fi
  nice -n 19 "$@" > "$log.part" 2>&1
  local status=$?
  if [ $status -eq 0 ] || [ $status -eq 77 ]; then
    mv "$log.part" "$log"
    echo "$(basename "$log" .log): $(tail -n 1 "$log")"
  else
    mv "$log.part" "$log.failed"
    echo "$(basename "$log" .log) FAILED, see $log.failed:"
    grep -m 5 -a FAILED "$log.failed"
    failed=1
  fi
}

part valgrind "$root/test/torture/valgrind.sh"
part threads "$root/test/torture/threads.sh"
for ((round = 1; round <= rounds; round++)); do
  part kills-$round env SEED=$round "$root/test/torture/kills.sh" 200
  part writers-$round env SEED=$round "$root/test/torture/writers.sh" 50
  part allocations-$round env SEED=$round "$root/test/torture/allocations.sh" 100
  part page-$round env SEED=$round "$root/test/torture/page.sh" 1000 300
  part fuzz-$round env SINEW_FUZZ_SECONDS=120 SINEW_FUZZ_SEED=$round bash "$root/test/test_fuzz.sh"
done
exit $failed
