# SPDX-License-Identifier: MIT
"""Learn skin: a mesh that follows an armature through heavy modifiers becomes a model, and an object that shows it."""
import bpy
import numpy as np

from . import player, scene
from .job import Failure, Job, in_thread
from .module import sinew


def rest_of(context, obj, armature):
    """The mesh while the armature is in its rest pose: positions and triangles."""
    before = armature.data.pose_position
    armature.data.pose_position = "REST"
    try:
        context.view_layer.update()
        depsgraph = context.evaluated_depsgraph_get()
        positions = scene.evaluated_positions(obj, depsgraph)
        triangles = scene.triangles_of(obj.evaluated_get(depsgraph).data)
        shown = scene.new_mesh(context, obj, positions, obj.name + ".skin")
    finally:
        armature.data.pose_position = before
        context.view_layer.update()
    return positions, triangles, shown


class SINEW_OT_learn(Job, bpy.types.Operator):
    """A small model of what the modifiers of this mesh do to it when its armature moves, and an object that shows it at any
    pose. The original is hidden"""

    bl_idname = "sinew.learn"
    bl_label = "Learn Skin"

    def steps(self, context):
        obj, settings = context.object, context.scene.sinew
        method, every = settings.method, settings.keys  # a thread must not ask Blender
        armature = scene.armature_of(obj)
        if armature is None:
            raise Failure(f"{obj.name} follows no armature: give it an Armature modifier, or use Bake to Bones")
        numbers = scene.frame_numbers(context)
        context.scene.frame_set(numbers[0])
        positions, triangles, shown = rest_of(context, obj, armature)
        try:
            rest = scene.rest_matrices(armature)
            names = list(rest)
            inverse = [np.linalg.inv(rest[name]) for name in names]
            poses = np.empty((len(numbers), len(names), 3, 4))

            def read_pose(k, depsgraph):
                poses[k] = scene.skinning_matrices(armature, names, inverse, depsgraph)

            frames = yield from scene.frames_of(context, obj, numbers, read_pose)
            if frames.shape[1] != len(positions):
                raise Failure(f"{obj.name} has {len(positions)} vertices in the rest pose, {frames.shape[1]} at frame {numbers[0]}")
            bones = armature.data.bones
            parents = [_parent(bones[name], names) for name in names]
            weights = scene.group_weights(obj, names, len(positions))
            skeleton = sinew.Skeleton(names, parents, [rest[name][:3] for name in names], poses, *(weights or (None, None)))
            mesh = scene.rest_mesh(obj, positions, triangles)
            keys = "all" if every == 1 else f"every:{every}"
            model = yield from in_thread(lambda progress: sinew.train(method, mesh, frames, skeleton, keys=keys, progress=progress))
        except BaseException:
            bpy.data.meshes.remove(shown.data)  # and the object with it
            raise
        player.attach(shown, model, armature, [rest[name] for name in model.names])
        shown["sinew_source"] = obj.name
        scene.hide(obj)
        scene.show_alone(context, shown)
        player.show(context.scene, context.evaluated_depsgraph_get())
        report = model.report
        told = report["test"] or report["train"]
        return (f"{method}: {len(model.bytes) / 1024:.0f} kB; error {told['rms_pct_diag']:.3g} % of the size"
                + (" on frames between the keys" if report["test"] else ""))


def _parent(bone, names):
    """The nearest bone above that is in the list; -1 for none."""
    while bone.parent:
        bone = bone.parent
        if bone.name in names:
            return names.index(bone.name)
    return -1
