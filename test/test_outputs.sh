#!/usr/bin/env bash
# What a command leaves behind when it is refused, fails, is stopped, or cannot write.
. "$SINEW_SOURCE/test/common.sh"

"$SINEW" gen bar -o set --quiet || exit 1
examples=(--rest set/rest.obj --frames set/frames.pc2 --skeleton set/skeleton.glb)
"$SINEW" train --method lbs "${examples[@]}" -o m.sinew --quiet || exit 1
cp m.sinew before.sinew

# Nothing is written over what is written or read.
expect 2 "same file" "$SINEW" train --method lbs "${examples[@]}" -o m.sinew --json ./m.sinew
expect 2 "same file" "$SINEW" train --method lbs "${examples[@]}" -o new.sinew --json new.sinew
expect 2 "same file" "$SINEW" train --method lbs "${examples[@]}" -o m.sinew --json set/frames.pc2
expect 2 "would replace m.sinew" "$SINEW" eval m.sinew --skeleton set/skeleton.glb -o m.sinew
expect 2 "would replace" "$SINEW" convert set/rest.obj set/../set/rest.obj
ln -s set/rest.obj link.obj
expect 2 "would replace" "$SINEW" convert set/rest.obj link.obj
expect 2 "same file" "$SINEW" rig --rest set/rest.obj --frames set/frames.pc2 -o r.glb --json r.glb
cmp -s m.sinew before.sinew || fail "the model was touched"
[ ! -e new.sinew ] || fail "new.sinew was written"

# A page may be carried on in its place.
if "$SINEW" view m.sinew -o page.html --quiet 2>/dev/null; then
  "$SINEW" view page.html m.sinew -o page.html --quiet || fail "a page could not be carried on"
fi

# The report cannot be written: the model does not appear either.
expect 1 "set: is a folder" "$SINEW" train --method lbs "${examples[@]}" -o new.sinew --json set
expect 1 "set: is a folder" "$SINEW" rig --rest set/rest.obj --frames set/frames.pc2 --bones 2 -o new.glb --json set
[ ! -e new.sinew ] && [ ! -e new.glb ] || fail "an output without its report"

