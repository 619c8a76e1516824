#!/usr/bin/env bash
# Caches larger than memory: the same files come out, limits are reported before the work, a cache that is cut ends with a message.
. "$SINEW_SOURCE/test/common.sh"
export TMPDIR=$dir

"$SINEW" gen body --vertices 6000 --frames 60 --quiet -o body || exit 1
set=(--rest body/rest.obj --frames body/frames.pc2 --quiet)
with=(--skeleton body/skeleton.glb)
"$SINEW" rig "${set[@]}" --bones 6 -o whole.glb && "$SINEW" rig "${set[@]}" --bones 6 --memory 30M -o windows.glb ||
  fail "rig within 30 MB"
cmp whole.glb windows.glb || fail "rig depends on the memory"
for method in lbs lbs:smooth=0.01 dqs; do
  "$SINEW" train --method $method "${set[@]}" "${with[@]}" -o whole.sinew &&
    "$SINEW" train --method $method "${set[@]}" "${with[@]}" --memory 30M -o windows.sinew || fail "$method within 30 MB"
  cmp whole.sinew windows.sinew || fail "$method depends on the memory"
done
ls -A | grep -v '^\(body\|whole\|windows\)' && fail "scratch files were left"

# A set is made in layers and windows: half of this would be the grid alone.
"$SINEW" gen body --vertices 20000 --frames 30 --memory 24M --quiet -o frugal || fail "gen within 24 MB"
rm -rf frugal

# Work that cannot be done is refused before it begins.
"$SINEW" rig "${set[@]}" --bones 6 --memory 2700K -o small.glb 2> said.txt && fail "rig within 2700 KB"
grep -q 'a rig of 6000 vertices needs at least 2.9 MB of memory, and may use 2.6 MB' said.txt || { fail "the limit:"; cat said.txt; }
"$SINEW" train --method psd "${set[@]}" "${with[@]}" --memory 5M -o small.sinew 2> said.txt && fail "psd within 5 MB"
grep -q 'psd on 6000 vertices and 60 frames needs at least [0-9.]* MB of memory, and may use 5.0 MB' said.txt || { fail "the limit:"; cat said.txt; }
"$SINEW" compare --method lbs --method mwe --method psd "${set[@]}" "${with[@]}" --memory 14M > table.txt 2> said.txt && fail "a table within 14 MB"
grep -q 'psd on 6000 vertices' said.txt && [ ! -s table.txt ] || { fail "the limit of a table:"; cat table.txt said.txt; }
rm -f table.txt

# Cut once it is mapped: a message that names it, no output.
"$SINEW" rig "${set[@]}" --bones 6 --memory 30M -o cut.glb 2> said.txt &
tool=$!
for _ in $(seq 3000); do grep -q frames.pc2 /proc/$tool/maps 2> /dev/null && break; sleep 0.01; done
truncate -s 5000 body/frames.pc2
wait $tool
status=$?
[ $status -eq 1 ] || fail "a cut cache: exit status $status"
grep -q 'body/frames.pc2.*became shorter while it was read\|truncated' said.txt || { fail "a cut cache:"; cat said.txt; }
[ ! -e cut.glb ] || fail "a cut cache gave an output"

finish
