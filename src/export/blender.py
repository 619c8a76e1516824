

import json
import os
import bpy
from bpy.app.handlers import depsgraph_update_post, frame_change_post, persistent
from mathutils import Quaternion

TABLE = json.loads(TABLE_TEXT)
UPRIGHT = Quaternion((1, 0, 0), -1.5707963267948966)  # Blender's bones without a parent: from z up to y up


def local_rotation(bone):
    matrix = bone.parent.matrix.inverted_safe() @ bone.matrix if bone.parent else bone.matrix
    q = matrix.to_quaternion() if bone.parent else UPRIGHT @ matrix.to_quaternion()
    return q.x, q.y, q.z, q.w


def drive(armature, graph):
    bones = armature.evaluated_get(graph).pose.bones
    rotations = [local_rotation(bones[driver["joint"]]) for driver in TABLE["drivers"]]
    for helper, (t, q, scale) in zip(TABLE["helpers"], motions(TABLE, rotations)):
        bone = armature.pose.bones[helper["name"]]
        new = [*t, q[3], *q[:3], scale, scale, scale]
        old = [*bone.location, *bone.rotation_quaternion, *bone.scale]
        if max(abs(a - b) for a, b in zip(new, old)) > 1e-6:  # else every update would cause the next one
            bone.rotation_mode = "QUATERNION"
            bone.location, bone.rotation_quaternion, bone.scale = new[:3], new[3:7], new[7:]
    weights = list(shape_weights(TABLE, rotations))
    for keys in shape_keys(armature) if weights else ():
        for shape, weight in zip(TABLE["shapes"], weights):
            if abs(keys[shape["name"]].value - weight) > 1e-6:
                keys[shape["name"]].value = weight


def shape_keys(armature):
    """The shape keys of the armature's meshes that have the table's."""
    for mesh in armature.children:
        keys = mesh.data.shape_keys.key_blocks if mesh.type == "MESH" and mesh.data.shape_keys else ()
        if all(shape["name"] in keys for shape in TABLE["shapes"]):
            yield keys


@persistent
def drive_helpers(scene, graph=None):
    graph = graph or bpy.context.evaluated_depsgraph_get()
    for armature in scene.objects:
        if armature.get("sinew_helpers") == NAME:
            drive(armature, graph)


def load():
    """Imports the character and keeps this script in the .blend: allow scripts to run when you open it again."""
    folder = os.path.dirname(os.path.abspath(__file__))
    bpy.ops.import_scene.gltf(filepath=os.path.join(folder, NAME + ".glb"), bone_heuristic="BLENDER")
    helpers = {helper["name"] for helper in TABLE["helpers"]}
    names = helpers | {driver["joint"] for driver in TABLE["drivers"]}
    for armature in bpy.context.selected_objects:
        if armature.type == "ARMATURE" and names <= set(armature.pose.bones.keys()):
            armature["sinew_helpers"] = NAME
            for name in helpers:
                armature.data.bones[name].hide = True
            for keys in shape_keys(armature) if "shapes" in TABLE else ():
                for shape in TABLE["shapes"]:
                    keys[shape["name"]].slider_min, keys[shape["name"]].slider_max = -10, 10
    text = bpy.data.texts.new(NAME + ".py")
    with open(__file__, encoding="utf-8") as file:
        text.from_string(file.read())
    text.use_module = True


if __name__ == "__main__":
    load()
for handlers in (frame_change_post, depsgraph_update_post):
    handlers.append(drive_helpers)
