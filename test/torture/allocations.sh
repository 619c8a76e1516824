#!/usr/bin/env bash
# The n-th allocation of the process fails, in libraries too: status 1 with a message and no output, or status 0 and the same
# bytes. allocations.sh [SAMPLES]: so many n of every command, all of them for 0. SINEW, PRELOAD (failing_malloc.so), SEED.
source "$(dirname "$0")/common.sh"
samples=${1:-5}
make_inputs || exit 1
# What the tool would choose by starting itself anew: then the count would begin again.
case $(uname -m) in x86_64) kernels=Haswell ;; *) kernels=ARMV8 ;; esac
make_table > anova.csv
if [ -z "${PRELOAD:-}" ]; then
  PRELOAD=$work/failing_malloc.so
  cc -O1 -shared -fPIC -o "$PRELOAD" "$here/failing_malloc.c" -ldl || exit 1
fi

# attempt N WORDS...: runs it into out/, its text in out/stdout; the exit status.
attempt() {
  local n=$1
  shift
  rm -rf out && mkdir out
  timeout 60 env SINEW_FAIL_AT=$n SINEW_COUNT_TO=count OPENBLAS_NUM_THREADS=1 OPENBLAS_CORETYPE=$kernels LD_PRELOAD=$PRELOAD "$SINEW" "$@" --threads 1 --json out/r.json > stdout 2> stderr
}

check() { # NAME N STATUS
  tried=$((tried + 1))
  case $3 in
    0) [ "$(digest out)" = "$reference" ] || fail "$1, allocation $2: status 0, but other bytes" ;;
    1)
      grep -qE "out of memory|Cannot allocate memory" stderr || fail "$1, allocation $2: does not say out of memory: $(cat stderr)"
      [ -z "$(ls -A out)" ] || fail "$1, allocation $2: left $(find out | tr '\n' ' ')"
      ;;
    *) fail "$1, allocation $2: status $3: $(tail -c 300 stderr)" ;;
  esac
  [ $failures -lt 40 ] || finish allocations
}

while read -r name words; do
  [ -z "${ONLY:-}" ] || [[ $name == $ONLY ]] || continue
  [ "$name" != batch ] || continue # jobs that are done stay done
  # shellcheck disable=SC2086
  if ! attempt 0 $words; then
    grep -q 'npm ci' stderr || fail "$name: $(cat stderr)"
    continue
  fi
  total=$(cat count)
  [ "$name" != info-x ] || total=$((5 * total)) # those of the child that reads it, which is not counted
  reference=$(digest out)
  # shellcheck disable=SC2086
  attempt 0 $words
  [ "$(digest out)" = "$reference" ] || { fail "$name: not the same bytes twice"; diff <(echo "$reference") <(digest out); continue; }
  [ -z "${VERBOSE:-}" ] || echo "$name: $total allocations"
  if [ "$samples" -eq 0 ] || [ "$samples" -ge "$total" ]; then list=$(seq "$total"); else list=$(for ((k = 0; k < samples; k++)); do echo $(($(random_below "$total") + 1)); done); fi
  for n in $list; do
    # shellcheck disable=SC2086
    attempt "$n" $words
    check "$name" "$n" $?
  done
done < <(commands)
finish allocations
