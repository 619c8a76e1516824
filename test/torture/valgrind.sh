#!/usr/bin/env bash
# One run of every command under valgrind: no invalid access, nothing that depends on unset memory, no leak. SINEW, ONLY.
source "$(dirname "$0")/common.sh"
command -v valgrind > /dev/null || { echo "skipped: valgrind is not installed"; exit 77; }
make_inputs || exit 1
make_table > anova.csv
# Valgrind does not follow the tool where it starts itself anew.
export OPENBLAS_NUM_THREADS=1 OPENBLAS_CORETYPE=Haswell
while read -r name words; do
  [ -z "${ONLY:-}" ] || [[ $name == $ONLY ]] || continue
  [ "$name" != batch ] || continue # its jobs are this tool again, which valgrind does not follow either
  rm -rf out && mkdir out
  tried=$((tried + 1))
  # shellcheck disable=SC2086
  valgrind -q --error-exitcode=77 --leak-check=full --errors-for-leak-kinds=definite "$SINEW" $words --threads 2 > stdout 2> stderr
  status=$?
  [ $status -ne 77 ] || fail "$name: $(head -c 2000 stderr)"
  [ $status -eq 0 ] || [ $status -eq 77 ] || grep -q 'npm ci' stderr || fail "$name: status $status: $(tail -c 300 stderr)"
done < <(commands)
finish valgrind
