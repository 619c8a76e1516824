# SPDX-License-Identifier: MIT
"""Runs inside Blender: milliseconds a frame of playback. A character with its armature modifier alone, the same as Sinew's player
shows it, and the model's evaluation by itself, in turns.
    SINEW_ADDON=blender SINEW_LIBRARY=build/python/libsinew-python.so PYTHONPATH=python \\
      blender -b --factory-startup --python-use-system-env -P blender/test/playback.py -- character.glb METHOD [PROFILE]"""
import os
import sys
import time

import bpy
import numpy as np

np.bool = bool  # the importer of Blender 3.4 uses a name that newer versions of numpy lack
sys.path.insert(0, os.environ["SINEW_ADDON"])
import sinew_blender
from sinew_blender import player

ROUNDS = 9
source, method = sys.argv[sys.argv.index("--") + 1 :][:2]
bpy.ops.wm.read_factory_settings(use_empty=True)
sinew_blender.register()
bpy.ops.import_scene.gltf(filepath=source)
scene, armature = bpy.context.scene, next(o for o in bpy.data.objects if o.type == "ARMATURE")
plain = max((o for o in bpy.data.objects if o.type == "MESH" and o.find_armature()), key=lambda o: len(o.data.vertices))
for other in list(bpy.data.objects):
    if other not in (plain, armature):
        bpy.data.objects.remove(other)
scene.frame_start, scene.frame_end = map(int, armature.animation_data.action.frame_range)
smooth = plain.modifiers.new("smooth", "CORRECTIVE_SMOOTH")
smooth.use_only_smooth = True
bpy.context.view_layer.objects.active = plain
plain.select_set(True)
scene.sinew.method = method
assert bpy.ops.sinew.learn() == {"FINISHED"}
shown = bpy.context.object
plain.modifiers.remove(smooth)


def only(*objects):
    for obj in (plain, shown):
        if obj in objects and obj.name not in scene.collection.objects:
            scene.collection.objects.link(obj)
        if obj not in objects:
            for collection in list(obj.users_collection):
                collection.objects.unlink(obj)
    bpy.context.view_layer.update()


def frames():
    """Wall and processor time of a frame, milliseconds."""
    numbers = range(scene.frame_start, scene.frame_end + 1)
    wall, processor = time.perf_counter(), time.process_time()
    for number in numbers:
        scene.frame_set(number)
    return [1e3 * (end - start) / len(numbers) for start, end in ((wall, time.perf_counter()), (processor, time.process_time()))]


def evaluation():
    skin = player.skin_of(shown)
    joints = skin.seen
    wall, processor = time.perf_counter(), time.process_time()
    for _ in range(50):
        skin.model(joints, out=skin.out)
    return [1e3 * (end - start) / 50 for start, end in ((wall, time.perf_counter()), (processor, time.process_time()))]


states = {"no mesh": (), "armature alone": (plain,), "player": (shown,)}


def measure(title):
    times = {name: [] for name in (*states, "evaluation")}
    for _ in range(ROUNDS):
        for name, objects in states.items():
            only(*objects)
            frames()
            times[name].append(frames())
        times["evaluation"].append(evaluation())
    best = {name: np.min(each, axis=0) for name, each in times.items()}
    print(f"PLAYBACK {source}, {method}, {title}: {len(plain.data.vertices)} vertices, {len(armature.data.bones)} bones")
    for name, (wall, processor) in best.items():
        print(f"  {name}: {wall:.3f} ms a frame, {processor:.3f} of the processor")
    ratio = best["player"] / (best["armature alone"] + best["evaluation"])
    print(f"  player / (armature alone + evaluation): {ratio[0]:.3f}, {ratio[1]:.3f}")


measure("normals of the file")
only(plain, shown)
for obj in (plain, shown):
    bpy.context.view_layer.objects.active = obj
    bpy.ops.mesh.customdata_custom_splitnormals_clear()
    obj.data.use_auto_smooth = False
measure("Blender's normals")
if "PROFILE" in sys.argv:
    import cProfile

    only(shown)
    cProfile.run("frames()", sort="tottime")
