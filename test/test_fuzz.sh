#!/usr/bin/env bash
# Builds the fuzz targets with clang and runs each for SINEW_FUZZ_SECONDS (2 by default) from its seeds: the files of
# test/fuzz/corpus/<target>/, and what Sinew itself writes where it has been built. The same random seed each time.
set -uo pipefail
source_folder=${SINEW_SOURCE:-$(cd "$(dirname "$0")/.." && pwd)}
seconds=${SINEW_FUZZ_SECONDS:-1}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

if ! command -v clang >/dev/null; then
  echo "skipped: clang is not installed"
  exit 77
fi
echo 'int LLVMFuzzerTestOneInput(const char *b, long n); int LLVMFuzzerTestOneInput(const char *b, long n) { return b && n < 0; }' > "$work/probe.c"
if ! clang -fsanitize=fuzzer,address,undefined "$work/probe.c" -o "$work/probe" 2> "$work/probe.log"; then
  echo "skipped: clang cannot link libFuzzer (Debian: libclang-rt-14-dev)"
  exit 77
fi

cd "$source_folder" || exit 1
if ! { cmake --preset fuzz && cmake --build build-fuzz -j "$(nproc)"; } > "$work/build.log" 2>&1; then
  tail -n 40 "$work/build.log"
  echo "the fuzz preset does not build"
  exit 1
fi

# Seeds from our own writers: a small generated set, and what seeds_<kind>.sh collects from the tests.
written=
if [ -x "${SINEW:-}" ] && "$SINEW" gen bar --frames 3 -o "$work/set" --quiet > "$work/gen.log" 2>&1; then
  written="$work/set"
fi

failed=0
found=0
for source in test/fuzz/fuzz_*.c; do
  name=$(basename "$source" .c)
  kind=${name#fuzz_}
  found=$((found + 1))
  mkdir -p "$work/$name/new" "$work/$name/seeds" "$work/$name/corpus"
  if [ -n "$written" ]; then
    case $kind in
    obj) cp "$written/rest.obj" "$work/$name/seeds/" ;;
    pc2) cp "$written/frames.pc2" "$work/$name/seeds/" ;;
    torque) cp "$written/torque.csv" "$work/$name/seeds/" ;;
    gltf) cp "$written/skeleton.glb" "$work/$name/seeds/" ;;
    esac
  fi
  if [ -f "test/fuzz/seeds_$kind.sh" ] && [ -n "${SINEW_BUILD:-}" ]; then
    bash "test/fuzz/seeds_$kind.sh" "$SINEW_BUILD" "$work/$name/seeds" || echo "$name: no seeds from seeds_$kind.sh"
  fi
  [ -d "test/fuzz/corpus/$name" ] && cp "test/fuzz/corpus/$name"/* "$work/$name/seeds/"
  limit=8192
  case $kind in gltf | model | fbx) limit=65536 ;; esac
  if "build-fuzz/$name" -seed="${SINEW_FUZZ_SEED:-1}" -max_total_time="$seconds" -max_len=$limit -timeout=10 -rss_limit_mb=2048 \
    -artifact_prefix="$work/$name/new/" -print_final_stats=1 "$work/$name/corpus" "$work/$name/seeds" \
    > "$work/$name/log" 2>&1; then
    echo "$name: $(grep -o 'stat::number_of_executed_units: *[0-9]*' "$work/$name/log" | grep -o '[0-9]*$') runs, nothing found"
  else
    failed=1
    echo "$name FAILED:"
    tail -n 40 "$work/$name/log"
    for reproducer in "$work/$name/new"/*; do
      [ -f "$reproducer" ] || continue
      echo "reproducer (base64; decode it into a file and run build-fuzz/$name FILE):"
      base64 -w 120 "$reproducer"
    done
  fi
done
[ "$found" -gt 0 ] || { echo "no fuzz targets in test/fuzz"; exit 1; }
exit $failed
