#!/usr/bin/env bash
# The sculpting loop at the command line: --pose FRAME=MESH@SIGMA, --from, --mirror.
. "$SINEW_SOURCE/test/common.sh"
"$SINEW" gen elbow --vertices 700 --frames 9 -o elbow --quiet || fail gen
"$SINEW" convert elbow/frames.pc2 shapes/ --rest elbow/rest.obj --quiet 2> /dev/null || "$SINEW" convert elbow/frames.pc2 shapes/ --quiet || fail convert
shape() { ls shapes/*.obj | sed -n "$(($1 + 1))p"; }
clip=(--skeleton elbow/skeleton.glb)
"$SINEW" train --method lbs:weights=given --rest elbow/rest.obj "${clip[@]}" -o plain.sinew --quiet || fail "train lbs"
said=$("$SINEW" train --from plain.sinew "${clip[@]}" --pose "8=$(shape 8)" -o one.sinew) || fail "--from"
case $said in *"training 1 frame: rms 0.0"*) ;; *) fail "the added pose is not met: $said" ;; esac
"$SINEW" train --from one.sinew "${clip[@]}" --pose "4=$(shape 4)@0.4" -o two.sinew --quiet || fail "--from again"
"$SINEW" eval two.sinew "${clip[@]}" -o two.pc2 --quiet || fail eval
"$SINEW" info two.sinew | grep -q "correct rbf" || fail info
"$SINEW" train --method psd:space=whole --rest elbow/rest.obj "${clip[@]}" --pose "4=$(shape 4)@0.5" --pose "8=$(shape 8)" \
  -o sigma.sinew --quiet || fail "@sigma"
"$SINEW" train --method psd:space=whole,weighted=1 --rest elbow/rest.obj --frames elbow/frames.pc2 --keys 0,4 "${clip[@]}" -o weighted.sinew --quiet || fail weighted
said=$("$SINEW" train --from weighted.sinew "${clip[@]}" --pose "8=$(shape 8)" -o more.sinew) || fail "--from weighted"
case $said in *"training 1 frame: rms 0.0"*) ;; *) fail "the pose added to a weighted model is not met: $said" ;; esac
expect 1 "after the @ comes sigma" "$SINEW" train --method psd:space=whole --rest elbow/rest.obj "${clip[@]}" --pose "4=$(shape 4)@wide" -o no.sinew
# Sculpted poses alone are interpolated by one pose space for all joints, with their widths; beside frames an option chooses it.
"$SINEW" train --method psd --rest elbow/rest.obj "${clip[@]}" --pose "4=$(shape 4)@0.5" -o alone.sinew --quiet || fail "a sculpted pose with a width"
expect 1 "space=whole" "$SINEW" train --method psd --rest elbow/rest.obj "${clip[@]}" --frames elbow/frames.pc2 --pose "4=$(shape 4)@0.5" -o no.sinew
expect 2 "--pose FRAME=MESH" "$SINEW" train --from plain.sinew "${clip[@]}" -o no.sinew
expect 2 "without --method" "$SINEW" train --from plain.sinew --method psd "${clip[@]}" --pose "8=$(shape 8)" -o no.sinew
expect 1 "choose x, y or z" "$SINEW" train --from plain.sinew "${clip[@]}" --pose "8=$(shape 8)" --mirror up -o no.sinew
expect 1 "not symmetric" "$SINEW" train --from plain.sinew "${clip[@]}" --pose "8=$(shape 8)" --mirror x -o no.sinew
[ ! -e no.sinew ] || fail "half-written output"
finish
