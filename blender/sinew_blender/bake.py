# SPDX-License-Identifier: MIT
"""Bake to bones: a mesh with anything that deforms it becomes an armature, weights and an action."""
import bpy
import numpy as np
from mathutils import Matrix, Vector

from . import scene
from .job import Job, in_thread
from .module import sinew

LEAST_BONE = 0.02  # length of a bone without children, of the mesh's diagonal


def _tails(skeleton, diagonal):
    """Where bones end: at the middle of their children, or a little further on."""
    places = skeleton.places()
    tails = np.empty_like(places)
    for j, place in enumerate(places):
        children = [c for c in range(len(skeleton)) if skeleton.parents[c] == j]
        towards = places[children].mean(0) - place if children else np.zeros(3)
        if np.linalg.norm(towards) < LEAST_BONE * diagonal:
            parent = skeleton.parents[j]
            towards = place - places[parent] if parent >= 0 else np.array([0.0, 0.0, 1.0])
            length = np.linalg.norm(towards)
            towards = (towards / length if length > 1e-9 * diagonal else np.array([0.0, 0.0, 1.0])) * 3 * LEAST_BONE * diagonal
        tails[j] = place + towards
    return tails


def new_armature(context, skeleton, diagonal, name):
    data = bpy.data.armatures.new(name)
    armature = bpy.data.objects.new(name, data)
    context.collection.objects.link(armature)
    scene.show_alone(context, armature)
    bpy.ops.object.mode_set(mode="EDIT")
    tails = _tails(skeleton, diagonal)
    for j, joint in enumerate(skeleton.names):
        bone = data.edit_bones.new(joint)
        bone.head, bone.tail = Vector(skeleton.places()[j]), Vector(tails[j])
    for j, parent in enumerate(skeleton.parents):
        if parent >= 0:
            data.edit_bones[skeleton.names[j]].parent = data.edit_bones[skeleton.names[parent]]
    bpy.ops.object.mode_set(mode="OBJECT")
    armature.show_in_front = True
    return armature


def _basis(armature, skeleton):
    """What to key: every bone's matrix relative to its parent's and its own rest, frames x bones."""
    rest = [scene.matrix(armature.data.bones[name].matrix_local) for name in skeleton.names]
    frames = len(skeleton.poses)
    whole = np.zeros((frames, len(skeleton), 4, 4))
    whole[:, :, :3], whole[:, :, 3, 3] = skeleton.poses, 1
    posed = np.stack([whole[:, j] @ rest[j] for j in range(len(skeleton))], 1)
    out = np.empty_like(posed)
    for j, parent in enumerate(skeleton.parents):
        if parent < 0:
            out[:, j] = np.linalg.inv(rest[j]) @ posed[:, j]
        else:
            relative = np.linalg.inv(rest[parent]) @ rest[j]
            out[:, j] = np.linalg.inv(relative) @ np.linalg.inv(posed[:, parent]) @ posed[:, j]
    return out


def _add_curves(action, bone, path, values, numbers):
    """One curve per column, a key at every frame, straight lines between."""
    linear = bpy.types.Keyframe.bl_rna.properties["interpolation"].enum_items["LINEAR"].value
    for k in range(values.shape[1]):
        curve = action.fcurves.new(f'pose.bones["{bpy.utils.escape_identifier(bone)}"].{path}', index=k, action_group=bone)
        curve.keyframe_points.add(len(numbers))
        curve.keyframe_points.foreach_set("co", np.stack([numbers, values[:, k]], 1).ravel())
        curve.keyframe_points.foreach_set("interpolation", [linear] * len(numbers))
        curve.update()


def animate(armature, skeleton, numbers, name):
    action = bpy.data.actions.new(name)
    basis = _basis(armature, skeleton)
    for j, joint in enumerate(skeleton.names):
        armature.pose.bones[joint].rotation_mode = "QUATERNION"
        turns = np.array([Matrix(m[:3, :3].tolist()).to_quaternion() for m in basis[:, j]])
        for f in range(1, len(turns)):
            if turns[f] @ turns[f - 1] < 0:
                turns[f] = -turns[f]
        _add_curves(action, joint, "location", basis[:, j, :3, 3], numbers)
        _add_curves(action, joint, "rotation_quaternion", turns, numbers)
    armature.animation_data_create()
    armature.animation_data.action = action


def bind(obj, armature, skeleton):
    groups = [obj.vertex_groups.new(name=name) for name in skeleton.names]
    for i, (joints, weights) in enumerate(zip(skeleton.joints.tolist(), skeleton.weights.tolist())):
        for j, weight in zip(joints, weights):
            if weight > 0:
                groups[j].add([i], weight, "REPLACE")
    modifier = obj.modifiers.new("Armature", "ARMATURE")
    modifier.object = armature
    obj.parent = armature


class SINEW_OT_bake(Job, bpy.types.Operator):
    """Bones, weights and an action that move a copy of this mesh as it moves now: cache, cloth, shape keys, modifiers. The
    original is hidden"""

    bl_idname = "sinew.bake"
    bl_label = "Bake to Bones"

    def steps(self, context):
        obj, settings = context.object, context.scene.sinew
        numbers = scene.frame_numbers(context)
        frames = yield from scene.frames_of(context, obj, numbers)
        context.scene.frame_set(numbers[0])
        depsgraph = context.evaluated_depsgraph_get()
        triangles = scene.triangles_of(obj.evaluated_get(depsgraph).data)
        mesh = scene.rest_mesh(obj, frames[0], triangles)
        bones, influences = "auto" if settings.bones_auto else settings.bones, settings.influences
        rig = yield from in_thread(lambda progress: sinew.rig(mesh, frames, bones=bones, influences=influences, progress=progress))
        yield "making bones", 1.0
        baked = scene.new_mesh(context, obj, frames[0], obj.name + ".bones")
        armature = new_armature(context, rig.skeleton, mesh.diagonal, obj.name + ".armature")
        bind(baked, armature, rig.skeleton)
        animate(armature, rig.skeleton, numbers, obj.name + ".motion")
        baked["sinew_source"] = obj.name
        scene.hide(obj)
        scene.show_alone(context, baked)
        report = rig.report
        return (f"{report['bones']} bones; error {report['rms_pct_diag']:.3g} % of the size, largest "
                f"{report['max_pct_diag']:.3g} %")
