# SPDX-License-Identifier: MIT
"""Learn skin: meshes that follow an armature through heavy modifiers become a model, and objects that show it. What is learned is
the character as Blender's glTF exporter writes it, vertices split at seams, Y up, so that model and file fit each other."""
import bpy
import numpy as np

from . import gltf, player, scene
from .job import Failure, Job, in_thread
from .module import sinew


def fill_groups(mesh, armature):
    """Vertices without a weight of a bone become the first bone's: a file needs weights. Says whether any had one."""
    holder = bpy.data.objects.new("sinew", mesh)
    bones = {group.index for group in holder.vertex_groups if group.name in armature.data.bones}
    bare = [vertex.index for vertex in mesh.vertices if not any(g.group in bones and g.weight > 0 for g in vertex.groups)]
    if bare:
        name = scene.bones_of(armature)[0].name
        (holder.vertex_groups.get(name) or holder.vertex_groups.new(name=name)).add(bare, 1.0, "REPLACE")
    bpy.data.objects.remove(holder)
    return len(bare) < len(mesh.vertices)


class SINEW_OT_learn(Job, bpy.types.Operator):
    """A small model of what the modifiers of the selected meshes do to them when their armature moves, and objects that show it at
    any pose. The originals are hidden"""

    bl_idname = "sinew.learn"
    bl_label = "Learn Skin"

    def steps(self, context):
        obj, method = context.object, context.scene.sinew.method
        armature = scene.armature_of(obj)
        if armature is None:
            raise Failure(f"{obj.name} follows no armature: give it an Armature modifier, or use Bake to Bones")
        objects = [obj] + [other for other in context.selected_objects
                           if other != obj and other.type == "MESH" and scene.armature_of(other) == armature]
        numbers = scene.frame_numbers(context)
        context.scene.frame_set(numbers[0])
        meshes = scene.rest_meshes(context, objects, armature)
        try:
            model, source, world = yield from self.learn(context, armature, objects, meshes, numbers)
        except BaseException:
            for mesh in meshes:
                bpy.data.meshes.remove(mesh)
            raise
        shown = [scene.new_object(other, mesh, other.name + ".skin") for other, mesh in zip(objects, meshes)]
        player.attach(shown, model, armature, source, world)
        for other, new in zip(objects, shown):
            new["sinew_source"] = other.name
            if model.info["drive"] in ("joints", "helpers") and all(group.name in armature.data.bones for group in new.vertex_groups):
                new.vertex_groups.clear()  # Blender would copy them at every frame; Export Character writes the model's weights
            scene.hide(other)
        scene.show_alone(context, shown[0])
        player.show(context.scene, context.evaluated_depsgraph_get())
        report = model.report
        metrics = report["test"] or report["train"]
        return (f"{method}: {len(model.bytes) / 1024:.0f} kB; error {metrics['rms_pct_diag']:.3g} % of the size"
                + (" on frames between the keys" if report["test"] else ""))

    @staticmethod
    def learn(context, armature, objects, meshes, numbers):
        """A step: the model, Blender's vertex of each of its vertices, and where the armature is."""
        settings = context.scene.sinew
        method, every = settings.method, settings.keys  # a thread must not ask Blender
        weighted = all([fill_groups(mesh, armature) for mesh in meshes])
        names = [obj.name for obj in objects]
        mesh, skeleton, source = gltf.read(context, armature, meshes, names)
        gltf.check(armature, meshes, mesh, skeleton, source, names[0])
        world = scene.matrix(armature.matrix_world)
        pose = scene.Pose(armature, skeleton.names)
        back = np.linalg.inv(pose.rest(world))
        poses = np.empty((len(numbers), len(skeleton), 3, 4))

        def read_pose(k, depsgraph):
            poses[k] = (pose.read(depsgraph) @ back)[:, :3]

        frames = yield from scene.frames_of(context, objects, numbers, read_pose)
        if frames.shape[1] != source.max() + 1:
            raise Failure(f"{objects[0].name} has {source.max() + 1} vertices in the rest pose, {frames.shape[1]} at frame {numbers[0]}")
        frames = np.ascontiguousarray(frames[:, source] @ scene.Y_UP[:3, :3].T.astype(np.float32))
        skin = (skeleton.joints, skeleton.weights) if weighted else (None, None)
        skeleton = sinew.Skeleton(skeleton.names, skeleton.parents, skeleton.rest, poses, *skin)
        keys = "all" if every == 1 else f"every:{every}"
        model = yield from in_thread(lambda progress: sinew.train(method, mesh, frames, skeleton, keys=keys, progress=progress))
        return model, source, world
