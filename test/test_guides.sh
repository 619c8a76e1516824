#!/usr/bin/env bash
# The commands of README.md and of every guide run as written. Every guide begins with commands and a picture, which is there, and ends with
# the next step.
source "$(dirname "$0")/common.sh"
guides=$SINEW_SOURCE/docs/guide
form() { # GUIDE: a title, commands, a picture, ..., and `Next` as the last heading
  [ "$(sed -n 3p "$1")" = '```sh' ] && [[ "$(awk 'shell == 2 && NF { print; exit } /^```/ { shell++ }' "$1")" = '!['* ]] &&
    [ "$(grep '^## ' "$1" | tail -1)" = '## Next' ]
}
for guide in "$guides"/*.md; do
  [ "$guide" = "$guides/README.md" ] || check form "$guide"
  for picture in $(grep -oE '!\[[^]]*\]\([^)]*\)' "$guide" | sed 's/.*(\(.*\))/\1/'); do check test -s "$guides/$picture"; done
done
printf '# Broken\n\n```sh\nsinew gen nothing -o here\n```\n' > broken.md
expect 1 '' form broken.md
expect 1 'FAILED: the commands of broken.md' "$SINEW_SOURCE/tools/guides.sh" broken.md
check "$SINEW_SOURCE/tools/guides.sh" "$SINEW_SOURCE/README.md" "$guides"/*.md
finish
