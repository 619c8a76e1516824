#!/usr/bin/env bash
# What is nothing but rounding decides nothing: vertices moved by 1e-6 of the diagonal, frames and vertices in another order, and the
# BLAS kernels of other processors give at most one bone more or less, and with a given number of bones about the same error.
# SEEDS: which perturbations (0: another order); SETS: FOLDER:BONES instead of generated sets.
. "$SINEW_SOURCE/test/common.sh"
command -v node >/dev/null || { echo "skipped: node is not here"; exit 77; }
export OPENBLAS_NUM_THREADS=1
seeds=${SEEDS:-0 1} processors=Prescott
# Kernels that this processor can run; Zen's, Haswell's in other blocks, with chosen seeds.
flags=" $(grep -m 1 '^flags' /proc/cpuinfo) "
[[ $flags != *" avx2 "* || $flags != *" fma "* ]] || processors+=" Haswell${SEEDS:+ Zen}"
[[ $flags != *" avx512bw "* || $flags != *" avx512vl "* ]] || processors+=" SkylakeX"

# rig NAME FOLDER BONES: appends bones of --bones auto and the error with BONES to NAME.txt
rig() {
  "$SINEW" rig --rest "$2/rest.obj" --frames "$2/frames.pc2" --symmetry none --most 32 -o auto.glb --json auto.json --quiet &&
    "$SINEW" rig --rest "$2/rest.obj" --frames "$2/frames.pc2" --symmetry none --bones "$3" --keep-bones -o kept.glb --json kept.json --quiet &&
    node -e 'const r = f => JSON.parse(require("fs").readFileSync(f)).result; console.log(r("auto.json").bones, r("kept.json").rms_pct_diag)' >> "$1.txt" ||
    fail "$2 cannot be rigged"
}

if [ -z "${SETS:-}" ]; then
  "$SINEW" gen body --vertices 2000 --frames 10 -o body --quiet || exit 1
  "$SINEW" gen athlete --vertices 2000 --frames 12 -o athlete --quiet || exit 1
  "$SINEW" gen arm --vertices 1000 --frames 12 -o arm --quiet || exit 1
fi
for each in ${SETS:-body:16 athlete:12 arm:3}; do
  folder=${each%:*} bones=${each##*:} name=$(basename "${each%:*}")
  for seed in $seeds; do
    node "$SINEW_SOURCE/test/perturb.mjs" "$folder" moved "$seed" || exit 1
    rig "$name" moved "$bones"
  done
  for processor in $processors; do OPENBLAS_CORETYPE=$processor rig "$name" "$folder" "$bones"; done
  checks=$((checks + 1))
  node -e '
    const rows = require("fs").readFileSync(process.argv[1], "utf8").trim().split("\n").map(l => l.split(" ").map(Number));
    const bones = rows.map(r => r[0]), rms = rows.map(r => r[1]);
    const apart = Math.max(...bones) - Math.min(...bones), ratio = Math.max(...rms) / Math.min(...rms);
    console.log(process.argv[1], "bones", Math.min(...bones), "to", Math.max(...bones), "rms", Math.min(...rms), "to", Math.max(...rms));
    process.exit(apart <= 1 && ratio <= 1.05 ? 0 : 1)' "$name.txt" || fail "$name: results lie too far apart"
done
finish
