#!/usr/bin/env bash
# Figure 10 of Kim, Feng and Yu on a GPU, as a table: frames per second of one character and of a crowd.
#   bench/figure_10.sh train FOLDER               where the tool is ($SINEW): the models of Table 1's examples
#   bench/figure_10.sh time FOLDER [CHARACTERS]   where nvcc and a GPU are: builds bench_cuda, prints the table
set -euo pipefail
cd "$(dirname "$0")/.."
step=${1:-} folder=${2:-} crowd=${3:-10000} sinew=${SINEW:-build/sinew}
[ -n "$folder" ] || { sed -n 2,4p "$0" >&2; exit 2; }
examples="cylinder-50 cylinder-100 leg-100 arm-100"

train() { # EXAMPLE SET VERTICES FRAMES BONES KEYS
  local kind spec
  "$sinew" gen "$2" --vertices "$3" --frames "$4" -o "$folder/set" --quiet
  for kind in B C D own; do
    case $kind in B) spec=,published=1,stretch=0,poisson=0 ;; C) spec=,published=1,stretch=0 ;; D) spec=,published=1 ;; own) spec= ;; esac
    "$sinew" train --method "affine:bones=$5$spec" --rest "$folder/set/rest.obj" --frames "$folder/set/frames.pc2" \
      --controls "$folder/set/controls.txt" --keys "$6" -o "$folder/$1-$kind.sinew" --quiet
  done
  rm -rf "$folder/set"
}

case $step in
train)
  mkdir -p "$folder"
  train cylinder-50 cylinder 2000 40 50 0,13,26,39
  train cylinder-100 cylinder 2000 40 100 0,13,26,39
  train leg-100 leg 2210 86 100 0,5,9,14,19,24,28,33,38,42,47,52,57,61,66,71,76,80,85
  train arm-100 arm 5256 50 100 0,12,24,37,49
  ;;
time)
  [ -x "$folder/cuda/bench_cuda" ] || test/cuda/build.sh "$folder/cuda" >&2
  models=$(for e in $examples; do for kind in B C D own; do echo "$folder/$e-$kind.sinew"; done; done)
  for count in 1 "$crowd"; do
    # shellcheck disable=SC2086
    "$folder/cuda/bench_cuda" "$count" $models
  done | tee "$folder/rows.txt" >&2
  # A row per example; columns: B, C, D and Sinew's, of one character, then of the crowd.
  awk -F ' *[|] *' -v examples="$examples" '
    $2 ~ /sinew$/ { sub(/.sinew$/, "", $2); rate[$2, ++seen[$2]] = $5 > 0 ? sprintf("%.0f", 1000 * $4 / $5) : "-" }
    END { split(examples, names, " "); split("B C D own", kinds, " ")
          split("Cylinder bulge,Cylinder bulge*,Dragon leg,Muscle arm", titles, ",")
          print "| | one character: B, fps | C | D | Sinew | D / B | crowd: B, characters per second | C | D | Sinew | D / B |"
          print "| --- |" " ---: | ---: | ---: | ---: | ---: |" " ---: | ---: | ---: | ---: | ---: |"
          for (e = 1; e <= 4; e++) {
            line = "| " titles[e] " |"
            for (n = 1; n <= 2; n++) {
              for (k = 1; k <= 4; k++) line = line " " rate[names[e] "-" kinds[k], n] " |"
              b = rate[names[e] "-B", n]; line = line (b > 0 ? sprintf(" %.2f |", rate[names[e] "-D", n] / b) : " - |")
            }
            print line
          } }' "$folder/rows.txt"
  ;;
*) sed -n 2,4p "$0" >&2; exit 2 ;;
esac
