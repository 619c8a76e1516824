# SPDX-License-Identifier: MIT
"""Export: the character that was learned as .glb, with its materials, armature and clips, and the model beside it."""
import os

import bpy
import numpy as np
from bpy_extras.io_utils import ExportHelper

from . import bake, gltf, player, scene
from .job import Failure, Job
from .learn import fill_groups


def skin_weights(model, vertices):
    """(joints, weights) of Blender's vertices where the joints themselves move the skin, else None."""
    if model.info["drive"] not in ("joints", "helpers"):
        return None
    joints, weights = model.weights()
    if model.info["drive"] == "joints":  # joints between joints are the runtime's
        weights[joints >= len(model.names)] = 0
        weights[weights.sum(1) == 0, 0] = 1
        joints[joints >= len(model.names)] = 0
    return joints[vertices], weights[vertices] / weights[vertices].sum(1, keepdims=True)


def clips_of(context, armature):
    """The actions that the exporter writes, with their names: those of tracks, the active one, and all that move bones of the only
    armature."""
    data = armature.animation_data
    named = {strip.action: track.name for track in (data.nla_tracks if data else ()) for strip in track.strips}
    found = [*named, data.action if data else None]
    if sum(obj.type == "ARMATURE" for obj in context.scene.objects) == 1:
        found += [action for action in bpy.data.actions if action.id_root == "OBJECT" and any(
            curve.data_path.split('"')[0] == "pose.bones[" and curve.data_path.split('"')[1] in armature.data.bones for curve in action.fcurves)]
    return {action: named.get(action, action.name) for action in found if action}


def with_helpers(context, skin, armature):
    """A copy of the armature with the model's helpers as bones, and copies of its actions with their keys; the bones' names."""
    model, clips, copy = skin.model, clips_of(context, armature), armature.copy()
    copy.data = armature.data.copy()
    context.collection.objects.link(copy)
    joints, weights = model.weights()
    into = np.linalg.inv(scene.Y_UP @ skin.world)
    centres = []
    for h in range(len(model.names), model.info["palette"]):
        share = np.where(joints == h, weights, 0).sum(1)
        centre = share @ model.mesh.positions / max(share.sum(), 1e-9)
        centres.append(into[:3, :3] @ centre + into[:3, 3])
    names = bake.add_helpers(context, copy, centres)
    data, changed = armature.animation_data_create(), []
    action, nla = data.action, data.use_nla
    tracks = copy.animation_data_create().nla_tracks
    copy.animation_data.action = None
    for track in list(tracks):
        tracks.remove(track)
    try:
        for clip, name in clips.items():
            data.action, data.use_nla = clip, False
            first, last = (int(round(x)) for x in clip.frame_range)
            moves, worlds = [], []
            for number in range(first, last + 1):
                context.scene.frame_set(number)
                depsgraph = context.evaluated_depsgraph_get()
                moves.append(model.palette((skin.pose.read(depsgraph) @ skin.back)[:, :3])[len(model.names):])
                worlds.append(scene.matrix(armature.evaluated_get(depsgraph).matrix_world))
            changed.append(clip.copy())
            bake.key_helpers(copy, changed[-1], names, list(range(first, last + 1)),
                             bake.in_armature(np.array(moves), np.array(worlds), skin.world))
            track = tracks.new()  # a clip of the file each, named after its track
            track.name = name
            track.strips.new(clip.name, first, changed[-1])
    finally:
        data.action, data.use_nla = action, nla
    return copy, names, changed


def remove_armature(armature, actions):
    data = armature.data
    bpy.data.objects.remove(armature)
    bpy.data.armatures.remove(data)
    for action in actions:
        bpy.data.actions.remove(action)


class SINEW_OT_export(Job, bpy.types.Operator, ExportHelper):
    """The character with this skin as .glb, and the model beside it as .sinew with the vertices of that file; helper bones and plain
    weights need no model"""

    bl_idname = "sinew.export"
    bl_label = "Export Character"
    filename_ext = ".glb"
    filter_glob: bpy.props.StringProperty(default="*.glb", options={"HIDDEN"})

    def invoke(self, context, event):
        return ExportHelper.invoke(self, context, event)

    def steps(self, context):
        obj = context.object
        if not isinstance(obj.get(player.MODEL), bpy.types.Text):
            raise Failure(f"{obj.name} shows no model: use Learn Skin first")
        player.show(context.scene, context.evaluated_depsgraph_get())
        skin, parts = player.skin_of(obj), player.parts_of(obj)
        model, armature, names, actions = skin.model, obj[player.ARMATURE], list(skin.model.names), []
        text = player.text_of(obj)
        rest = np.array(text.get(player.REST, ()), np.int32).view(np.float32).reshape(-1, 3)
        if len(rest) != sum(len(part.data.vertices) for part in parts):
            raise Failure(f"{obj.name} has other vertices than its model: use Learn Skin again")
        weights = skin_weights(model, skin.vertices)
        meshes, frame = [part.data.copy() for part in parts], context.scene.frame_current
        try:
            self.prepare(parts, meshes, rest)
            if weights is not None:
                for mesh in meshes:  # the file that is compared needs some weights
                    fill_groups(mesh, armature)
            yield "comparing vertices", 0.1
            mesh, _, source = gltf.read(context, armature, meshes, [part.name for part in parts])
            if not (np.array_equal(source, np.array(text[player.SOURCE])) and np.array_equal(mesh.triangles, model.mesh.triangles)):
                raise Failure(f"{obj.name} has other seams or materials than when it was learned: use Learn Skin again")
            yield "writing", 0.5  # from here on in one step: what is linked for the exporter is never drawn
            if model.info["drive"] == "helpers":
                armature, made, actions = with_helpers(context, skin, armature)
                names += made
            with gltf.Parts(context, armature, meshes) as objects:
                if weights is not None:
                    first = 0
                    for each in objects:
                        each.vertex_groups.clear()
                        last = first + len(each.data.vertices)
                        bake.add_weights(each, names, weights[0][first:last], weights[1][first:last])
                        first = last
                gltf.write(context, self.filepath, armature, objects, export_all_influences=bool(actions),
                           export_anim_single_armature=not actions)
        finally:
            if armature != obj[player.ARMATURE]:
                remove_armature(armature, actions)
            for mesh in meshes:
                bpy.data.meshes.remove(mesh)
            context.scene.frame_set(frame)
            scene.show_alone(context, obj)
        beside = os.path.splitext(self.filepath)[0] + ".sinew"
        model.save(beside)
        note = "; its clips move the helpers" if model.info["drive"] == "helpers" else ""
        return f"{os.path.basename(self.filepath)}, and {os.path.basename(beside)} for the runtime{note}"

    @staticmethod
    def prepare(parts, meshes, rest):
        """The meshes as they were learned."""
        first = 0
        for part, mesh in zip(parts, meshes):
            last = first + len(mesh.vertices)
            mesh.name = part.name
            mesh.vertices.foreach_set("co", np.ascontiguousarray(rest[first:last], np.float32).ravel())
            mesh.update()
            first = last
