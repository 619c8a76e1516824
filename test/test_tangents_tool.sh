#!/usr/bin/env bash
# Tangents from the command line: trained from a .glb with texture coordinates, packed, written back, and what goes wrong.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
command -v node > /dev/null || { echo "skipped: no node"; exit 77; }

fail() {
  echo "$*"
  exit 1
}

"$SINEW" gen arm --vertices 700 --frames 4 -o arm --quiet
node "$SINEW_SOURCE/test/edit_glb.mjs" arm/skeleton.glb textured.glb texture=0.5
"$SINEW" train --method lbs:weights=given,tangents=1 --rest textured.glb --skeleton textured.glb -o model.sinew --quiet
"$SINEW" pack model.sinew -o packed.sinew --quiet
for model in model packed; do
  "$SINEW" info $model.sinew | grep -q 'with tangents' || fail "$model has no tangents"
  "$SINEW" eval $model.sinew --rest textured.glb --skeleton textured.glb -o $model.glb --quiet
  [ ! -d "$SINEW_SOURCE/node_modules/gltf-validator" ] || node "$SINEW_SOURCE/test/validate_gltf.mjs" $model.glb > log || fail "$(cat log)"
  # The texture's coordinates are x and y (v downwards): tangents are x seen in the plane of the normal, bitangents go towards -y.
  cat > tangents.mjs << END
    import { open, rows } from '$SINEW_SOURCE/test/edit_glb.mjs';
    const doc = open('$model.glb'), a = doc.json.meshes[0].primitives[0].attributes;
    const n = rows(doc, a.NORMAL), t = rows(doc, a.TANGENT), p = rows(doc, a.POSITION);
    const dot = (x, y) => x[0] * y[0] + x[1] * y[1] + x[2] * y[2];
    let good = 0, asked = 0;
    t.forEach((v, i) => {
      if (Math.abs(dot(v, n[i])) > 5e-3 || Math.abs(dot(v, v) - 1) > 1e-3 || Math.abs(v[3]) !== 1) throw new Error('tangent ' + i + ': ' + v);
      const m = n[i], x = [1 - m[0] * m[0], -m[0] * m[1], -m[0] * m[2]], size = Math.sqrt(dot(x, x)), side = v[3] * (m[2] * v[0] - m[0] * v[2]);
      if (Math.abs(m[2]) < 0.3 || size < 0.3) return; // seen from the edge the texture says little
      asked++, good += dot(x, v) > 0.9 * size && side < 0;
    });
    if (asked < 50 || good < 0.95 * asked) throw new Error(good + ' of ' + asked + ' tangents follow the texture');
END
  node tangents.mjs || fail "tangents of $model.glb"
done
# The file's own tangents count, not those of its texture; without normals they belong to nothing.
node "$SINEW_SOURCE/test/edit_glb.mjs" textured.glb own.glb tangents
"$SINEW" train --method lbs:weights=given,tangents=1 --rest own.glb --skeleton own.glb -o own.sinew --quiet
"$SINEW" eval own.sinew --rest textured.glb --skeleton textured.glb -o own-out.glb --quiet
cat > own.mjs << END
  import { open, rows } from '$SINEW_SOURCE/test/edit_glb.mjs';
  const from = open('own.glb'), to = open('own-out.glb'), [a, b] = [from, to].map(doc => rows(doc, doc.json.meshes[0].primitives[0].attributes.TANGENT));
  if (a.length !== b.length) throw new Error('other vertices');
  a.forEach((v, i) => {
    if (v.some((x, k) => Math.abs(x - b[i][k]) > 2e-3)) throw new Error('tangent ' + i + ': ' + b[i] + ' instead of ' + v);
  });
END
node own.mjs || fail "the file's tangents"
if "$SINEW" train --method lbs:weights=given,tangents=1 --rest arm/rest.obj --skeleton arm/skeleton.glb -o none.sinew --quiet 2> log; then
  fail "tangents without texture coordinates"
fi
grep -q 'texture coordinates, and the rest file has none' log || fail "$(cat log)"
[ ! -e none.sinew ] || fail "half a result"
# Without the option a model is what it was.
"$SINEW" train --method lbs:weights=given --rest textured.glb --skeleton textured.glb -o plain.sinew --quiet
"$SINEW" info plain.sinew | grep -q tangents && fail "tangents that nobody asked for"
exit 0
