#!/usr/bin/env bash
# The documents' figures and tables over generated sets: tools/figures.sh [FOLDER] [small]. `make figures` calls it;
# docs/figures/README.md says what comes out. With BUILD the folder of the build (build by default).
set -euo pipefail
folder=${1:-figures} size=${2:-full} build=${BUILD:-build}
sinew=${SINEW:-$build/sinew}
mkdir -p "$folder"
"$build/figures" "$folder" $([ "$size" = small ] && echo small)

# Kim, Park and Jung, figures 5 and 6: nine pairs of blending functions, 30 instances of skeleton, mesh and torque. As in the
# document the errors are those of the examples themselves; `between` are 30 frames between 30 examples.
torques() { # SET VERTICES
  local set=$folder/sets/$1 vertices=$2 frames
  for frames in 30 60; do
    "$sinew" gen "$1" --vertices "$vertices" --frames $frames -o "$set$frames" --quiet
    local name=torque-$1 keys=all
    [ $frames = 30 ] || name=torque-$1-between keys=every:2
    "$sinew" compare --method torque:published=1 --degrees all --rest "$set$frames/rest.obj" \
      --frames "$set$frames/frames.pc2" --skeleton "$set$frames/skeleton.glb" --torque "$set$frames/torque.csv" \
      --keys $keys --json "$folder/$name.json" > "$folder/$name.txt" 2> "$folder/messages"
    # The cells again, as `sinew stats anova` reads them.
    awk '/"cells"/ { on = 1 } /"totals"/ { on = 0 }
         on && /"(linear|quadratic|cubic)"/ { gsub(/[^a-z]/, ""); level = level $0 "," }
         on && /"(mean|sd|n)"/ { gsub(/[",: ]/, " "); value[$1] = $2 }
         on && /}/ && level { rows = rows level value["mean"] "," value["sd"] "," value["n"] "\n"; level = "" }
         END { printf "f_r,f_s,mean,sd,n\n%s", rows }' "$folder/$name.json" > "$folder/$name.csv"
    rm -rf "$set$frames" "$folder/messages"
    echo "$name"
  done
}
if [ "$size" = small ]; then torques leg 300; else torques arm 1873 && torques leg 3369; fi
rmdir "$folder/sets"
echo "the figures are in $folder"
