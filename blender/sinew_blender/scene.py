# SPDX-License-Identifier: MIT
"""Blender's meshes and armatures as Sinew's arrays. Everything is in world space, so that objects may move too."""
import numpy as np

from .job import Failure
from .module import sinew


Y_UP = np.array([[1.0, 0, 0, 0], [0, 0, 1, 0], [0, -1, 0, 0], [0, 0, 0, 1]])  # Blender's world to glTF's


def matrix(m):
    return np.array(m, dtype=np.float64)


def evaluated_positions(obj, depsgraph):
    """Where the vertices are after all modifiers: float32, n x 3."""
    seen = obj.evaluated_get(depsgraph)
    mesh = seen.to_mesh()
    try:
        local = np.empty(3 * len(mesh.vertices), np.float32)
        mesh.vertices.foreach_get("co", local)
    finally:
        seen.to_mesh_clear()
    world = matrix(seen.matrix_world)
    return (local.reshape(-1, 3) @ world[:3, :3].T + world[:3, 3]).astype(np.float32)


def rest_mesh(obj, positions, triangles):
    mesh = sinew.Mesh(positions, triangles)
    if not mesh.diagonal > 0:
        raise Failure(f"{obj.name} has no size in the rest pose: all its vertices are in one place")
    return mesh


def triangles_of(mesh):
    mesh.calc_loop_triangles()
    out = np.empty(3 * len(mesh.loop_triangles), np.int32)
    mesh.loop_triangles.foreach_get("vertices", out)
    return out.reshape(-1, 3)


def frame_numbers(context):
    settings, scene = context.scene.sinew, context.scene
    start, end = (settings.frame_start, settings.frame_end) if settings.use_range else (scene.frame_start, scene.frame_end)
    if end <= start:
        raise Failure(f"frames {start} to {end}: give a range of at least two frames")
    return list(range(start, end + 1))


def copied_mesh(context, obj):
    """The mesh as it is now, modifiers applied, with its materials and UVs, in world space."""
    import bpy

    depsgraph = context.evaluated_depsgraph_get()
    seen = obj.evaluated_get(depsgraph)
    mesh = bpy.data.meshes.new_from_object(seen, preserve_all_data_layers=True, depsgraph=depsgraph)
    mesh.transform(seen.matrix_world)
    mesh.update()
    return mesh


def new_object(obj, mesh, name):
    """An object with this mesh, wherever `obj` is."""
    import bpy

    mesh.name = name
    new = bpy.data.objects.new(name, mesh)
    for collection in obj.users_collection:
        collection.objects.link(new)
    return new


def bind(obj, armature):
    """Lets an object in world space follow an armature by its vertex groups."""
    obj.parent = armature
    obj.matrix_parent_inverse = armature.matrix_world.inverted()
    obj.modifiers.new("Armature", "ARMATURE").object = armature


def positions_of(meshes):
    """Vertices of all of them, n x 3."""
    out = [np.empty((len(mesh.vertices), 3), np.float32) for mesh in meshes]
    for mesh, positions in zip(meshes, out):
        mesh.vertices.foreach_get("co", positions.ravel())
    return np.concatenate(out)


def frames_of(context, objects, numbers, at_frame=None):
    """A step: positions of all objects at all frames. at_frame(k, depsgraph) is called at each, too."""
    name = " and ".join(obj.name for obj in objects)
    out = None
    for k, number in enumerate(numbers):
        context.scene.frame_set(number)
        depsgraph = context.evaluated_depsgraph_get()
        positions = np.concatenate([evaluated_positions(obj, depsgraph) for obj in objects])
        if out is None:
            out = np.empty((len(numbers), len(positions), 3), np.float32)
        if len(positions) != out.shape[1]:
            raise Failure(f"{name} has {len(positions)} vertices at frame {number}, {out.shape[1]} at frame {numbers[0]}: "
                          "their number has to stay (a remesh, decimate or boolean modifier changes it)")
        if not np.isfinite(positions).all():
            raise Failure(f"{name} has a vertex that is nowhere (not finite) at frame {number}")
        out[k] = positions
        if at_frame:
            at_frame(k, depsgraph)
        yield f"reading frame {number}", k / len(numbers)
    return out


def rest_meshes(context, objects, armature):
    """The meshes while the armature is in its rest pose, in world space."""
    before = armature.data.pose_position
    armature.data.pose_position = "REST"
    try:
        context.view_layer.update()
        return [copied_mesh(context, obj) for obj in objects]
    finally:
        armature.data.pose_position = before
        context.view_layer.update()


# ---- armatures --------------------------------------------------------------------------------------------------------


def armature_of(obj):
    for modifier in obj.modifiers:
        if modifier.type == "ARMATURE" and modifier.object:
            return modifier.object
    return obj.parent if obj.parent and obj.parent.type == "ARMATURE" else None


def bones_of(armature):
    bones = [bone for bone in armature.data.bones if bone.use_deform]
    return bones or list(armature.data.bones)


def parents_of(armature, names):
    """The nearest joint above that is in the list; -1 for none."""
    out = []
    for name in names:
        bone = armature.data.bones[name].parent
        while bone and bone.name not in names:
            bone = bone.parent
        out.append(names.index(bone.name) if bone else -1)
    return out


class Pose:
    """The joints of an armature by name, joint to world as glTF has it: n x 4 x 4."""

    def __init__(self, armature, names):
        self.armature = armature
        index = {bone.name: k for k, bone in enumerate(armature.data.bones)}
        self.order = [index[name] for name in names]
        self.raw = np.empty(16 * len(index), np.float32)

    def _matrices(self, bones, path, world):
        bones.foreach_get(path, self.raw)  # column after column
        return world @ self.raw.reshape(-1, 4, 4)[self.order].transpose(0, 2, 1)

    def rest(self, world):
        """In the rest pose, with the armature at `world`."""
        return self._matrices(self.armature.data.bones, "matrix_local", Y_UP @ world)

    def read(self, depsgraph, up=Y_UP):
        """As posed now; `up` maps Blender's world."""
        seen = self.armature.evaluated_get(depsgraph)
        return self._matrices(seen.pose.bones, "matrix", up @ matrix(seen.matrix_world))


def hide(obj):
    obj.hide_set(True)
    obj.hide_render = True


def show_alone(context, obj):
    for other in context.selected_objects:
        other.select_set(False)
    obj.select_set(True)
    context.view_layer.objects.active = obj


__all__ = [name for name in dir() if not name.startswith("_")] + ["sinew"]
