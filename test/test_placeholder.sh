#!/usr/bin/env bash
# train says which weights it starts from; a skin that is a placeholder is seen through.
. "$SINEW_SOURCE/test/common.sh"

"$SINEW" gen athlete --vertices 2000 --frames 40 -o own --quiet || fail "gen"
a=(--rest own/rest.obj --frames own/frames.pc2)
# All vertices on the first joint, in the same file.
node -e "const fs = require('fs'), b = fs.readFileSync('own/skeleton.glb'), n = b.readUInt32LE(12), j = JSON.parse(b.slice(20, 20 + n)), wide = {5121: 1, 5123: 2, 5126: 4};
  for (const name of ['JOINTS_0', 'WEIGHTS_0']) {
    const c = j.accessors[j.meshes[0].primitives[0].attributes[name]], v = j.bufferViews[c.bufferView], size = wide[c.componentType];
    for (let k = 0; k < c.count; k++) for (let e = 0; e < 4; e++) {
      const at = 28 + n + (v.byteOffset || 0) + (c.byteOffset || 0) + k * (v.byteStride || 4 * size) + e * size, one = name === 'WEIGHTS_0' && e === 0;
      size === 4 ? b.writeFloatLE(+one, at) : b.writeUIntLE(one ? 256 ** size - 1 : 0, at, size);
    }
  }
  fs.writeFileSync('placeholder.glb', b)" || fail "no placeholder"

for method in lbs dqs cor; do
  "$SINEW" train --method $method "${a[@]}" --skeleton own/skeleton.glb -o m.sinew --json $method.json --quiet || fail "$method"
  holds 'r[0].cross_validated > 0 && /^Base: the file.s weights refitted[.]/.test(r[0].learned)' $method.json
done
expect 0 "Base: the file's weights refitted." "$SINEW" train --method lbs "${a[@]}" --skeleton own/skeleton.glb -o m.sinew
expect 0 "cross-validated enveloping error 0." "$SINEW" train --method lbs:weights=given "${a[@]}" --skeleton own/skeleton.glb -o m.sinew

"$SINEW" train --method rigid "${a[@]}" --skeleton placeholder.glb -o m.sinew --json rigid.json --quiet || fail "rigid"
for method in lbs dqs cor psd psd:blend=dualquat rotreg; do
  "$SINEW" train --method $method "${a[@]}" --skeleton placeholder.glb -o m.sinew --json placeholder.json --quiet || fail "$method with a placeholder"
  holds 'r[0].all.rms_pct_diag < r[1].all.rms_pct_diag' placeholder.json rigid.json
done
expect 0 "these weights are a placeholder" "$SINEW" train --method lbs "${a[@]}" --skeleton placeholder.glb -o m.sinew
expect 2 "prior" "$SINEW" train --method lbs:prior=none "${a[@]}" --skeleton own/skeleton.glb -o m.sinew

finish
