# SPDX-License-Identifier: MIT
"""Meshes, frames and skeletons: numpy arrays with names, from files or from anywhere."""
import ctypes
import os
from pathlib import Path

import numpy as np

from ._arrays import DOUBLE, FLOAT, INT, MOST, SHORT, checked, checked_rate, is_path, path_text, text, whole
from . import _library as c
from ._library import lib
from ._session import Error, Session, listed

DOCUMENTS = {".glb", ".gltf", ".fbx", ".dae", ".bvh", ".blend"}


class Frames(np.ndarray):
    """Vertex positions over time: float32, frames x vertices x 3. `rate` is frames per second, 0 where unknown."""

    rate = 0.0

    def __new__(cls, positions, rate=0.0):
        frames = checked(positions, FLOAT, (-1, -1, 3), "frames").view(cls)
        frames.rate = float(rate)
        return frames

    def __array_finalize__(self, other):
        self.rate = getattr(other, "rate", 0.0)

    def __reduce__(self):
        return type(self), (np.asarray(self), self.rate)

    def save(self, path, mesh=None):
        """Writes .pc2, .mdd, .abc or a folder of .obj; the last two take their faces from `mesh`."""
        session = Session()
        give_frames(session, [np.asarray(self)], 0)
        if mesh is not None:
            give_mesh(session, mesh)
        session.do(lib.sn_session_write_frames, path_text(path), checked_rate(self.rate))


class Mesh:
    """A triangle mesh: `positions` (float32, n x 3) and `triangles` (int32, n x 3).

    `split` says that vertices are split at seams, as glTF has them: learning treats those as one. `normals` are the file's
    own, or None.
    """

    def __init__(self, positions, triangles, normals=None, split=False):
        self.positions = checked(positions, FLOAT, (-1, 3), "positions")
        self.triangles = checked(triangles, INT, (-1, 3), "triangles")
        self.normals = None if normals is None else checked(normals, FLOAT, self.positions.shape, "normals")
        self.split = bool(split)

    def _checked(self):
        """A mesh of what is in the attributes now, which may have been assigned since this one was made."""
        return Mesh(self.positions, self.triangles, self.normals, self.split)

    def __repr__(self):
        return f"<sinew.Mesh of {len(self.positions)} vertices, {len(self.triangles)} triangles>"

    @property
    def diagonal(self):
        """Of the bounding box: errors are given in percent of it."""
        if len(self.positions) == 0:
            return 0.0
        return float(np.linalg.norm(np.ptp(self.positions.astype(np.float64), axis=0)))


class Skeleton:
    """Joints, and their motion where there is one.

    `names`; `parents` (int32, -1 for a root); `rest` (float64, n x 3 x 4): joint to world in the rest pose; `poses` (float64,
    frames x n x 3 x 4): rest pose to pose, identity at rest. `joints` and `weights` (uint16 and float32, vertices x
    influences) are a skin, or None; `mesh` is what it is a skin of, where that is known.
    """

    def __init__(self, names, parents, rest, poses=None, joints=None, weights=None, mesh=None):
        self.names = [str(name) for name in names]
        n = len(self.names)
        self.parents = checked(parents, INT, (n,), "parents")
        self.rest = checked(rest, DOUBLE, (n, 3, 4), "rest")
        self.poses = checked(np.empty((0, n, 3, 4)) if poses is None else poses, DOUBLE, (-1, n, 3, 4), "poses")
        if (joints is None) != (weights is None):
            raise ValueError("give joints and weights together, or neither")
        self.joints = None if joints is None else checked(joints, SHORT, (-1, -1), "joints")
        self.weights = None if weights is None else checked(weights, FLOAT, self.joints.shape, "weights")
        self.mesh = mesh

    def _checked(self):
        """A skeleton of what is in the attributes now, which may have been assigned since this one was made."""
        return Skeleton(self.names, self.parents, self.rest, self.poses, self.joints, self.weights, self.mesh)

    def __len__(self):
        return len(self.names)

    def __repr__(self):
        return f"<sinew.Skeleton of {len(self)} joints, {len(self.poses)} poses>"

    def places(self):
        """Where the joints are in the rest pose: n x 3."""
        return self.rest[:, :, 3]

    def moved(self):
        """Where the joints are at every pose: frames x n x 3."""
        return np.einsum("fjab,jb->fja", self.poses[..., :3], self.places()) + self.poses[..., 3]


def mesh_of(session):
    return Mesh(session.array("positions"), session.array("triangles"), session.array("normals"),
                lib.sn_session_is_split(session.handle))


def skeleton_of(session, mesh=None):
    parents = session.array("parents")
    return Skeleton(session.names(len(parents)), parents, session.array("rest"), session.array("poses"),
                    session.array("joints"), session.array("weights"), mesh)


def load_mesh(path, object=(), scale=None, axes=None):
    """A mesh from .obj, .glb, .gltf, .fbx or the first frame of an .abc (`object`: which of its meshes), in the unit and axes of
    `scale` and `axes`, as of the command line."""
    session = Session()
    session.set(object=object, scale=scale, axes=axes)
    session.do(lib.sn_session_read_mesh, path_text(path))
    return mesh_of(session)


