# SPDX-License-Identifier: MIT
"""Objects that show a model: its bytes are a property of the object, and a handler puts the vertices where the armature's pose has
them, at every change of frame and of pose. Without the add-on such an object stays as it was last seen."""
import bpy
import numpy as np
from bpy.app.handlers import persistent

from . import scene
from .module import sinew

BYTES, ARMATURE, REST = "sinew_model", "sinew_armature", "sinew_rest"
_models = {}  # bytes of a model: the model and where its vertices go; the last few
MOST_MODELS = 16


def attach(obj, model, armature, rest):
    obj[BYTES] = bytes(model)
    obj[ARMATURE] = armature
    obj[REST] = np.array(rest).ravel().tolist()


def model_of(obj):
    data = bytes(obj[BYTES])
    if data not in _models:
        if len(_models) >= MOST_MODELS:
            _models.clear()
        model = sinew.Model(data)
        _models[data] = model, np.empty((len(model), 3), np.float32)
    return _models[data]


def place(obj, depsgraph):
    """The vertices of an object that shows a model, at the armature's pose."""
    model, positions = model_of(obj)
    armature = obj.get(ARMATURE)
    if armature is None or any(name not in armature.data.bones for name in model.names):
        return
    if len(obj.data.vertices) != len(model):
        return
    inverse = np.linalg.inv(np.array(obj[REST]).reshape(-1, 4, 4))
    joints = scene.skinning_matrices(armature, model.names, inverse, depsgraph).astype(np.float32)
    model(np.ascontiguousarray(joints), out=positions)
    world = scene.matrix(obj.matrix_world)
    local = positions
    if not np.array_equal(world, np.eye(4)):
        back = np.linalg.inv(world)
        local = positions @ back[:3, :3].T.astype(np.float32) + back[:3, 3].astype(np.float32)
    flat = np.ascontiguousarray(local).ravel()
    before = np.empty_like(flat)
    obj.data.vertices.foreach_get("co", before)
    if not np.array_equal(before, flat):  # else a change would call for the next one, forever
        obj.data.vertices.foreach_set("co", flat)
        obj.data.update()


@persistent
def show(scene_, depsgraph=None):
    if depsgraph is None:
        depsgraph = bpy.context.evaluated_depsgraph_get()
    for obj in scene_.objects:
        if BYTES in obj and obj.type == "MESH":
            try:
                place(obj, depsgraph)
            except sinew.Error as error:
                print(f"Sinew: {obj.name}: {error}")


def _handlers():
    return bpy.app.handlers.frame_change_post, bpy.app.handlers.depsgraph_update_post


def register():
    for handlers in _handlers():
        handlers.append(show)


def unregister():
    for handlers in _handlers():
        if show in handlers:
            handlers.remove(show)
    _models.clear()
