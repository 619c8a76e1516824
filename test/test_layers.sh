#!/usr/bin/env bash
# The table of docs/layout.md holds: a source may include the headers of its own folder, and of the folders that its
# row lets it use (and what those may use) the headers that their rows name.
set -euo pipefail
cd "${SINEW_SOURCE:-$(dirname "$0")/..}"

check() { # TABLE, then lines "file header" on standard input
  awk -v table="$1" '
    function cells(text, out,   n, k, list) {
      n = split(text, list, /[`, ]+/); k = 0
      for (i = 1; i <= n; i++) if (list[i] != "" && list[i] != "–") out[++k] = list[i]
      return k
    }
    function may_use(folder, other,   k) { # through any number of rows
      if (folder in seen) return 0
      seen[folder] = 1
      for (k = 1; k <= uses[folder, 0]; k++)
        if (uses[folder, k] == other || may_use(uses[folder, k], other)) return 1
      return 0
    }
    function folder_of(path) { sub(/\/[^\/]*$/, "", path); return path }
    BEGIN {
      while ((getline line < table) > 0) {
        if (line !~ /^\| `(src|lab|web)/) continue
        split(line, column, "|")
        cells(column[2], name); folder = name[1]; known[folder] = 1; folders++
        n = cells(column[3], list); for (k = 1; k <= n; k++) open[list[k]] = folder
        n = cells(column[5], list); uses[folder, 0] = n
        for (k = 1; k <= n; k++) uses[folder, k] = list[k] ~ /^(src|lab|web)/ ? list[k] : "src/" list[k]
      }
      if (folders < 10) { print "test_layers: no table in " table; exit 1 }
    }
    {
      from = folder_of($1); includes++
      if (!(from in known)) { print $1 ": its folder " from " has no row"; bad = 1; next }
      if ($2 in known) to = $2; else if ($2 in open) to = open[$2]; else to = ($2 ~ /^lab/ ? "" : "src/") folder_of($2)
      if (to == from) next
      if (!($2 in open) && !($2 in known)) { print $1 ": " $2 " is private to " to; bad = 1; next }
      delete seen
      if (!may_use(from, to)) { print $1 ": " from " may not use " to " (" $2 ")"; bad = 1 }
    }
    END { if (folders >= 10) print includes + 0 " includes, " folders " folders"; exit bad || folders < 10 }'
}

includes() { grep -HoE '^#include "[^"]+"' "$@" | sed -E 's/:#include "/ /; s/"$//'; }

mapfile -t sources < <(git ls-files --cached --others --exclude-standard 'src/*.c' 'src/*.h' 'src/*.cu' 'lab/*.c' 'lab/*.h' 'web/*.c' | while read -r f; do [ -f "$f" ] && echo "$f"; done)
includes "${sources[@]}" | check docs/layout.md

# The same of symbols: whoever needs one may use the folder that defines it. The table of methods names the families below it.
symbols() { # lines "folder kind name" of the build's objects whose sources are still there
  local objects=()
  for object in "${sources[@]/%/.o}"; do
    for target in sinew-runtime sinew sinew-lab sinew-cli-objects; do
      [ ! -f "$1/CMakeFiles/$target.dir/$object" ] || objects+=("$1/CMakeFiles/$target.dir/$object")
    done
  done
  nm -A -g "${objects[@]}" | sed -nE 's#^.*[.]dir/(.*)/[^/:]+:[0-9a-f ]* ([A-Za-z]) (sn_[^ ]+)$#\1 \2 \3#p'
}
uses() { # lines "file header", where header stands for the folder of the symbol
  awk 'NR == FNR { if ($2 != "U") home[$3] = $1; next }
       $2 == "U" && ($3 in home) && home[$3] != $1 && !($1 == "src/train" && home[$3] ~ /^src\/train\//) { print $1 "/" $3, home[$3] }' "$1" "$1" | sort -u
}
if [ -d "${SINEW_BUILD:-build}/CMakeFiles" ]; then
  work=$(mktemp -d)
  trap 'rm -rf "$work"' EXIT
  symbols "${SINEW_BUILD:-build}" > "$work/symbols"
  uses "$work/symbols" > "$work/uses"
  [ "$(wc -l < "$work/uses")" -gt 500 ] || { echo "only $(wc -l < "$work/uses") uses of symbols found"; exit 1; }
  check docs/layout.md < "$work/uses"
  printf 'src/runtime U sn_fail\nsrc/base T sn_fail\n' > "$work/wrong"
  uses "$work/wrong" > "$work/wrong_uses"
  if check docs/layout.md < "$work/wrong_uses" > /dev/null; then echo "test_layers accepts a symbol of a folder above"; exit 1; fi
fi

# It can fail: an upward include, another folder's private header, a folder without a row.
for wrong in 'src/runtime/open.c sinew/base.h' 'src/cli/main.c formats/abc/abc.h' 'src/train/method.c lab/gen/gen.h' 'src/attic/a.c sinew/base.h'; do
  if echo "$wrong" | check docs/layout.md > /dev/null; then echo "test_layers accepts $wrong"; exit 1; fi
done
