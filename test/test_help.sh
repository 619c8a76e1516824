#!/usr/bin/env bash
# --help: no line wider than 100 columns, `train --help` on one screen, every option once, and examples that run as written.
. "$SINEW_SOURCE/test/common.sh"
mkdir bin && ln -s "$(realpath "$SINEW")" bin/sinew
narrow() { ! grep -nE '^.{101}' "$1"; }
once() { ! grep -oE '^  --?[a-z-]+' "$1" | sort | uniq -d | grep .; }
for command in $("$SINEW" --help | sed -nE 's/^  ([a-z]+)  +.*/\1/p'); do
  for topic in "" all; do
    "$SINEW" "$command" --help $topic > "$command$topic.txt"
    check narrow "$command$topic.txt"
    check once "$command$topic.txt"
  done
  mkdir "$command"
  sed -n '/^Example:$/,/^$/p' "$command.txt" | sed '1d; s/^  //' > "$command/example.sh"
  check test -s "$command/example.sh"
  [ "$command" = demo ] || check eval "(cd '$command' && PATH='$PWD/bin':\$PATH bash -eu example.sh > log 2>&1) || { cat '$command/log'; false; }"
done
check test "$(wc -l < train.txt)" -le 50
check test "$(wc -l < trainall.txt)" -gt 100
printf '%101s\n' x > wide.txt
expect 1 "" narrow wide.txt
finish
