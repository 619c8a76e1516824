#!/usr/bin/env bash
# Vertices numbered by the blocks, at the command line: every tool answers as for the model that was renumbered.
. "$SINEW_SOURCE/test/common.sh"
"$SINEW" gen arm --vertices 600 --frames 6 -o arm --quiet || fail gen
mesh=(--rest arm/rest.obj --frames arm/frames.pc2) clip=(--skeleton arm/skeleton.glb)
for spec in lbs rotreg:bones=6; do
  "$SINEW" train --method $spec "${mesh[@]}" "${clip[@]}" --keys every:2 -o plain.sinew --quiet || fail "train $spec"
  "$SINEW" pack plain.sinew -o packed.sinew --quiet || fail pack
  "$SINEW" pack plain.sinew --order blocks -o blocks.sinew --quiet || fail "pack --order blocks"
  "$SINEW" pack packed.sinew --order blocks -o again.sinew --quiet || fail "--order blocks of a packed model"
  "$SINEW" pack blocks.sinew --order file -o back.sinew --quiet || fail "--order file"
  cmp blocks.sinew again.sinew || fail "$spec: packed and renumbered, in either order"
  cmp back.sinew packed.sinew || fail "$spec: put back"
  for model in packed blocks; do
    for out in pc2 glb; do
      "$SINEW" eval $model.sinew "${mesh[@]}" "${clip[@]}" -o out.$out > $model.$out.txt || fail "eval $model -o out.$out"
      mv out.$out $model.$out
    done
    "$SINEW" info $model.sinew > $model.info
  done
  cmp packed.pc2 blocks.pc2 && cmp packed.glb blocks.glb || fail "$spec: eval writes other vertices"
  grep -q "enveloping error" packed.pc2.txt || fail "$spec: no figures"
  cmp packed.pc2.txt blocks.pc2.txt || fail "$spec: other figures"
  grep -q "numbered by the blocks" blocks.info || fail "info does not tell"
  ! grep -q "numbered by the blocks" packed.info || fail "info tells what is not so"
done

"$SINEW" train --method affine:bones=3 "${mesh[@]}" --controls 0,300,599 -o affine.sinew --quiet || fail affine
"$SINEW" pack affine.sinew --order blocks -o controls.sinew --quiet || fail "pack affine"
"$SINEW" pack affine.sinew -o affine-packed.sinew --quiet || fail "pack affine"
for model in controls affine-packed; do "$SINEW" eval $model.sinew --controls arm/frames.pc2 -o $model.pc2 --quiet || fail "eval $model"; done
cmp controls.pc2 affine-packed.pc2 || fail "control points are vertices of the file"

# Poses added to a renumbered model, which stays so.
"$SINEW" convert arm/frames.pc2 shapes/ --rest arm/rest.obj --quiet || fail convert
shape=$(ls shapes/*.obj | sed -n 4p)
for order in file blocks; do
  "$SINEW" train --method lbs:vertex_order=$order "${mesh[@]}" "${clip[@]}" --keys 0,1 -o by-$order.sinew --quiet || fail "vertex_order=$order"
  "$SINEW" train --from by-$order.sinew "${clip[@]}" --pose "3=$shape" -o added-$order.sinew --quiet || fail "--from $order"
  "$SINEW" eval added-$order.sinew "${clip[@]}" -o added-$order.pc2 --quiet || fail "eval $order"
done
cmp added-file.pc2 added-blocks.pc2 || fail "a pose added to a renumbered model"
"$SINEW" info added-blocks.sinew | grep -q "numbered by the blocks" || fail "--from forgets the order"

# A page holds the model as the file has it.
if "$SINEW" view packed.sinew "${clip[@]}" -o packed.html --quiet 2> log; then
  "$SINEW" view blocks.sinew "${clip[@]}" -o blocks.html --quiet || fail view
  for model in packed blocks; do grep -o '"bytes":{"n":[^}]*}' $model.html > $model.blob; done
  [ -s packed.blob ] && cmp packed.blob blocks.blob || fail "the page has another model"
else
  grep -q "without the page" log || fail "view: $(cat log)"
fi
expect 2 "choose one of blocks|file" "$SINEW" pack plain.sinew --order joints -o no.sinew
expect 1 "packed already" "$SINEW" pack blocks.sinew -o no.sinew
[ ! -e no.sinew ] || fail "half-written output"
finish
