# SPDX-License-Identifier: MIT
"""Rigging, training, comparing, files and charts."""
import ctypes
import tempfile
from pathlib import Path

import numpy as np

from ._arrays import DOUBLE, MOST, checked, checked_rate, is_path, path_text, text, whole
from ._data import Skeleton, give_examples, give_skeleton, keys_text, load_skeleton, rate_text, skeleton_of
from ._library import Line, Plot, lib, take_text
from ._model import Model
from ._session import Error, Session, listed


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
    """What can be learned: {name: {"summary", "options": {name: {"default", "help", "choices", ...}}}}."""
    out = {}
    for method in take_text(lib.sn_session_describe_methods()):
        options = {option.pop("name"): option for option in method["options"]}
        out[method["name"]] = {"summary": method["summary"], "options": options}
    return out


def keys(spec, of, seed=1, *, clip=None, fps=0):
    """The frames of a spec as the command line's --keys has it ("every:4", "0,5,10-20", "random:8", "auto:8"). `of` is their number,
    or a Skeleton or file with a clip, which "auto:N" chooses poses from: those to sculpt or simulate."""
    session = Session(seed=seed)
    session.set(keys=keys_text(spec))
    if is_path(of):
        of = load_skeleton(of, clip, fps)
    if isinstance(of, Skeleton):
        give_skeleton(session, [of], None, None)
    count = -1 if isinstance(of, Skeleton) else whole(of, MOST, "of")
    session.do(lib.sn_session_keys, count)
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
        return f"<sinew.Rig of {self.report['bones']} bones, rms {self.report['rms_pct_diag']:.3g} % of the diagonal>"

    def save(self, path, fps=None):
        """Writes .glb, .gltf or .fbx: skeleton, skin and animation."""
        self._session.stop.value = 0  # of a save that was interrupted
        self._session.do(lib.sn_session_write_rig, path_text(path), checked_rate(fps or self._fps))


def rig(rest, frames, bones="auto", *, skeleton=None, solve="weights", lock=None, keep_weights=False, rest_frame=None,
        keep_bones=False, heat=False, keys="all", clip=None, fps=0, object=None, match=None, scale=None, axes=None, offset=None,
        threads=0, seed=1, progress=None, **options):
    """A skeleton, weights and motion from frames without a skeleton.

    `rest` is a Mesh or a file, `frames` an array (frames x vertices x 3), a file, or a list of clips; `keys` chooses among them.
    `bones` is the most to use, or "auto". With `skeleton` its joints are kept, and `solve` says what is looked for: "weights",
    "motion" or "both"; joints of `lock` (names) keep their motion, and keep_weights=True keeps weights where the file's vertex
    colours are white. `rest_frame` is a frame that is the rest pose, or "auto". heat=True writes the error of every vertex as colours.
    Other options are those of `sinew rig` (influences, smooth, joints, error, most, iterations, helpers, bone_type).
    `progress` is True for a bar, or a function of (task, done) that returns False to stop.
    """
    session = Session(threads, seed, progress)
    given, keys = skeleton is not None, keys_text(keys)
    give_examples(session, rest, frames, skeleton, clip=clip, fps=fps, object=object, match=match,
                  still=given and solve != "weights", scale=scale, axes=axes, offset=offset)
    session.set(solve=solve if given else None, lock=",".join(map(str, listed(lock))) or None, keep_weights=keep_weights,
                rest_frame=rest_frame, keep_bones=keep_bones, heat=heat, keys=keys)
    session.do(lib.sn_session_rig, text(_pairs({"bones": bones, **options})))
    rate = getattr(listed(frames)[0], "rate", 0) or lib.sn_session_rate(session.handle)
    return Rig(session, fps or rate or 30)


