#!/usr/bin/env bash
# `make figures` runs, at sizes that take seconds: every figure is there, well-formed, with the numbers behind it.
set -eu
[ -x "$SINEW_BUILD/figures" ] || { echo "skipped: built without figures"; exit 77; }
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
fail() {
  echo "$*"
  exit 1
}
BUILD=$SINEW_BUILD bash "$SINEW_SOURCE/tools/figures.sh" "$folder/out" small
cd "$folder/out"
for name in figure-6-u figure-6-errors figure-7 figure-13-bar figure-13-elbow figure-14; do
  [ -s "$name.csv" ] || fail "$name.csv is missing"
  grep -q '^</svg>' "$name.svg" || fail "$name.svg is not whole"
done
grep -q 'nan\|inf' ./*.csv && fail "numbers that are none: $(grep -l 'nan\|inf' ./*.csv)"
# Figure 6: the percentages of all bins sum to 100. Figure 7: the mesh drifts without near-rigid vertices.
awk -F, 'NR > 1 { sum += $2 } END { exit !(sum > 99.9 && sum < 100.1) }' figure-6-u.csv || fail "bins of figure 6"
awk -F, 'NR > 1 { a += $2; b += $3 } END { exit !(b < a) }' figure-7.csv || fail "no drift in figure 7"
# Figure 13: of three poses of 180 degrees, displacements cannot be interpolated and rotations can.
ee() { awk -F, -v f="$1" -v m="\"$2\"" '$1 == f && $2 == m { print $4 }' figures-13-14.csv; }
below() { awk -v a="$1" -v b="$2" 'BEGIN { exit !(a < b) }'; }
for set in figure-13-bar figure-13-elbow; do
  below "$(ee $set rotreg:published=1)" "$(ee $set psd:space=whole)" || fail "$set: psd beats rotreg"
done
# The torque document's tables: nine cells, which `stats anova` reads and finds the same.
[ "$(grep -c . torque-leg.csv)" -eq 10 ] || fail "not nine cells: $(cat torque-leg.csv)"
"$SINEW" stats anova torque-leg.csv | grep '^f_s: F' | cut -d, -f1-2 > again
grep '^f_s: F' torque-leg.txt | cut -d, -f1-2 > once
cmp once again || fail "the table differs: $(cat once again)"
