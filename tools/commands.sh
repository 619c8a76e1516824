#!/usr/bin/env bash
# Writes the page of commands and options from the program's tables: tools/commands.sh > docs/reference/commands.md, with SINEW the
# tool (build/sinew by default)
set -euo pipefail
sinew=${SINEW:-build/sinew}
echo '# Commands

`tools/commands.sh` writes this page from the program. `sinew COMMAND --help` shows the options that most people need, `--help all` all of
them, `--help NAME` those of a method.

Exit status: 0 done, 1 the work failed (a message says what and where), 2 wrong usage.
'
for command in $("$sinew" --help | sed -nE 's/^  ([a-z]+)  +.*/\1/p'); do
  SINEW=$sinew tools/tables.py markdown "$command"
done
echo '## Options of methods

Given as `--method NAME:key=value,key=value`.
'
SINEW=$sinew tools/tables.py markdown
