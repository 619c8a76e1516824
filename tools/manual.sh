#!/usr/bin/env bash
# Man pages and completion for bash and zsh, from the tool's own tables. Usage: tools/manual.sh DIR, with SINEW the tool
# (build/sinew by default). Writes DIR/man1/*.1, DIR/bash/sinew and DIR/zsh/_sinew.
set -euo pipefail
sinew=${SINEW:-build/sinew}
out=${1:?where to? tools/manual.sh DIR}
mkdir -p "$out/man1" "$out/bash" "$out/zsh"

mapfile -t commands < <("$sinew" --help | sed -nE 's/^  ([a-z]+) .*/\1/p')
summary() { "$sinew" --help | sed -nE "s/^  $1 +//p"; }
tables() { SINEW=$sinew python3 "$(dirname "$0")/tables.py" "$@"; }
roff() { sed -e 's/\\/\\e/g' -e 's/-/\\-/g' -e "s/^\([.']\)/\\\\\&\1/"; }

{
  version=$("$sinew" --version | sed 's/^sinew //')
  printf '.TH SINEW 1 "" "sinew %s" "Sinew"\n.SH NAME\nsinew \\- learns a real\\-time skin from example meshes\n' "$version"
  printf '.SH SYNOPSIS\n\\fBsinew\\fR \\fICOMMAND\\fR ...\n.SH DESCRIPTION\n'
  printf 'Turns example meshes (simulations, scans, caches) into a small model that moves a mesh in microseconds.\n.SH COMMANDS\n'
  for command in "${commands[@]}"; do
    printf '.TP\n\\fB%s\\fR\n%s\n' "$command" "$(summary "$command" | roff)"
  done
  printf '.SH EXIT STATUS\n0 done, 1 the work failed (a message says what and where), 2 wrong usage.\n.SH SEE ALSO\n'
  for command in "${commands[@]}"; do printf '\\fBsinew\\-%s\\fR(1)\n' "$command"; done
} > "$out/man1/sinew.1"

for command in "${commands[@]}"; do tables man "$command" > "$out/man1/sinew-$command.1"; done

mapfile -t methods < <(tables words train | sed -nE 's/^method ([^\t]+)\t.*/\1/p')

{
  cat <<HEAD
# bash completion for sinew; made by tools/manual.sh
_sinew() {
  local word=\${COMP_WORDS[COMP_CWORD]} before=\${COMP_WORDS[COMP_CWORD-1]} options=
  COMPREPLY=()
  if [ "\$COMP_CWORD" -eq 1 ]; then
    mapfile -t COMPREPLY < <(compgen -W '${commands[*]} --help --version' -- "\$word")
    return
  fi
  case \${COMP_WORDS[1]}:\$before in
HEAD
  for command in "${commands[@]}"; do
    tables words "$command" | while IFS=$'\t' read -r name kind _; do
      case $kind in
      file) echo "  $command:$name) mapfile -t COMPREPLY < <(compgen -f -- \"\$word\"); return ;;" ;;
      method) [ "$name" = --method ] && echo "  $command:$name) mapfile -t COMPREPLY < <(compgen -W '${methods[*]}' -- \"\$word\"); return ;;" || true ;;
      something) echo "  $command:$name) return ;;" ;;
      nothing) ;;
      *) echo "  $command:$name) mapfile -t COMPREPLY < <(compgen -W '${kind//|/ }' -- \"\$word\"); return ;;" ;;
      esac
    done
  done
  echo "  esac"
  echo '  case ${COMP_WORDS[1]} in'
  for command in "${commands[@]}"; do
    echo "  $command) options='$(tables words "$command" | sed -nE 's/^(-[^\t]+)\t.*/\1/p' | tr '\n' ' ')' ;;"
  done
  cat <<'TAIL'
  esac
  case $word in
  -*) mapfile -t COMPREPLY < <(compgen -W "$options" -- "$word") ;;
  *) mapfile -t COMPREPLY < <(compgen -f -- "$word") ;;
  esac
}
complete -o filenames -F _sinew sinew
TAIL
} > "$out/bash/sinew"

zsh_text() { sed -e "s/'/’/g" -e 's/\[/(/g' -e 's/\]/)/g' -e 's/:/\\:/g'; }
{
  echo '#compdef sinew'
  echo '# zsh completion for sinew; made by tools/manual.sh'
  echo '_sinew() {'
  echo '  local -a commands'
  echo '  commands=('
  for command in "${commands[@]}"; do echo "    '$command:$(summary "$command" | zsh_text)'"; done
  echo '  )'
  echo '  if (( CURRENT == 2 )); then _describe command commands; return; fi'
  echo '  case $words[2] in'
  for command in "${commands[@]}"; do
    echo "  $command) _arguments -S \\"
    tables words "$command" | grep '^-' | while IFS=$'\t' read -r name kind help; do
      help=$(printf '%s' "$help" | zsh_text)
      case $kind in
      file) echo "    '*$name=-[$help]:file:_files' \\" ;;
      method) echo "    '*$name=-[$help]:method:(${methods[*]})' \\" ;;
      something) echo "    '*$name=-[$help]:value:' \\" ;;
      nothing) echo "    '$name[$help]' \\" ;;
      *) echo "    '$name=-[$help]:value:(${kind//|/ })' \\" ;;
      esac
    done | sed 's/=-\[/[/'
    echo "    '*:file:_files' ;;"
  done
  echo '  esac'
  echo '}'
  echo '_sinew "$@"'
} > "$out/zsh/_sinew"
