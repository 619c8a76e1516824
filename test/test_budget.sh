#!/usr/bin/env bash
# The sizes of the rooms, functions and lines stay below their limits (tools/budget.txt, which may only go down).
. "$(dirname "$0")/common.sh"
check "$SINEW_SOURCE/tools/budget.py"

# It can fail: a function that is too long and one of seven parameters, a wide line, no first sentence, a tuned number.
mkdir -p wrong/src/train wrong/lab wrong/tools
sed 's/^ *[0-9]*/0/' "$SINEW_SOURCE/tools/budget.txt" > wrong/tools/budget.txt
{
  echo 'int seven(int a, int b, int c, int d, int e, int f, int g) { return a; }'
  echo 'int six(int a, int b, int c, int d, int e, int (*f)(int, int)) {'
  for k in $(seq 60); do echo "  a += b; //$k"; done
  echo '  return a > 0.37 ? b[99] : 2;'
  echo '}'
  printf '// %0140d\n' 1
} > wrong/src/train/a.c
"$SINEW_SOURCE/tools/budget.py" "$PWD/wrong" > out && fail "it accepts everything"
while read -r kind; do
  grep -qE "^$kind +1 .* too many" out || fail "not 1: $kind: $(cat out)"
done <<< 'functions above 60 lines
functions of more than 6 parameters
lines above 132 columns
files without a first sentence
tuned numbers'
finish
