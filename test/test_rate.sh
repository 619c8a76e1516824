#!/usr/bin/env bash
# --max-bytes, --max-time and --error move along one curve for every method with corrections; train says what it learned and what it lacks.
. "$SINEW_SOURCE/test/common.sh"

"$SINEW" gen arm --vertices 900 --frames 24 -o own --quiet || fail "gen"
"$SINEW" gen athlete --vertices 2000 --frames 20 -o athlete --quiet || fail "gen"
a=(--rest own/rest.obj --frames own/frames.pc2 --skeleton own/skeleton.glb)
size() { stat -c %s "$1"; }

for method in psd eigenskin rotreg; do
  # rotreg corrects its residual where many joints move.
  [ $method = rotreg ] && a=(--rest athlete/rest.obj --frames athlete/frames.pc2 --skeleton athlete/skeleton.glb)
  "$SINEW" train --method $method "${a[@]}" -o usual.sinew --plot curve.svg --json curve.json --quiet || fail "$method --plot"
  holds 'r[0].rates.length >= 5 && r[0].rates.filter(x => x.chosen).length === 1 && r[0].rates[1].chosen && r[0].rates[1].bytes === r[0].bytes' curve.json
  # Fewer bytes, more error.
  holds 'r[0].rates.every((x, k, all) => k === 0 || (x.bytes <= all[k - 1].bytes && x.cross_validated >= 0.999 * all[k - 1].cross_validated))' curve.json
  grep -q "the choice" curve.svg || fail "$method: the plot does not mark the choice"
  "$SINEW" train --method $method "${a[@]}" -o same.sinew --quiet || fail "$method"
  cmp usual.sinew same.sinew || fail "$method: the curve changes the usual model"
  least=$(node -p "JSON.parse(require('fs').readFileSync('curve.json')).result.rates.slice(-1)[0].bytes")
  limit=$((($(size usual.sinew) + least) / 2))
  "$SINEW" train --method $method --max-bytes $limit "${a[@]}" -o small.sinew --json small.json --quiet || fail "$method --max-bytes"
  [ "$(size small.sinew)" -le $limit ] || fail "$method: $(size small.sinew) bytes, allowed $limit"
  # The best that fits: of the models of the curve none that fits is better.
  holds 'r[0].rates.every(x => x.chosen || x.bytes > '$limit' || x.cross_validated >= r[0].cross_validated)' small.json
  expect 1 "the smallest model has" "$SINEW" train --method $method --max-bytes 1000 "${a[@]}" -o no.sinew
  error=$(node -p "(r => (r[2].rms_pct_diag + r[3].rms_pct_diag) / 2)(JSON.parse(require('fs').readFileSync('curve.json')).result.rates)")
  "$SINEW" train --method $method --error "$error" "${a[@]}" -o enough.sinew --json enough.json --quiet || fail "$method --error"
  holds '(c => c.rms_pct_diag <= '"$error"' && r[0].rates.every(x => x.rms_pct_diag > '"$error"' || x.bytes >= c.bytes))(r[0].rates.find(x => x.chosen))' enough.json
  expect 1 "cannot be reached: the least is" "$SINEW" train --method $method --error 1e-7 "${a[@]}" -o no.sinew
done
a=(--rest own/rest.obj --frames own/frames.pc2 --skeleton own/skeleton.glb)
"$SINEW" train --method psd --max-time 50 "${a[@]}" -o fast.sinew --json fast.json --quiet || fail "--max-time"
holds 'r[0].rates.every(x => x.ratio_lbs > 0) && r[0].rates.find(x => x.chosen).ratio_lbs <= 50' fast.json
expect 1 "the smallest model takes" "$SINEW" train --method psd --max-time 0.01 "${a[@]}" -o no.sinew
expect 1 "more than the limits; give larger ones" "$SINEW" train --method lbs --max-bytes 100 "${a[@]}" -o no.sinew
expect 1 "--error needs corrections" "$SINEW" train --method lbs --error 1 "${a[@]}" -o no.sinew
[ ! -e no.sinew ] || fail "a refused training wrote a model"

# What was learned: base, fields, what cross-validation found.
expect 0 "displacement fields in" "$SINEW" train --method psd "${a[@]}" -o m.sinew
holds '/^Base: .*Corrections: \d+ displacement fields .*Cross-validated error/.test(r[0].learned)' fast.json

# What training lacks: the joints of a clip that leaves the range are listed, worst first.
"$SINEW" train --method psd --keys 0-5 "${a[@]}" -o few.sinew --json few.json --quiet || fail "few keys"
holds 'r[0].lacks.length > 0 && r[0].lacks.every(l => /^add poses of /.test(l.advice)) && r[0].lacks.some(l => l.reached_deg > l.trained_deg)' few.json
expect 0 "degrees: other frames reach" "$SINEW" train --method psd --keys 0-5 "${a[@]}" -o few.sinew

finish
