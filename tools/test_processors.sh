#!/usr/bin/env bash
# The tests as other processors run them: tools/test_processors.sh BUILD JOBS. What calls BLAS, with the kernels of four kinds of
# processors; then the C tests on a processor without AVX-512, which qemu makes up. What this processor cannot run is skipped by
# name. The last line counts.
set -uo pipefail
cd "$(dirname "$0")/.." || exit 1
build=$(realpath "$1") jobs=$2
flags=$(grep -m 1 '^flags' /proc/cpuinfo)
log=$(mktemp) || exit 1
TMPDIR=$(mktemp -d) || exit 1
export TMPDIR
trap 'rm -rf "$log" "$TMPDIR"' EXIT
passed=0 failed=0 skipped=0

add() { passed=$((passed + $1)) failed=$((failed + $2)) skipped=$((skipped + $3)); }

# Scripts whose models are only there to be opened, shown or packed, and those that choose kernels themselves.
same='abc|amplification|batch|blas|blender|blender_addon|budget|cuda_emulated|docs|elsewhere|example|export.*|fbx|freestanding|guides|help'
same+='|install|layers|mpi|neon|order_tool|outputs|package|page|stats_cli|stats_r|suite|three|torture|validator|view|wasm|web'
programs=$(find "$build" -maxdepth 1 -type f -name 'test_*' -executable | sort)
vectors= # programs with BLAS or the runtime's kernels: readers and writers, slow to emulate, have no vector arithmetic
for program in $programs; do
  if [[ $(nm -D --undefined-only "$program") =~ \ (cblas_|LAPACKE_) ]]; then
    vectors+="$program"$'\n'
  else
    same+="|$(basename "$program" | cut -c 6-)"
    [[ ! $(nm "$program") =~ sn_rt_avx512_kernels ]] || vectors+="$program"$'\n'
  fi
done
scripts=$(printf '%s\n' test/test_*.sh | sed -E 's,.*/test_(.*)\.sh,\1,' | paste -sd '|')

# with KERNELS FLAG...: the tests with these kernels, where the processor has the flags. Haswell's are the tool's own choice: scripts run
# with them in `make test`.
with() {
  local kernels=$1 flag without=$same
  shift
  for flag; do
    [[ " $flags " == *" $flag "* ]] || { echo "skipped: kernels $kernels (this processor has no $flag)"; add 0 0 1; return; }
  done
  [ "$kernels" != Haswell ] || without+="|$scripts"
  echo "kernels $kernels:"
  OPENBLAS_CORETYPE=$kernels tools/run_tests.sh "$build" "$jobs" -LE long -E "^test_($without)$" | tee "$log"
  add $(tail -n 1 "$log" | sed -nE 's/^([0-9]+) passed, ([0-9]+) failed, ([0-9]+) skipped$/\1 \2 \3/p')
}

# emulated PROGRAM: one C test on that processor.
emulated() {
  local said
  if said=$(timeout 3600 qemu-x86_64 -cpu max "$1" 2>&1); then
    echo "passed: $(basename "$1")"
  else
    echo "FAILED: $(basename "$1")"
    tail -n 30 <<< "$said"
  fi
}
export -f emulated
export SINEW=$build/sinew SINEW_SOURCE=$PWD SINEW_DATA=$PWD/../shared/data SINEW_BUILD=$build

with Prescott pni
with Haswell avx2 fma
with Zen avx2 fma
with SkylakeX avx512f avx512dq avx512bw avx512vl
if command -v qemu-x86_64 > /dev/null && [ "$(uname -m)" = x86_64 ]; then
  echo "without AVX-512 (qemu-x86_64 -cpu max):"
  xargs -P "$jobs" -I{} bash -c 'emulated {}' <<< "${vectors%$'\n'}" | tee "$log"
  add "$(grep -c '^passed: ' "$log")" "$(grep -c '^FAILED: ' "$log")" 0
else
  echo "skipped: without AVX-512 (no qemu-x86_64)"
  add 0 0 1
fi
echo "$passed passed, $failed failed, $skipped skipped"
[ $failed = 0 ]
