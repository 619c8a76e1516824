# Common to the parts of the torture; sourced. Needs SINEW. Files go to a separate folder, $work.
set -u
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
work=$(mktemp -d "${TMPDIR:-/tmp}/sinew-torture-XXXXXX")
# Not in a child that a signal finds before it has become another program: bash lets it run this too.
trap '[ "$BASHPID" != $$ ] || rm -rf "$work"' EXIT
cd "$work" || exit 1
failures=0
tried=0

fail() {
  echo "FAILED: $*"
  failures=$((failures + 1))
}

# The same random numbers again for the same SEED.
RANDOM=${SEED:-1}
random_below() { echo $(((RANDOM * 32768 + RANDOM) % $1)); }

# A small set to work on: set/ and models m.sinew (lbs), and a clip as .gltf.
make_inputs() {
  "$SINEW" gen arm -o set --vertices 600 --frames 8 --quiet &&
    "$SINEW" train --method lbs --rest set/rest.obj --frames set/frames.pc2 --skeleton set/skeleton.glb -o m.sinew --quiet &&
    "$SINEW" convert set/skeleton.glb clip.gltf --quiet && "$SINEW" convert set/skeleton.glb x.fbx --quiet && make_jobs > jobs.json &&
    make_triangle > triangle.x
}

# A file for libassimp: a skinned triangle.
make_triangle() {
  local one='1.0,0.0,0.0,0.0,0.0,1.0,0.0,0.0,0.0,0.0,1.0,0.0,0.0,0.0,0.0,1.0;;'
  echo 'xof 0303txt 0032'
  echo "Frame root { FrameTransformMatrix { $one } Mesh skin { 3; 0.0;0.0;0.0;, 1.0;0.0;0.0;, 0.0;1.0;0.0;; 1; 3;0,1,2;;"
  echo "XSkinMeshHeader { 1; 1; 1; } SkinWeights { \"root\"; 3; 0,1,2; 1.0,1.0,1.0; $one } } }"
}

make_jobs() {
  echo '{"jobs": [{"name": "a", "command": "pack m.sinew -o out/a.sinew", "inputs": ["m.sinew"], "outputs": ["out/a.sinew"]},'
  echo '{"name": "b", "command": "eval out/a.sinew --skeleton set/skeleton.glb -o out/b.pc2", "inputs": ["out/a.sinew"], "outputs": ["out/b.pc2"]}]}'
}

# A line per command, one of each kind and every method: what it is called, and its words. Outputs go to out/.
commands() {
  local set="--rest set/rest.obj --frames set/frames.pc2 --skeleton set/skeleton.glb" method
  echo "gen gen bar -o out/set --vertices 60 --frames 4"
  echo "info-obj info set/rest.obj"
  echo "info-glb info set/skeleton.glb"
  echo "info-gltf info clip.gltf"
  echo "info-model info m.sinew"
  echo "convert-gltf convert set/skeleton.glb out/x.gltf"
  echo "convert-mdd convert set/frames.pc2 out/x.mdd"
  echo "convert-turned convert set/skeleton.glb out/x.glb --axes z-up --scale 2"
  echo "convert-cut convert set/skeleton.glb out/x.glb --offset 0.1"
  echo "convert-scaled convert set/frames.pc2 out/x.pc2 --axes z-up --scale 2 --offset 0.1"
  echo "convert-objs convert set/frames.pc2 out/objs --rest set/rest.obj"
  for method in rigid lbs lbs:extra=halfway lbs:weights=skeleton dqs cor psd psd:space=whole,weighted=1 eigenskin rotreg \
    lbs:pack=1 psd:pack=1 rotreg:pack=1; do
    echo "train-$method train --method $method $set -o out/m.sinew"
  done
  echo "train-adjusted train --method rigid $set --scale 100 --axes z-up --offset skeleton=-0.02 -o out/m.sinew"
  echo "train-disagreeing train --method rigid $set --offset skeleton=0.01 -o out/m.sinew"
  echo "train-torque train --method torque $set --torque set/torque.csv -o out/m.sinew"
  echo "train-affine train --method affine --controls auto:4 $set -o out/m.sinew"
  echo "train-auto train --method auto $set --keys every:2 -o out/m.sinew"
  echo "train-keys train --method psd $set --keys auto:4 -o out/m.sinew"
  echo "train-test train --method dqs $set --test-frames set/frames.pc2 --test-skeleton set/skeleton.glb -o out/m.sinew"
  echo "pack pack m.sinew -o out/m.sinew"
  echo "eval eval m.sinew $set -o out/x.pc2"
  echo "eval-glb eval m.sinew --skeleton set/skeleton.glb -o out/x.glb"
  echo "compare compare --method rigid --method lbs $set --models out/models --plot out/x.svg"
  echo "rig rig --rest set/rest.obj --frames set/frames.pc2 --bones 3 -o out/x.glb"
  echo "rig-fbx rig --rest set/rest.obj --frames set/frames.pc2 --bones 3 -o out/x.fbx"
  echo "info-fbx info x.fbx"
  echo "info-x info triangle.x"
  echo "rig-symmetry rig --rest set/rest.obj --frames set/frames.pc2 --rest-frame auto --symmetry auto -o out/x.glb"
  echo "batch batch jobs.json --jobs 2"
  echo "view view m.sinew $set -o out/x.html"
  echo "stats stats anova anova.csv"
}

make_table() {
  echo "method,frame,value"
  for m in a b; do for f in 1 2 3; do for r in 1 2; do echo "$m,$f,$((f * r + ${#m}))"; done; done; done
}

# Everything below a folder, with times taken out of reports: what must be the same again.
digest() {
  find "$1" -type f | LC_ALL=C sort | while IFS= read -r file; do
    printf '%s ' "$file"
    case $file in
      *.json | *.html) sed -E 's/"(seconds|us_per_frame|ratio_lbs|bytes)": ?[-0-9.e+]+/"\1": 0/g' "$file" | sha256sum ;;
      *) sha256sum < "$file" ;;
    esac
  done
}

finish() {
  echo "$1: $tried tried, $failures failed"
  exit $((failures > 0))
}
