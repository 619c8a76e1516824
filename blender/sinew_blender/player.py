# SPDX-License-Identifier: MIT
"""Objects that show a model: a handler puts the vertices where the armature's pose has them, at every change of frame and of pose.
Without the add-on such an object stays as it was last seen.

The model's bytes are a property of a text that the objects point to, and so is which of its vertices is which of Blender's. On the
objects themselves Blender would copy them at every frame."""
import hashlib

import bpy
import numpy as np
from bpy.app.handlers import persistent
from mathutils import Matrix

from . import scene
from .module import sinew

MODEL, ARMATURE, FIRST = "sinew_model", "sinew_armature", "sinew_first"  # of objects; MODEL of texts too
SOURCE, WORLD, REST, KEY = "sinew_vertices", "sinew_world", "sinew_rest", "sinew_key"  # of texts
_skins = {}  # the key of a text: what shows its model
_told = set()  # messages, each printed once


class Skin:
    """A model at the poses of its armature."""

    def __init__(self, text, armature):
        data = memoryview(text[MODEL]).cast("B")
        self.model = sinew.Model(data[: int.from_bytes(data[16:24], "little")])  # without what fills the last word
        source = np.array(text[SOURCE])
        self.vertices = np.empty(source.max() + 1, np.int32)  # of the model, for Blender's
        self.vertices[source[::-1]] = np.arange(len(source))[::-1]
        self.world = np.array(text[WORLD]).reshape(4, 4)
        self.pose = scene.Pose(armature, self.model.names)
        self.rest, self.seen = None, np.full((len(self.model.names), 3, 4), np.nan, np.float32)
        self.positions = np.empty((len(self.model), 3), np.float32)
        self.out = (self.positions,)
        self.shown = np.empty((len(self.vertices), 3), np.float32)

    def evaluate(self, depsgraph, edited):
        """False where nothing has moved since the last time. `edited`: somebody may have edited the armature."""
        rest = self.pose.rest(self.world) if edited or self.rest is None else self.rest
        if rest is not self.rest and not np.array_equal(rest, self.rest):
            self.back = np.zeros((len(rest), 4, 4))
            self.back[:, :3], self.back[:, 3, 3] = self.model.bind(rest[:, :3]), 1
            self.rest = rest
        joints = (self.pose.read(depsgraph, _EYE) @ self.back)[:, :3].astype(np.float32)  # glTF's rest pose to Blender's world
        if np.array_equal(joints, self.seen):
            return False
        self.seen[:] = joints
        self.model(self.seen, out=self.out)  # the same arrays at every frame: they are not checked again
        np.take(self.positions, self.vertices, axis=0, out=self.shown, mode="clip")
        return True


def attach(objects, model, armature, source, world):
    """Objects in the rest pose that show a model together: source[k] is the vertex that vertex k of the model is, of all objects one
    after the other; the armature is at `world` in that pose."""
    text, first = _store(objects, bytes(model)), 0
    text[SOURCE] = np.asarray(source, np.int32)
    text[REST] = scene.positions_of([obj.data for obj in objects]).ravel().view(np.int32)  # every bit: exporters sort by normals
    text[WORLD] = np.asarray(world, np.float64).ravel()
    for obj in objects:
        obj[ARMATURE], obj[FIRST] = armature, first
        first += len(obj.data.vertices)


def _store(objects, data):
    """Gives the objects a text with these bytes, as 4-byte words: Blender lends those without a copy."""
    before = objects[0].get(MODEL)
    text = bpy.data.texts.new(objects[0].name + ".sinew")
    text.write(f"The model of {objects[0].name} is a property of this text. Sinew's add-on needs both.\n")
    text.use_fake_user = False  # it goes where the objects go
    text[MODEL] = np.frombuffer(data + bytes(-len(data) % 4), np.int32)
    text[KEY] = hashlib.sha1(data).hexdigest()
    for obj in objects:
        obj[MODEL] = text
    if isinstance(before, bpy.types.Text):
        for name in (SOURCE, WORLD, REST):
            if name in before:
                text[name] = before[name]
        if before.users == 0:
            bpy.data.texts.remove(before)
    return text


def text_of(obj):
    text = obj[MODEL]
    if text is None:
        raise sinew.Error("the text with its model is gone; use Learn Skin again")
    if not isinstance(text, bpy.types.Text):  # bytes, from a script
        raise sinew.Error("its model is no text; use player.replace, or Learn Skin again")
    return text


def replace(obj, model):
    """Another model of the same vertices, for this object and those that show its model with it."""
    text = text_of(obj)
    _store([other for other in bpy.data.objects if other.get(MODEL) == text], bytes(model))


def skin_of(obj):
    """What shows an object's model. Nothing is copied or hashed."""
    text, armature = text_of(obj), obj.get(ARMATURE)
    if armature is None:
        raise sinew.Error("its armature is gone")
    key = text[KEY], armature.as_pointer()
    if key not in _skins:
        if len(_skins) > 2 * sum(MODEL in other for other in bpy.data.objects):
            _skins.clear()  # most of them were replaced
        _skins[key] = Skin(text, armature)
    return _skins[key]


def model_of(obj):
    """The model that an object shows."""
    return skin_of(obj).model


def parts_of(obj):
    """The objects that show a model together, in its order."""
    text = text_of(obj)
    return sorted((other for other in bpy.data.objects if other.get(MODEL) == text and other.users_scene), key=lambda other: other[FIRST])


def place(obj, positions):
    """Vertices in world space."""
    if obj.matrix_world != _IDENTITY:
        back = np.linalg.inv(scene.matrix(obj.matrix_world))
        positions = (positions @ back[:3, :3].T + back[:3, 3]).astype(np.float32)
    obj.data.vertices.foreach_set("co", np.ascontiguousarray(positions).ravel())
    obj.data.update()


_IDENTITY, _EYE = Matrix.Identity(4), np.eye(4)


@persistent
def show_frame(scene_, depsgraph=None):
    show(scene_, depsgraph, edited=False)  # edits are updates, too


@persistent
def show(scene_, depsgraph=None, edited=True):
    if depsgraph is None:
        depsgraph = bpy.context.evaluated_depsgraph_get()
    moved = {}
    for obj in scene_.objects:
        if MODEL in obj and obj.type == "MESH" and obj.data.library is None:  # Blender writes no linked mesh
            try:
                skin = skin_of(obj)
                if skin not in moved:
                    moved[skin] = skin.evaluate(depsgraph, edited)
                first, count = obj[FIRST], len(obj.data.vertices)
                if moved[skin] and first + count <= len(skin.shown):
                    place(obj, skin.shown[first : first + count])
            except Exception as error:  # of this object; the others move
                message = f"Sinew: {obj.name}: {type(error).__name__}: {error}"
                if message not in _told:
                    print(message)
                _told.add(message)


@persistent
def forget(_=None):
    """Another file is open, or another state of this one."""
    _skins.clear()
    _told.clear()


def _handlers():
    handlers = bpy.app.handlers
    yield from ((handlers.frame_change_post, show_frame), (handlers.depsgraph_update_post, show))
    yield from ((when, forget) for when in (handlers.load_pre, handlers.undo_pre, handlers.undo_post, handlers.redo_pre, handlers.redo_post))


def register():
    for handlers, function in _handlers():
        handlers.append(function)


def unregister():
    for handlers, function in _handlers():
        if function in handlers:
            handlers.remove(function)
    forget()