def load_frames(path, fps=0, clip=None, object=(), scale=None, axes=None, offset=None):
    """Frames from .pc2, .mdd, .abc, a folder or glob of .obj, .glb, .gltf or .ply, or an animated .glb; the file's
    memory, not a copy of it, and read-only: load_frames(path).copy() may be changed."""
    session = Session()
    session.set(object=object, scale=scale, axes=axes, offset=offset, clip=clip, fps=rate_text(fps))
    session.do(lib.sn_session_read_frames, path_text(path))
    return Frames(session.view("frames"), lib.sn_session_rate(session.handle))


def load_skeleton(path, clip=None, fps=0, still=False, scale=None, axes=None, offset=None):
    """A skeleton with the poses of a clip (by default the first, 30 frames per second), its mesh and its skin."""
    session = Session()
    session.set(scale=scale, axes=axes, offset=offset, clip=clip, fps=rate_text(fps))
    session.do(lib.sn_session_read_skeleton, path_text(path), still)
    has_mesh = session.view("joints") is not None and len(session.view("joints")) > 0
    if not has_mesh:
        parents = session.array("parents")
        return Skeleton(session.names(len(parents)), parents, session.array("rest"), session.array("poses"))
    return skeleton_of(session, mesh_of(session))


def load(path, **options):
    """What a file holds: .sinew a Model, .obj a Mesh, a cache or folder of .obj Frames; of .glb, .gltf, .fbx and the like the
    Skeleton (which has its mesh), or the Mesh where there are no joints. Options are those of load_mesh, load_frames and
    load_skeleton."""
    from ._model import Model

    suffix = Path(os.fspath(path)).suffix.lower()
    if suffix == ".sinew":
        return Model(path, **options)
    if suffix == ".obj" and "*" not in str(path):
        return load_mesh(path, **options)
    if suffix not in DOCUMENTS:
        return load_frames(path, **options)
    try:
        return load_skeleton(path, **options)
    except Error as error:
        if error.status != "SN_BAD_INPUT" or options:
            raise
        return load_mesh(path)


# ---- examples into a session --------------------------------------------------------------------------------------------


def rate_text(fps):
    return repr(checked_rate(fps)) if fps else None


def keys_text(keys):
    """What --keys has: texts are left alone, frames become a list."""
    return keys if isinstance(keys, str) else ",".join(str(whole(frame, MOST, "keys")) for frame in np.asarray(keys).tolist())


def give_mesh(session, mesh):
    """Gives a copy, and returns what was given."""
    mesh = mesh._checked()
    normals = None if mesh.normals is None else session.own(mesh.normals)
    lib.sn_session_give_mesh(session.handle, c.Mesh(len(mesh.positions), len(mesh.triangles), session.own(mesh.positions), normals,
                                                    session.own(mesh.triangles), mesh.split))
    return mesh


def give_frames(session, clips, tests):
    """Gives the array itself where it is one clip of floats: frames may be large."""
    clips = [checked(clip, FLOAT, (-1, -1, 3), "frames") for clip in clips]
    if len({clip.shape[1] for clip in clips}) > 1:
        raise ValueError(f"clips of {' and '.join(str(clip.shape[1]) for clip in clips)} vertices: all must be frames of one mesh")
    start = checked(np.cumsum([0] + [len(clip) for clip in clips]), INT, (-1,), "frames")
    frames = clips[0] if len(clips) == 1 else np.concatenate(clips)
    given = c.Frames(len(frames), frames.shape[1], session.keep(frames), len(clips), tests, session.keep(start))
    session.check(lib.sn_session_give_frames(session.handle, given))
    return start


def _check_bind(skeleton, mesh):
    """The skin of a skeleton's own mesh is taken for `mesh` where both are in the same place."""
    own = skeleton.mesh
    if own is None:
        return
    own, limit = own._checked(), 1e-3 * mesh.diagonal
    if own.positions.shape != mesh.positions.shape:
        raise Error(f"the skeleton's mesh has {len(own.positions)} vertices, the rest mesh {len(mesh.positions)}; "
                    "set skeleton.joints and weights to None, or give the rest mesh that it was made for")
    away = np.linalg.norm(own.positions - mesh.positions, axis=1)
    if len(away) and away.max() > limit:
        raise Error(f"the skeleton's mesh in its bind pose is not where the rest mesh is: vertex {int(away.argmax())} is "
                    f"{away.max():.3g} away, more than 0.1 % of the diagonal")


