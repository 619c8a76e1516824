#!/usr/bin/env bash
# `sinew export`: the driver table and its reference evaluations; three.js drives helpers and shapes without WebAssembly as the runtime does;
# and what cannot be exported is refused by name.
. "$(dirname "$0")/common.sh"
[ -d "$SINEW_SOURCE/node_modules/three" ] || { echo "skipped: three is not installed (npm install)"; exit 77; }
. "$SINEW_SOURCE/test/export_fixture.sh"
test=$SINEW_SOURCE/test

for name in arm turned tall named face head; do
  check "$SINEW" export $name.sinew --skeleton $name.glb --to three --quiet -o $name-three.glb
  check node "$test/three_points.mjs" $name-three.glb $name.pc2 > said
  same said "three $name"
  check node "$test/validate_gltf.mjs" $name-three.glb
done
node "$test/three_points.mjs" arm-three.glb mixed/frames.pc2 > said # the true frames are elsewhere: the comparison can fail
check node -e 'const r = JSON.parse(require("fs").readFileSync("said")); process.exit(r.max > 1e-3 ? 0 : 1)'

# The table: its schema, and the same numbers from C, Python and JavaScript for any pose.
check "$SINEW" export named.sinew --skeleton named.glb --to json --quiet -o table.json
if /usr/bin/python3 -c 'import jsonschema' 2> /dev/null; then
  check /usr/bin/python3 -m jsonschema -i table.json "$SINEW_SOURCE/docs/reference/driver-table.schema.json"
else
  echo "skipped: no python3-jsonschema, the table is not held against its schema"
fi
check "${CC:-cc}" -std=c17 -Wall -Wextra -Werror -I "$SINEW_SOURCE/examples/helpers" "$test/export_reference.c" -o reference -lm
check node "$test/export_reference.mjs" table.json ./reference "$test/export_reference.py" "$SINEW_SOURCE/examples/helpers"
for reference in examples/helpers/helpers.h examples/helpers/helpers.py web/skin/helpers.js; do
  check test "$(wc -l < "$SINEW_SOURCE/$reference")" -le 100
done

check "$SINEW" export face.sinew --skeleton face.glb --to json --quiet --json report.json -o face.json
holds 'r[0].helpers > 20 && r[0].drivers === 6 && r[0].materials' report.json
if /usr/bin/python3 -c 'import jsonschema' 2> /dev/null; then
  check /usr/bin/python3 -m jsonschema -i face.json "$SINEW_SOURCE/docs/reference/driver-table.schema.json"
fi
check node "$test/export_reference.mjs" face.json ./reference "$test/export_reference.py" "$SINEW_SOURCE/examples/helpers"
expect 1 'choose another tool' "$SINEW" export face.sinew --skeleton face.glb --to babylon -o no.glb

# Corrections as morph targets with driven weights: in three.js as in the runtime, from its own materials or without; the references agree.
check "$SINEW" export psd.sinew --skeleton named.glb --to three --quiet --json report.json -o psd-three.glb
holds 'r[0].shapes > 0 && r[0].shapes <= 32 && r[0].helpers === 0 && r[0].drivers === 2' report.json
check node "$test/three_points.mjs" psd-three.glb psd.pc2 > said
same said "three psd"
check node "$test/validate_gltf.mjs" psd-three.glb
check "$SINEW" export psd.sinew --skeleton named.glb --to json --quiet -o shapes.json
if /usr/bin/python3 -c 'import jsonschema' 2> /dev/null; then
  check /usr/bin/python3 -m jsonschema -i shapes.json "$SINEW_SOURCE/docs/reference/driver-table.schema.json"
fi
check node "$test/export_reference.mjs" shapes.json ./reference "$test/export_reference.py" "$SINEW_SOURCE/examples/helpers"

