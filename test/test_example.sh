#!/usr/bin/env bash
# The example of the runtime is short, compiles as its comment says, and runs.
set -euo pipefail
src=${SINEW_SOURCE:-$(cd "$(dirname "$0")/.." && pwd)}
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
lines=$(wc -l < "$src/examples/minimal.c")
[ "$lines" -lt 60 ] || { echo "examples/minimal.c has $lines lines"; exit 1; }
command=$(sed -n 's/^\/\/ Build: \(.*-o minimal\).*/\1/p' "$src/examples/minimal.c")
# The vector kernels take most of the time to compile, and the build has compiled them.
(cd "$src" && eval "${command/-o minimal/-O1 -DSN_SCALAR_ONLY -Wall -Wextra -Werror -o $out/minimal}")
for model in "$src"/test/golden/*.sinew; do
  "$out/minimal" "$model" > "$out/text"
  grep -q '^200 vertices, 6 joints' "$out/text"
  [ "$(grep -c '^joint .* bent: vertices move by up to [0-9]' "$out/text")" = 6 ]
done
cat "$out/text"
"$out/minimal" "$src/README-that-is-not-there" && exit 1
echo "not a model, not by a long way, but long enough to hold a whole header of one hundred and twenty-eight bytes, and then some more of it" > "$out/bad"
"$out/minimal" "$out/bad" 2> "$out/text" && exit 1
grep -q 'not a Sinew model' "$out/text"
