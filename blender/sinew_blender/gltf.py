# SPDX-License-Identifier: MIT
"""Characters as Blender's glTF exporter writes them: which vertex of the file is which of Blender's, and its joints."""
import json
import os
import tempfile

import bpy
import numpy as np

from . import scene
from .job import Failure
from .module import sinew

MARK, ROW = "sinew_vertex", 4096  # a UV map that says which vertex is which: its number, in rows


def write(context, path, armature, objects, **options):
    """The armature and these objects as a .glb."""
    if not hasattr(bpy.types, "EXPORT_SCENE_OT_gltf"):
        raise Failure("Blender's add-on for glTF 2.0 is off: tick it in Edit > Preferences > Add-ons")
    selected, active, hidden = list(context.selected_objects), context.view_layer.objects.active, armature.hide_get()
    armature.hide_set(False)
    scene.show_alone(context, armature)
    for obj in objects:
        obj.select_set(True)
    deform = [bone.use_deform for bone in armature.data.bones]
    try:
        bpy.ops.export_scene.gltf(filepath=path, export_format="GLB", use_selection=True, export_yup=True, export_apply=False,
                                  export_def_bones=any(deform) and not all(deform), **options)
    finally:
        armature.hide_set(hidden)
        for obj in context.selected_objects:
            obj.select_set(obj in selected)
        for obj in selected:
            obj.select_set(True)
        context.view_layer.objects.active = active


class Parts:
    """Meshes as objects that follow an armature, for as long as it takes to write them."""

    def __init__(self, context, armature, meshes):
        self.objects = []
        for mesh in meshes:
            obj = bpy.data.objects.new(mesh.name, mesh)  # with the mesh's vertex groups
            context.collection.objects.link(obj)
            self.objects.append(obj)
            scene.bind(obj, armature)
        context.view_layer.update()

    def __enter__(self):
        return self.objects

    def __exit__(self, *_):
        for obj in self.objects:
            bpy.data.objects.remove(obj)


def _mark(meshes):
    first = 0
    for mesh in meshes:
        layer = mesh.uv_layers.new(name=MARK, do_init=False)
        if layer is None:
            raise Failure(f"{mesh.name} has eight UV maps: one less is needed to tell its vertices apart")
        vertices = np.empty(len(mesh.loops), np.int32)
        mesh.loops.foreach_get("vertex_index", vertices)
        vertices += first
        layer.data.foreach_set("uv", np.stack([vertices % ROW, vertices // ROW], 1).astype(np.float32).ravel())
        first += len(mesh.vertices)
    return first


def _marks(path):
    """What the file's vertices are marked with, node after node."""
    with open(path, "rb") as file:
        data = file.read()
    size = int.from_bytes(data[12:16], "little")
    document, start = json.loads(data[20 : 20 + size]), 28 + size
    found = []
    for node in document["nodes"]:
        for part in document["meshes"][node["mesh"]]["primitives"] if "mesh" in node else ():
            last = max((name for name in part["attributes"] if name.startswith("TEXCOORD_")), key=lambda name: int(name[9:]))
            accessor = document["accessors"][part["attributes"][last]]
            view = document["bufferViews"][accessor["bufferView"]]
            at = start + view.get("byteOffset", 0) + accessor.get("byteOffset", 0)
            uv = np.frombuffer(data, np.float32, 2 * accessor["count"], at).reshape(-1, 2)
            found.append(np.rint(uv[:, 0] + ROW * (1 - uv[:, 1])).astype(np.int32))
    return np.concatenate(found)


def read(context, armature, meshes, names):
    """(mesh, skeleton, source): what Sinew reads of the file that these meshes would be, in the armature's rest pose, and Blender's
    vertex of each vertex of the file. `names`: of their objects, for messages."""
    folder = tempfile.TemporaryDirectory(prefix="sinew-")
    pose = armature.data.pose_position
    try:
        count = _mark(meshes)
        armature.data.pose_position = "REST"
        path = os.path.join(folder.name, "character.glb")
        with Parts(context, armature, meshes) as objects:
            write(context, path, armature, objects, export_animations=False, export_materials="PLACEHOLDER",
                  export_all_influences=True, export_morph=False)
        source, mesh, skeleton = _marks(path), sinew.load_mesh(path), sinew.load_skeleton(path, still=True)
    finally:
        armature.data.pose_position = pose
        for marked in meshes:
            if MARK in marked.uv_layers:
                marked.uv_layers.remove(marked.uv_layers[MARK])
        folder.cleanup()
    loose = np.setdiff1d(np.arange(count), source)
    if len(loose):
        last = np.cumsum([len(mesh.vertices) for mesh in meshes])
        name = names[np.searchsorted(last, loose[0], "right")]
        raise Failure(f"{len(loose)} vertices have no face, the first of them in {name}, and glTF has no place for them: "
                      "Mesh > Clean Up > Delete Loose")
    return mesh, skeleton, source


def check(armature, meshes, mesh, skeleton, source, name):
    """What was read is what Blender has."""
    if not mesh.diagonal > 0:
        raise Failure(f"{name} has no size in the rest pose: all its vertices are in one place")
    unknown = [name for name in skeleton.names if name not in armature.data.bones]
    if unknown:
        raise Failure(f"Blender's exporter adds a joint, {unknown[0]}: give every vertex a weight of a bone")
    away = np.abs(scene.positions_of(meshes)[source] @ scene.Y_UP[:3, :3].T - mesh.positions).max()
    if away > 1e-4 * mesh.diagonal:
        raise Failure(f"Blender's exporter puts vertices {away:.3g} from where they are: apply the scale of the armature and its parents")
