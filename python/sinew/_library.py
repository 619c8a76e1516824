# SPDX-License-Identifier: MIT
"""libsinew through ctypes: loading it, and the functions of sinew/session.h with their types."""
import ctypes
import json
import os
import platform
from ctypes import POINTER, c_bool, c_char_p, c_double, c_int, c_int64, c_size_t, c_uint32, c_uint64, c_void_p
from pathlib import Path


class Array(ctypes.Structure):
    _fields_ = [("data", c_void_p), ("kind", ctypes.c_char), ("dimensions", c_int), ("shape", c_int64 * 4)]


class Call(ctypes.Structure):
    _fields_ = [("evaluator", c_void_p), ("joints", c_void_p), ("controls", c_void_p), ("torques", c_void_p), ("values", c_void_p),
                ("state", c_void_p), ("scratch", c_void_p), ("positions", c_void_p), ("position_stride", c_size_t),
                ("normals", c_void_p), ("normal_stride", c_size_t), ("tangents", c_void_p),
                ("tangent_stride", c_size_t), ("message", ctypes.c_char * 240)]


class Mesh(ctypes.Structure):
    _fields_ = [("vertices", c_int), ("triangles", c_int), ("positions", c_void_p), ("normals", c_void_p), ("corners", c_void_p),
                ("split", c_bool)]


class Frames(ctypes.Structure):
    _fields_ = [("frames", c_int), ("vertices", c_int), ("positions", c_void_p), ("clips", c_int), ("test_clips", c_int),
                ("clip_start", c_void_p)]


class Skeleton(ctypes.Structure):
    _fields_ = [("joints", c_int), ("frames", c_int), ("names", POINTER(c_char_p)), ("parents", c_void_p), ("rest", c_void_p),
                ("poses", c_void_p)]


class Line(ctypes.Structure):
    _fields_ = [("name", c_char_p), ("count", c_int), ("x", c_void_p), ("y", c_void_p)]


class Plot(ctypes.Structure):
    _fields_ = [("title", c_char_p), ("x_title", c_char_p), ("y_title", c_char_p), ("lines", POINTER(Line)), ("line_count", c_int)]