def give_skeleton(session, skeletons, start, mesh):
    """`start`: where clips of frames begin; None: there are none. Returns the numbers of poses and of joints."""
    if not all(isinstance(skeleton, Skeleton) for skeleton in skeletons):
        raise TypeError("a skeleton is a file or a sinew.Skeleton")
    skeletons = [skeleton._checked() for skeleton in skeletons]
    first, clips = skeletons[0], []
    for k, skeleton in enumerate(skeletons):
        if skeleton.names != first.names:
            raise Error(f"the skeleton of clip {k} has other joints than that of clip 0")
        needed = len(skeleton.poses) if start is None else int(start[k + 1] - start[k])
        if len(skeleton.poses) < needed:
            raise Error(f"clip {k} has {needed} frames, but its skeleton {len(skeleton.poses)} poses")
        clips.append(skeleton.poses[:needed])
    poses = clips[0] if len(clips) == 1 else np.concatenate(clips)
    names = (ctypes.c_char_p * len(first))(*map(text, first.names))  # the library copies them
    given = c.Skeleton(len(first), len(poses), names, session.own(first.parents), session.own(first.rest), session.own(poses))
    session.check(lib.sn_session_give_skeleton(session.handle, given))
    if first.joints is not None and mesh is not None:
        _check_bind(first, mesh)
        lib.sn_session_give_skin(session.handle, *first.joints.shape, session.own(first.joints), session.own(first.weights))
    return poses.shape[:2]


def give_values(session, values):
    """{name: a number for every frame}; those of the rest mesh are 0."""
    if not isinstance(values, dict):
        raise TypeError("values are a .csv where everything is a file, else {name: array}")
    rows = checked(np.stack([np.asarray(row, DOUBLE) for row in values.values()], -1), DOUBLE, (-1, len(values)), "values")
    names = (ctypes.c_char_p * len(values))(*map(text, values))  # the library copies them
    session.check(lib.sn_session_give_values(session.handle, len(values), names, len(rows), session.keep(rows),
                                             session.keep(np.zeros(len(values)))))


def pose_texts(pose):
    """{frame: mesh} as the command line has it; texts are left alone."""
    return [f"{frame}={os.fspath(mesh)}" for frame, mesh in pose.items()] if isinstance(pose, dict) else pose


def give_examples(session, rest, frames, skeleton=None, torques=None, controls=None, test_frames=None,
                  test_skeleton=None, clip=None, fps=0, object=None, match=None, still=False, scale=None, axes=None,
                  offset=None, values=None, pose=None):
    """Files go the way that they go from the command line; with anything in memory, everything does."""
    frames, skeletons = listed(frames), listed(skeleton)
    test_frames, test_skeletons = listed(test_frames), listed(test_skeleton)
    parts = listed(rest) + frames + skeletons + test_frames + test_skeletons
    if parts and all(is_path(part) for part in parts + [part for part in (torques, values) if part is not None]):
        if controls is not None and not is_path(controls):
            controls = ",".join(str(int(i)) for i in controls)
        session.set(rest=rest, frames=frames, skeleton=skeletons, test_frames=test_frames, test_skeleton=test_skeletons, clip=clip,
                    object=object, match=match, torque=torques, values=values, pose=pose_texts(pose), controls=controls,
                    scale=scale, axes=axes, offset=offset, fps=rate_text(fps))
        session.do(lib.sn_session_load_files, still)
        return
    if match is not None or pose is not None:
        raise Error("match and pose go with files; in memory, order the arrays and replace frames")
    if (scale, axes, offset) != (None, None, None) and not any(map(is_path, parts)):
        raise Error("scale, axes and offset go with files; in memory, change the arrays")
    if rest is None:
        raise Error("a rest mesh is needed")
    mesh = load_mesh(rest, object=object, scale=scale, axes=axes) if is_path(rest) else rest
    if not isinstance(mesh, Mesh):
        raise TypeError("the rest mesh is a file or a sinew.Mesh")
    mesh = give_mesh(session, mesh)
    all_frames = [load_frames(part, fps, clip, object, scale, axes, offset) if is_path(part) else part
                  for part in frames + test_frames]
    start = give_frames(session, all_frames, len(test_frames)) if all_frames else None
    all_skeletons = [load_skeleton(part, clip, fps, still, scale, axes, offset) if is_path(part) else part
                     for part in skeletons + test_skeletons]
    if start is not None and all_skeletons and (len(skeletons), len(test_skeletons)) != (len(frames), len(test_frames)):
        raise Error(f"{len(frames)} clips of frames and {len(skeletons)} skeletons, {len(test_frames)} and {len(test_skeletons)} "
                    "to test on: they pair up in order, so give as many of each")
    shape = give_skeleton(session, all_skeletons, None if still else start, mesh) if all_skeletons else (0, 0)
    if torques is not None:
        rows = checked(torques, DOUBLE, shape, "torques")
        lib.sn_session_give_torques(session.handle, len(rows), session.own(rows), session.keep(np.any(rows != 0, axis=0)))
    if values is not None:
        give_values(session, values)
    if controls is not None:
        automatic = isinstance(controls, str) and controls.startswith("auto:")
        needed = whole(int(controls[5:]), MOST, "controls", 1) if automatic else 0
        picked = checked([] if automatic else controls, INT, (-1,), "controls")
        session.check(lib.sn_session_give_controls(session.handle, len(picked), session.keep(picked), needed))
    session.do(lib.sn_session_load_given)
