# SPDX-License-Identifier: MIT
"""Bake to bones: a mesh with anything that deforms it becomes an armature, weights and an action."""
import bpy
import numpy as np
from mathutils import Matrix, Vector

from . import scene
from .job import Failure, Job, in_thread
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


def _continued(quaternions):
    """Quaternions, each with the sign that is nearer to the one before."""
    for f in range(1, len(quaternions)):
        if quaternions[f] @ quaternions[f - 1] < 0:
            quaternions[f] = -quaternions[f]
    return quaternions


def animate(armature, skeleton, numbers, name):
    action = bpy.data.actions.new(name)
    basis = _basis(armature, skeleton)
    for j, joint in enumerate(skeleton.names):
        armature.pose.bones[joint].rotation_mode = "QUATERNION"
        quaternions = np.array([Matrix(m[:3, :3].tolist()).to_quaternion() for m in basis[:, j]])
        quaternions = _continued(quaternions)
        _add_curves(action, joint, "location", basis[:, j, :3, 3], numbers)
        _add_curves(action, joint, "rotation_quaternion", quaternions, numbers)
    armature.animation_data_create()
    armature.animation_data.action = action


def add_helpers(context, armature, centres, name="sinew_helper"):
    """Bones without a parent, at places in the armature's space. Their names."""
    scene.show_alone(context, armature)
    bpy.ops.object.mode_set(mode="EDIT")
    names, size = [], 0.02 * max(armature.dimensions) or 0.1
    for centre in centres:
        bone = armature.data.edit_bones.new(name)
        bone.head, bone.tail = Vector(centre), Vector(centre) + Vector((0, 0, size))
        names.append(bone.name)
    bpy.ops.object.mode_set(mode="OBJECT")
    for each in names:
        armature.pose.bones[each].rotation_mode = "QUATERNION"
    return names


def key_helpers(armature, action, names, numbers, moves):
    """moves[f, h]: what helper h does to the rest pose at frame numbers[f], in the armature's space."""
    for h, name in enumerate(names):
        rest = scene.matrix(armature.data.bones[name].matrix_local)
        parts = [Matrix((np.linalg.inv(rest) @ move @ rest).tolist()).decompose() for move in moves[:, h]]
        for path, k in (("location", 0), ("rotation_quaternion", 1), ("scale", 2)):
            values = np.array([part[k] for part in parts])
            if k == 1:
                values = _continued(values)
            _add_curves(action, name, path, values, numbers)


def in_armature(move, worlds, world):
    """Rest pose to pose as glTF's world has it (frames x n x 3 x 4), in an armature that is at `worlds`, at rest at `world`."""
    whole = np.zeros(move.shape[:2] + (4, 4))
    whole[:, :, :3], whole[:, :, 3, 3] = move, 1
    return np.linalg.inv(scene.Y_UP @ worlds)[:, None] @ whole @ (scene.Y_UP @ world)


def add_weights(obj, names, joints, weights):
    groups = [obj.vertex_groups.new(name=name) for name in names]
    for i, (row, shares) in enumerate(zip(joints.tolist(), weights.tolist())):
        for j, weight in zip(row, shares):
            if weight > 0:
                groups[j].add([i], weight, "ADD")


class SINEW_OT_bake(Job, bpy.types.Operator):
    """Bones, weights and an action that move a copy of this mesh as it moves now: cache, cloth, shape keys, modifiers. A mesh that
    follows an armature gets weights for that one. The original is hidden"""

    bl_idname = "sinew.bake"
    bl_label = "Bake to Bones"

    def steps(self, context):
        obj, armature, numbers = context.object, scene.armature_of(context.object), scene.frame_numbers(context)
        rig, baked = yield from (self.to_armature if armature else self.to_new)(context, obj, armature, numbers)
        baked["sinew_source"] = obj.name
        scene.hide(obj)
        scene.show_alone(context, baked)
        report = rig.report
        return (f"{report['bones']} bones; error {report['rms_pct_diag']:.3g} % of the size, largest "
                f"{report['max_pct_diag']:.3g} %")

    @staticmethod
    def to_new(context, obj, _, numbers):
        settings = context.scene.sinew
        frames = yield from scene.frames_of(context, [obj], numbers)
        context.scene.frame_set(numbers[0])
        depsgraph = context.evaluated_depsgraph_get()
        triangles = scene.triangles_of(obj.evaluated_get(depsgraph).data)
        mesh = scene.rest_mesh(obj, frames[0], triangles)
        bones, influences = "auto" if settings.bones_auto else settings.bones, settings.influences
        rig = yield from in_thread(lambda progress: sinew.rig(mesh, frames, bones=bones, influences=influences, progress=progress))
        yield "making bones", 1.0
        baked = scene.new_object(obj, scene.copied_mesh(context, obj), obj.name + ".bones")
        baked.vertex_groups.clear()
        armature = new_armature(context, rig.skeleton, mesh.diagonal, obj.name + ".armature")
        add_weights(baked, rig.skeleton.names, rig.skeleton.joints, rig.skeleton.weights)
        scene.bind(baked, armature)
        animate(armature, rig.skeleton, numbers, obj.name + ".motion")
        return rig, baked

    @staticmethod
    def to_armature(context, obj, armature, numbers):
        """Weights for the armature that is there, in its rest pose, and helper bones where they are requested."""
        settings = context.scene.sinew
        helpers, influences, names = settings.helpers, settings.influences, [bone.name for bone in scene.bones_of(armature)]
        if helpers and not (armature.animation_data and armature.animation_data.action):
            raise Failure(f"{armature.name} has no action for the keys of its helpers")
        context.scene.frame_set(numbers[0])
        copy, = scene.rest_meshes(context, [obj], armature)
        try:
            world, pose = scene.matrix(armature.matrix_world), scene.Pose(armature, names)
            rest, worlds = pose.rest(world), np.empty((len(numbers), 4, 4))
            poses = np.empty((len(numbers), len(names), 3, 4))

            def read_pose(k, depsgraph):
                poses[k] = (pose.read(depsgraph) @ np.linalg.inv(rest))[:, :3]
                worlds[k] = scene.matrix(armature.evaluated_get(depsgraph).matrix_world)

            frames = yield from scene.frames_of(context, [obj], numbers, read_pose)
            turn = scene.Y_UP[:3, :3].T.astype(np.float32)
            mesh = scene.rest_mesh(obj, scene.positions_of([copy]) @ turn, scene.triangles_of(copy))
            skeleton = sinew.Skeleton(names, scene.parents_of(armature, names), rest[:, :3], poses)
            rig = yield from in_thread(lambda progress: sinew.rig(mesh, frames @ turn, skeleton=skeleton, influences=influences,
                                                                  helpers=helpers, progress=progress))
        except BaseException:
            bpy.data.meshes.remove(copy)
            raise
        baked, found = scene.new_object(obj, copy, obj.name + ".bones"), rig.skeleton
        baked.vertex_groups.clear()
        new = [j for j, name in enumerate(found.names) if name not in names]
        named = list(found.names)
        if new:
            into = np.linalg.inv(scene.Y_UP @ world)
            centres = found.places()[new] @ into[:3, :3].T + into[:3, 3]
            made = add_helpers(context, armature, centres)
            key_helpers(armature, armature.animation_data.action, made, numbers, in_armature(found.poses[:, new], worlds, world))
            for j, name in zip(new, made):
                named[j] = name
        add_weights(baked, named, found.joints, found.weights)
        scene.bind(baked, armature)
        return rig, baked
