#!/usr/bin/env bash
# The commands of README.md and of every guide run as written, and the pictures that guides show are there.
source "$(dirname "$0")/common.sh"
guides=$SINEW_SOURCE/docs/guide
for guide in "$guides"/*.md; do
  for picture in $(grep -oE '!\[[^]]*\]\([^)]*\)' "$guide" | sed 's/.*(\(.*\))/\1/'); do check test -s "$guides/$picture"; done
done
printf '# Broken\n\n```sh\nsinew gen nothing -o here\n```\n' > broken.md
expect 1 'FAILED: the commands of broken.md' "$SINEW_SOURCE/tools/guides.sh" broken.md
check "$SINEW_SOURCE/tools/guides.sh" "$SINEW_SOURCE/README.md" "$guides"/*.md
finish
