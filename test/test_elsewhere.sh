#!/usr/bin/env bash
# What docs/reference/reliability.md promises across processors: with the BLAS kernels of others a model has the same structure, and its errors
# are the same to 1 %; a model that is evaluated with other instructions gives the same positions to 1e-5 of the diagonal; and on
# one processor the bytes are the same at any thread count, whichever the kernels.
. "$(dirname "$(realpath "$0")")/common.sh"
command -v node > /dev/null || { echo "skipped: no node"; exit 77; }
flags=$(grep -m 1 '^flags' /proc/cpuinfo)
"$SINEW" gen arm --vertices 700 --frames 16 -o arm --quiet
set=(--rest arm/rest.obj --frames arm/frames.pc2 --skeleton arm/skeleton.glb --torque arm/torque.csv --keys every:3 --quiet)
methods=(lbs lbs:extra=halfway dqs psd eigenskin rotreg:bones=8 rotreg:bones=8,psd=1 torque:bones=8)

# fit KERNELS FOLDER THREADS: every method with them.
fit() {
  local n
  mkdir "$2"
  for n in "${!methods[@]}"; do
    check env OPENBLAS_CORETYPE="$1" "$SINEW" train --method "${methods[n]}" "${set[@]}" --threads "$3" -o "$2/$n.sinew" --json "$2/$n.json"
  done
}

# able KERNELS FLAG...: whether the processor can run them.
able() {
  local kernels=$1 flag
  shift
  for flag; do
    [[ " $flags " == *" $flag "* ]] || { echo "not tried: kernels $kernels (this processor has no $flag)"; return 1; }
  done
}

# equal FOLDER: the models of FOLDER are those of `here`, as documented.
equal() {
  local n
  for n in "${!methods[@]}"; do
    holds "r[0].method === r[1].method && r[0].bones === r[1].bones && Math.abs(r[1].bytes / r[0].bytes - 1) < 0.02 &&
      ['train', 'test'].every(s => ['rms', 'ee'].every(e => Math.abs(r[1][s][e] / r[0][s][e] - 1) < 0.01))" "here/$n.json" "$1/$n.json"
  done
}

kernels=
able Haswell avx2 fma && kernels=Haswell
able Prescott pni && kernels=${kernels:-Prescott}
fit "$kernels" here 1
fit "$kernels" threads 3
for n in "${!methods[@]}"; do check cmp "here/$n.sinew" "threads/$n.sinew"; done
[ "$kernels" = Prescott ] || { able Prescott pni && fit Prescott prescott 2 && equal prescott; }
able Zen avx2 fma && fit Zen zen 2 && equal zen
able SkylakeX avx512f avx512dq avx512bw avx512vl && fit SkylakeX skylake 2 && equal skylake

# The same models with AVX2 only, and without it.
near() {
  local worst
  checks=$((checks + 1))
  worst=$(node "$SINEW_SOURCE/test/measure.mjs" arm/rest.obj "$1" "$2" | sed -E 's/.*"max_pct_diag":([^,]*),.*/\1/')
  awk "BEGIN { exit !($worst < 1e-3) }" || fail "$1 and $2 differ by $worst % of the diagonal"
}
if command -v qemu-x86_64 > /dev/null && [ "$(uname -m)" = x86_64 ]; then
  for n in "${!methods[@]}"; do
    input=(--skeleton arm/skeleton.glb --quiet)
    [[ ${methods[n]} != torque* ]] || input+=(--torque arm/torque.csv)
    check "$SINEW" eval "here/$n.sinew" "${input[@]}" -o here.pc2
    for processor in max qemu64; do
      check env OPENBLAS_CORETYPE=Prescott OPENBLAS_NUM_THREADS=1 qemu-x86_64 -cpu $processor "$SINEW" eval "here/$n.sinew" "${input[@]}" -o there.pc2
      near here.pc2 there.pc2
    done
  done
else
  echo "not tried: other instructions (no qemu-x86_64)"
fi
finish
