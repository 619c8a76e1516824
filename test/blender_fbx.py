# Blender makes a small animated character (a skinned body, a hat on a bone, a mirrored ball that rolls, and its twin) and writes it as FBX
# with every axis and scale option. What Blender's own importer shows of each file must be what Sinew reads: the same vertices in
# the same order, at rest and at every frame, to 1e-5 of the size; the file's axes and unit are converted to Blender's here.
# Usage: blender -b --python blender_fbx.py -- SINEW FOLDER
import bpy, itertools, re, struct, subprocess, sys
from bpy_extras.io_utils import axis_conversion
from mathutils import Vector
tool, folder = sys.argv[-2:]
frames = 9
exports = [
    {},
    *({'axis_forward': f, 'axis_up': u} for f, u in (('Y', 'Z'), ('-Y', 'Z'), ('X', 'Y'), ('Z', 'Y'), ('-X', 'Z'), ('Y', 'X'), ('Z', '-X'), ('X', '-Y'))),
    *({'apply_scale_options': o} for o in ('FBX_SCALE_UNITS', 'FBX_SCALE_CUSTOM', 'FBX_SCALE_ALL')),
    {'global_scale': 0.5}, {'global_scale': 3, 'apply_scale_options': 'FBX_SCALE_ALL', 'axis_forward': 'Y', 'axis_up': 'Z'},
    {'use_space_transform': False}, {'bake_space_transform': True}, {'bake_space_transform': True, 'axis_forward': 'Y', 'axis_up': 'Z'},
    {'add_leaf_bones': False}, {'armature_nodetype': 'ROOT'}, {'armature_nodetype': 'LIMBNODE'}, {'apply_unit_scale': False},
    *({'primary_bone_axis': p, 'secondary_bone_axis': s} for p, s in (('X', 'Y'), ('Z', 'X'), ('-Y', 'Z'), ('-X', '-Z'))),
]


def make():
    bpy.ops.wm.read_factory_settings(use_empty=True)
    scene = bpy.context.scene
    scene.render.fps, scene.frame_start, scene.frame_end = 24, 1, frames
    bpy.ops.object.armature_add(location=(0.3, -0.2, 0.1), rotation=(0.2, 0.1, 0.4))
    bpy.context.object.scale = (0.5, 0.5, 0.5)
    armature = bpy.context.object
    bpy.ops.object.mode_set(mode='EDIT')
    bones = [armature.data.edit_bones[0]]
    bones[0].name, bones[0].head, bones[0].tail = 'hips', (0, 0, 0), (0, 0.1, 0.7)
    for name, tail in (('spine', (0.1, 0, 1.4)), ('head', (0.1, 0.2, 2))):
        bones.append(armature.data.edit_bones.new(name))
        bones[-1].head, bones[-1].tail, bones[-1].parent, bones[-1].roll = bones[-2].tail, tail, bones[-2], 0.3
    bpy.ops.object.mode_set(mode='OBJECT')

    bpy.ops.mesh.primitive_cylinder_add(vertices=10, radius=0.3, depth=2, location=(0.5, 0, 1), rotation=(0.1, 0, 0))
    body = bpy.context.object
    body.name = 'body'
    bpy.ops.object.mode_set(mode='EDIT')
    bpy.ops.mesh.subdivide(number_cuts=2)
    bpy.ops.object.mode_set(mode='OBJECT')
    groups = [body.vertex_groups.new(name=name) for name in ('hips', 'spine', 'head')]
    for v in body.data.vertices:
        t = min(max(v.co.z + 1, 0), 1.999)
        groups[int(t)].add([v.index], 1 - t % 1, 'REPLACE')
        groups[int(t) + 1].add([v.index], t % 1, 'REPLACE')
    body.modifiers.new('skin', 'ARMATURE').object = armature
    body.parent = armature

    bpy.ops.mesh.primitive_cone_add(vertices=7, radius1=0.4, depth=0.5, location=(0.1, 0.3, 0.2))
    hat = bpy.context.object
    hat.name, hat.parent, hat.parent_type, hat.parent_bone = 'hat', armature, 'BONE', 'head'
    bpy.ops.mesh.primitive_uv_sphere_add(segments=6, ring_count=5, radius=0.2, location=(1, 0, 0))
    ball = bpy.context.object
    ball.name, ball.scale = 'ball', (-1, 1.5, 0.7)
    twin = bpy.data.objects.new('twin', ball.data)  # shows the same mesh, below a scaled and rotated parent
    scene.collection.objects.link(twin)
    twin.parent, twin.location, twin.rotation_euler = ball, (0, 1, 0), (0.5, 0, 0.3)
    for frame in range(1, frames + 1):
        for k, bone in enumerate(armature.pose.bones):
            bone.rotation_mode = 'XYZ'
            bone.rotation_euler = (0.08 * frame * (k - 1), 0.05 * frame, 0.1 * (frame % 3))
            bone.keyframe_insert('rotation_euler', frame=frame)
        armature.pose.bones[0].location = (0.02 * frame, 0.1, -0.03 * frame)
        armature.pose.bones[0].keyframe_insert('location', frame=frame)
        ball.location, ball.rotation_euler = (1 + 0.1 * frame, 0, 0), (0, 0.3 * frame, 0.1)
        ball.keyframe_insert('location', frame=frame)
        ball.keyframe_insert('rotation_euler', frame=frame)
    return [shown_at(1 + f) for f in range(frames)]


