#!/usr/bin/env bash
# The drawings of `make figures` at sizes that take seconds: every figure is there, well-formed, with the numbers behind it.
set -eu
[ -x "$SINEW_BUILD/figures" ] || { echo "skipped: built without figures"; exit 77; }
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
fail() {
  echo "$*"
  exit 1
}
"$SINEW_BUILD/figures" "$folder/out" small
cd "$folder/out"
for name in figure-6 murtagh-5-3 murtagh-5-8; do
  tail -n 1 "$name-meshes.svg" | grep -q '^</svg>' || fail "$name-meshes.svg is not whole"
done
for name in figure-7 figure-13-bar figure-13-elbow figure-14 murtagh-5-1 murtagh-5-7; do
  [ -s "$name.csv" ] || fail "$name.csv is missing"
  grep -q '^</svg>' "$name.svg" || fail "$name.svg is not whole"
done
grep -q 'nan\|inf' ./*.csv && fail "numbers that are none: $(grep -l 'nan\|inf' ./*.csv)"
# Figure 6: a row per triangle, u from the joint's share of none to a little more than all, angles of less than half a turn. Figure 7: the
# mesh drifts without near-rigid vertices.
awk -F, 'NR > 1 { n++; bad += $1 != n - 1 || $3 < 0 || $3 > 4 || $4 < 0 || $4 > 180 || $5 < 0 || $5 > 180 }
         END { exit !(n > 50 && !bad) }' figure-6-triangles.csv || fail "triangles of figure 6"
awk -F, 'NR > 1 { a += $2; b += $3 } END { exit !(b < a) }' figure-7.csv || fail "no drift in figure 7"
# Figure 13: of three poses of 180 degrees, displacements cannot be interpolated and rotations can.
ee() { awk -F, -v f="$1" -v m="\"$2\"" '$1 == f && $2 == m { print $4 }' figures-13-14.csv; }
below() { awk -v a="$1" -v b="$2" 'BEGIN { exit !(a < b) }'; }
for set in figure-13-bar figure-13-elbow; do
  below "$(ee $set rotreg:published=1)" "$(ee $set psd:space=whole)" || fail "$set: psd beats rotreg"
done
# On dual quaternions they can.
for set in murtagh-5-1 murtagh-5-7; do
  below "$(ee $set psd:space=whole,blend=dualquat)" "$(ee $set psd:space=whole)" || fail "$set: psd on linear blending beats that on dual quaternions"
done
