# SPDX-License-Identifier: MIT
"""Runs inside Blender (blender -b --python-exit-code 1 -P test_addon.py -- FOLDER): the operators, as the panel calls them."""
import os
import sys
import time
import traceback

import bpy
import numpy as np
from mathutils import Matrix

FOLDER = sys.argv[sys.argv.index("--") + 1]
if "SINEW_ADDON" in os.environ:
    sys.path.insert(0, os.environ["SINEW_ADDON"])
    import sinew_blender

    sinew_blender.register()
else:
    bpy.ops.preferences.addon_install(filepath=os.environ["SINEW_ZIP"])
    bpy.ops.preferences.addon_enable(module="sinew_blender")
    import sinew_blender

from sinew_blender import gltf, job, player, scene as scenes
from sinew_blender.module import sinew

FRAMES = 20


def clear():
    bpy.ops.wm.read_factory_settings(use_empty=True)
    if not hasattr(bpy.types.Scene, "sinew"):
        sinew_blender.register()
    scene = bpy.context.scene
    scene.frame_start, scene.frame_end = 1, FRAMES
    return scene


def new_grid(name, n=24):
    bpy.ops.mesh.primitive_grid_add(x_subdivisions=n, y_subdivisions=n, size=2)
    obj = bpy.context.object
    obj.name = name
    return obj


def positions_of(mesh):
    out = np.empty(3 * len(mesh.vertices), np.float32)
    mesh.vertices.foreach_get("co", out)
    return out.reshape(-1, 3)


def all_frames(obj):
    """What Blender itself has at every frame."""
    out = []
    for number in range(1, FRAMES + 1):
        bpy.context.scene.frame_set(number)
        out.append(scenes.evaluated_positions(obj, bpy.context.evaluated_depsgraph_get()))
    return np.stack(out)


def size_of(frames):
    return np.linalg.norm(np.ptp(frames[0].astype(np.float64), axis=0))


def expect_rig_of(baked, frames, most_error):
    """Blender's vertices of the baked mesh are those of the rig, and near the original."""
    rig = sinew.rig(sinew.Mesh(frames[0], scenes.triangles_of(baked.data)), frames, bones=8)
    theirs = all_frames(baked)
    ours, _ = rig.model(rig.model.joints(rig.skeleton))
    away = np.abs(theirs - ours).max() / size_of(frames)
    assert away < 1e-4, f"Blender's vertices are {away:.2g} of the diagonal from Sinew's"
    rms = np.sqrt(((theirs - frames) ** 2).sum(-1).mean()) / size_of(frames)
    assert rms < most_error, f"the bake is {rms:.2g} of the diagonal from the original"
    print(f"  Blender against Sinew {away:.1e}, bake against original {rms:.1e} of the diagonal")


def test_bake_a_cache():
    """A cloth-like cache, played by a Mesh Cache modifier, on an object that is rotated and moved."""
    scene = clear()
    obj = new_grid("cloth")
    rest = positions_of(obj.data)
    t = np.linspace(0, 2 * np.pi, FRAMES)[:, None]
    frames = np.repeat(rest[None], FRAMES, 0)
    frames[:, :, 2] = 0.3 * np.sin(3 * rest[:, 0] + t) * (1 + rest[:, 0]) + 0.1 * np.cos(2 * rest[:, 1] - t)
    path = os.path.join(FOLDER, "cloth.pc2")
    sinew.Frames(frames, 24).save(path)
    modifier = obj.modifiers.new("cache", "MESH_CACHE")
    modifier.cache_format, modifier.filepath, modifier.frame_start = "PC2", path, 1
    modifier.forward_axis, modifier.up_axis = "POS_Y", "POS_Z"
    obj.location, obj.rotation_euler = (1, 2, 3), (0.3, 0.2, 0.1)
    truth = all_frames(obj)
    assert np.abs(np.diff(truth, axis=0)).max() > 0.01, "the cache does not play"
    scene.sinew.bones_auto, scene.sinew.bones = False, 8
    scene.frame_set(7)
    assert bpy.ops.sinew.bake() == {"FINISHED"}
    assert scene.frame_current == 7
    baked = bpy.context.object
    assert baked.name == "cloth.bones" and obj.hide_get() and not baked.hide_get()
    assert baked.modifiers[0].object.type == "ARMATURE" and len(baked.modifiers[0].object.data.bones) <= 8
    expect_rig_of(baked, truth, 0.02)


