#!/usr/bin/env bash
# Writes the tables of options into the documentation, from the code: what stands between the lines
# <!-- options of COMMAND [METHOD] --> and <!-- end of options -->. Usage: tools/option_tables.sh FILE.md... (docs/*.md unless told),
# with SINEW the tool (build/sinew unless told)
set -euo pipefail
sinew=${SINEW:-build/sinew}
[ $# -gt 0 ] || set -- docs/*.md
for file; do
  read -r command method <<< "$(sed -n 's/^<!-- options of \(.*\) -->$/\1/p' "$file")"
  [ -n "$command" ] || continue
  "$sinew" "$command" --help "markdown${method:+:$method}" > "$file.tables"
  sed -e "/^<!-- options of/r $file.tables" -e '/^<!-- options of/,/^<!-- end of options/{//!d}' "$file" > "$file.new"
  rm "$file.tables"
  mv "$file.new" "$file"
done
