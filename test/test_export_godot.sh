#!/usr/bin/env bash
# What `sinew export --to godot` writes, imported and run by Godot 3 headless: its vertices are the runtime's. The importer would thin out
# the clip and round the mesh: both are switched off.
. "$(dirname "$0")/common.sh"
command -v godot3-server > /dev/null || { echo "skipped: no godot3-server"; exit 77; }
. "$SINEW_SOURCE/test/export_fixture.sh"
export HOME=$dir # Godot writes its settings there
mkdir project
printf 'config_version=4\n' > project/project.godot
cp "$SINEW_SOURCE/test/godot_points.gd" project
godot() { exec timeout 120 godot3-server --path project "$@" > log 2>&1; }
names=(arm tall named psd face head)
for name in face head; do cp face.csv project/$name.txt; done # Godot would import a .csv
for name in "${names[@]}"; do check "$SINEW" export $name.sinew --skeleton $name.glb --to godot --quiet -o project/$name.tscn; done
# The editor imports what it finds; with --quit it would not wait for that. A file of checksums comes last.
import() {
  godot --editor &
  for _ in $(seq 600); do
    [ "$(find project/.import -name '*.md5' 2> /dev/null | wc -l)" -lt ${#names[@]} ] || break
    sleep 0.2
  done
  sleep 1
  kill $! && wait $!
  [ "$(find project/.import -name '*.md5' | wc -l)" -eq ${#names[@]} ]
}
check import
sed -i 's/^animation\/fps=.*/animation\/fps=30/; s/optimizer\/enabled=true/optimizer\/enabled=false/; s/^meshes\/compress=true/meshes\/compress=false/' project/*.import
rm -r project/.import
check import
for name in "${names[@]}"; do
  rm -f shown.pc2
  check eval '(godot -s godot_points.gd $name.tscn "$dir/shown.pc2" 50 30)'
  check node "$SINEW_SOURCE/test/measure.mjs" rom/rest.obj shown.pc2 $name.pc2 > said || grep -v 'free_static\|memory.cpp' log | head -20
  same said "godot $name"
done
finish
