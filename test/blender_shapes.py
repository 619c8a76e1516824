# Blender makes a bending cylinder with two animated blend shapes and writes it as FBX; Sinew's frames of that file must be Blender's
# own vertices, to 1e-5 of its height.
# Usage: blender -b --python blender_shapes.py -- SINEW FOLDER
import bpy, struct, subprocess, sys
tool, folder = sys.argv[-2:]
frames = 11
bpy.ops.wm.read_factory_settings(use_empty=True)
scene = bpy.context.scene
scene.render.fps, scene.frame_start, scene.frame_end = 24, 1, frames

bpy.ops.mesh.primitive_cylinder_add(vertices=12, radius=0.3, depth=2, location=(0, 0, 1))
body = bpy.context.object
bpy.ops.object.mode_set(mode='EDIT')
bpy.ops.mesh.subdivide(number_cuts=3)
bpy.ops.object.mode_set(mode='OBJECT')
bpy.ops.object.transform_apply(location=True, rotation=True, scale=True)

bpy.ops.object.armature_add(location=(0, 0, 0))
armature = bpy.context.object
bpy.ops.object.mode_set(mode='EDIT')
lower = armature.data.edit_bones[0]
lower.name, lower.head, lower.tail = 'lower', (0, 0, 0), (0, 0, 1)
upper = armature.data.edit_bones.new('upper')
upper.head, upper.tail, upper.parent = (0, 0, 1), (0, 0, 2), lower
bpy.ops.object.mode_set(mode='OBJECT')
groups = [body.vertex_groups.new(name=name) for name in ('lower', 'upper')]
for v in body.data.vertices:
    t = min(max((v.co.z - 0.8) / 0.4, 0), 1)
    groups[0].add([v.index], 1 - t, 'REPLACE')
    groups[1].add([v.index], t, 'REPLACE')
body.modifiers.new('skin', 'ARMATURE').object = armature
body.parent = armature

body.shape_key_add(name='Basis')
bulge, lean = body.shape_key_add(name='bulge'), body.shape_key_add(name='lean')
for i, v in enumerate(body.data.vertices):
    bulge.data[i].co = (1.5 * v.co.x, v.co.y, v.co.z)
    lean.data[i].co = (v.co.x, v.co.y + 0.3 * v.co.z, v.co.z)
bone = armature.pose.bones['upper']
bone.rotation_mode = 'XYZ'
for frame, swell, tilt in ((1, 0, 0.5), (6, 1, None), (frames, 0.3, 1)):
    bulge.value = swell
    bulge.keyframe_insert('value', frame=frame)
    if tilt is not None:
        lean.value = tilt
        lean.keyframe_insert('value', frame=frame)
    bone.rotation_euler = (0.1 * frame, 0, 0.05 * frame)
    bone.keyframe_insert('rotation_euler', frame=frame)

bpy.ops.export_scene.fbx(filepath=folder + '/shapes.fbx', add_leaf_bones=False, use_mesh_modifiers=False)
subprocess.run([tool, 'convert', folder + '/shapes.fbx', folder + '/shapes.pc2', '--fps', '24', '--quiet'], check=True)
data = open(folder + '/shapes.pc2', 'rb').read()
count, found = struct.unpack_from('<i', data, 16)[0], struct.unpack_from('<i', data, 28)[0]
worst = 0 if found == frames and count == len(body.data.vertices) else 1
for f in range(min(found, frames)):
    scene.frame_set(f + 1)
    shown = body.evaluated_get(bpy.context.evaluated_depsgraph_get())
    seen = [struct.unpack_from('<3f', data, 32 + 12 * (f * count + i)) for i in range(count)]
    for v, (a, b, c) in zip(shown.data.vertices, seen):  # centimetres, y up
        p = shown.matrix_world @ v.co
        worst = max(worst, ((a - 100 * p.x) ** 2 + (b - 100 * p.z) ** 2 + (c + 100 * p.y) ** 2) ** 0.5 / 200)
print('BLENDER', 'agrees' if worst <= 1e-5 else 'differs', worst)