def test_bake_shape_keys():
    scene = clear()
    obj = new_grid("face", 16)
    rest = positions_of(obj.data)
    obj.shape_key_add(name="Basis")
    for k, where in enumerate(((-0.5, 0.0), (0.5, 0.3))):
        key = obj.shape_key_add(name=f"bump{k}")
        moved = rest.copy()
        moved[:, 2] += 0.5 * np.exp(-8 * ((rest[:, :2] - where) ** 2).sum(1))
        key.data.foreach_set("co", moved.ravel())
        for number in (1, FRAMES // 2, FRAMES):
            key.value = (number != 1) * (0.5 + 0.5 * ((number == FRAMES) ^ k))
            key.keyframe_insert("value", frame=number)
    truth = all_frames(obj)
    scene.sinew.bones_auto, scene.sinew.bones = False, 8
    assert bpy.ops.sinew.bake() == {"FINISHED"}
    expect_rig_of(bpy.context.object, truth, 0.02)
    assert bpy.ops.sinew.compare() == {"FINISHED"}
    colours = bpy.context.object.data.color_attributes["sinew_error"]
    values = np.empty(4 * len(colours.data), np.float32)
    colours.data.foreach_get("color", values)
    assert np.ptp(values.reshape(-1, 4)[:, 1]) > 0.5 and obj.hide_get()


def new_arm():
    """A cylinder that bends about its middle, with modifiers that an engine has not got."""
    bpy.ops.mesh.primitive_cylinder_add(vertices=16, radius=0.3, depth=4, end_fill_type="NOTHING")
    obj = bpy.context.object
    obj.name = "arm"
    bpy.ops.object.mode_set(mode="EDIT")
    bpy.ops.mesh.select_all(action="SELECT")
    bpy.ops.mesh.subdivide(number_cuts=6)
    bpy.ops.object.mode_set(mode="OBJECT")
    data = bpy.data.armatures.new("rig")
    armature = bpy.data.objects.new("rig", data)
    bpy.context.collection.objects.link(armature)
    scenes.show_alone(bpy.context, armature)
    bpy.ops.object.mode_set(mode="EDIT")
    for name, head, tail in (("upper", -2, 0), ("lower", 0, 2)):
        bone = data.edit_bones.new(name)
        bone.head, bone.tail = (0, 0, head), (0, 0, tail)
    data.edit_bones["lower"].parent = data.edit_bones["upper"]
    bpy.ops.object.mode_set(mode="OBJECT")
    for name in ("upper", "lower"):
        group = obj.vertex_groups.new(name=name)
        for vertex in obj.data.vertices:
            w = min(1, max(0, (vertex.co.z + 0.3) / 0.6))
            group.add([vertex.index], w if name == "lower" else 1 - w, "REPLACE")
    modifier = obj.modifiers.new("armature", "ARMATURE")
    modifier.object = armature
    obj.modifiers.new("smooth", "CORRECTIVE_SMOOTH").iterations = 10
    obj.modifiers.new("subdivide", "SUBSURF").levels = 1
    bone = armature.pose.bones["lower"]
    bone.rotation_mode = "XYZ"
    for number, angle in ((1, 0.0), (FRAMES, 2.0)):
        bone.rotation_euler = (angle, 0, 0)
        bone.keyframe_insert("rotation_euler", frame=number)
    scenes.show_alone(bpy.context, obj)
    return obj, armature


def test_learn():
    scene = clear()
    obj, armature = new_arm()
    truth = all_frames(obj)
    scene.sinew.method = "psd"
    scene.frame_set(1)
    assert bpy.ops.sinew.learn() == {"FINISHED"}
    shown = bpy.context.object
    assert shown.name == "arm.skin" and obj.hide_get()
    theirs = all_frames(shown)
    rms = np.sqrt(((theirs - truth) ** 2).sum(-1).mean()) / size_of(truth)
    assert rms < 0.005, f"the model is {rms:.2g} of the diagonal from the original"
    # The model by itself, at the same poses: bone by bone, in Blender's axes.
    model, skin = player.model_of(shown), player.skin_of(shown)
    up, worst = scenes.Y_UP, 0
    for k, number in enumerate(range(1, FRAMES + 1)):
        scene.frame_set(number)
        seen = armature.evaluated_get(bpy.context.evaluated_depsgraph_get())
        moves = [scenes.matrix(seen.pose.bones[name].matrix @ seen.data.bones[name].matrix_local.inverted()) for name in model.names]
        away = model(np.stack([(up @ move @ up.T)[:3] for move in moves]))[0] @ up[:3, :3] - theirs[k][np.array(player.text_of(shown)["sinew_vertices"])]
        worst = max(worst, np.abs(away).max() / size_of(truth))
    assert worst < 1e-4, worst
    # A pose that somebody sets by hand.
    before = positions_of(shown.data)
    armature.animation_data_clear()
    armature.pose.bones["lower"].rotation_euler = (0.7, 0, 0.2)
    bpy.context.view_layer.update()
    assert np.abs(positions_of(shown.data) - before).max() > 0.01
    # The file has the model in it.
    path = os.path.join(FOLDER, "skin.blend")
    bpy.ops.wm.save_as_mainfile(filepath=path)
    bpy.ops.wm.open_mainfile(filepath=path)
    assert bytes(player.model_of(bpy.data.objects["arm.skin"])) == bytes(model)
    bpy.data.objects["rig"].pose.bones["lower"].rotation_euler = (0.0, 0, 0.0)
    bpy.context.view_layer.update()
    print(f"  model against original {rms:.1e}, Blender against Sinew {worst:.1e} of the diagonal")


def grid_model(n, lift):
    """A model of one joint that moves a grid of n x n squares by `lift`, whatever the pose."""
    side = np.linspace(-1, 1, n + 1)
    x, y = np.meshgrid(side, side)
    rest = np.stack([x.ravel(), y.ravel(), np.full(x.size, float(lift))], 1)
    index = np.arange(x.size).reshape(n + 1, n + 1)
    triangles = np.stack([index[:-1, :-1], index[:-1, 1:], index[1:, 1:]], -1).reshape(-1, 3)
    skeleton = sinew.Skeleton(["bone"], [-1], scenes.Y_UP[None, :3], None, np.zeros((x.size, 1)), np.ones((x.size, 1)))
    return sinew.train("lbs", sinew.Mesh(rest @ scenes.Y_UP[:3, :3].T, triangles), None, skeleton, weights="given")


def attach(obj, model):
    player.attach([obj], model, bpy.data.objects["rig"], np.arange(len(model)), np.eye(4))


def new_characters(count, n=8):
    """Grids with models that follow one animated bone; models[k] lifts by k + 1."""
    data = bpy.data.armatures.new("rig")
    armature = bpy.data.objects.new("rig", data)
    bpy.context.collection.objects.link(armature)
    scenes.show_alone(bpy.context, armature)
    bpy.ops.object.mode_set(mode="EDIT")
    bone = data.edit_bones.new("bone")
    bone.head, bone.tail = (0, 0, 0), (0, 1, 0)
    bpy.ops.object.mode_set(mode="OBJECT")
    for number, x in ((1, 0.0), (FRAMES, 19.0)):
        armature.pose.bones["bone"].location = (x, 0, 0)
        armature.pose.bones["bone"].keyframe_insert("location", frame=number)
    models = [grid_model(n, k + 1) for k in range(count)]
    objects = [new_grid(f"skin{k}", n) for k in range(count)]
    for obj, model in zip(objects, models):
        attach(obj, model)
    return [obj.name for obj in objects], models


def height(name):
    z = positions_of(bpy.data.objects[name].data)[:, 2]
    assert np.ptp(z) < 1e-5
    return round(float(z[0]), 3)


class Opened:
    """Counts the models that the player opens."""

    def __enter__(self):
        self.count, self.real = 0, sinew.Model

        def open_one(*arguments):
            self.count += 1
            return self.real(*arguments)

        player.sinew.Model = open_one
        return self

    def __exit__(self, *_):
        player.sinew.Model = self.real


def play(numbers=(3, 9, 15)):
    for number in numbers:
        bpy.context.scene.frame_set(number)


def test_frames_do_not_read_models():
    """Many characters: once each model is open, a frame opens none and copies no bytes of any."""
    import tracemalloc

    clear()
    names, models = new_characters(20)
    play()
    assert [height(name) for name in names] == [k + 1 for k in range(20)]
    with Opened() as opened:
        play()
    assert opened.count == 0, opened.count
    large = new_grid("large", 150)
    attach(large, grid_model(150, 1))
    size = len(player.model_of(large).bytes)
    tracemalloc.start()
    for _ in range(10):
        player.model_of(large)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < size / 50, (peak, size)
    # Blender copies the object at every frame: nothing large may be on it.
    assert all(len(bytes(value)) < 4096 for value in large.values() if isinstance(value, bytes))
    for lift in range(50):  # what was replaced is forgotten
        attach(large, grid_model(4, lift))
        player.model_of(large)
    assert len(player._skins) < 50 and sum("sinew_model" in text for text in bpy.data.texts) == 21
    copy = large.copy()
    bpy.context.collection.objects.link(copy)
    assert player.model_of(copy) is player.model_of(large)


def test_models_are_replaced():
    """By a script, by Learn Skin again, by undo, by another file."""
    clear()
    names, models = new_characters(3)
    play()
    bpy.ops.ed.undo_push(message="before")
    player.replace(bpy.data.objects[names[0]], models[2])
    play()
    assert [height(name) for name in names] == [3, 2, 3]
    bpy.ops.ed.undo_push(message="replaced")
    bpy.ops.ed.undo()
    play()
    assert [height(name) for name in names] == [1, 2, 3]
    bpy.ops.ed.redo()
    play()
    assert [height(name) for name in names] == [3, 2, 3]
    first = bpy.data.objects[names[0]]
    attach(first, models[1])
    play()
    assert [height(name) for name in names] == [2, 2, 3]
    path = os.path.join(FOLDER, "characters.blend")
    bpy.ops.wm.save_as_mainfile(filepath=path)
    attach(bpy.data.objects[names[0]], models[0])
    play()
    assert height(names[0]) == 1
    bpy.ops.wm.open_mainfile(filepath=path)
    assert not player._skins
    play()
    assert [height(name) for name in names] == [2, 2, 3]
    assert len(player._skins) == 2
    assert len([text for text in bpy.data.texts if "sinew_model" in text]) == 3  # replaced ones were not saved


def test_models_come_along():
    """Objects that are appended from another file."""
    clear()
    names, models = new_characters(2)
    path = os.path.join(FOLDER, "later.blend")
    bpy.ops.wm.save_as_mainfile(filepath=path)
    clear()
    with bpy.data.libraries.load(path) as (_, wanted):
        wanted.objects = ["rig", *names]
    for obj in wanted.objects:
        bpy.context.collection.objects.link(obj)
    for obj in wanted.objects[1:]:
        obj.data.vertices.foreach_set("co", np.zeros(3 * len(obj.data.vertices), np.float32))
    play()
    assert [height(name) for name in names] == [1, 2]
    with Opened() as opened:
        play()
    assert opened.count == 0


def test_a_broken_character_leaves_the_others():
    clear()
    names, models = new_characters(4)
    play()
    bpy.data.objects[names[0]]["sinew_model"] = b"not a model"
    bpy.data.texts.remove(bpy.data.objects[names[1]]["sinew_model"])
    bpy.data.objects[names[2]]["sinew_model"]["sinew_world"] = [1.0, 2.0]
    player.forget()
    player._told.clear()
    play((1, FRAMES, 1, FRAMES))
    assert len(player._told) == 3, player._told
    x = positions_of(bpy.data.objects[names[3]].data)[:, 0]
    assert abs(x.mean() - 19) < 1e-3, x.mean()


def test_what_goes_wrong_is_a_report():
    """Whatever a step or its thread raises: the frame is put back, nothing is thrown into Blender."""
    scene = clear()
    scene.frame_set(4)

    class Failing(job.Job):
        reports = []

        def __init__(self, steps):
            self.steps = steps

        def report(self, kind, text):
            self.reports.append((kind, text))

    def direct(context):
        context.scene.frame_set(9)
        yield "a", 0.0
        raise TypeError("direct")

    def threaded(context):
        def work(progress):
            raise SystemExit("threaded")

        try:
            yield from job.in_thread(work)
        except SystemExit as error:
            raise ReferenceError(str(error))

    closed, seen = [], []

    def endless(context):
        try:
            while True:
                yield "a", 0.0
        finally:
            closed.append(True)
            raise KeyError("while closing")

    class Manager:
        def __getattr__(self, name):
            return lambda *_: seen.append(name)

    class Context:
        window_manager, workspace, scene = Manager(), None, bpy.context.scene

    failing = Failing(endless)
    failing._begin(Context)
    failing._timer = None
    assert failing._next() is None
    try:
        failing.cancel(Context)  # as Blender does before it opens another file
    except KeyError:
        pass
    assert closed and seen == ["event_timer_remove", "progress_end"]
    for steps in (direct, threaded):
        assert Failing(steps).execute(bpy.context) == {"CANCELLED"} and scene.frame_current == 4
        assert Failing.reports[-1] == ({"ERROR"}, steps.__name__)


def seamed(obj, colours):
    """A UV map with a seam at every face, and faces of two materials."""
    layer = obj.data.uv_layers.new(name="map")
    rng = np.random.default_rng(1)
    layer.data.foreach_set("uv", rng.uniform(size=2 * len(obj.data.loops)).astype(np.float32))
    for colour in colours:
        material = bpy.data.materials.new(colour)
        obj.data.materials.append(material)
    for face in obj.data.polygons:
        face.material_index, face.use_smooth = face.index % len(colours), True


def new_character():
    """The arm, and a sleeve as a separate mesh, on an armature that is scaled, rotated and moved, with a bone that deforms nothing."""
    arm, armature = new_arm()
    scenes.show_alone(bpy.context, armature)
    bpy.ops.object.mode_set(mode="EDIT")
    control = armature.data.edit_bones.new("control")
    control.head, control.tail = (1, 0, 0), (1, 1, 0)
    bpy.ops.object.mode_set(mode="OBJECT")
    armature.data.bones["control"].use_deform = False
    armature.scale, armature.rotation_euler, armature.location = (0.5,) * 3, (0.3, 0.2, 0.1), (1, 2, 3)
    for modifier in ("smooth", "subdivide"):
        arm.modifiers.remove(arm.modifiers[modifier])
    sleeve = arm.copy()
    sleeve.data = arm.data.copy()
    sleeve.name = "sleeve"
    bpy.context.collection.objects.link(sleeve)
    for obj, size in ((arm, 1.0), (sleeve, 1.2)):
        obj.data.transform(Matrix(np.diag([size, size, 1, 1]).tolist()))
        obj.parent = armature
        obj.modifiers.new("smooth", "CORRECTIVE_SMOOTH").iterations = 10
        seamed(obj, ("skin", "nail") if obj == arm else ("cloth",))
    bpy.context.view_layer.update()
    scenes.show_alone(bpy.context, arm)
    sleeve.select_set(True)
    return arm, sleeve, armature


class Written:
    """Records the vertices of the meshes that the exporter is given."""

    def __enter__(self):
        self.positions, self.real = [], gltf.read

        def read(context, armature, meshes, *more):
            self.positions.append(scenes.positions_of(meshes))
            return self.real(context, armature, meshes, *more)

        gltf.read = read
        return self

    def __exit__(self, *_):
        gltf.read = self.real


def test_export():
    """Two meshes of one armature, learned together and written as an engine takes them. The files are compared from outside, too:
    export.txt has what is to be compared."""
    for method in ("psd", "helpers"):
        scene = clear()
        arm, sleeve, armature = new_character()
        scene.sinew.method = method
        objects = len(bpy.data.objects)
        truth = [all_frames(obj) for obj in (arm, sleeve)]
        with Written() as learned:
            assert bpy.ops.sinew.learn() == {"FINISHED"}
        shown = bpy.context.object
        assert len(bpy.data.objects) == objects + 2 and arm.hide_get() and sleeve.hide_get()
        for obj, frames in zip((shown, bpy.data.objects["sleeve.skin"]), truth):
            rms = np.sqrt(((all_frames(obj) - frames) ** 2).sum(-1).mean()) / size_of(frames)
            assert rms < 0.01, (method, obj.name, rms)
        path = os.path.join(FOLDER, method + ".glb")
        before = len(bpy.data.objects), len(bpy.data.meshes), len(bpy.data.armatures), len(bpy.data.actions)
        with Written() as exported:
            assert bpy.ops.sinew.export(filepath=path) == {"FINISHED"}
        # To the last bit: the exporter sorts corners of a vertex by their normals.
        assert np.array_equal(learned.positions[0], exported.positions[0])
        assert before == (len(bpy.data.objects), len(bpy.data.meshes), len(bpy.data.armatures), len(bpy.data.actions))
        skin = player.skin_of(shown)
        assert len(skin.model) > len(arm.data.vertices) + len(sleeve.data.vertices), "nothing was split"
        frames = np.empty((FRAMES, len(skin.model), 3), np.float32)
        for k in range(FRAMES):
            scene.frame_set(k + 1)
            frames[k] = skin.positions @ scenes.Y_UP[:3, :3].T
        sinew.Frames(frames, 24).save(os.path.join(FOLDER, method + ".pc2"))
        read = sinew.load_mesh(path)
        assert np.abs(read.positions - skin.model.mesh.positions).max() < 1e-4 * size_of(frames)
        assert os.path.exists(path[:-4] + ".sinew")
        if method == "helpers":
            assert any("helper" in name for name in sinew.load_skeleton(path).names)
            sinew.Model(path.replace(".glb", ".sinew")).export(path.replace("helpers", "driven"), path, "three")
        shown.data.uv_layers["map"].data.foreach_set("uv", np.zeros(2 * len(shown.data.loops), np.float32))
        expect_report(lambda: bpy.ops.sinew.export(filepath=path), "use Learn Skin again")


def test_edited_armatures():
    """A bone's roll is corrected by the constant rotation; a bone that is elsewhere is named."""
    scene = clear()
    obj, armature = new_arm()
    scene.sinew.method = "lbs"
    assert bpy.ops.sinew.learn() == {"FINISHED"}
    shown = bpy.context.object
    armature.animation_data_clear()
    armature.pose.bones["lower"].rotation_euler = (0, 0, 0)
    scene.frame_set(1)
    before = positions_of(shown.data)

    def edit(change):
        scenes.show_alone(bpy.context, armature)
        bpy.ops.object.mode_set(mode="EDIT")
        change(armature.data.edit_bones["lower"])
        bpy.ops.object.mode_set(mode="OBJECT")
        scene.frame_set(scene.frame_current + 1)

    edit(lambda bone: setattr(bone, "roll", 1.0))
    assert np.abs(positions_of(shown.data) - before).max() < 1e-4
    player._told.clear()
    edit(lambda bone: setattr(bone, "head", (0, 0, 0.5)))
    assert any("joint lower" in message for message in player._told), player._told


def test_bake_to_an_armature():
    """A mesh that has one keeps it; helpers are added to it where they are requested."""
    errors = {}
    for helpers in (0, 2):
        scene = clear()
        obj, armature = new_arm()
        truth = all_frames(obj)
        scene.sinew.helpers = helpers
        assert bpy.ops.sinew.bake() == {"FINISHED"}
        baked = bpy.context.object
        assert baked.modifiers[0].object == armature and len(armature.data.bones) == 2 + helpers
        errors[helpers] = np.sqrt(((all_frames(baked) - truth) ** 2).sum(-1).mean()) / size_of(truth)
        print(f"  {helpers} helpers: {errors[helpers]:.1e} of the diagonal from the original")
    assert errors[0] < 0.05 and errors[2] < 0.5 * errors[0], errors


def test_playback():
    """A frame takes the armature's time and the evaluation; what follows from a frame is not evaluated again."""
    scene = clear()
    obj, armature = new_arm()
    obj.modifiers["subdivide"].levels = 2
    scene.sinew.method = "lbs"
    assert bpy.ops.sinew.learn() == {"FINISHED"}
    shown = bpy.context.object
    skin, count = player.skin_of(shown), [0]
    model = skin.model

    class Counting:
        def __call__(self, *arguments, **named):
            count[0] += 1
            return model(*arguments, **named)

    skin.model = Counting()
    for number in range(1, FRAMES + 1):
        scene.frame_set(number)
        bpy.context.view_layer.update()
    skin.model = model
    assert count[0] <= FRAMES, count


def expect_report(operator, words):
    count = len(bpy.data.objects), len(bpy.data.meshes), bpy.context.scene.frame_current
    try:
        operator()
    except RuntimeError as error:  # how an error report looks from Python
        assert words in str(error), error
    else:
        raise AssertionError("no error")
    assert count == (len(bpy.data.objects), len(bpy.data.meshes), bpy.context.scene.frame_current)


def test_errors_are_reports():
    scene = clear()
    obj = new_grid("plane", 4)
    expect_report(bpy.ops.sinew.learn, "follows no armature")
    expect_report(bpy.ops.sinew.compare, "was not made by")
    scene.sinew.use_range, scene.sinew.frame_start, scene.sinew.frame_end = True, 5, 5
    expect_report(bpy.ops.sinew.bake, "at least two frames")
    scene.sinew.use_range = False
    obj.scale = (0, 0, 0)
    expect_report(bpy.ops.sinew.bake, "has no size")
    obj.scale = (1, 1, 1)
    decimate = obj.modifiers.new("d", "DECIMATE")
    decimate.ratio = 1.0
    decimate.keyframe_insert("ratio", frame=1)
    decimate.ratio = 0.3
    decimate.keyframe_insert("ratio", frame=FRAMES)
    expect_report(bpy.ops.sinew.bake, "vertices at frame")


def test_cancel():
    """Closing the steps, as Escape does: the solve ends, nothing was made."""
    rng = np.random.default_rng(1)
    n = 120
    side = np.linspace(0, 1, n)
    x, y = np.meshgrid(side, side)
    rest = np.stack([x.ravel(), y.ravel(), 0 * x.ravel()], 1).astype(np.float32)
    index = np.arange(n * n).reshape(n, n)
    triangles = np.stack([index[:-1, :-1], index[:-1, 1:], index[1:, 1:]], -1).reshape(-1, 3)
    frames = rest + 0.05 * rng.standard_normal((60, n * n, 3)).astype(np.float32)
    steps = job.in_thread(lambda progress: sinew.rig(sinew.Mesh(rest, triangles), frames, bones=60, keep_bones=True,
                                                     progress=progress))
    next(steps)
    time.sleep(0.7)
    next(steps)
    start = time.monotonic()
    steps.close()
    took = time.monotonic() - start
    assert took < max(1.0, os.getloadavg()[0] / (os.cpu_count() or 1)), took


def test_undo():
    scene = clear()
    obj = new_grid("plane", 6)
    obj.shape_key_add(name="Basis")
    key = obj.shape_key_add(name="up")
    moved = positions_of(obj.data)
    moved[:, 2] += moved[:, 0]
    key.data.foreach_set("co", moved.ravel())
    for number in (1, FRAMES):
        key.value = float(number > 1)
        key.keyframe_insert("value", frame=number)
    if not bpy.ops.ed.undo_push.poll():
        print("  no undo without a window: not tested")
        return
    bpy.ops.ed.undo_push(message="before")
    bpy.ops.sinew.bake()
    bpy.ops.ed.undo_push(message="bake")
    assert "plane.bones" in bpy.data.objects
    bpy.ops.ed.undo()
    assert "plane.bones" not in bpy.data.objects and "plane" in bpy.data.objects
    assert not bpy.data.objects["plane"].hide_get()


failed = 0
for name, test in list(globals().items()):
    if name.startswith("test_"):
        start = time.monotonic()
        try:
            test()
            print(f"{name}: ok, {time.monotonic() - start:.1f} s")
        except Exception:
            failed += 1
            print(f"{name}: FAILED")
            traceback.print_exc()
sys.exit(1 if failed else 0)
