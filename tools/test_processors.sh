#!/usr/bin/env bash
# The tests as other processors run them: tools/test_processors.sh BUILD JOBS [PART [PROGRAM...]]. Parts: Prescott, Haswell, Zen and
# SkylakeX, what calls BLAS with the kernels of these; emulated, the C tests on a processor without AVX-512, which qemu makes up. All of
# them unless one is named, and all programs of that one unless some are. What this processor cannot run is skipped by name. The
# last line counts.
set -uo pipefail
cd "$(dirname "$0")/.." || exit 1
build=$(realpath "$1") jobs=$2 parts=${3:-Prescott Haswell Zen SkylakeX emulated}
shift $(($# < 3 ? $# : 3))
only=$(printf '%s\n' "$@")
flags=$(grep -m 1 '^flags' /proc/cpuinfo)
log=$(mktemp) || exit 1
TMPDIR=$(mktemp -d) || exit 1
export TMPDIR
trap 'rm -rf "$log" "$TMPDIR"' EXIT
passed=0 failed=0 skipped=0

add() { passed=$((passed + $1)) failed=$((failed + $2)) skipped=$((skipped + $3)); }

# Scripts with bounds on what training reaches. The others ask for words, files and formats, which no kernel changes, or choose kernels
# themselves.
bounds='adjust auto bad_poses characters helpers_cli new_motion psd_cli python rate rig_cli rotreg_tool sculpt_cli torque_tool values_cli'
blas= vectors= # programs with BLAS, and those with the runtime's kernels too: readers and writers, slow to emulate, have no vector arithmetic
for program in $(find "$build" -maxdepth 1 -type f -name 'test_*' -executable | sort); do
  if [[ $(nm -D --undefined-only "$program") =~ \ (cblas_|LAPACKE_) ]]; then
    blas+=" $(basename "$program")" vectors+=" $(basename "$program")"
  elif [[ $(nm "$program") =~ sn_rt_avx512_kernels ]]; then
    vectors+=" $(basename "$program")"
  fi
done

# named PROGRAM...: those of them that were asked for.
named() { printf '%s\n' "$@" | if [ -n "$only" ]; then grep -xF "$only"; else cat; fi; }

# like_haswell KERNELS: whether a model has the bytes that Haswell's kernels give. The tool takes Haswell's itself, so that `make test`
# has run the scripts with them.
like_haswell() {
  local folder kernels
  folder=$(mktemp -d)
  "$SINEW" gen arm --vertices 700 --frames 16 -o "$folder" --quiet
  for kernels in Haswell "$1"; do
    OPENBLAS_CORETYPE=$kernels "$SINEW" train --method rotreg:bones=8,psd=1 --rest "$folder/rest.obj" --frames "$folder/frames.pc2" \
      --skeleton "$folder/skeleton.glb" -o "$folder/$kernels.sinew" --quiet
  done
  cmp -s "$folder/Haswell.sinew" "$folder/$1.sinew"
}

# with KERNELS FLAG...: the tests with these kernels, where the processor has the flags.
with() {
  local kernels=$1 flag tests=$blas
  shift
  [[ " $parts " == *" $kernels "* ]] || return
  for flag; do
    [[ " $flags " == *" $flag "* ]] || { echo "skipped: kernels $kernels (this processor has no $flag)"; add 0 0 1; return; }
  done
  [[ " $flags " == *" avx2 "* ]] && like_haswell "$kernels" || tests+=" $(printf 'test_%s ' $bounds)"
  tests=$(named $tests | paste -sd '|')
  [ -n "$tests" ] || return
  echo "kernels $kernels:"
  OPENBLAS_CORETYPE=$kernels tools/run_tests.sh "$build" "$jobs" -R "^($tests)\$" | tee "$log"
  add $(tail -n 1 "$log" | sed -nE 's/^([0-9]+) passed, ([0-9]+) failed, ([0-9]+) skipped$/\1 \2 \3/p')
}

# emulated PROGRAM: one C test on that processor.
emulated() {
  local said
  SECONDS=0
  if said=$(timeout 3600 qemu-x86_64 -cpu max "$1" 2>&1); then
    echo "passed: $(basename "$1") ($SECONDS s)"
  else
    echo "FAILED: $(basename "$1") ($SECONDS s)"
    tail -n 30 <<< "$said"
  fi
}
export -f emulated
export SINEW=$build/sinew SINEW_SOURCE=$PWD SINEW_DATA=$PWD/../shared/data SINEW_BUILD=$build

with Prescott pni
with Haswell avx2 fma
with Zen avx2 fma
with SkylakeX avx512f avx512dq avx512bw avx512vl
if [[ " $parts " != *" emulated "* ]]; then
  :
elif command -v qemu-x86_64 > /dev/null && [ "$(uname -m)" = x86_64 ]; then
  echo "without AVX-512 (qemu-x86_64 -cpu max):"
  named $vectors | xargs -P "$jobs" -I{} bash -c 'emulated "$SINEW_BUILD/{}"' | tee "$log"
  add "$(grep -c '^passed: ' "$log")" "$(grep -c '^FAILED: ' "$log")" 0
else
  echo "skipped: without AVX-512 (no qemu-x86_64)"
  add 0 0 1
fi
echo "$passed passed, $failed failed, $skipped skipped"
[ $failed = 0 ] && [ $((passed + skipped)) -gt 0 ] # nothing at all: a part or program of another name
