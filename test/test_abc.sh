#!/usr/bin/env bash
# Alembic files that other programs wrote: what info, convert and the loader say of them, and positions against another
# reader of the container.
set -eu
tool=$SINEW
shared=$SINEW_SOURCE/../shared
[ -d "$shared/data/abc" ] || { echo "skipped: no data/abc"; exit 77; }
command -v python3 > /dev/null || { echo "skipped: no python3"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

expect() { # text, then a command whose output must contain it
  text=$1
  shift
  "$@" >"$work/said" 2>&1 || true
  grep -qF -- "$text" "$work/said" || { echo "expected '$text' from $*:"; cat "$work/said"; exit 1; }
}

abc=$shared/data/abc
bone=$shared/data/dembones-files/Bone_Anim.abc
expect "subdivision mesh, 98 points, 96 faces, 120 samples" "$tool" info "$abc/deformingSubdTest.abc"
expect "hidden at 5 of 15 samples" "$tool" info "$abc/mesh_xTranslate_visibilityAnim_15_24fps.abc"
expect "changes its faces or its number of points at sample 6" "$tool" convert "$abc/variableTopoSubd.abc" "$work/x.pc2"
expect "is empty (0 points, 0 faces)" "$tool" convert "$abc/emptymesh.abc" "$work/x.pc2"
expect "1 transform, 1 camera" "$tool" convert "$abc/camera_ztranslate_300f_24fps.abc" "$work/x.pc2"
expect "400 frames at 24 per second" "$tool" info "$bone"
expect "no such object; its meshes: /Bone/BoneShape" "$tool" convert "$bone" "$work/x.pc2" --object /nothing
expect "8 vertices, 12 triangles" "$tool" convert "$abc/cubes_normals.abc" "$work/x.obj" --object face_normal_grid
expect "799 frames of 754" "$tool" convert "$bone" "$work/x.pc2" --fps 48
expect "first frame only" "$tool" convert "$bone" "$work/x.glb"
expect "2 materials, texture coordinates, normals" "$tool" convert "$abc/twoTriangles_facesetOrder_1f_24fps.abc" "$work/two.obj"
[ "$(grep -c '^usemtl fs_' "$work/two.obj")" -eq 2 ] || { echo "face sets are not materials"; cat "$work/two.obj"; exit 1; }
expect "0 materials, normals" "$tool" convert "$abc/cubes_normals.abc" "$work/cubes.obj"
# The cubes' faces carry the normals of their sides, however they are stored.
awk '/^v /{n++; for(k=2;k<5;k++) p[n,k-1]=$k} /^vn /{m++; for(k=2;k<5;k++) q[m,k-1]=$k}
  /^f /{split($2,a,"/"); split($3,b,"/"); split($4,c,"/"); for(k=1;k<=3;k++){u[k]=p[b[1],k]-p[a[1],k]; v[k]=p[c[1],k]-p[a[1],k]}
  x=u[2]*v[3]-u[3]*v[2]; y=u[3]*v[1]-u[1]*v[3]; z=u[1]*v[2]-u[2]*v[1]
  if (x*q[a[3],1]+y*q[a[3],2]+z*q[a[3],3] <= 0) bad=1} END {exit bad}' "$work/cubes.obj" || { echo "normals look inwards"; exit 1; }
head -c 2000000 "$bone" >"$work/cut.abc"
expect "damaged or cut" "$tool" info "$work/cut.abc"
printf '\211HDF\r\n\032\nmore' >"$work/old.abc"
expect "HDF5" "$tool" info "$work/old.abc"

"$tool" convert "$bone" "$work/bone.pc2" >/dev/null
"$tool" convert "$abc/deformingSubdTest.abc" "$work/subd.pc2" >/dev/null
python3 - "$shared/check" "$bone" "$work/bone.pc2" "$abc/deformingSubdTest.abc" "$work/subd.pc2" <<'END'
import struct, sys
sys.path.insert(0, sys.argv[1])
from ogawa import Abc

def points(path, shift):
    a = Abc(path)
    obj = a.obj(a.root)[1][0][2]
    mesh = a.obj(obj)[1][0][2]
    geom = next(p for p in a.compound(a.obj(mesh)[0]) if p['name'] == '.geom')
    p = next(p for p in a.compound(geom['off']) if p['name'] == 'P')
    stored = b''.join(a.array(p, k) for k in range(p['ns']))
    n = len(stored) // 4
    if not shift: return stored
    return struct.pack('<%df' % n, *[v + shift[k % 3] for k, v in enumerate(struct.unpack('<%df' % n, stored))])

for path, cache, shift in ((sys.argv[2], sys.argv[3], (0, 0.3851148736980703, 0)), (sys.argv[4], sys.argv[5], None)):
    if points(path, shift) != open(cache, 'rb').read()[32:]: sys.exit(path + ': other positions')
END

"$tool" convert "$bone" "$work/again.abc" >/dev/null
"$tool" convert "$work/again.abc" "$work/again.pc2" >/dev/null
cmp "$work/again.pc2" "$work/bone.pc2" || { echo "an .abc written and read again differs"; exit 1; }
python3 - "$shared/check" "$work/again.abc" "$work/bone.pc2" <<'END'
import sys
sys.path.insert(0, sys.argv[1])
from ogawa import Abc
a = Abc(sys.argv[2])
mesh = a.obj(a.obj(a.root)[1][0][2])[1][0][2]
geom = next(p for p in a.compound(a.obj(mesh)[0]) if p['name'] == '.geom')
p = next(p for p in a.compound(geom['off']) if p['name'] == 'P')
if b''.join(a.array(p, k) for k in range(p['ns'])) != open(sys.argv[3], 'rb').read()[32:]:
    sys.exit('the other reader finds other positions in what is written')
END

"$tool" rig --frames "$bone" --bones 2 -o "$work/rig.glb" >"$work/said" 2>&1 || { cat "$work/said"; exit 1; }
expect "0 s to 16.625 s" "$tool" info "$work/rig.glb"
echo "Alembic files of other programs are read"
