# SPDX-License-Identifier: MIT
"""Rigging, training, comparing."""
import ctypes

import numpy as np

from ._arrays import MOST, checked_rate, is_path, path_text, text, whole
from ._data import Frames, give_examples, listed, load_frames, name_files, skeleton_of
from ._library import lib, take_text
from ._model import Model
from ._session import Error, Session


def _value(value):
    return str(int(value)) if isinstance(value, (bool, np.bool_)) else str(value)


def _pairs(options):
    return ",".join(f"{name.replace('_', '-')}={_value(value)}" for name, value in options.items() if value is not None)


def _spec(method, options):
    pairs = ",".join(f"{name}={_value(value)}" for name, value in options.items() if value is not None)
    if not pairs:
        return method
    return f"{method},{pairs}" if ":" in method else f"{method}:{pairs}"


def methods():
    """What can be learned: {name: {"summary", "options": {name: {"default", "help", "choices"}}}}."""
    out = {}
    for method in take_text(lib.sn_session_describe_methods()):
        options = {option.pop("name"): option for option in method["options"]}
        out[method["name"]] = {"summary": method["summary"], "options": options}
    return out


def keys(spec, count, seed=1):
    """The frames of a spec as the command line's --keys has it ("every:4", "0,5,10-20", "random:8"), of `count`."""
    session = Session(seed=seed)
    session.check(lib.sn_session_keys(session.handle, text(spec), whole(count, MOST, "count")))
    return session.array("keys")


class Rig:
    """What `rig` found: `skeleton` (with its motion and the weights), `model` (linear blend skinning with them), `report`,
    and the root mean squared error of every frame and vertex, `frame_rms` and `vertex_rms`, in file units."""

    def __init__(self, session, fps):
        self._session, self._fps = session, fps
        session.ask = session.bar = None  # progress was of the solve
        self.report = session.report()
        self.frame_rms, self.vertex_rms = session.array("frame_rms"), session.array("vertex_rms")
        self.skeleton = skeleton_of(session)
        source = session.array("source")  # vertices that were welded share their weights
        if source is not None:
            self.skeleton.joints, self.skeleton.weights = self.skeleton.joints[source], self.skeleton.weights[source]
            self.vertex_rms = self.vertex_rms[source]
        self.model = Model(session.view("model"), self.report)

    def __repr__(self):
        rms = self.report["rms_pct_diag"]  # None for a mesh without size
        return f"<sinew.Rig of {self.report['bones']} bones" + ("" if rms is None else f", rms {rms:.3g} % of the diagonal") + ">"

    def save(self, path, fps=None):
        """Writes .glb, .gltf or .fbx: skeleton, skin and animation."""
        self._session.stop.value = 0  # of a save that was interrupted
        self._session.do(lib.sn_session_write_rig, path_text(path), checked_rate(fps or self._fps))


def rig(rest, frames, bones="auto", *, skeleton=None, solve="weights", keep_bones=False, keys="all", clip=None, fps=0,
        object=None, match=None, scale=None, axes=None, offset=None, threads=0, seed=1, progress=None, **options):
    """A skeleton, weights and motion from frames without a skeleton.

    `rest` is a Mesh or a file, `frames` an array (frames x vertices x 3), a file, or a list of clips. `bones` is the most to
    use, or "auto". With `skeleton` its joints are kept, and `solve` says what is looked for: "weights", "motion" or "both".
    Other options are those of `sinew rig` (influences, smooth, joints, error, most, iterations, helpers, bone_type).
    `progress` is True for a bar, or a function of (task, done) that returns False to stop.
    """
    session = Session(threads, seed, progress)
    if keys != "all":
        clips = [load_frames(part, fps, clip, object, scale, axes, offset) if is_path(part) else part for part in listed(frames)]
        if len(clips) != 1 or skeleton is not None:
            raise Error("keys go with one clip and no skeleton; choose frames by indexing the arrays")
        frames = Frames(np.asarray(clips[0])[_keys(keys, len(clips[0]), seed)], getattr(clips[0], "rate", 0))
    give_examples(session, rest, frames, skeleton, clip=clip, fps=fps, object=object, match=match,
                  still=skeleton is not None and solve != "weights", scale=scale, axes=axes, offset=offset)
    session.do(lib.sn_session_rig, text(_pairs({"bones": bones, **options})), keep_bones,
               b"" if skeleton is None else text(solve))
    rate = getattr(listed(frames)[0], "rate", 0) or lib.sn_session_rate(session.handle)
    return Rig(session, fps or rate or 30)


