#!/usr/bin/env bash
# `sinew view` without a browser: what it writes, read back with the page's own code; and what it refuses.
set -euo pipefail
src=${SINEW_SOURCE:-$(cd "$(dirname "$0")/.." && pwd)}
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
"$SINEW" gen elbow -o elbow --vertices 600 --frames 9 --quiet
given=(--rest elbow/rest.obj --frames elbow/frames.pc2 --skeleton elbow/skeleton.glb)
for method in lbs dqs; do
  "$SINEW" train --method $method "${given[@]}" --keys every:2 -o $method.sinew --quiet
done
if ! said=$("$SINEW" view lbs.sinew dqs.sinew "${given[@]}" --keys every:2 --title 'a</script>b' -o page.html --json report.json 2>&1); then
  if grep -q 'npm ci' <<< "$said" && [ ! -e page.html ]; then
    echo "skipped: this build has no page, and says so"
    exit 77
  fi
  echo "FAILED: $said"
  exit 1
fi
grep -q 'open it in a browser' <<< "$said" || { echo "FAILED: $said"; exit 1; }
"$SINEW" view dqs.sinew --skeleton elbow/skeleton.glb -o clip.html --quiet
"$SINEW" view lbs.sinew -o alone.html --quiet
"$SINEW" view page.html clip.html alone.html -o all.html --quiet

# The same with a seam: some vertices twice, as an exporter splits them. They are welded for solving, not on the page.
cat > split.mjs <<'JS'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
const lines = readFileSync('elbow/rest.obj', 'utf8').split('\n'), places = lines.filter(l => l.startsWith('v ')), extra = 40;
const other = lines.filter(l => !l.startsWith('v ')).map((l, k) => l.startsWith('f ') && k % 2 ? l.replace(/\d+/g, v => v <= extra ? places.length + Number(v) : v) : l);
mkdirSync('seam');
writeFileSync('seam/rest.obj', [...places, ...places.slice(0, extra), ...other].join('\n'));
const old = readFileSync('elbow/frames.pc2'), n = old.readInt32LE(16), frames = old.readInt32LE(28), head = Buffer.from(old.subarray(0, 32));
head.writeInt32LE(n + extra, 16);
const frame = f => old.subarray(32 + 12 * n * f, 32 + 12 * n * (f + 1));
writeFileSync('seam/frames.pc2', Buffer.concat([head, ...Array.from({ length: frames }, (_, f) => [frame(f), frame(f).subarray(0, 12 * extra)]).flat()]));
JS
node split.mjs
"$SINEW" convert seam/rest.obj seam/rest.glb --quiet
seam=(--rest seam/rest.glb --frames seam/frames.pc2 --skeleton elbow/skeleton.glb)
"$SINEW" train --method lbs "${seam[@]}" -o seam.sinew --quiet
"$SINEW" view seam.sinew "${seam[@]}" -o seam.html --quiet

# A character's own colours and textures come along, where its file has any.
node "$src/test/edit_glb.mjs" elbow/skeleton.glb painted.glb texture=0.5
"$SINEW" train --method lbs:weights=given --rest painted.glb --skeleton painted.glb -o painted.sinew --quiet
"$SINEW" view painted.sinew --rest painted.glb -o painted.html --quiet
cp painted.sinew psd-space=whole-blend=dualquat.sinew # as compare --models calls psd:space=whole,blend=dualquat
"$SINEW" view psd-space=whole-blend=dualquat.sinew -o named.html --quiet
grep -q '<title>psd:space=whole,blend=dualquat</title>' named.html || { echo "FAILED: the colon of a method's name is lost"; exit 1; }

