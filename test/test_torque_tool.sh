#!/usr/bin/env bash
# Torques from the command line: training, evaluation, glTF, the nine blending functions, and what goes wrong.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"

fail() {
  echo "$*"
  exit 1
}
# `figure NAME FILE`: the first number of that name in a report.
figure() { grep -Eo "\"$1\": *[0-9.e+-]+" "$2" | head -n 1 | grep -Eo '[0-9.e+-]+$'; }
below() { awk -v a="$1" -v b="$2" 'BEGIN { exit !(a < b) }'; }

"$SINEW" gen leg --vertices 700 --frames 40 -o set --quiet
examples=(--rest set/rest.obj --frames set/frames.pc2 --skeleton set/skeleton.glb)
"$SINEW" train --method torque:bones=40 "${examples[@]}" --torque set/torque.csv --keys every:2 -o model.sinew \
  --json train.json --quiet
grep -q 'follow a torque: calf' train.json
"$SINEW" info model.sinew | grep -q 'torque of calf: 0 to 150'

# The glTF is the model but for limits of displacement, which morph targets do not have; the point cache is what the report of the training says.
drive=(--skeleton set/skeleton.glb --torque set/torque.csv)
"$SINEW" eval model.sinew "${drive[@]}" -o skin.glb --quiet
"$SINEW" convert skin.glb skin.pc2 --quiet
"$SINEW" eval model.sinew "${drive[@]}" --rest set/rest.obj --frames skin.pc2 -o again.pc2 --quiet --json report.json
below "$(figure max_pct_diag report.json)" 0.03 || fail "the glTF skin differs from the model: $(cat report.json)"
"$SINEW" bench model.sinew "${drive[@]}" --seconds 0.05 --quiet --json bench.json
grep -q ratio_lbs bench.json

# Torques beyond the training are clamped, with a note.
awk -F, 'NR > 1 { $2 = $2 * 3 } { print $1 "," $2 }' OFS=, set/torque.csv >strong.csv
"$SINEW" eval model.sinew --skeleton set/skeleton.glb --torque strong.csv -o strong.pc2 --json strong.json >said
grep -q 'torque of calf is outside 0 to 150' said
[ "$(figure calf strong.json)" -gt 0 ] || fail "no frames were told to be clamped"

# What is missing or wrong is named.
refused() { # TEXT COMMAND...
  local text=$1
  shift
  if "$SINEW" "$@" --quiet 2>message; then fail "accepted: $*"; fi
  grep -qe "$text" message || fail "'$text' is not in: $(cat message)"
}
refused '--torque FILE.csv' eval model.sinew --skeleton set/skeleton.glb -o none.pc2
refused '--torque FILE.csv' train --method torque "${examples[@]}" -o none.sinew
sed 's/calf/tail/' set/torque.csv >tail.csv
refused 'tail' train --method torque "${examples[@]}" --torque tail.csv -o none.sinew
sed '3s/,.*/,nan/' set/torque.csv >nan.csv
refused 'nan.csv:3' train --method torque "${examples[@]}" --torque nan.csv -o none.sinew
awk -F, 'NR > 1 { $2 = 5 } { print $1 "," $2 }' OFS=, set/torque.csv >constant.csv
refused 'the same at all 40 training frames' train --method torque "${examples[@]}" --torque constant.csv -o none.sinew
head -n 20 set/torque.csv >short.csv
refused 'torques' train --method torque "${examples[@]}" --torque short.csv -o none.sinew
refused 'leave them out' compare --method torque:degree_r=2 --degrees all "${examples[@]}" --torque set/torque.csv
refused 'were given' compare --method lbs --degrees all "${examples[@]}" --torque set/torque.csv
[ ! -e none.pc2 ] && [ ! -e none.sinew ] || fail "a file was left behind"

# The document's table: nine combinations, statistics, and the same from the cells by `stats anova`.
"$SINEW" compare --method rotreg:bones=40 --method torque:bones=40 --degrees all "${examples[@]}" \
  --torque set/torque.csv --keys every:2 --json nine.json >nine.txt