def shown_at(frame):
    bpy.context.scene.frame_set(frame)
    graph = bpy.context.evaluated_depsgraph_get()
    shown = [o.evaluated_get(graph) for o in bpy.data.objects if o.type == 'MESH']
    return {o.name: [o.matrix_world @ v.co for v in o.data.vertices] for o in shown}


def compare(source, options, made):
    cache = folder + '/frames.pc2'
    subprocess.run([tool, 'convert', source, cache, '--fps', '24', '--quiet'], check=True)
    subprocess.run([tool, 'convert', source, folder + '/rest.obj', '--quiet'], check=True)
    unit = float(re.search(r'a unit is ([0-9.e+-]+) (cm|m)\b', subprocess.run([tool, 'info', source], capture_output=True, text=True).stdout).group(1))
    data = open(cache, 'rb').read()
    count, found = struct.unpack_from('<i', data, 16)[0], struct.unpack_from('<i', data, 28)[0]
    bpy.ops.wm.read_factory_settings(use_empty=True)
    bpy.context.scene.render.fps = 24
    bpy.ops.import_scene.fbx(filepath=source)
    turn = axis_conversion(from_forward=options.get('axis_forward', '-Z'), from_up=options.get('axis_up', 'Y'))
    ours = [[turn @ Vector(struct.unpack_from('<3f', data, 32 + 12 * (f * count + i))) * (unit / 100) for i in range(count)] for f in range(found)]
    first = int(round(min(a.frame_range[0] for a in bpy.data.actions)))
    shown = [shown_at(first + f) for f in range(frames)]
    for armature in bpy.data.armatures:
        armature.pose_position = 'REST'
    body = shown_at(first)['body']
    size = max((a - b).length for a in body for b in body[:20])
    rest = [turn @ Vector([float(w) for w in line.split()[1:4]]) * (unit / 100) for line in open(folder + '/rest.obj') if line[0] == 'v']
    bound = min(max((a - b).length for a, b in zip(rest[k:], body)) / size for k in range(len(rest) - len(body) + 1))
    return difference(ours, shown), difference(ours, made), bound


def difference(ours, theirs):
    size = max((a - b).length for a in ours[0] for b in ours[0][:20])
    best = float('inf')
    for order in itertools.permutations(theirs[0]):  # Blender keeps no order of objects
        lists = [[p for name in order for p in frame[name]] for frame in theirs]
        if len(lists) != len(ours) or len(lists[0]) != len(ours[0]):
            break
        best = min(best, max((a - b).length for x, y in zip(ours, lists) for a, b in zip(x, y)) / size)
    return best


failed = 0
for number, options in enumerate(exports):
    made = make()
    source = '%s/export%d.fbx' % (folder, number)
    bpy.ops.export_scene.fbx(filepath=source, bake_anim_simplify_factor=0, bake_anim_use_all_actions=False, bake_anim_use_nla_strips=False,
                             **options)
    imported, original, rest = compare(source, options, made)
    misread = options.get('armature_nodetype') == 'LIMBNODE'  # by Blender's importer; the scene that was written tells
    failed += not (original if misread else max(imported, rest)) <= 1e-5
    print('EXPORT', options, 'frames %.2g, written %.2g, rest %.2g' % (imported, original, rest))
print('BLENDER', 'agrees' if failed == 0 else '%d of %d exports differ' % (failed, len(exports)))
