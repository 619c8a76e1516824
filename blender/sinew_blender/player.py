# SPDX-License-Identifier: MIT
"""Objects that show a model: a handler puts the vertices where the armature's pose has them, at every change of frame and of pose.
Without the add-on such an object stays as it was last seen.

The model's bytes are a property of a text that the object points to. On the object itself Blender would copy them at every frame."""
import bpy
import numpy as np
from bpy.app.handlers import persistent

from . import scene
from .module import sinew

MODEL, ARMATURE, REST = "sinew_model", "sinew_armature", "sinew_rest"
HEAD = 4096  # bytes: a model's header and table, with the checksums of all that follows
_models = {}  # the head of a model's bytes: the model
_told = set()  # messages, each printed once


def attach(obj, model, armature, rest):
    _store(obj, bytes(model))
    obj[ARMATURE] = armature
    obj[REST] = np.array(rest).ravel().tolist()


def _store(obj, data):
    """Gives the object a text with these bytes, as 4-byte words: Blender lends those without a copy."""
    text = bpy.data.texts.new(obj.name + ".sinew")
    text.write(f"The model of {obj.name} is a property of this text. Sinew's add-on needs both.\n")
    text.use_fake_user = False  # it goes where the object goes
    text[MODEL] = np.frombuffer(data + bytes(-len(data) % 4), np.int32)
    before, obj[MODEL] = obj.get(MODEL), text
    if isinstance(before, bpy.types.Text) and before.users == 0:
        bpy.data.texts.remove(before)
    return text


def _bytes_of(obj):
    """The bytes of an object's model, not a copy."""
    value = obj[MODEL]
    if value is None:
        raise sinew.Error("the text with its model is gone; use Learn Skin again")
    if not isinstance(value, bpy.types.Text):
        value = _store(obj, bytes(sinew.Model(bytes(value))))  # bytes, from a script or an earlier version
    return memoryview(value[MODEL]).cast("B")


def model_of(obj):
    """The model that an object shows. Takes microseconds: only the head of its bytes is looked at."""
    data = _bytes_of(obj)
    head = bytes(data[:HEAD])
    if head not in _models:
        if len(_models) > 2 * sum(MODEL in other for other in bpy.data.objects):
            _models.clear()  # most of them were replaced
        size = int.from_bytes(head[16:24], "little")  # without what fills the last word
        _models[head] = sinew.Model(data[:size])
    return _models[head]


def place(obj, depsgraph):
    """The vertices of an object that shows a model, at the armature's pose."""
    model, armature = model_of(obj), obj.get(ARMATURE)
    if armature is None or any(name not in armature.data.bones for name in model.names):
        return
    if len(obj.data.vertices) != len(model):
        return
    inverse = np.linalg.inv(np.array(obj[REST]).reshape(len(model.names), 4, 4))
    joints = scene.skinning_matrices(armature, model.names, inverse, depsgraph)
    positions = np.empty((len(model), 3), np.float32)
    model(joints, out=positions)
    world = scene.matrix(obj.matrix_world)
    if not np.array_equal(world, np.eye(4)):
        back = np.linalg.inv(world)
        positions = positions @ back[:3, :3].T.astype(np.float32) + back[:3, 3].astype(np.float32)
    flat = np.ascontiguousarray(positions).ravel()
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
        if MODEL in obj and obj.type == "MESH" and obj.data.library is None:  # Blender writes no linked mesh
            try:
                place(obj, depsgraph)
            except Exception as error:  # of this object; the others move
                message = f"Sinew: {obj.name}: {type(error).__name__}: {error}"
                if message not in _told:
                    print(message)
                _told.add(message)


@persistent
def forget(_=None):
    """Another file is open."""
    _models.clear()
    _told.clear()


def _handlers():
    handlers = bpy.app.handlers
    return (handlers.frame_change_post, show), (handlers.depsgraph_update_post, show), (handlers.load_pre, forget)


def register():
    for handlers, function in _handlers():
        handlers.append(function)


def unregister():
    for handlers, function in _handlers():
        if function in handlers:
            handlers.remove(function)
    forget()
