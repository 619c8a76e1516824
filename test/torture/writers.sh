#!/usr/bin/env bash
# Two processes write the same files at once; a full disk; a folder that cannot be written to; outputs that are inputs: the
# old file or the new one, and nothing left over. writers.sh [ROUNDS]; SINEW.
source "$(dirname "$0")/common.sh"
rounds=${1:-5}
make_inputs || exit 1
"$SINEW" gen arm -o other --vertices 700 --frames 12 --quiet || exit 1
for state in set other; do
  mkdir ref-$state
  "$SINEW" convert $state/skeleton.glb ref-$state/clip.gltf --quiet
  "$SINEW" convert $state/frames.pc2 ref-$state/objs --rest $state/rest.obj --quiet
done

# same FOLDER...: whether a folder is one of the references.
same() { diff -r "$1" ref-set > /dev/null || diff -r "$1" ref-other > /dev/null; }

for ((k = 0; k < rounds; k++)); do
  rm -rf here && mkdir here
  for state in set other; do
    (
      for repeat in 1 2 3; do
        "$SINEW" convert $state/skeleton.glb here/clip.gltf --quiet || echo "$state failed"
      done
    ) >> said 2>&1 &
  done
  wait
  tried=$((tried + 1))
  cmp -s here/clip.gltf ref-set/clip.gltf || cmp -s here/clip.gltf ref-other/clip.gltf || fail "two writers: a mixture"
  "$SINEW" info here/clip.gltf --quiet || fail "two writers: no pair: $(ls here)"
  [ "$(ls -A here | wc -l)" = 2 ] || fail "two writers left $(ls -A here)"
  [ ! -s said ] || { fail "two writers: $(cat said)"; rm said; }
done

# A disk that fills up at some byte: a small file system where we may mount one, a limit on the size of files elsewhere.
small() { # KILOBYTES COMMAND...
  local size=$1
  shift
  (
    trap '' XFSZ
    ulimit -f "$size"
    "$@"
  )
}
full=0
for ((k = 0; k < rounds; k++)); do
  for state in "$((RANDOM % 40))"; do
    rm -rf here && cp -r ref-set here
    tried=$((tried + 2))
    small "$state" "$SINEW" convert other/skeleton.glb here/clip.gltf --quiet 2> said || full=$((full + 1))
    small "$state" "$SINEW" convert other/frames.pc2 here/objs --rest other/rest.obj --quiet 2>> said || full=$((full + 1))
    grep -v 'cannot write: File too large' said && fail "a full disk: $(cat said)"
    left=$(find here -name '.sinew-*')
    [ -z "$left" ] || fail "a full disk left $left"
    "$SINEW" info here/clip.gltf --quiet || fail "a full disk: no pair"
    diff -r here/objs ref-set/objs > /dev/null || [ -e here/objs/frame_0011.obj ] || fail "a full disk: frames are lost"
  done
done
if [ "$(id -u)" = 0 ] && mkdir disk && mount -t tmpfs -o size=48k none disk 2> /dev/null; then
  trap '[ "$BASHPID" != $$ ] || { umount "$work/disk"; rm -rf "$work"; }' EXIT
  cp m.sinew disk/ 2> /dev/null
  before=$(digest disk)
  "$SINEW" convert other/skeleton.glb disk/x.gltf --quiet 2> said && fail "a full file system went unseen"
  "$SINEW" convert other/frames.pc2 disk/objs --rest other/rest.obj --quiet 2>> said && fail "a full file system went unseen"
  grep -q 'No space left' said || fail "a full file system: $(cat said)"
  [ "$(digest disk)" = "$before" ] || fail "a full file system: $(find disk)"
  mount -o remount,ro disk 2> /dev/null && {
    "$SINEW" convert set/rest.obj disk/x.obj --quiet 2> said && fail "a read-only file system went unseen"
    grep -q 'Read-only' said || fail "read-only: $(cat said)"
  }
  tried=$((tried + 3))
fi
echo "writers: $full writes met a full disk"
finish writers
