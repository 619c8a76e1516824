# Blender opens FILE.fbx; its vertices at every frame must be those of FILE.pc2, to 1e-4 of the diagonal.
# Usage: blender -b --python blender_points.py -- FILE.fbx FILE.pc2
import bpy, math, struct, sys
source, cache = sys.argv[-2:]
data = open(cache, 'rb').read()
count, frames = struct.unpack_from('<i', data, 16)[0], struct.unpack_from('<i', data, 28)[0]
bpy.ops.wm.read_factory_settings(use_empty=True)
bpy.ops.import_scene.fbx(filepath=source)
mesh = next(o for o in bpy.data.objects if o.type == 'MESH')
first = int(round(bpy.data.actions[0].frame_range[0]))
points = [struct.unpack_from('<3f', data, 32 + 12 * i) for i in range(count)]
diagonal = math.dist([min(p[k] for p in points) for k in range(3)], [max(p[k] for p in points) for k in range(3)])
worst = 0
for f in range(frames):
    bpy.context.scene.frame_set(first + f)
    shown = mesh.evaluated_get(bpy.context.evaluated_depsgraph_get())
    for i, v in enumerate(shown.data.vertices):
        p = shown.matrix_world @ v.co  # Blender's up is z
        worst = max(worst, math.dist((p.x, p.z, -p.y), struct.unpack_from('<3f', data, 32 + 12 * (f * count + i))))
print('BLENDER', 'agrees' if len(mesh.data.vertices) == count and worst <= 1e-4 * diagonal else 'differs', worst / diagonal)