# Pointers go as plain addresses: c_void_p takes an int, and None for NULL.
FUNCTIONS = {
    "sn_version": (c_char_p, []),
    "sn_status_name": (c_char_p, [c_int]),
    "sn_session_new": (c_void_p, []),
    "sn_session_free": (None, [c_void_p]),
    "sn_session_run_with": (None, [c_void_p, c_int, c_uint64, POINTER(c_int)]),
    "sn_session_progress": (c_double, [c_void_p, c_char_p]),
    "sn_session_message": (c_char_p, [c_void_p]),
    "sn_session_report": (c_char_p, [c_void_p]),
    "sn_session_option": (c_int, [c_void_p, c_char_p, c_char_p]),
    "sn_session_load_files": (c_int, [c_void_p, c_bool]),
    "sn_session_read_mesh": (c_int, [c_void_p, c_char_p]),
    "sn_session_read_frames": (c_int, [c_void_p, c_char_p]),
    "sn_session_read_skeleton": (c_int, [c_void_p, c_char_p, c_bool]),
    "sn_session_give_mesh": (None, [c_void_p, POINTER(Mesh)]),
    "sn_session_give_frames": (c_int, [c_void_p, POINTER(Frames)]),
    "sn_session_give_skeleton": (c_int, [c_void_p, POINTER(Skeleton)]),
    "sn_session_give_skin": (None, [c_void_p, c_int, c_int, c_void_p, c_void_p]),
    "sn_session_give_torques": (None, [c_void_p, c_int, c_void_p, c_void_p]),
    "sn_session_give_values": (c_int, [c_void_p, c_int, POINTER(c_char_p), c_int, c_void_p, c_void_p]),
    "sn_session_give_controls": (c_int, [c_void_p, c_int, c_void_p, c_int]),
    "sn_session_load_given": (c_int, [c_void_p]),
    "sn_session_keys": (c_int, [c_void_p, c_int]),
    "sn_session_from": (None, [c_void_p, c_void_p, c_size_t]),
    "sn_session_train": (c_int, [c_void_p, c_char_p, c_bool]),
    "sn_session_rig": (c_int, [c_void_p, c_char_p]),
    "sn_session_write_rig": (c_int, [c_void_p, c_char_p, c_double]),
    "sn_session_compare": (c_int, [c_void_p, c_int, POINTER(c_char_p), c_bool]),
    "sn_session_errors": (c_int, [c_void_p, c_void_p]),
    "sn_session_eval": (c_int, [c_void_p, c_void_p, c_char_p]),
    "sn_session_info": (c_int, [c_void_p, c_char_p]),
    "sn_session_convert": (c_int, [c_void_p, c_char_p, c_char_p]),
    "sn_session_pack": (c_int, [c_void_p, c_void_p, c_size_t, c_char_p]),
    "sn_session_export": (c_int, [c_void_p, c_void_p, c_char_p, c_char_p]),
    "sn_session_plot": (c_int, [c_void_p, c_char_p, POINTER(Plot)]),
    "sn_session_retarget": (c_int, [c_void_p, c_void_p]),
    "sn_session_write_file": (c_int, [c_void_p, c_char_p, c_void_p, c_size_t]),
    "sn_session_write_frames": (c_int, [c_void_p, c_char_p, c_double]),
    "sn_session_get": (c_bool, [c_void_p, c_char_p, POINTER(Array)]),
    "sn_session_joint_name": (c_char_p, [c_void_p, c_int]),
    "sn_session_rate": (c_double, [c_void_p]),
    "sn_session_is_split": (c_bool, [c_void_p]),
    "sn_session_describe_methods": (c_void_p, []),
    "sn_session_text_free": (None, [c_void_p]),
    "sn_evaluator_new": (c_void_p, [c_void_p, c_size_t, c_char_p, c_size_t]),
    "sn_evaluator_free": (None, [c_void_p]),
    "sn_evaluator_scratch": (c_size_t, [c_void_p]),
    "sn_evaluator_state": (c_size_t, [c_void_p]),
    "sn_evaluator_describe": (c_void_p, [c_void_p]),
    "sn_evaluator_run": (c_int, [c_void_p]),
    "sn_evaluator_time": (c_double, [c_void_p, c_int]),
    "sn_evaluator_palette": (c_int, [c_void_p, c_void_p]),
    "sn_evaluator_bind": (c_int, [c_void_p] * 3 + [c_char_p]),
    "sn_evaluator_weights": (c_int, [c_void_p] * 3 + [c_uint32, c_char_p]),
    "sn_session_read_model_mesh": (c_int, [c_void_p, c_void_p]),
    "sn_session_read_model_skeleton": (c_int, [c_void_p, c_void_p]),
}


def _kernels():
    """OpenBLAS's kernels that the command line chooses too (src/cli/main.c), so that models are the same to the last bit."""
    if platform.machine() in ("aarch64", "arm64"):
        return "ARMV8"
    try:
        flags = next(line for line in Path("/proc/cpuinfo").read_text().splitlines() if line.startswith("flags"))
    except (OSError, StopIteration):
        return None
    return "Haswell" if {"avx2", "fma"} <= set(flags.split()) else None


def _open():
    path = os.environ.get("SINEW_LIBRARY") or str(Path(__file__).parent / "lib" / "libsinew-python.so")
    variables = {"OPENBLAS_NUM_THREADS": "1"}
    if _kernels() and "OPENBLAS_CORETYPE" not in os.environ:
        variables["OPENBLAS_CORETYPE"] = _kernels()
    before = {name: os.environ.get(name) for name in variables}
    os.environ.update(variables)  # read while the library is loaded; numpy keeps its own choice
    try:
        library = ctypes.CDLL(path)
    except OSError as error:
        raise ImportError(f"sinew's library does not load: {error}; `make python` builds it, SINEW_LIBRARY names another") from None
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
    for name, (result, arguments) in FUNCTIONS.items():
        function = getattr(library, name)
        function.restype, function.argtypes = result, arguments
    return library


lib = _open()


def take_text(pointer):
    """Text that the library made for us, as what its JSON says."""
    if not pointer:
        raise MemoryError("sinew: out of memory")
    try:
        return json.loads(ctypes.string_at(pointer).decode())
    finally:
        lib.sn_session_text_free(pointer)
