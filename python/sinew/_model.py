# SPDX-License-Identifier: MIT
"""Models: the bytes of a .sinew file, evaluated by the runtime."""
import ctypes

import numpy as np

from ._arrays import BYTE, FLOAT, INT, MOST, address, checked, is_path, is_plain, path_text, text, whole
from ._data import Skeleton, give_examples, give_skeleton, mesh_of, rate_text, skeleton_of
from ._library import Call, lib, take_text
from ._session import Error, Session

# Fields of sn_evaluator_call.
INPUTS, OUTPUTS = ("joints", "controls", "torques", "values"), ("positions", "normals", "tangents")
STRIDES, OUTPUT_NAMES = ("position_stride", "normal_stride", "tangent_stride"), [f"out: {name}" for name in OUTPUTS]
MESSAGE_SIZE = 240  # of sn_rt_error

_evaluate, _time = lib.sn_evaluator_run, lib.sn_evaluator_time


def _aligned(size):
    """Bytes that begin at a multiple of 64, which the runtime reads fastest."""
    raw = np.empty(size + 64, np.uint8)
    start = -raw.ctypes.data % 64
    return raw[start : start + size]


class _Place:
    """One evaluation at a time: scratch memory, and the C call's arguments."""

    def __init__(self, model):
        self.scratch = _aligned(model._scratch_size)
        self.call = Call(evaluator=model._handle, scratch=address(self.scratch))
        self.address = ctypes.addressof(self.call)
        self.joints = self.out = None  # whose addresses the call has, where the next one may have them too