_keys = keys


def train(method, rest=None, frames=None, skeleton=None, keys="all", *, torques=None, values=None, controls=None, pose=None,
          mirror=None, max_bytes=0, max_time=0, max_error=0, test_frames=None, test_skeleton=None, clip=None, fps=0, object=None,
          match=None, map=None, scale=None, axes=None, offset=None, measure=True, threads=0, seed=1, progress=None, **options):
    """Learns a model; its `report` says how good it is on the frames of `keys` and on the others.

    `method` is a name ("lbs", "psd", "rotreg", ...; see methods()) or a spec with options, "rotreg:bones=60"; options may also
    be given as arguments. `rest` is a Mesh or a file; `frames` an array (frames x vertices x 3), a file, or a list of clips;
    `skeleton` a Skeleton with as many poses, a file, or a list that pairs up with the clips. `torques` is frames x joints,
    or a .csv; `controls` a list of vertices, or "auto:N". Where everything is a file, the model's bytes are those that
    `sinew train` writes. `test_frames` and `test_skeleton` are clips that are only tested on. measure=False saves the
    time of measuring. `values` is {name: a number for every frame} or a .csv; `pose` {frame: file of a sculpted mesh}, where
    everything is a file; `mirror` ("x", "y" or "z") adds every training frame's mirror image. The method "auto" is the best within
    max_bytes, max_time (times linear blend skinning) and max_error (percent of the diagonal; 0: no limit). With a Model instead of a
    method, the meshes of `pose` are added to it, and `map` names the joints of another skeleton. `scale`, `axes` and `offset` adjust files that disagree, as on the command line: 0.01 for all of them,
    "frames=0.01" for one kind, a list for several. `progress` is True for a bar, or a function of (task, done) that returns False to stop.
    """
    session = Session(threads, seed, progress)
    added = isinstance(method, Model)
    give_examples(session, rest, frames, skeleton, torques, controls, test_frames, test_skeleton, clip, fps, object, match,
                  frames is None and pose is None, scale, axes, offset, values, pose)
    if map is not None:
        name_files(session, "map", map)
    if mirror is not None:
        lib.sn_session_mirror(session.handle, text(mirror)[:1] if len(mirror) == 1 else b"?")
    lib.sn_session_limit(session.handle, max_bytes, max_time, max_error)
    if added:
        lib.sn_session_from(session.handle, session.keep(method._bytes), len(method._bytes))
    session.do(lib.sn_session_train, b"from" if added else text(_spec(method, options)), text(keys), measure)
    return Model(session.view("model"), session.report() if measure else None)


def compare(methods, rest, frames=None, skeleton=None, keys="all", *, loocv=False, torques=None, values=None, controls=None,
            pose=None, test_frames=None, test_skeleton=None, clip=None, fps=0, object=None, match=None, scale=None, axes=None,
            offset=None, threads=0, seed=1, progress=None):
    """Trains and tests several methods: the report of `sinew compare`, rows under "methods". loocv=True tests by leaving
    out each training frame in turn. Arguments are as of `train`."""
    session = Session(threads, seed, progress)
    give_examples(session, rest, frames, skeleton, torques, controls, test_frames, test_skeleton, clip, fps, object, match,
                  scale=scale, axes=axes, offset=offset, values=values, pose=pose)
    specs = [text(spec) for spec in listed(methods)]
    session.do(lib.sn_session_compare, len(specs), (ctypes.c_char_p * len(specs))(*specs), text(keys), loocv)
    return session.report()


def vertex_errors(model, rest, frames, skeleton=None, *, torques=None, controls=None, clip=None, fps=0, object=None,
                  match=None, scale=None, axes=None, offset=None, threads=0):
    """Root mean squared distance of every vertex between a model and frames, in file units."""
    session = Session(threads)
    give_examples(session, rest, frames, skeleton, torques, controls, None, None, clip, fps, object, match,
                  scale=scale, axes=axes, offset=offset)
    session.do(lib.sn_session_vertex_errors, session.keep(model._bytes), len(model._bytes))
    errors, source = session.array("vertex_rms"), session.array("source")
    return errors if source is None else errors[source]
