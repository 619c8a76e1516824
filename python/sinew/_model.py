# SPDX-License-Identifier: MIT
"""Models: the bytes of a .sinew file, evaluated by the runtime."""
import ctypes
import os
from operator import is_

import numpy as np

from ._data import Skeleton, as_array, mesh_of
from ._library import Call, lib, take_text
from ._session import Error, Session, is_path, path_text

FLOAT = np.dtype(np.float32)
MESSAGE_SIZE = 240  # of sn_rt_error

_run = lib.sn_evaluator_run


def _aligned(size):
    """Bytes that begin at a multiple of 64, as the runtime likes them."""
    raw = np.empty(size + 64, np.uint8)
    start = -raw.ctypes.data % 64
    return raw[start : start + size]


class _Place:
    """One evaluation at a time: scratch memory, the C call's arguments, and the arrays of `out` that these name."""

    def __init__(self, model):
        self.scratch = _aligned(model._scratch_size)
        self.call = Call(evaluator=model._handle, scratch=self.scratch.ctypes.data)
        self.address = ctypes.addressof(self.call)
        self.arrays = ()  # that the call writes to
        self.joints = self.out = None  # what the last call was given, where the next one may go the same way


class Model:
    """A learned skin.

    Model(path) reads a file, Model(bytes) takes the bytes of one. Calling it gives positions and normals:

        positions, normals = model(joints)                  # matrices of the joints, n x 3 x 4, rest pose to pose
        positions, normals = model(joints, torques=torques) # where info["torques"] is not 0
        positions, normals = model(controls=points)         # where info["controls"] is not 0
        model(joints, out=(positions, normals))             # into your arrays
        positions, normals, tangents = model(joints, tangents=True)  # where info["tangents"]: vertices x 4

    With a first axis of frames in what it is given, so has what it returns. `names` and `parents` are those of the joints,
    `info` what is inside, `report` what training told (None for a model from a file). Any number of threads may call it.
    """

    def __init__(self, source, report=None):
        if is_path(source):
            with open(source, "rb") as file:
                source = file.read()
        if isinstance(source, np.ndarray) and source.dtype == np.uint8 and source.ctypes.data % 8 == 0:
            self._bytes = source
        else:
            source = np.frombuffer(source, np.uint8)
            self._bytes = _aligned(len(source))
            self._bytes[:] = source
        message = ctypes.create_string_buffer(MESSAGE_SIZE)
        self._handle = lib.sn_evaluator_new(self._bytes.ctypes.data, len(self._bytes), message, MESSAGE_SIZE)
        if not self._handle:
            raise Error(message.value.decode(errors="replace"), "SN_BAD_FILE")
        self.info = take_text(lib.sn_evaluator_describe(self._handle))
        self.report = report
        joints = self.info.pop("joints")
        self.names = [joint["name"] for joint in joints]
        self.parents = np.array([joint["parent"] for joint in joints], np.int32)
        self._shape = (self.info["vertices"], 3)
        self._scratch_size = lib.sn_evaluator_scratch(self._handle)
        self._places = []  # one for every call at the same time; a list's pop and append are whole
        self._rest = None
        n, controls, torques = len(self.names), self.info["controls"], self.info["torques"]
        self._joint_shapes = {(n, 3, 4), (n, 12)} if n else set()
        self._inputs = (("joints", (n, 3, 4) if n else None), ("controls", (controls, 3) if controls else None),
                        ("torques", (torques,) if torques else None))

    def __del__(self):
        if getattr(self, "_handle", None):
            lib.sn_evaluator_free(self._handle)

    def __repr__(self):
        i = self.info
        return f"<sinew.Model: {i['drive']}, {i['correct']}, {i['blend']}; {i['vertices']} vertices, {len(self._bytes)} bytes>"

    def __bytes__(self):
        return self._bytes.tobytes()

    def __len__(self):
        return self.info["vertices"]

    @property
    def bytes(self):
        """The file's bytes as an array; not a copy."""
        view = self._bytes.view()
        view.flags.writeable = False
        return view

    def save(self, path):
        """Writes the file: whole, or not at all."""
        session = Session()
        session.do(lib.sn_session_write_file, path_text(path), self._bytes.ctypes.data, len(self._bytes))

    @property
    def mesh(self):
        """The rest mesh."""
        if self._rest is None:
            session = Session()
            session.do(lib.sn_session_read_model_mesh, self._handle)
            self._rest = mesh_of(session)
        return self._rest

    @property
    def skeleton(self):
        """The joints, without motion."""
        session = Session()
        session.do(lib.sn_session_read_model_skeleton, self._handle)
        return Skeleton(self.names, self.parents, session.array("rest"))

    def weights(self):
        """(joints, weights): which matrices of the palette move a vertex, and how much; vertices x influences."""
        shape = (self.info["vertices"], self.info["influences"])
        joints, weights = np.zeros(shape, np.uint16), np.zeros(shape, np.float32)
        message = ctypes.create_string_buffer(MESSAGE_SIZE)
        if lib.sn_evaluator_rest(self._handle, None, None, joints.ctypes.data, weights.ctypes.data, shape[1], message):
            raise Error(message.value.decode(errors="replace"), "SN_BAD_INPUT")
        return joints, weights

    def joints(self, skeleton):
        """The poses of a skeleton as what this model takes: float32, frames x joints x 3 x 4, matched by name."""
        missing = [name for name in self.names if name not in skeleton.names]
        if missing:
            raise Error(f"the skeleton has no joint called '{missing[0]}'" + (f", nor {len(missing) - 1} others" if missing[1:] else ""))
        order = [skeleton.names.index(name) for name in self.names]
        return np.ascontiguousarray(skeleton.poses[:, order], np.float32)

    def new_state(self):
        """Memory of one character for `state=`: its joints then turn on past half a turn without a jump. None where the
        model has no use for it."""
        size = lib.sn_evaluator_state(self._handle)
        return np.zeros((size + 3) // 4, np.int32) if size else None

    # ---- evaluation

    def _input(self, name, value, shape):
        if shape is None:
            return None
        if value is None:
            raise ValueError(f"this model is driven by {name}: an array of {' x '.join(map(str, shape))}")
        return as_array(np.asarray(value).reshape(shape) if np.shape(value) == (shape[0], 12) else value, FLOAT, shape, name)

    def _out_address(self, array, name):
        """Address and stride of an array that vertices are written to."""
        i = array.__array_interface__
        size = 4 if name == "tangents" else 3
        if i["typestr"] != FLOAT.str or i["shape"] != (self._shape[0], size):
            raise ValueError(f"out: {name} is float32, {self._shape[0]} x {size}; this is {array.dtype}, {array.shape}")
        strides = i["strides"] or (4 * size, 4)
        if strides[1] != 4 or strides[0] < 4 * size or strides[0] % 4 or i["data"][1]:
            raise ValueError(f"out: {name} has the {('three', 'four')[size - 3]} numbers of a vertex side by side, and can be written")
        return i["data"][0], strides[0]

    def _new(self, tangents, *frames):
        """Arrays for what a call gives."""
        widths = (3, 3, 4) if tangents else (3, 3)
        return tuple(np.empty((*frames, self._shape[0], width), FLOAT) for width in widths)

    def __call__(self, joints=None, controls=None, torques=None, *, out=None, state=None, tangents=False):
        """Positions and normals (float32, vertices x 3), new or in `out`: a pair of arrays, or one for positions alone.

        `tangents=True`, or a third array in `out` (vertices x 4), asks for tangents too: x y z and a handedness of 1 or -1,
        as glTF has them.
        """
        if out is not None and controls is None and torques is None and state is None:
            try:
                place = self._places.pop()
            except IndexError:
                place = None
            if place is not None:
                same = joints is place.joints and out is place.out  # the same arrays as before, with new numbers in them
                status = _run(place.address) if same else 0
                self._places.append(place)
                if same and not status:
                    return out
        if type(joints) is np.ndarray and controls is None and torques is None and joints.dtype is FLOAT:
            i = joints.__array_interface__  # the usual case without detours
            if i["shape"] in self._joint_shapes and i["strides"] is None and not self.info["torques"]:
                return self._evaluate(i["data"][0], None, None, out, state, tangents, joints)
        values = [joints, controls, torques]
        shapes = [shape for _, shape in self._inputs]
        lengths = {len(v) for v, s in zip(values, shapes)
                   if v is not None and s is not None and np.ndim(v) == len(s) + (np.shape(v)[-1] != 12 or len(s) != 3)}
        if lengths:
            return self._evaluate_frames(values, lengths, out, state, tangents)
        given = [self._input(name, value, shape) for value, (name, shape) in zip(values, self._inputs)]
        return self._evaluate(*[None if g is None else g.ctypes.data for g in given], out, state, tangents)

    def _evaluate_frames(self, values, lengths, out, state, tangents):
        if len(lengths) > 1:
            raise ValueError(f"inputs of {' and '.join(map(str, sorted(lengths)))} frames")
        count = lengths.pop()
        if out is None:
            out = self._new(tangents, count)
        several = isinstance(out, (tuple, list))
        for f in range(count):
            frame = [None if v is None else v[f] for v in values]
            self(*frame, out=tuple(o[f] for o in out) if several else out[f], state=state)
        return out

    def _aim(self, place, arrays):
        """Writes to these arrays from now on. They are kept: the next call with them needs no look at them."""
        call = place.call
        place.arrays, place.joints, place.out = (), None, None
        if not 1 <= len(arrays) <= 3:
            raise ValueError("out: positions, normals and tangents, or fewer of them")
        call.positions, call.position_stride = self._out_address(arrays[0], "positions")
        call.normals, call.normal_stride, call.tangents, call.tangent_stride = None, 0, None, 0
        if len(arrays) > 1:
            call.normals, call.normal_stride = self._out_address(arrays[1], "normals")
        if len(arrays) > 2:
            call.tangents, call.tangent_stride = self._out_address(arrays[2], "tangents")
        place.arrays = tuple(arrays)

    def _evaluate(self, joints, controls, torques, out, state, tangents, given=None):
        fresh = out is None
        if fresh:
            out = self._new(tangents)
        arrays = out if type(out) is tuple or type(out) is list else (out,)
        try:
            place = self._places.pop()
        except IndexError:
            place = _Place(self)
        call = place.call
        if len(arrays) != len(place.arrays) or not all(map(is_, arrays, place.arrays)):
            self._aim(place, arrays)
        call.joints = joints
        again = given is not None and not fresh and state is None and type(out) is not list
        place.joints, place.out = (given, out) if again else (None, None)
        if controls is not None or torques is not None or state is not None:
            call.controls, call.torques, call.state = controls, torques, None if state is None else state.ctypes.data
        status = _run(place.address)
        if status:
            raise Error(call.message.decode(errors="replace"), "SN_BAD_INPUT")
        if controls is not None or torques is not None or state is not None:
            call.controls = call.torques = call.state = None
        if fresh:
            place.arrays = ()  # the caller's alone
        self._places.append(place)
        return out

    def time(self, joints=None, controls=None, torques=None, repeats=100):
        """Seconds of one evaluation with normals in C, on one thread: the fastest of `repeats`."""
        given = [self._input(name, value, shape) for value, (name, shape) in zip((joints, controls, torques), self._inputs)]
        place = _Place(self)
        self._aim(place, self._new(False))
        place.call.joints, place.call.controls, place.call.torques = [None if g is None else g.ctypes.data for g in given]
        return lib.sn_evaluator_time(place.address, repeats)

    def palette(self, joints=None, controls=None, torques=None, *, state=None):
        """The matrices that the vertices are blended from: float32, n x 3 x 4. Those of the joints come first where it has
        joints; extra bones and proxy bones follow."""
        given = [self._input(name, value, shape) for value, (name, shape) in zip((joints, controls, torques), self._inputs)]
        out = np.empty((self.info["palette"], 3, 4), np.float32)
        place = _Place(self)
        place.call.joints, place.call.controls, place.call.torques = [None if g is None else g.ctypes.data for g in given]
        place.call.state = None if state is None else state.ctypes.data
        if lib.sn_evaluator_palette(place.address, out.ctypes.data):
            raise Error(place.call.message.decode(errors="replace"), "SN_BAD_INPUT")
        return out
