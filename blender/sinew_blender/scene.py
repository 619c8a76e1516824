# SPDX-License-Identifier: MIT
"""Blender's meshes and armatures as Sinew's arrays. Everything is in world space, so that objects may move too."""
import numpy as np

from .job import Failure
from .module import sinew


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


def new_mesh(context, obj, positions, name):
    """The mesh as it is now, modifiers applied, with its materials and UVs, at `positions` in world space."""
    import bpy

    depsgraph = context.evaluated_depsgraph_get()
    mesh = bpy.data.meshes.new_from_object(obj.evaluated_get(depsgraph), preserve_all_data_layers=True, depsgraph=depsgraph)
    mesh.name = name
    mesh.vertices.foreach_set("co", np.ascontiguousarray(positions, np.float32).ravel())
    mesh.update()
    new = bpy.data.objects.new(name, mesh)
    for collection in obj.users_collection:
        collection.objects.link(new)
    new.vertex_groups.clear()
    return new


def frames_of(context, obj, numbers, at_frame=None):
    """A step: positions at all frames. at_frame(k, depsgraph) is called at each, too."""
    out = None
    for k, number in enumerate(numbers):
        context.scene.frame_set(number)
        depsgraph = context.evaluated_depsgraph_get()
        positions = evaluated_positions(obj, depsgraph)
        if out is None:
            out = np.empty((len(numbers), len(positions), 3), np.float32)
        if len(positions) != out.shape[1]:
            raise Failure(f"{obj.name} has {len(positions)} vertices at frame {number}, {out.shape[1]} at frame {numbers[0]}: "
                          "their number has to stay (a remesh, decimate or boolean modifier changes it)")
        if not np.isfinite(positions).all():
            raise Failure(f"{obj.name} has a vertex that is nowhere (not finite) at frame {number}")
        out[k] = positions
        if at_frame:
            at_frame(k, depsgraph)
        yield f"reading frame {number}", k / len(numbers)
    return out


# ---- armatures --------------------------------------------------------------------------------------------------------


def armature_of(obj):
    for modifier in obj.modifiers:
        if modifier.type == "ARMATURE" and modifier.object:
            return modifier.object
    return obj.parent if obj.parent and obj.parent.type == "ARMATURE" else None


def bones_of(armature):
    bones = [bone for bone in armature.data.bones if bone.use_deform]
    return bones or list(armature.data.bones)


def rest_matrices(armature):
    """Bone to world in the rest pose, by name, with the armature where it is now."""
    world = matrix(armature.matrix_world)
    return {bone.name: world @ matrix(bone.matrix_local) for bone in bones_of(armature)}


def skinning_matrices(armature, names, rest_inverse, depsgraph):
    """Rest pose to pose, n x 3 x 4; rest_inverse as from rest_matrices, inverted, in the order of names."""
    seen = armature.evaluated_get(depsgraph)
    world = matrix(seen.matrix_world)
    poses = [world @ matrix(seen.pose.bones[name].matrix) for name in names]
    return np.stack([(pose @ inverse)[:3] for pose, inverse in zip(poses, rest_inverse)])


def group_weights(obj, names, vertex_count):
    """(joints, weights) of the vertex groups that are bones; None where they do not fit."""
    if len(obj.data.vertices) != vertex_count:
        return None
    index = {name: j for j, name in enumerate(names)}
    bone_of = [index.get(group.name, -1) for group in obj.vertex_groups]
    rows = [[(g.weight, bone_of[g.group]) for g in vertex.groups if bone_of[g.group] >= 0 and g.weight > 0]
            for vertex in obj.data.vertices]
    if not all(rows):
        return None
    joints, weights = np.zeros((vertex_count, 8), np.uint16), np.zeros((vertex_count, 8), np.float32)
    for i, row in enumerate(rows):
        row = sorted(row, reverse=True)[:8]
        total = sum(w for w, _ in row)
        for k, (w, j) in enumerate(row):
            joints[i, k], weights[i, k] = j, w / total
    return joints, weights


def hide(obj):
    obj.hide_set(True)
    obj.hide_render = True


def show_alone(context, obj):
    for other in context.selected_objects:
        other.select_set(False)
    obj.select_set(True)
    context.view_layer.objects.active = obj


__all__ = [name for name in dir() if not name.startswith("_")] + ["sinew"]
