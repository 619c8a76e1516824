# In Blender: what it shows of a GLB's first animation, frame by frame, as PC2 in the file's axes and vertex order. A script that
# `sinew export --to blender` wrote is run instead, with the values of in.csv, if that is there.
#   blender -b --factory-startup -P blender_glb.py -- in.glb|in.py out.pc2 FRAMES FPS
import csv
import os
import struct
import sys
import bpy
import numpy

source, target, frames, fps = sys.argv[sys.argv.index("--") + 1:]
bpy.ops.wm.read_factory_settings(use_empty=True)
bpy.context.scene.render.fps = int(fps)
if source.endswith(".py"):
    exec(compile(open(source).read(), source, "exec"), {"__name__": "__main__", "__file__": source})
else:
    numpy.bool = bool  # the importer of Blender 3.4 uses a name that newer versions of numpy lack; scripts see to it themselves
    bpy.ops.import_scene.gltf(filepath=source)
table = source[:-3] + ".csv"
values = list(csv.reader(open(table))) if source.endswith(".py") and os.path.exists(table) else None
# The icosphere that the importer adds as the shape of bones has no armature.
meshes = [o for o in bpy.context.scene.objects if o.type == "MESH" and o.find_armature()]
count = sum(len(o.data.vertices) for o in meshes)
with open(target, "wb") as out:
    out.write(struct.pack("<12siiffi", b"POINTCACHE2\0", 1, count, 0.0, 1.0, int(frames)))
    for f in range(int(frames)):
        for o in bpy.context.scene.objects if values else ():
            if o.type == "ARMATURE":
                for name, value in zip(values[0][1:], values[f + 1][1:]):
                    o[name] = float(value)
                o.update_tag()
        bpy.context.scene.frame_set(f)
        graph = bpy.context.evaluated_depsgraph_get()
        for o in meshes:
            shown = o.evaluated_get(graph)
            mesh = shown.to_mesh()
            for v in mesh.vertices:
                p = shown.matrix_world @ v.co
                out.write(struct.pack("<fff", p.x, p.z, -p.y))
            shown.to_mesh_clear()
