

import json
import os
import bpy
import numpy
from bpy.app.handlers import depsgraph_update_post, frame_change_post, persistent
from mathutils import Matrix, Quaternion

TABLE = json.loads(TABLE_TEXT)
UPRIGHT = Quaternion((1, 0, 0), -1.5707963267948966)  # Blender's bones without a parent: from z up to y up


def local_rotation(bone):
    matrix = bone.parent.matrix.inverted_safe() @ bone.matrix if bone.parent else bone.matrix
    q = matrix.to_quaternion() if bone.parent else UPRIGHT @ matrix.to_quaternion()
    return q.x, q.y, q.z, q.w


def place(bone, new):
    """Location, rotation and scale of a bone."""
    old = [*bone.location, *bone.rotation_quaternion, *bone.scale]
    if max(abs(a - b) for a, b in zip(new, old)) > 1e-6:  # else every update would cause the next one
        bone.rotation_mode = "QUATERNION"
        bone.location, bone.rotation_quaternion, bone.scale = new[:3], new[3:7], new[7:]


def place_pair(outer, inner, matrix):
    """A matrix as the rotations and scales of two bones: one has no shear."""
    u, scale, v = numpy.linalg.svd(matrix[:, :3])
    signs = [numpy.sign(numpy.linalg.det(part)) for part in (u, v)]  # -1: a reflection, which the scale gets
    first, second = (Matrix((sign * part).tolist()).to_quaternion() for sign, part in zip(signs, (u, v)))
    place(outer, [*matrix[:, 3], *first, *(signs[0] * signs[1] * scale)])
    place(inner, [0, 0, 0, *second, 1, 1, 1])


def drive(armature, graph):
    shown = armature.evaluated_get(graph)
    inputs = [shown.get(d["value"], 0) if "value" in d else local_rotation(shown.pose.bones[d["joint"]]) for d in TABLE["drivers"]]
    for helper, (t, q, scale, added) in zip(TABLE["helpers"], motions(TABLE, inputs)):
        bone, q = armature.pose.bones[helper["name"]], [q[3], *q[:3]]
        if added:
            matrix = numpy.c_[scale * numpy.array(Quaternion(q).to_matrix()), t] + numpy.array(added).T
            place_pair(bone, armature.pose.bones[helper["name"] + "_inner"], matrix)
        else:
            place(bone, [*t, *q, scale, scale, scale])
    weights = list(shape_weights(TABLE, inputs))
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
    if not hasattr(numpy, "bool"):  # the importer of Blender 3.4 uses a name that newer versions of numpy lack
        numpy.bool = bool
    bpy.ops.import_scene.gltf(filepath=os.path.join(folder, NAME + ".glb"), bone_heuristic="BLENDER")
    helpers = {helper["name"] for helper in TABLE["helpers"]}
    names = helpers | {driver["joint"] for driver in TABLE["drivers"] if "joint" in driver}
    for armature in bpy.context.selected_objects:
        if armature.type == "ARMATURE" and names <= set(armature.pose.bones.keys()):
            armature["sinew_helpers"] = NAME
            for bone in armature.data.bones:
                bone.hide = bone.hide or bone.name in helpers or bone.name.removesuffix("_inner") in helpers
            for driver in TABLE["drivers"]:
                if "value" in driver:  # a custom property: set it, animate it, drive it
                    armature[driver["value"]] = min(max(0.0, driver["low"]), driver["high"])
                    armature.id_properties_ui(driver["value"]).update(min=driver["low"], max=driver["high"])
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