# A rig that fails after it was written leaves the file that was there: far from the origin, joints come apart.
"$SINEW" gen cylinder -o tube --quiet && "$SINEW" convert tube/frames.pc2 far --rest tube/rest.obj --quiet || fail "convert to a folder"
for f in tube/rest.obj far/*.obj; do
  awk -v OFS=' ' '/^v / { for (k = 2; k <= 4; k++) $k = sprintf("%.9g", $k + 1e7) } 1' "$f" > moved && cp moved "far/$(basename "$f")"
done
mv far/rest.obj far.obj
echo OLD > kept.glb
expect 1 "it was not written" "$SINEW" rig --rest far.obj --frames far --bones 4 -o kept.glb
check grep -qx OLD kept.glb

# The figures of a rig that is written through a link are its own.
"$SINEW" rig --rest set/rest.obj --frames set/frames.pc2 --bones 2 -o one.glb --json one.json --quiet || fail "rig"
"$SINEW" rig --rest set/rest.obj --frames set/frames.pc2 --bones 4 --keep-bones -o four.glb --quiet || fail "rig"
ln -s four.glb through.glb
"$SINEW" rig --rest set/rest.obj --frames set/frames.pc2 --bones 2 -o through.glb --json through.json --quiet || fail "rig through a link"
check cmp -s one.glb four.glb
check test "$(grep -o '"rms": [0-9.]*' one.json)" = "$(grep -o '"rms": [0-9.]*' through.json)"

# Standard output that is full or closed.
"$SINEW" info m.sinew >/dev/full 2>said && fail "a full standard output went unseen"
grep -q "standard output: cannot write: No space left" said || fail "full: $(cat said)"
"$SINEW" train --method lbs "${examples[@]}" -o new.sinew >&- 2>said && fail "a closed standard output went unseen"
grep -q "standard output: cannot write" said || fail "closed: $(cat said)"
"$SINEW" --help >/dev/full 2>said && fail "help to a full standard output"
[ ! -e new.sinew ] || fail "a model although standard output was closed"
"$SINEW" train --method lbs "${examples[@]}" -o new.sinew --quiet <&- >&- 2>&- || fail "all closed, and quiet"
cmp -s m.sinew new.sinew || fail "messages in the model"

# A full disk, as far as a limit on the size of files can play it: the frames of before stay.
"$SINEW" convert set/frames.pc2 objs --rest set/rest.obj --quiet || fail "convert to a folder"
find objs | sort | xargs -d '\n' sha256sum 2>/dev/null >sums
(
  ulimit -f 1
  trap '' XFSZ
  "$SINEW" convert set/frames.pc2 objs --rest set/rest.obj 2>said
) && fail "a full disk went unseen"
grep -q "cannot write: File too large" said || fail "full disk: $(cat said)"
sha256sum -c --quiet sums || fail "frames were lost"

# Modes, links, pipes.
chmod 600 m.sinew
ln -s m.sinew link.sinew
"$SINEW" train --method lbs "${examples[@]}" -o link.sinew --quiet || fail "through a link"
[ -L link.sinew ] && [ "$(stat -c %a m.sinew)" = 600 ] || fail "a link or a mode was replaced"
mkfifo pipe.obj
expect 1 "not a regular file" timeout 120 "$SINEW" info pipe.obj

# .gltf and its .bin: one pair, before and after, and whenever it is stopped.
"$SINEW" convert set/skeleton.glb pair.gltf --quiet || fail "convert to .gltf"
[ "$(ls pair.*.bin | wc -l)" = 1 ] || fail "not one .bin: $(ls)"
"$SINEW" gen bar -o set2 --frames 30 --quiet && "$SINEW" convert set2/skeleton.glb pair.gltf --quiet || fail "second pair"
[ "$(ls pair.*.bin | wc -l)" = 1 ] || fail "the old .bin stayed: $(ls)"
"$SINEW" info pair.gltf --quiet || fail "the pair cannot be read"

# Names that others chose: shown, not obeyed; kept in reports.
printf '{"asset":{"version":"2.0"},"extensionsRequired":["EXT_\\u001b[31mred"]}' > escape.gltf
"$SINEW" info escape.gltf 2>said >&2
grep -q $'\033' said && fail "a terminal escape was printed"
grep -qF 'EXT_\x1b[31mred' said || fail "the name is not shown: $(cat said)"
expect 1 '\x1b' "$SINEW" info $'no\033such.obj'
"$SINEW" view m.sinew --title 007 -o p.html --json r.json --quiet 2>/dev/null && { grep -q '"title": "007"' r.json || fail "a title became a number"; }
"$SINEW" info --json r.json --quiet set/rest.obj || fail "a report"
cp set/rest.obj $'latin\xe9.obj'
"$SINEW" train --method lbs --rest $'latin\xe9.obj' --frames set/frames.pc2 --skeleton set/skeleton.glb -o m.sinew --json r.json --quiet || fail "a name that is not UTF-8"
grep -q $'"rest": "latin\xef\xbf\xbd.obj"' r.json || fail "a name that is not UTF-8 vanished: $(cat r.json)"

# Memory: a limit that can be set.
expect 2 "as 500M" "$SINEW" info set/rest.obj --memory much
expect 1 "out of memory" "$SINEW" info set/rest.obj --memory 10K
"$SINEW" info set/rest.obj --memory 100M --quiet || fail "100M are too little"

# Little address space: OpenBLAS would wait for ever. (It is the tool that chooses threads here.)
if [[ $SINEW != *sanitize* ]]; then
  unset OPENBLAS_CORETYPE OPENBLAS_NUM_THREADS
  (ulimit -v 150000 && timeout 120 "$SINEW" train --method lbs "${examples[@]}" -o y.sinew --threads 1) 2>said
  [ $? -eq 1 ] && grep -q "out of memory" said || fail "little address space: $(cat said)"
  (ulimit -v 150000 && timeout 120 "$SINEW" --version) >/dev/null || fail "--version needs much"
  (ulimit -v 150000 && OPENBLAS_CORETYPE=Prescott timeout 120 "$SINEW" --version) >/dev/null || fail "--version waits with kernels chosen"
fi

left=$(find . -name '.sinew-*')
[ -z "$left" ] || fail "left over: $left"
finish
