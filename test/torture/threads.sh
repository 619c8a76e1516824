#!/usr/bin/env bash
# Every command on four threads under TSan (clang's or gcc's -fsanitize=thread): no two threads touch the same memory unawares,
# and the bytes are those of one thread. Builds build-tsan where it is not there. SINEW, SINEW_SOURCE, ONLY.
source "$(dirname "$0")/common.sh"
build=$SINEW_SOURCE/build-tsan
cmake -S "$SINEW_SOURCE" -B "$build" -DCMAKE_BUILD_TYPE=RelWithDebInfo -DCMAKE_C_FLAGS=-fsanitize=thread -DBUILD_TESTING=OFF > log 2>&1 &&
  cmake --build "$build" --target sinew-cli -j "${JOBS:-1}" > log 2>&1 || { tail -n 20 log; fail "build-tsan"; finish threads; }
make_inputs || exit 1
make_table > anova.csv
while read -r name words; do
  [ -z "${ONLY:-}" ] || [[ $name == $ONLY ]] || continue
  tried=$((tried + 1))
  rm -rf out && mkdir out
  # shellcheck disable=SC2086
  "$build/sinew" $words --threads 1 --quiet > stdout 2> stderr || { grep -q 'npm ci' stderr || fail "$name: $(tail -c 300 stderr)"; continue; }
  reference=$(digest out)
  rm -rf out && mkdir out
  # shellcheck disable=SC2086
  TSAN_OPTIONS=exitcode=77 "$build/sinew" $words --threads 4 --quiet > stdout 2> stderr
  status=$?
  [ $status -eq 0 ] || fail "$name: $(head -c 2000 stderr)"
  [ "$(digest out)" = "$reference" ] || fail "$name: other bytes on four threads"
done < <(commands)
finish threads
