#!/usr/bin/env bash
# Kills at random moments: every output is the old one or the new one, a .gltf finds its .bin, and nothing is left over.
# kills.sh [COUNT] kills; SINEW, SEED.
source "$(dirname "$0")/common.sh"
count=${1:-20}
make_inputs || exit 1
"$SINEW" gen arm -o other --vertices 700 --frames 12 --quiet || exit 1

# A pair of states of the same outputs, made by the same command from two inputs.
make_state() { # FOLDER SET
  mkdir -p "$1"
  "$SINEW" convert "$2/skeleton.glb" "$1/clip.gltf" --quiet
  "$SINEW" train --method lbs --rest "$2/rest.obj" --frames "$2/frames.pc2" --skeleton "$2/skeleton.glb" -o "$1/m.sinew" --quiet
  "$SINEW" convert "$2/frames.pc2" "$1/x.mdd" --quiet
  for name in rig.glb rig.fbx; do "$SINEW" rig --rest "$2/rest.obj" --frames "$2/frames.pc2" --bones 3 -o "$1/$name" --quiet; done
}
make_state old set
make_state new other
pairs=(
  "clip.gltf convert other/skeleton.glb here/clip.gltf"
  "m.sinew train --method lbs --rest other/rest.obj --frames other/frames.pc2 --skeleton other/skeleton.glb -o here/m.sinew"
  "x.mdd convert other/frames.pc2 here/x.mdd"
  "rig.glb rig --rest other/rest.obj --frames other/frames.pc2 --bones 3 -o here/rig.glb"
  "rig.fbx rig --rest other/rest.obj --frames other/frames.pc2 --bones 3 -o here/rig.fbx"
)
died=0
signals=(KILL KILL KILL INT TERM HUP)

check() { # OUTPUT SIGNAL
  local name=$1
  cmp -s "here/$name" "old/$name" || cmp -s "here/$name" "new/$name" || fail "$2: $name is neither the old one nor the new one"
  case $name in
    *.gltf)
      "$SINEW" info "here/$name" --quiet || fail "$2: $name cannot be read"
      local bin
      bin=$(grep -o "clip\.[0-9a-f]*\.bin" "here/$name")
      cmp -s "here/$bin" "old/$bin" || cmp -s "here/$bin" "new/$bin" || fail "$2: $bin is not of $name"
      ;;
  esac
  local left
  left=$(ls -A here | grep -v -e '^clip\.gltf$' -e '^clip\.[0-9a-f]*\.bin$' -e '^m\.sinew$' -e '^x\.mdd$' -e '^rig\.glb$' -e '^rig\.fbx$')
  [ -z "$left" ] || { fail "$2 of $name: left $left"; rm -f here/.sinew-*; }
}

for ((k = 0; k < count; k++)); do
  read -r name words <<< "${pairs[k % ${#pairs[@]}]}"
  rm -rf here && cp -r old here
  signal=${signals[k % ${#signals[@]}]}
  # shellcheck disable=SC2086
  "$SINEW" $words --quiet > /dev/null 2> stderr &
  child=$!
  # From at once to about as long as the command takes.
  sleep "0.0$(printf '%04d' "$(random_below "${SPAN:-2500}")")"
  kill -s "$signal" $child 2> /dev/null
  wait $child 2> /dev/null || died=$((died + 1))
  tried=$((tried + 1))
  check "$name" "$signal"
done
echo "kills: $died came before the end"
finish kills
