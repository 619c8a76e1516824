#!/usr/bin/env bash
# Several processes give the bytes of one, and a process that fails ends all of them with one message and no output. Needs MPI.
set -u
tool=$SINEW_BUILD/mpi/sinew
[ -x "$tool" ] && command -v mpirun > /dev/null || { echo "skipped: no MPI (make mpi)"; exit 77; }
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir" || exit 1
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1
failures=0
fail() { echo "FAILED: $*"; failures=$((failures + 1)); }
ranks() { local n=$1; shift; timeout -k 10 300 mpirun --quiet -n "$n" "$tool" "$@"; }

"$SINEW" gen body --vertices 2500 --frames 10 --quiet -o set || exit 1
set=(--rest set/rest.obj --frames set/frames.pc2 --quiet)
"$SINEW" rig "${set[@]}" --bones 5 -o one.glb || exit 1
for n in 1 2 3 8; do
  ranks $n rig "${set[@]}" --bones 5 -o "$n.glb" && cmp one.glb $n.glb || fail "rig with $n processes"
done
set+=(--skeleton set/skeleton.glb --keys every:2)
for method in lbs lbs:smooth=0.01 dqs psd eigenskin rotreg:bones=6; do
  "$SINEW" train --method $method "${set[@]}" -o one.sinew || exit 1
  ranks 3 train --method $method "${set[@]}" --memory 100K -o many.sinew 2> /dev/null && fail "$method in 100 KB"
  ranks 3 train --method $method "${set[@]}" -o many.sinew && cmp one.sinew many.sinew || fail "$method with 3 processes"
  rm -f many.sinew
done

# once TEXT COMMAND...: fails, says TEXT once, and leaves no output.
once() {
  local text=$1
  shift
  "$@" > said.txt 2>&1 && fail "$text: no failure"
  [ "$(grep -c "^sinew: " said.txt)" = 1 ] && grep -q "$text" said.txt || { fail "$text:"; cat said.txt; }
  [ ! -e out.sinew ] || fail "$text: an output was left"
}
train=("$tool" train --method lbs "${set[@]}" -o out.sinew)
once "cannot open" ranks 3 train --method lbs --rest set/rest.obj --frames none.pc2 -o out.sinew
once "did you mean --method" ranks 2 train --methd lbs
"$SINEW" gen body --vertices 2500 --frames 10 --seed 5 --quiet -o other
once "rank 1 reads other files than rank 0" timeout -k 10 300 mpirun --quiet -n 1 "${train[@]}" : -n 1 "$tool" train --method lbs \
  --rest set/rest.obj --frames other/frames.pc2 --skeleton set/skeleton.glb --keys every:2 -o out.sinew
once "rank 1: .*out of memory" timeout -k 10 300 mpirun --quiet -n 1 "${train[@]}" : -n 1 "${train[@]}" --memory 400K

# An allocation of Sinew fails in one of two.
cc -O1 -shared -fPIC -o fail.so "$SINEW_SOURCE/test/torture/failing_malloc.c" || fail "failing_malloc.c"
starve=(-n 1 env SINEW_FAIL_OWN=1 SINEW_COUNT_TO=count LD_PRELOAD=./fail.so)
train+=(--threads 1)
timeout -k 10 300 mpirun --quiet -n 1 "${train[@]}" : "${starve[@]}" "${train[@]}" || fail "with allocations counted"
total=$(cat count)
rm -f out.sinew
for part in 1 3 5 7; do
  export SINEW_FAIL_AT=$((total * part / 8))
  once "rank 1: .*out of memory" timeout -k 10 300 mpirun --quiet -n 1 "${train[@]}" : "${starve[@]}" "${train[@]}"
  once "out of memory" timeout -k 10 300 mpirun --quiet "${starve[@]}" "${train[@]}" : -n 1 "${train[@]}"
done
# The message of the rank that failed, at the very end, does not arrive.
printf '%s\n' '#include <mpi.h>' 'int MPI_Bcast(void *data, int count, MPI_Datatype type, int root, MPI_Comm comm) {' \
  '  return type == MPI_CHAR ? MPI_ERR_NO_MEM : PMPI_Bcast(data, count, type, root, comm);' '}' > lost.c
mpicc -O1 -shared -fPIC -o lost.so lost.c || fail "lost.c"
train+=(--json out.json)
unset SINEW_FAIL_AT
timeout -k 10 300 mpirun --quiet -n 1 "${train[@]}" : "${starve[@]}" "${train[@]}" || fail "with a report"
rm -f out.sinew out.json
export SINEW_FAIL_AT=$(cat count)
once "rank 1: failed, and its message did not arrive" timeout -k 10 300 mpirun --quiet -n 1 env LD_PRELOAD=./lost.so "${train[@]}" : "${starve[@]}" "${train[@]}"
unset SINEW_FAIL_AT

# One of them is killed.
timeout -k 10 300 mpirun --quiet -n 2 "$tool" rig --rest set/rest.obj --frames set/frames.pc2 --iterations 100000 -o out.glb --quiet > said.txt 2>&1 &
runner=$!
for _ in $(seq 1200); do
  victim=$(pgrep -n -f "^$tool rig --rest set/rest.obj --frames set/frames.pc2 --iterations 100000") && break
  sleep 0.05
done
sleep 0.3
kill -9 "$victim"
wait $runner && fail "a killed process was not noticed"
[ ! -e out.glb ] || fail "an output was left after a process was killed"

[ $failures -eq 0 ] && echo "many processes are one"
exit $((failures > 0))
