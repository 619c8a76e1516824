#!/usr/bin/env bash
# Runs the commands of guides as written, each guide in an empty folder: tools/guides.sh [GUIDE.md...] (docs/guide/*.md unless named),
# with SINEW the tool (build/sinew by default). PICTURES=1 also renews the pictures: `<!-- picture PAGE.html [LOOK] -->` below one
# says which page of the commands it shows.
set -uo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
sinew=$(realpath "${SINEW:-$root/build/sinew}")
[ $# -gt 0 ] || set -- "$root"/docs/guide/*.md
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/bin" && ln -s "$sinew" "$work/bin/sinew"
failed=0
for guide; do
  name=$(basename "$guide" .md) folder=$work/$(basename "$guide" .md)
  mkdir "$folder"
  awk '/^```sh$/ { on = 1; next } /^```$/ { on = 0 } on' "$guide" > "$work/commands"
  [ -s "$work/commands" ] || { [ "$name" = README ] || { echo "FAILED: $name has no commands"; failed=1; }; continue; }
  if (cd "$folder" && PATH=$work/bin:$PATH bash -euo pipefail "$work/commands" > "$work/log" 2>&1); then
    echo "$name runs"
  else
    echo "FAILED: the commands of $guide:"; tail -20 "$work/log"; failed=1
  fi
  read -r page look <<< "$(sed -n 's/^<!-- picture \(.*\) -->$/\1/p' "$guide")"
  [ -z "$page" ] || [ -s "$folder/$page" ] || { echo "FAILED: $name writes no $page"; failed=1; }
  [ -z "$page" ] || [ "${PICTURES:-0}" = 0 ] || node "$root/tools/picture.mjs" "$folder/$page" "${guide%.md}.png" still $look # words
  rm -rf "$folder"
done
exit $failed