refused() { # TEXT COMMAND...
  local text=$1 said
  shift
  if said=$("$@" 2>&1) || ! grep -qF -- "$text" <<< "$said"; then
    echo "FAILED: $* should say '$text'; said: $said"
    exit 1
  fi
}
echo "not a model, and long enough to look like one" > bad.sinew
refused "bad.sinew" "$SINEW" view bad.sinew -o bad.html
refused "missing.sinew" "$SINEW" view missing.sinew -o bad.html
refused "missing.html" "$SINEW" view lbs.sinew missing.html -o bad.html
refused "models in one page are of one mesh" "$SINEW" view lbs.sinew seam.sinew -o bad.html
refused "give --skeleton" "$SINEW" view lbs.sinew --rest elbow/rest.obj --frames elbow/frames.pc2 -o bad.html
refused "not a page written by sinew view" "$SINEW" view "$src/web/page.html" -o bad.html
refused "usage: sinew view" "$SINEW" view
# Pages that others made: no parser of HTML may find more in a set than we do.
for end in '</SCRIPT><img src=x onerror=alert(1)>' '</script ><b>' '<!--<script>' '</scrip' 'not JSON</script>' '[1]</script>'; do
  { printf '<script type="application/json" class="sinew-set">'; [ "${end#<}" = "$end" ] || printf '{"name":"x"}'; printf '%s' "$end"; } > hostile.html
  refused "its set 1 is not as sinew view writes it" "$SINEW" view hostile.html lbs.sinew -o bad.html
done
[ ! -e bad.html ] || { echo "FAILED: bad.html was written"; exit 1; }

cp "$src/web/data.js" data.mjs
cat > check.mjs <<'JS'
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { readSet, unpack } from './data.mjs';

const open = '<script type="application/json" class="sinew-set">';
const sets = path => readFileSync(path, 'utf8').split(open).slice(1).map(text => text.slice(0, text.indexOf('</script>')));
const same = (bytes, path) => assert.ok(Buffer.from(bytes).equals(readFileSync(path)), `${path} is in the page as it is`);

const set = await readSet(sets('page.html')[0]);
assert.equal(set.name, 'a</script>b');
assert.deepEqual(set.training, [0, 2, 4, 6, 8]);
assert.deepEqual(set.models.map(m => m.name), ['lbs', 'dqs']);
for (const m of set.models) {
  same(await unpack(m.bytes), `${m.name}.sinew`);
  assert.equal(m.frame_rms_pct_diag.length, 9);
  assert.ok(m.us_per_frame > 0 && m.test.frames === 4 && m.train.frames === 5 && m.all.rms_pct_diag >= 0);
}
assert.ok(set.triangles.length > 0 && set.triangles.every(i => i < set.vertices));
assert.equal(set.poses.length, 9 * 12 * set.joints.length);

function checkFrames(shown, path) {
  const cache = readFileSync(path), count = cache.readInt32LE(16), places = new Float32Array(3 * shown.vertices);
  assert.equal(count, shown.vertices);
  let worst = 0;
  for (let f = 0; f < 9; f++) {
    shown.truth.read(f, shown.source, places);
    for (let i = 0; i < count; i++) {
      const off = [0, 1, 2].map(c => places[3 * i + c] - cache.readFloatLE(32 + 4 * (3 * (f * count + i) + c)));
      worst = Math.max(worst, Math.hypot(...off));
    }
  }
  assert.ok(worst <= shown.truth.error * 1.01 + 1e-7, `${path}: frames are ${worst} off, the page says ${shown.truth.error}`);
  assert.ok(shown.truth.error < 2e-5 * shown.diagonal, 'which is invisible');
}
checkFrames(set, 'elbow/frames.pc2');
const seam = await readSet(sets('seam.html')[0]);
assert.ok(seam.source && seam.truth.count === set.vertices && seam.vertices === set.vertices + 40, 'welded');
checkFrames(seam, 'seam/frames.pc2');

const { look } = await readSet(sets('painted.html')[0]);
assert.deepEqual(look.parts.map(p => [p.first, p.colour, p.image]), [[0, [1, 0.5, 0.25], 0]]);
assert.ok(look.images[0].type === 'image/png' && Buffer.from(look.images[0].bytes.subarray(1, 4)).toString() === 'PNG' && look.uv.some(x => x !== 0));
assert.equal(set.look, undefined);

const all = await Promise.all(sets('all.html').map(readSet));
assert.equal(all.length, 3);
assert.deepEqual(all.map(s => s.frame_count), [9, 9, 1]);
assert.deepEqual(all.map(s => Boolean(s.truth)), [true, false, false]);
const report = JSON.parse(readFileSync('report.json'));
assert.equal(report.result.bytes, readFileSync('page.html').length);
JS
node check.mjs
