# Common to the tests of `sinew export`, after common.sh: models of `helpers` and clips they were not trained on. NAME.sinew goes with
# NAME.glb, and NAME.pc2 is what the runtime makes of it: `arm`; `turned`, joints with other axes than in training; `tall`, an armature that
# rotates and scales; `named`, names and units as of other programs; `psd`, corrections as morph targets, with the names of `named`. `face`
# and `head`, which has a joint, follow the values of their .csv.
edit() { node "$SINEW_SOURCE/test/edit_glb.mjs" "$@"; }
clip() { # clip NAME [OPTION...]: trains on rom-NAME.glb
  check "$SINEW" train --method "${method:-helpers}" --rest "rom-$1.glb" --skeleton "rom-$1.glb" --frames rom/frames.pc2 --quiet -o "$1.sinew" "${@:2}"
  check "$SINEW" eval "$1.sinew" --skeleton "$1.glb" --quiet -o "$1.pc2"
}
for motion in rom mixed; do check "$SINEW" gen arm --vertices 900 --motion $motion --quiet -o $motion; done
for motion in rom mixed; do
  to=$([ $motion = rom ] && echo rom- || true)
  cp $motion/skeleton.glb ${to}arm.glb
  edit $motion/skeleton.glb ${to}tall.glb axes armature=2
  edit $motion/skeleton.glb ${to}named.glb names texture joint-scale=100
done
clip arm
clip tall --axes frames=x-zy --scale frames=2
clip named
cp named.glb psd.glb
cp rom-named.glb rom-psd.glb
method=psd:shapes=32 clip psd
edit mixed/skeleton.glb turned.glb axes
check "$SINEW" gen face --vertices 1500 --frames 50 --quiet -o face
cp face/targets.glb face.glb
edit face/skeleton.glb head.glb axes joint-scale=10
for name in face head; do
  cp face/values.csv $name.csv
  joint=$([ $name = face ] || echo "--skeleton head.glb")
  check "$SINEW" train --method helpers --rest $name.glb --frames face/frames.pc2 --values face.csv $joint --quiet -o $name.sinew
  check "$SINEW" eval $name.sinew --values face.csv $joint --quiet -o $name.pc2
done
cp arm.sinew turned.sinew
cp arm.pc2 turned.pc2

# same FILE.json WHICH: the largest distance from the runtime is at most 1e-5 of the diagonal.
same() {
  checks=$((checks + 1))
  node -e 'const r = JSON.parse(require("fs").readFileSync(process.argv[1])), max = r.max ?? r.max_pct_diag / 100;
    console.log(process.argv[2], max); process.exit(max <= 1e-5 && r.frames === 50 && r.vertices >= 900 ? 0 : 1)' "$1" "$2" || fail "$2: $(cat "$1")"
}
