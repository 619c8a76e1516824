#!/usr/bin/env bash
# One run of every command on small sets: what the sanitized build runs in place of the longer scripts. Every command that
# `sinew --help` lists must be run here.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
ran=
run() { ran="$ran $1 "; "$SINEW" "$@" --quiet > out.txt 2> err.txt || { echo "sinew $* failed:"; cat err.txt; exit 1; }; }
is_there() { for f in "$@"; do [ -s "$f" ] || { echo "$f was not written"; exit 1; }; done; }

run gen arm --vertices 600 --frames 12 -o arm
set=(--rest arm/rest.obj --frames arm/frames.pc2 --skeleton arm/skeleton.glb --keys every:2)
run info arm/skeleton.glb
run convert arm/frames.pc2 frames.mdd
for method in rigid lbs:extra=halfway dqs cor psd psd:space=whole,weighted=1,blend=dualquat eigenskin rotreg:bones=8,psd=1; do
  run train --method $method "${set[@]}" -o "$method.sinew"
  run eval "$method.sinew" --skeleton arm/skeleton.glb -o "$method.pc2"
  is_there "$method.sinew" "$method.pc2"
done
run pack psd.sinew -o packed.sinew
run eval packed.sinew --skeleton arm/skeleton.glb -o packed.pc2
run bench packed.sinew
is_there packed.sinew packed.pc2
run train --method helpers "${set[@]}" -o helpers.sinew
for file in json:h.json three:h.glb babylon:i.glb blender:j.py godot:k.tscn; do
  run export helpers.sinew --skeleton arm/skeleton.glb --to ${file%:*} -o ${file#*:}
  is_there ${file#*:}
done
run train --method torque:bones=8 "${set[@]}" --torque arm/torque.csv -o torque.sinew
run eval torque.sinew --skeleton arm/skeleton.glb --torque arm/torque.csv -o torque.glb
run train --method affine:bones=6 --rest arm/rest.obj --frames arm/frames.pc2 --controls auto:3 -o affine.sinew
run eval affine.sinew --controls arm/frames.pc2 -o affine
run compare --method lbs --method rotreg:full=1 "${set[@]}" --plot plot.svg --json compare.json
run bench lbs:extra=halfway.sinew
run rig --rest arm/rest.obj --frames arm/frames.pc2 --bones 3 -o rig.glb
printf 'a,b,value\n1,1,1\n1,1,2\n1,2,3\n1,2,5\n2,1,2\n2,1,2.5\n2,2,7\n2,2,9\n' > values.csv
run stats anova values.csv
echo '[{"command": "info arm/rest.obj --json info.json", "inputs": ["arm/rest.obj"], "outputs": ["info.json"]}]' > jobs.json
run batch jobs.json
is_there torque.glb affine plot.svg compare.json rig.glb info.json
if "$SINEW" view dqs.sinew --skeleton arm/skeleton.glb -o page.html --quiet 2> err.txt; then is_there page.html; else grep -q "page" err.txt; fi

for command in $("$SINEW" --help | sed -nE 's/^  ([a-z]+)  +.*/\1/p'); do
  case "$ran view demo " in *" $command "*) ;; *) echo "no run of $command"; exit 1 ;; esac
done
