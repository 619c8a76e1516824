# SPDX-License-Identifier: MIT
"""Sinew learns a real-time skin from example meshes.

    frames = sinew.load("sim.abc")
    rig = sinew.rig(rest, frames, bones="auto", progress=True)
    model = sinew.train("rotreg", rest, frames, rig.skeleton, keys="every:4")
    positions, normals = model(model.joints(rig.skeleton)[0])

docs/guide/python.md is a tutorial. Arrays of any numbers and any order are taken; float32 frames go to the library without a copy.
"""
from ._library import lib as _lib
from ._data import Frames, Mesh, Skeleton, load, load_frames, load_mesh, load_skeleton
from ._model import Model
from ._session import Error, Stopped
from ._solve import Chart, Rig, compare, convert, info, keys, methods, plot, rig, train, vertex_errors

__version__ = _lib.sn_version().decode()
__all__ = ["Chart", "Error", "Frames", "Mesh", "Model", "Rig", "Skeleton", "Stopped", "compare", "convert", "info",
           "keys", "load", "load_frames", "load_mesh", "load_skeleton", "methods", "plot", "rig", "train", "vertex_errors"]
