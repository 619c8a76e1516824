#!/usr/bin/env bash
# psd on the command line: sculpted poses, meshes in another order, morph targets, the plot of corrections.
# Run by ctest in the build folder, where ./sinew is.
set -u
sinew=$PWD/sinew
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
failed=0
check() { # name, command...
  local name=$1
  shift
  if ! "$@"; then
    echo "FAILED: $name"
    failed=1
  fi
}
field() { python3 -c 'import json,sys; v=json.load(open(sys.argv[1]))["result"]
for k in sys.argv[2].split("."): v=v[k]
print(v)' "$1" "$2"; }
below() { python3 -c 'import sys; sys.exit(not float(sys.argv[1]) < float(sys.argv[2]))' "$1" "$2"; }

"$sinew" gen elbow -o elbow --vertices 800 --quiet || exit 1
set_options=(--rest elbow/rest.obj --skeleton elbow/skeleton.glb)

# Morph targets, read back as frames by another part of the program, are what the model gives.
for method in psd eigenskin psd:space=whole psd:space=whole,kernel=thinplate psd:space=whole,weighted=1; do
  "$sinew" train --method $method "${set_options[@]}" --frames elbow/frames.pc2 --keys every:4 -o m.sinew --quiet
  check "$method as glb" "$sinew" eval m.sinew --skeleton elbow/skeleton.glb -o out.glb --quiet
  "$sinew" eval m.sinew "${set_options[@]}" --frames out.glb -o out.pc2 --quiet --json report.json
  check "$method: the glb is the model" below "$(field report.json all.max_pct_diag)" 0.002
done
for method in psd:order=forward psd:blend=dualquat; do
  "$sinew" train --method $method "${set_options[@]}" --frames elbow/frames.pc2 --keys every:4 -o m.sinew --quiet
  "$sinew" eval m.sinew --skeleton elbow/skeleton.glb -o no.glb --quiet 2>message
  check "$method as glb fails" test $? -eq 1
  check "$method as glb proposes .pc2" grep -q 'out.pc2' message
  check "$method leaves no file" test ! -e no.glb
done

# Sculpted poses: frames 10 and 30 alone, then with their vertices in another order.
"$sinew" convert elbow/frames.pc2 meshes --rest elbow/rest.obj --quiet
pose=meshes/frame_00
"$sinew" train --method psd:weights=given "${set_options[@]}" --pose 10=${pose}10.obj --pose 30=${pose}30.obj \
  -o sculpted.sinew --quiet --json report.json
check "sculpted poses are met" below "$(field report.json train.max_pct_diag)" 0.01
shuffle() { python3 - "$1" "$2" <<'P'
import random, sys
lines = open(sys.argv[1]).read().split("\n")
vertices = [l for l in lines if l.startswith("v ")]
order = list(range(len(vertices)))
random.Random(5).shuffle(order)
place = {old: new for new, old in enumerate(order)}
with open(sys.argv[2], "w") as out:
    for old in order: out.write(vertices[old] + "\n")
    for l in lines:
        if l.startswith("f "):
            out.write("f " + " ".join(str(place[int(w.split("/")[0]) - 1] + 1) for w in l.split()[1:]) + "\n")
P
}
shuffle elbow/rest.obj rest2.obj && shuffle ${pose}10.obj p10.obj && shuffle ${pose}30.obj p30.obj
"$sinew" train --method psd:weights=given "${set_options[@]}" --match rest2.obj --pose 10=p10.obj --pose 30=p30.obj \
  -o matched.sinew --quiet
check "another order gives the same model" cmp -s sculpted.sinew matched.sinew
"$sinew" train --method psd "${set_options[@]}" --pose 99=${pose}10.obj -o x.sinew --quiet 2>message
check "a frame beyond the clip" grep -q 'frames 0 to 40' message
"$sinew" train --method psd "${set_options[@]}" --pose ${pose}10.obj -o x.sinew --quiet 2>message
check "no frame number" grep -q 'FRAME=MESH' message

# The displacement of the worst vertex, needed and given.
"$sinew" compare --method psd --method psd:blend=dualquat "${set_options[@]}" --frames elbow/frames.pc2 --keys every:10 \
  --plot corrections.svg --plot-of correction --quiet
check "the plot of corrections" grep -q 'interpolated' corrections.svg
"$sinew" compare --method psd "${set_options[@]}" --frames elbow/frames.pc2 --plot x.svg --plot-of nothing 2>message
check "an unknown plot" test $? -eq 2

[ $failed -eq 0 ] && echo "all passed"
exit $failed