[ "$(grep -c '^torque:' nine.txt)" -eq 9 ] || fail "there are not nine combinations"
grep -q 'Scheffe, f_s' nine.txt
node - <<'JS'
const fs = require('fs');
const report = JSON.parse(fs.readFileSync('nine.json'));
const { cells, effects, post_hoc } = report.result.anova;
const check = (ok, what) => { if (!ok) { console.error(what); process.exit(1); } };
check(cells.length === 9 && cells.every(c => c.n === 700), 'cells of 700 vertices');
check(effects.second.p < 0.001, `quadratic f_s matters on the leg: p = ${effects.second.p}`);
check(post_hoc.second.order[2] === 'linear', `linear f_s is the worst: ${post_hoc.second.order}`);
const rows = cells.map(c => [...c.levels, c.mean, c.sd, c.n].join(','));
fs.writeFileSync('cells.csv', ['f_r,f_s,mean,sd,n', ...rows].join('\n') + '\n');
fs.writeFileSync('f.txt', effects.second.f.toPrecision(6));
JS
# As published: the response is the squared distance in file units, and models with a constant term are models like others.
"$SINEW" compare --method torque:bones=20,published=1 --degrees all "${examples[@]}" --torque set/torque.csv \
  --keys all --json printed.json >printed.txt
grep -q '^squared distance of every vertex' printed.txt || fail "the response of the document is not told"
[ "$(grep -c '^torque:' printed.txt)" -eq 9 ] || fail "there are not nine combinations as published"
"$SINEW" train --method torque:bones=20,published=1 "${examples[@]}" --torque set/torque.csv -o printed.sinew --json train.json \
  --quiet
grep -q 'as published: f_r = ' train.json
"$SINEW" eval printed.sinew "${drive[@]}" -o printed.glb --quiet
refused 'leave out psd=1' train --method torque:published=1,psd=1 "${examples[@]}" --torque set/torque.csv -o none.sinew
# Constructed legs: a swelling that is quadratic in the torque is found by the analysis of variance, a linear one has nothing to find.
for square in 0 1; do
  "$SINEW" gen leg --vertices 1000 --frames 30 --motion lift --square $square -o lift --quiet
  "$SINEW" compare --method torque:published=1 --degrees all --rest lift/rest.obj --frames lift/frames.pc2 --skeleton lift/skeleton.glb \
    --torque lift/torque.csv --keys all --quiet --json lift$square.json
done
node - <<'JS'
const fs = require('fs');
const anova = s => JSON.parse(fs.readFileSync(`lift${s}.json`)).result.anova;
const check = (ok, what) => { if (!ok) { console.error(what); process.exit(1); } };
const p = [anova(0), anova(1)].map(a => a.effects.second.p);
check(p[1] < 0.01, `a quadratic swelling is not found: p = ${p[1]}`);
check(p[0] > 0.5, `a linear swelling is taken for another: p = ${p[0]}`);
check(anova(1).post_hoc.second.order[2] === 'linear', `linear f_s is the worst: ${anova(1).post_hoc.second.order}`);
// F of f_s from the cells, by hand: balanced cells of n values.
const { cells, effects } = anova(1), n = cells[0].n, mean = list => list.reduce((a, b) => a + b, 0) / list.length;
const levels = ['linear', 'quadratic', 'cubic'].map(l => mean(cells.filter(c => c.levels[1] === l).map(c => c.mean)));
const between = 3 * n * levels.reduce((s, m) => s + (m - mean(levels)) ** 2, 0) / 2, within = mean(cells.map(c => c.sd ** 2));
check(Math.abs(between / within / effects.second.f - 1) < 1e-6, `F = ${effects.second.f}, by hand ${between / within}`);
JS
"$SINEW" stats anova cells.csv --quiet --json anova.json
node -e "
  const a = JSON.parse(require('fs').readFileSync('anova.json')).result.effects.second.f;
  const b = +require('fs').readFileSync('f.txt');
  if (Math.abs(a - b) > 1e-4 * b) { console.error(a, b); process.exit(1); }"