# A character without the skeleton's mesh; a packed model; the report.
check "$SINEW" train --method helpers --rest rom/rest.obj --frames rom/frames.pc2 --skeleton rom/skeleton.glb --quiet -o plain.sinew
check "$SINEW" pack plain.sinew --order blocks --quiet -o packed.sinew
check "$SINEW" export packed.sinew --skeleton mixed/skeleton.glb --to three --quiet --json report.json -o packed.glb
holds 'r[0].helpers > 0 && r[0].drivers === 2' report.json
check "$SINEW" eval packed.sinew --skeleton mixed/skeleton.glb --quiet -o packed.pc2
check node "$test/three_points.mjs" packed.glb packed.pc2 > said
same said packed
edit mixed/skeleton.glb split.glb split=flat
expect 0 'note: split.glb does not have' "$SINEW" export plain.sinew --skeleton split.glb --to three -o bare.glb
check node "$test/validate_gltf.mjs" bare.glb

# Any character in so few fields: a leg, whose patches would have more.
check "$SINEW" gen leg --vertices 2000 --quiet -o leg
leg=(--rest leg/rest.obj --skeleton leg/skeleton.glb --frames leg/frames.pc2 --quiet)
check "$SINEW" train --method psd:shapes=32 "${leg[@]}" --json few-report.json -o few.sinew
check "$SINEW" export few.sinew --skeleton leg/skeleton.glb --to json --quiet --json report.json -o few.json
holds 'r[0].shapes > 4 && r[0].shapes <= 32' report.json
check "$SINEW" train --method psd "${leg[@]}" --json leg-report.json -o leg.sinew
check node -e 'const [few, all] = process.argv.slice(1).map((f) => JSON.parse(require("fs").readFileSync(f)).result.train.ee);
  console.log("leg", few, all), process.exit(few < 1.1 * all && all < 0.5 ? 0 : 1)' few-report.json leg-report.json

# What is refused leaves no file.
check "$SINEW" train --method lbs:weights=given --rest rom/rest.obj --skeleton rom/skeleton.glb --quiet -o lbs.sinew
to=(--to json -o no.json)
expect 1 'train with --method helpers' "$SINEW" export lbs.sinew --skeleton arm.glb "${to[@]}"
check "$SINEW" train --method psd:space=whole --rest rom/rest.obj --skeleton rom/skeleton.glb --frames rom/frames.pc2 --quiet -o whole.sinew
expect 1 'without space=whole' "$SINEW" export whole.sinew --skeleton arm.glb "${to[@]}"
check "$SINEW" train --method psd:blend=dualquat --rest rom/rest.obj --skeleton rom/skeleton.glb --frames rom/frames.pc2 --quiet -o dual.sinew
expect 1 'other tools blend linearly' "$SINEW" export dual.sinew --skeleton arm.glb "${to[@]}"
expect 1 'psd:shapes=32' "$SINEW" export leg.sinew --skeleton leg/skeleton.glb "${to[@]}"
expect 1 "has no joint 'upperarm'" "$SINEW" export arm.sinew --skeleton named.glb "${to[@]}"
expect 1 "joint 'forearm' is" "$SINEW" export arm.sinew --skeleton tall.glb "${to[@]}"
expect 1 'choose json, three' "$SINEW" export arm.sinew --skeleton arm.glb --to maya -o no.json
expect 1 'the name ends in .py' "$SINEW" export arm.sinew --skeleton arm.glb --to blender -o no.json
expect 2 '--to TOOL is missing' "$SINEW" export arm.sinew --skeleton arm.glb -o no.json
expect 2 '--skeleton FILE is missing' "$SINEW" export arm.sinew "${to[@]}"
expect 2 '-o FILE is missing' "$SINEW" export arm.sinew --skeleton arm.glb --to json
expect 1 '--skeleton rom/rest.obj: no character' "$SINEW" export arm.sinew --skeleton rom/rest.obj "${to[@]}"
expect 1 'nowhere.glb' "$SINEW" export arm.sinew --skeleton nowhere.glb "${to[@]}"
check test ! -e no.json
finish
