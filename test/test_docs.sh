#!/usr/bin/env bash
# The page of commands is that of the program, links lead somewhere, and the files and functions that the documentation names exist.
set -u
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$SINEW_SOURCE" || exit 1
failed=0
fail() { echo "FAILED: $*"; failed=1; }

mapfile -t pages < <(find docs -name '*.md')
bash tools/commands.sh > "$work/commands.md" || exit 1
grep -q '| `influences` | 4 | 1 to 8 |' "$work/commands.md" || fail "no table of options"
diff -u docs/reference/commands.md "$work/commands.md" || fail "the options changed: tools/commands.sh > docs/reference/commands.md"

# Links lead to files that exist.
for page in "${pages[@]}" README.md CONTRIBUTING.md CHANGELOG.md; do
  for link in $(grep -oE '\]\([^)# ]+' "$page" | cut -c3- | grep -v '://'); do
    [ -e "$(dirname "$page")/$link" ] || fail "$page links to $link, which does not exist"
  done
done

# Tables of measurements are what their JSON says.
cp docs/measurements.md "$work"
SINEW_MEASUREMENTS=$work/measurements.md python3 tools/measure.py --tables || fail "tools/measure.py"
diff -u docs/measurements.md "$work/measurements.md" || fail "the tables changed: tools/measure.py --tables"
mkdir "$work/figures" && cp docs/figures/*.md "$work/figures"
SINEW_FIGURES=$work/figures python3 tools/documents.py --tables || fail "tools/documents.py"
diff -ru -x '*.svg' -x '*.png' docs/figures "$work/figures" || fail "the tables changed: tools/documents.py --tables"
for picture in "$work"/figures/*.svg; do cmp "$picture" "docs/figures/${picture##*/}" || fail "a picture changed: tools/documents.py --tables"; done
# Every one of them has its numbers, with commit, processor and date.
for name in $(cat docs/measurements.md docs/figures/*.md | sed -n 's/^<!-- measured \(.*\) -->$/\1/p'); do
  for about in commit processor date; do grep -q "\"$about\"" "docs/measurements/$name.json" || fail "docs/measurements/$name.json has no $about"; done
done

# Words: README 700, the rest 24,000 without what programs write or read (the page of commands, figures, tables of measurements and layout).
words() { cat -- "$@" | tr -s ' \n' '\n\n' | grep -c '[A-Za-z0-9]'; } # not the bars of tables
readme=$(words README.md)
mapfile -t written < <(printf '%s\n' "${pages[@]}" | grep -vE '^docs/(reference/commands|measurements|layout|figures/.*)\.md$')
manual=$(($(words "${written[@]}") + $(grep -hv '^|' docs/measurements.md docs/layout.md | words)))
[ "$readme" -le 700 ] || fail "README.md has $readme words, at most 700"
[ "$manual" -le 24000 ] || fail "docs have $manual words, at most 24000"
echo "words: README $readme, docs $manual"

# Names of files end as paths do; * stands for what it does in a shell.
find src include test bench lab tools web python blender examples cmake -type f | sed 's#^#/#' > "$work/files"
named() { grep -ohE '`[^` ]+`' "${pages[@]}" README.md CONTRIBUTING.md | tr -d '`' | sort -u; }
named | grep -E '^[A-Za-z0-9_./*-]+\.(c|h|cu|sh|mjs|py)$' > "$work/named"
while read -r name; do
  pattern=$(sed 's#^[.][.]/##; s#[.]#[.]#g; s#[*]#[^/]*#g' <<< "$name")
  grep -qE "/$pattern\$" "$work/files" || fail "the documentation names $name, which does not exist"
done < "$work/named"
[ "$(wc -l < "$work/named")" -gt 80 ] || fail "only $(wc -l < "$work/named") files found in the documentation"

cat $(find src include lab -name '*.[ch]') | grep -ohE '\bsn_[a-z0-9_]+' | sort -u > "$work/known"
named | grep -oE '^sn_[a-z0-9_]+(\(\))?$' | tr -d '()' | sort -u > "$work/functions"
comm -23 "$work/functions" "$work/known" > "$work/unknown"
[ ! -s "$work/unknown" ] || fail "the documentation names what is nowhere: $(tr '\n' ' ' < "$work/unknown")"
[ "$(wc -l < "$work/functions")" -gt 60 ] || fail "only $(wc -l < "$work/functions") functions found in the documentation"

# Tables of functions and files, the walks of layout.md and the equations of docs/methods: every function that a row names is defined in a file
# that the row names. Files without a folder are in that of the file named before, or in the one that the line above the table names. From row
# to row, a walk calls into a folder that it has not been in, or returns to one that it came through; it never enters a folder that it has left.
hops() { # FOLDER...: prints the first folder that is entered again
  local open=() left=' ' here k
  for here in "$@"; do
    for ((k = ${#open[@]} - 1; k >= 0; k--)); do [ "${open[k]}" != "$here" ] || break; done
    if [ $k -lt 0 ]; then
      case $left in *" $here "*) echo "$here"; return ;; esac
      open+=("$here")
    else
      left="$left${open[*]:k + 1} "
      open=("${open[@]:0:k + 1}")
    fi
  done
}
[ "$(hops cli job train rig train job cli)$(hops cli train cli job train)$(hops a b c b c)" = trainc ] || fail "the search for hops"
quoted() { grep -oE '`[A-Za-z0-9_./]+`' <<< "$1" | tr -d '`'; }
homes() { # PAGE: checks its tables; prints how many functions they name
  local page=$1 named=0 kind= folder= rows=() paths functions files file function line
  while IFS= read -r line; do
    case $line in
      '| step | function | file |'* | *'| function | file |'*)
        case $line in '| step'*) kind=walk ;; *) kind=table ;; esac
        line=$(hops "${rows[@]}"); rows=()
        [ -z "$line" ] || fail "$page: a walk hops back into $line" >&2
        continue ;;
      '| ---'*) continue ;;
      '| '*) [ "$kind" ] || continue ;;
      *'all in `'*) folder=$(grep -oE 'all in `[^`]+`' <<< "$line" | cut -d'`' -f2); continue ;;
      *) kind=; continue ;;
    esac
    line=${line% |}; line=${line//'\|'/}
    files=${line##*|} line=${line%|*} functions=${line##*|}
    paths=()
    for file in $(quoted "$files"); do
      case $file in src/* | lab/*) folder=$(dirname "$file") ;; *) file=$folder/$file ;; esac
      [ -f "$file" ] && paths+=("$file") || fail "$page: a table names $file, which does not exist" >&2
    done
    [ $kind = walk ] && rows+=("$(dirname "${paths[0]}")")
    for function in $(quoted "$functions"); do
      named=$((named + 1))
      grep -qE "^[a-zA-Z_].*\b$function( =|[(])|[.]$function = " "${paths[@]}" /dev/null || fail "$page: a table names $function, which is not in ${paths[*]}" >&2
    done
  done < <(cat "$page"; echo '| step | function | file |')
  echo "$named"
}
walks=$(homes docs/layout.md 2> "$work/homes")
equations=0
for page in docs/methods/*.md; do equations=$((equations + $(homes "$page" 2>> "$work/homes"))); done
[ ! -s "$work/homes" ] || { cat "$work/homes"; failed=1; }
printf '| equation | function | file |\n| - | `sn_fail`, `sn_none` | `src/base/context.c`, `none.c` |\n' > "$work/wrong.md"
[ "$(homes "$work/wrong.md" 2>&1 | grep -c FAILED)" -ge 2 ] || fail "wrong tables are accepted"
[ "$walks" -gt 40 ] || fail "only $walks functions found in the walks"
[ "$equations" -gt 50 ] || fail "only $equations functions found in docs/methods"

[ $failed = 0 ] && echo "the documentation agrees"
exit $failed