def train(method, rest=None, frames=None, skeleton=None, keys="all", *, torques=None, values=None, controls=None, pose=None,
          mirror=None, max_bytes=0, max_time=0, max_error=0, curve=False, test_frames=None, test_skeleton=None, clip=None, fps=0, object=None,
          match=None, map=None, scale=None, axes=None, offset=None, measure=True, threads=0, seed=1, progress=None, **options):
    """Learns a model; its `report` says how good it is on the frames of `keys` and on the others.

    `method` is a name ("lbs", "psd", "rotreg", ...; see methods()) or a spec with options, "rotreg:bones=60"; options may also
    be given as arguments. `rest` is a Mesh or a file; `frames` an array (frames x vertices x 3), a file, or a list of clips;
    `skeleton` a Skeleton with as many poses, a file, or a list that pairs up with the clips. `torques` is frames x joints, or a
    .csv; `controls` a list of vertices, or "auto:N". Where everything is a file, the model's bytes are those that `sinew train`
    writes. `keys` are frames, [0, 5, 10], or a spec as of --keys. `test_frames` and `test_skeleton` are clips that are only
    tested on. measure=False does not measure. `values` is {name: a number for every frame} or a .csv; `pose` {frame: file of a
    sculpted mesh}, where everything is a file; `mirror` ("x", "y" or "z") adds every training frame's mirror image. The method
    "auto" is the best within max_bytes, max_time (times linear blend skinning) and max_error (percent of the diagonal; 0: no
    limit). curve=True adds sizes and errors of smaller and larger models to the report, under "rates". With a Model instead of a method, the meshes of `pose` are added to it, and `map` names the joints of another
    skeleton. `scale`, `axes` and `offset` adjust files that disagree, as on the command line: 0.01 for all of them,
    "frames=0.01" for one kind, a list for several. `progress` is True for a bar, or a function of (task, done) that returns
    False to stop.
    """
    session = Session(threads, seed, progress)
    added = isinstance(method, Model)
    give_examples(session, rest, frames, skeleton, torques, controls, test_frames, test_skeleton, clip, fps, object, match,
                  frames is None and pose is None, scale, axes, offset, values, pose)
    session.set(map=map, mirror=mirror, keys=keys_text(keys), max_bytes=max_bytes or None, max_time=max_time or None,
                error=max_error or None, curve=curve)
    if added:
        lib.sn_session_from(session.handle, session.keep(method._bytes), len(method._bytes))
    session.do(lib.sn_session_train, b"" if added else text(_spec(method, options)), measure)
    return Model(session.view("model"), session.report() if measure else None)


def compare(methods, rest, frames=None, skeleton=None, keys="all", *, loocv=False, torques=None, values=None, controls=None,
            pose=None, models=None, test_frames=None, test_skeleton=None, clip=None, fps=0, object=None, match=None, scale=None,
            axes=None, offset=None, threads=0, seed=1, progress=None):
    """Trains and tests several methods: the report of `sinew compare`, rows under "methods". loocv=True tests by leaving
    out each training frame in turn; `models` is a folder that they are written to. Other arguments are as of `train`."""
    session = Session(threads, seed, progress)
    give_examples(session, rest, frames, skeleton, torques, controls, test_frames, test_skeleton, clip, fps, object, match,
                  scale=scale, axes=axes, offset=offset, values=values, pose=pose)
    session.set(keys=keys_text(keys), models=models)
    specs = [text(spec) for spec in listed(methods)]
    session.do(lib.sn_session_compare, len(specs), (ctypes.c_char_p * len(specs))(*specs), loocv)
    return session.report()


def vertex_errors(model, rest, frames, skeleton=None, **options):
    """Root mean squared distance of every vertex between a model and frames, in file units; options are those of Model.error."""
    return model.error(frames, skeleton, rest=rest, **options)["vertex_rms"]


def info(path):
    """What is in a file: the report of `sinew info`."""
    session = Session()
    session.do(lib.sn_session_info, path_text(path))
    return {name: value for name, value in session.report().items() if name != "input"}


def convert(source, target, *, rest=None, clip=None, fps=0, object=None, scale=None, axes=None, offset=None):
    """Writes a mesh, sequence or scene in another format, as `sinew convert` does. `rest` has the triangles of frames."""
    session = Session()
    session.set(rest=rest, clip=clip, fps=rate_text(fps), object=object, scale=scale, axes=axes, offset=offset)
    session.do(lib.sn_session_convert, path_text(source), path_text(target))


class Chart:
    """What `plot` draws: a notebook shows it, `save` writes an .svg."""

    def __init__(self, lines, title, x, y):
        self._lines = {}
        for name, points in lines.items():
            across, up = points if isinstance(points, tuple) else (np.arange(len(points)), points)
            up = checked(up, DOUBLE, (-1,), name)
            self._lines[name] = checked(across, DOUBLE, up.shape, name), up
        self._titles = tuple(map(text, (title, x, y)))

    def save(self, path):
        session = Session()
        lines = (Line * len(self._lines))(*(Line(text(name), len(up), session.keep(across), session.keep(up))
                                            for name, (across, up) in self._lines.items()))
        session.do(lib.sn_session_plot, path_text(path), Plot(*self._titles, lines, len(lines)))

    def _repr_svg_(self):
        with tempfile.TemporaryDirectory() as folder:
            self.save(Path(folder) / "chart.svg")
            return (Path(folder) / "chart.svg").read_text()


def plot(lines, title="", x="frame", y="rms error, % of the diagonal"):
    """A chart of lines, {name: numbers} or {name: (x, y)}: a Chart, as the command line's --plot draws it."""
    return Chart(lines, title, x, y)
