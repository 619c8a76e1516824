#!/usr/bin/env bash
# Makes character.glb and character.sinew in this folder: a generated body, its motion, and a skin learned from it. Your own
# character works as well: give its .glb to --rest, --frames and --skeleton.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
sinew=${SINEW:-$here/../../build/sinew}
"$sinew" gen body -o "$here/body" --vertices "${VERTICES:-2000}" --frames 60 --quiet
cp "$here/body/skeleton.glb" "$here/character.glb"
"$sinew" train --method psd --rest "$here/character.glb" --frames "$here/body/frames.pc2" --skeleton "$here/character.glb" \
  --keys every:4 -o "$here/character.sinew"