class Model:
    """A learned skin.

    Model(path) reads a file, Model(bytes) takes the bytes of one. Calling it gives positions and normals:

        positions, normals = model(joints)                  # matrices of the joints, n x 3 x 4, rest pose to pose
        positions, normals = model(joints, torques=torques) # where info["torques"] is not 0
        positions, normals = model(controls=points)         # where info["controls"] is not 0
        positions, normals = model(values={"smile": 0.5})   # where `values` has names; or an array in their order
        model(joints, out=(positions, normals))             # into your arrays
        positions, normals, tangents = model(joints, tangents=True)  # where info["tangents"]: vertices x 4

    With a first axis of frames in what it is given, so has what it returns. `names` and `parents` are those of the joints,
    `values` the names of its values,
    `info` what is inside, `report` that of training (None for a model from a file). Any number of threads may call it.
    """

    def __init__(self, source, report=None):
        if is_path(source):
            with open(source, "rb") as file:
                source = file.read()
        if isinstance(source, np.ndarray):
            source = checked(source, BYTE, (-1,), "model")
        else:
            source = np.frombuffer(source, BYTE)
        self._bytes = _aligned(len(source))  # a copy: the library reads it for as long as this model lives
        self._bytes[:] = source
        message = ctypes.create_string_buffer(MESSAGE_SIZE)
        self._handle = lib.sn_evaluator_new(address(self._bytes), len(self._bytes), message, MESSAGE_SIZE)
        if not self._handle:
            raise Error(message.value.decode(errors="replace"), "SN_BAD_FILE")
        self.info = take_text(lib.sn_evaluator_describe(self._handle))
        self.report = report
        joints = self.info.pop("joints")
        self.names = [joint["name"] for joint in joints]
        self.parents = np.array([joint["parent"] for joint in joints], np.int32)
        self.values = self.info.pop("values")
        n, controls, torques, values = len(self.names), self.info["controls"], self.info["torques"], len(self.values)
        self._inputs = list(zip(INPUTS, ((n, 3, 4) if n else None, (controls, 3) if controls else None,
                                         (torques,) if torques else None, (values,) if values else None)))
        self._joint_shape = (n, 3, 4) if n and not controls and not torques and not values else ()
        # Sizes of memory that C writes; callers may change `info`.
        self._vertices, self._influences, self._palette = (self.info[name] for name in ("vertices", "influences", "palette"))
        self._shapes = [(self._vertices, width) for width in (3, 3, 4)]
        self._scratch_size, self._state_size = lib.sn_evaluator_scratch(self._handle), lib.sn_evaluator_state(self._handle)
        self._places = []  # one for every call at the same time; a list's pop and append are whole
        self._rest = None

    def __del__(self):
        if getattr(self, "_handle", None):
            lib.sn_evaluator_free(self._handle)
            self._handle = None

    def __reduce__(self):
        return type(self), (bytes(self), self.report)

    def __repr__(self):
        i = self.info
        return f"<sinew.Model: {i['drive']}, {i['correct']}, {i['blend']}; {i['vertices']} vertices, {len(self._bytes)} bytes>"

    def __bytes__(self):
        return self._bytes.tobytes()

    def __len__(self):
        return self._vertices

    @property
    def bytes(self):
        """The file's bytes as an array; not a copy."""
        view = self._bytes.view()
        view.flags.writeable = False
        return view

    def save(self, path):
        """Writes the file: whole, or not at all."""
        session = Session()
        session.do(lib.sn_session_write_file, path_text(path), session.keep(self._bytes), len(self._bytes))

    def packed(self, order=None):
        """The model in about half the bytes, as `sinew pack` writes it: a Model. `order` is "blocks" or "file"."""
        session = Session()
        session.do(lib.sn_session_pack, session.keep(self._bytes), len(self._bytes), None if order is None else text(order))
        return Model(session.view("model"), self.report)

    def export(self, path, skeleton, to):
        """Writes the character with its driven helpers or shapes for another tool, as `sinew export` does: `to` is "blender", "godot",
        "babylon", "three" or "json", `skeleton` the character's file. The report is returned."""
        session = Session()
        session.set(skeleton=skeleton)
        session.do(lib.sn_session_export, self._handle, text(to), path_text(path))
        return session.report()

    def error(self, frames, skeleton=None, *, rest=None, torques=None, values=None, controls=None, clip=None, fps=0, object=None,
              match=None, map=None, scale=None, axes=None, offset=None, threads=0):
        """How far the model is from frames: the figures of docs/reference/metrics.md ("rms_pct_diag", "max_pct_diag", "ee", ...),
        and root mean squared distances in file units, "frame_rms" of every frame and "vertex_rms" of every vertex. Arguments are
        as of `train`; `rest` is the model's own mesh unless it is given."""
        session = Session(threads)
        give_examples(session, self.mesh if rest is None else rest, frames, skeleton, torques, controls, None, None, clip, fps,
                      object, match, scale=scale, axes=axes, offset=offset, values=values)
        session.set(map=map)
        session.do(lib.sn_session_errors, self._handle)
        vertex_rms, source = session.array("vertex_rms"), session.array("source")
        return {**session.report()["all"], "frame_rms": session.array("frame_rms"),
                "vertex_rms": vertex_rms if source is None else vertex_rms[source]}

    def evaluate(self, path, skeleton=None, *, values=None, controls=None, torques=None, rest=None, frames=None, clip=None, fps=0,
                 object=None, match=None, map=None, scale=None, axes=None, offset=None, unordered=False, threads=0, progress=None):
        """Writes what the model makes of a clip, as `sinew eval` does: deformed vertices (.pc2, .mdd, .abc, a folder of .obj), or a
        skin with its animation (.glb, .gltf, .fbx). Everything is a file; the report is returned, with the error under "all" where
        `rest` and `frames` are given. For arrays call the model."""
        session = Session(threads, 1, progress)
        session.set(skeleton=skeleton, values=values, controls=controls, torque=torques, rest=rest, frames=frames, clip=clip,
                    fps=rate_text(fps), object=object, match=match, map=map, scale=scale, axes=axes, offset=offset,
                    unordered=unordered)
        session.do(lib.sn_session_eval, self._handle, path_text(path))
        return session.report()

    def _session(self):
        session = Session()
        session.kept.append(self)  # also where Ctrl-C leaves the library at work
        return session

    @property
    def mesh(self):
        """The rest mesh."""
        if self._rest is None:
            session = self._session()
            session.do(lib.sn_session_read_model_mesh, self._handle)
            self._rest = mesh_of(session)
        return self._rest

    @property
    def skeleton(self):
        """The joints, without motion."""
        session = self._session()
        session.do(lib.sn_session_read_model_skeleton, self._handle)
        return Skeleton(self.names, self.parents, session.array("rest"))

    def weights(self):
        """(joints, weights): which matrices of the palette move a vertex, and how much; vertices x influences."""
        shape = (self._vertices, self._influences)
        joints, weights = np.zeros(shape, np.uint16), np.zeros(shape, np.float32)
        message = ctypes.create_string_buffer(MESSAGE_SIZE)
        if lib.sn_evaluator_weights(self._handle, address(joints), address(weights), shape[1], message):
            raise Error(message.value.decode(errors="replace"), "SN_BAD_INPUT")
        return joints, weights

    def retarget(self, skeleton, map=None):
        """The motion of another skeleton for this model's: a Skeleton. Joints are matched by their names, or by `map`: a file with
        two names on every line, a joint of the model and one of the skeleton."""
        session = self._session()
        give_skeleton(session, [skeleton], None, None)
        session.set(map=map)
        session.do(lib.sn_session_retarget, self._handle)
        return skeleton_of(session)

    def joints(self, skeleton):
        """The poses of a skeleton as what this model takes: float32, frames x joints x 3 x 4, matched by name. A skeleton whose
        joints are elsewhere in its rest pose is refused: retarget its motion."""
        skeleton = skeleton._checked()
        missing = [name for name in self.names if name not in skeleton.names]
        if missing:
            others = f", nor {len(missing) - 1} others" if missing[1:] else ""
            raise Error(f"the skeleton has no joint called '{missing[0]}'{others}")
        twice = [name for name in self.names if skeleton.names.count(name) > 1]
        if twice and skeleton.names != self.names:
            raise Error(f"the skeleton has several joints called '{twice[0]}': rename them, or order its joints as model.names")
        order = range(len(self.names)) if twice else [skeleton.names.index(name) for name in self.names]
        self.bind(skeleton.rest[order])
        return checked(skeleton.poses[:, order], FLOAT, (-1, len(order), 3, 4), "poses")

    def bind(self, rest):
        """What world matrices of a character's joints are multiplied with to become what this model takes: float32, joints x 3 x 4.
        `rest` has those matrices in the character's rest pose, in the order of `names`. Rotated axes are corrected; a joint that is
        elsewhere is refused by its name."""
        rest, message = checked(rest, FLOAT, (len(self.names), 3, 4), "rest"), ctypes.create_string_buffer(MESSAGE_SIZE)
        out = np.empty_like(rest)
        if len(rest) and lib.sn_evaluator_bind(self._handle, address(rest), address(out), message):
            raise Error(message.value.decode(errors="replace"), "SN_BAD_INPUT")
        return out

    def new_state(self):
        """Memory of one character for `state=`: its joints then rotate past 180 degrees without a jump. None where the
        model has no use for it."""
        return np.zeros(self._state_size // 4, INT) if self._state_size else None

    # ---- evaluation

    def _given(self, *values):
        """Inputs as C takes them, None for those that this model has no use for; and their number of frames, () for one pose."""
        given, counts = [], set()
        for value, (name, shape) in zip(values, self._inputs):
            if shape is not None:
                if isinstance(value, dict):
                    if set(value) != set(self.values):
                        raise ValueError(f"values: this model has {', '.join(self.values)}")
                    value = np.stack([np.asarray(value[each], np.float64) for each in self.values], -1)
                if value is None:
                    raise ValueError(f"this model is driven by {name}: an array of {' x '.join(map(str, shape))}")
                value = np.asarray(value)
                if len(shape) == 3 and value.shape[-2:] == (shape[0], 12):
                    value = value.reshape(*value.shape[:-1], 3, 4)
                frames = value.shape[:1] if value.ndim > len(shape) else ()
                counts.add(frames)
                value = checked(value, FLOAT, frames + shape, name)
            given.append(None if shape is None else value)
        if len(counts) > 1:
            raise ValueError(f"inputs of {' and '.join(str(*count) or 'no' for count in sorted(counts))} frames")
        return given, counts.pop() if counts else ()

    def _outputs(self, frames, out, tangents):
        """`out` or new arrays, and the same as C takes them."""
        shapes = [frames + shape for shape in self._shapes] if frames else self._shapes
        if out is None:
            out = tuple([np.empty(shape, FLOAT) for shape in shapes[: 3 if tangents else 2]])
        arrays = out if isinstance(out, (tuple, list)) else (out,)
        if not 1 <= len(arrays) <= 3:
            raise ValueError(f"out: 1 to 3 arrays, for positions, normals and tangents; not {len(arrays)}")
        return out, [checked(array, FLOAT, shape, name, True) for array, shape, name in zip(arrays, shapes, OUTPUT_NAMES)]

    def _run(self, function, given, outputs=(), state=None, frames=(), arguments=(), again=None):
        """A function of the library at every frame; what the last one returned. The arrays are checked already."""
        try:
            place = self._places.pop()
        except IndexError:
            place = _Place(self)
        call, result = place.call, 0
        place.joints, place.out = again or (None, None)
        call.normals = call.tangents = call.state = None
        if state is not None:
            call.state = address(checked(state, INT, (self._state_size // 4,), "state", True))
        named = *zip(INPUTS, given), *zip(OUTPUTS, outputs)
        fields = [(name, address(array), array) for name, array in named if array is not None]
        for name, array in zip(STRIDES, outputs):
            setattr(call, name, max(array.strides[-2], 4 * array.shape[-1]))
        for f in range(*frames or (1,)):
            for name, start, array in fields:
                setattr(call, name, start + f * array.strides[0])
            result = function(place.address, *arguments)
            if result < 0 or (result and function is not _time):
                raise Error(call.message.decode(errors="replace"), "SN_BAD_INPUT")
        self._places.append(place)
        return result

    def _run_again(self, joints, out):
        """A game loop's call: with the arrays of the call before, whose addresses are known, once they are checked again."""
        try:
            place = self._places.pop()
        except IndexError:
            return False
        done = (joints is place.joints and out is place.out and is_plain(joints, FLOAT, self._joint_shape)
                and is_plain(out[0], FLOAT, self._shapes[0]) and (len(out) < 2 or is_plain(out[1], FLOAT, self._shapes[1]))
                and _evaluate(place.address) == 0)
        self._places.append(place)
        return done

    def __call__(self, joints=None, controls=None, torques=None, values=None, *, out=None, state=None, tangents=False):
        """Positions and normals (float32, vertices x 3), new or in `out`: a pair of arrays, or one for positions alone.

        `tangents=True`, or a third array in `out` (vertices x 4), asks for tangents too: x y z and a handedness of 1 or -1,
        as glTF has them.
        """
        loop = state is None and type(out) is tuple
        if loop and self._run_again(joints, out):
            return out
        given, frames = self._given(joints, controls, torques, values)
        loop = loop and len(out) < 3 and given[0] is joints is not None and joints.shape == self._joint_shape
        out, outputs = self._outputs(frames, out, tangents)
        self._run(_evaluate, given, outputs, state, frames, again=(joints, out) if loop else None)
        return out

    def _one_pose(self, *values):
        given, frames = self._given(*values)
        if frames:
            raise ValueError(f"one pose is needed, not {frames[0]} frames")
        return given

    def time(self, joints=None, controls=None, torques=None, repeats=100, values=None):
        """Seconds of one evaluation with normals in C, on one thread: the fastest of `repeats`."""
        given = self._one_pose(joints, controls, torques, values)
        return self._run(_time, given, self._outputs((), None, False)[1], arguments=(whole(repeats, MOST, "repeats", 1),))

    def palette(self, joints=None, controls=None, torques=None, values=None, *, state=None):
        """The matrices that the vertices are blended from: float32, n x 3 x 4. Those of the joints come first where it has
        joints; extra bones and proxy bones follow."""
        out = np.empty((self._palette, 3, 4), FLOAT)
        given = self._one_pose(joints, controls, torques, values)
        self._run(lib.sn_evaluator_palette, given, state=state, arguments=(address(out),))
        return out
