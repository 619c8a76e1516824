#!/usr/bin/env bash
# --values at the command line: training, evaluation beyond the range, wrong tables.
. "$SINEW_SOURCE/test/common.sh"
"$SINEW" gen face --vertices 1500 --frames 12 --targets 3 -o face --quiet || fail gen
given=(--rest face/rest.obj --frames face/frames.pc2)
"$SINEW" train --method psd "${given[@]}" --values face/values.csv -o face.sinew --quiet || fail train
"$SINEW" info face.sinew | grep -q "value smile: 0 to 1" || fail info
"$SINEW" eval face.sinew --values face/values.csv "${given[@]}" -o out.pc2 --json eval.json --quiet || fail eval
printf 'frame,smile,frown,jaw_open\n0,2,0,0\n1,0.5,-1,0\n' > beyond.csv
said=$("$SINEW" eval face.sinew --values beyond.csv -o beyond.pc2) || fail "eval beyond"
case $said in *"the value smile is outside 0 to 1"*"at 1 of 2 frames"*) ;; *) fail "nothing said of values beyond: $said" ;; esac
"$SINEW" eval face.sinew --values beyond.csv -o beyond.glb --quiet || fail "eval .glb"
expect 1 "--values" "$SINEW" eval face.sinew -o out.pc2
printf 'frame,smile,frown\n0,1,0\n' > short.csv
expect 1 "no value called 'jaw_open'" "$SINEW" eval face.sinew --values short.csv -o out.pc2
expect 1 "12 frames" "$SINEW" train --method psd "${given[@]}" --values short.csv -o no.sinew
sed 's/^\([0-9]*\),.*/\1,7/; s/^frame,.*/frame,age/' face/values.csv > still.csv
sed -i '1a rest,7' still.csv
expect 1 "value 'age' is" "$SINEW" train --method psd "${given[@]}" --values still.csv -o no.sinew
expect 1 "needs --skeleton" "$SINEW" train --method psd "${given[@]}" -o no.sinew
expect 1 "only face takes --targets" "$SINEW" gen arm --targets 9 -o no
expect 1 "too few" "$SINEW" gen face --targets 50 --frames 10 -o no
[ ! -e no.sinew ] && [ ! -e no ] || fail "half-written output"
finish
