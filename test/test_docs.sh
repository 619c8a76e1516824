#!/usr/bin/env bash
# The documentation's tables of options are those of the code.
set -u
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cp "$SINEW_SOURCE"/docs/*.md "$work"
bash "$SINEW_SOURCE/tools/option_tables.sh" "$work"/*.md || exit 1
grep -q '| `influences` | 4 | 1 to 8 |' "$work/methods.md" || { echo "FAILED: no table in methods.md"; exit 1; }
diff -r -u "$SINEW_SOURCE/docs" "$work" -x '*.png' -x '*.svg' || {
  echo "FAILED: the options changed: run tools/option_tables.sh"
  exit 1
}
echo "the documentation agrees"
