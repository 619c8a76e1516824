# SPDX-License-Identifier: MIT
"""Frames go in and out without copies, and wrong arrays are refused with a message."""
import numpy as np
import pytest
from conftest import bending, grid

import sinew
from sinew._data import give_examples
from sinew._session import Session


def test_frames_are_not_copied_and_all_else_is():
    mesh = grid(12)
    frames, skeleton, _ = bending(mesh, 5)
    session = Session()
    give_examples(session, mesh, frames, skeleton)
    assert np.shares_memory(session.view("frames"), frames)
    for name, mine in (("positions", mesh.positions), ("triangles", mesh.triangles), ("poses", skeleton.poses)):
        assert np.array_equal(session.view(name), mine) and not np.shares_memory(session.view(name), mine), name


def test_a_rig_is_saved_as_it_was_found(tmp_path):
    """Whatever is done to the arrays that it was made from, or to those that it gave."""
    mesh = grid(12)
    frames, _, _ = bending(mesh, 6)
    frames = frames.copy()
    rig = sinew.rig(mesh, frames, bones=2)
    rig.save(tmp_path / "before.glb")
    mesh.positions[:], mesh.triangles[:], frames[:] = 5, 10**9, np.nan
    rig.skeleton.poses[:], rig.skeleton.joints[:], rig.skeleton.weights[:] = np.nan, 60000, np.nan
    rig.save(tmp_path / "after.glb")
    assert (tmp_path / "before.glb").read_bytes() == (tmp_path / "after.glb").read_bytes()


def test_loaded_arrays_are_the_files_memory(arm):
    frames = sinew.load(arm / "frames.pc2")
    assert frames.base is not None and frames.dtype == np.float32 and frames.flags.c_contiguous
    with pytest.raises(ValueError, match="read-only"):  # of a large file the memory is the file's
        frames += 1
    assert frames.copy().flags.writeable
    raw = (arm / "frames.pc2").read_bytes()
    assert np.array_equal(np.frombuffer(raw, np.float32, offset=32).reshape(frames.shape), frames)


def test_out_is_written_in_place_and_strides_are_kept(arm):
    model = sinew.train("lbs", arm / "rest.obj", arm / "frames.pc2", arm / "skeleton.glb")
    joints = model.joints(sinew.load(arm / "skeleton.glb"))
    expected = model(joints[3])
    positions, normals = np.zeros((2, len(model), 3), np.float32)
    returned = model(joints[3], out=(positions, normals))
    assert returned[0] is positions and returned[1] is normals
    assert np.array_equal(positions, expected[0]) and np.array_equal(normals, expected[1])
    buffer = np.full((len(model), 8), 7, np.float32)  # a vertex buffer: position, normal, two numbers of somebody else
    model(joints[3], out=(buffer[:, 0:3], buffer[:, 3:6]))
    assert np.array_equal(buffer[:, 0:3], expected[0]) and np.array_equal(buffer[:, 3:6], expected[1])
    assert (buffer[:, 6:] == 7).all()
    alone = np.zeros((len(model), 3), np.float32)
    # without normals the last bits may be others (docs/reference/c.md)
    assert model(joints[3], out=alone) is alone and np.allclose(alone, expected[0], rtol=0, atol=1e-6)


@pytest.fixture(scope="module")
def textured(arm, tmp_path_factory):
    """A model with tangents, from a rest mesh whose texture coordinates are x and y."""
    mesh = sinew.load(arm / "rest.obj")
    path = tmp_path_factory.mktemp("textured") / "rest.obj"
    lines = [f"v {x} {y} {z}\nvt {x} {y}" for x, y, z in mesh.positions.tolist()]
    lines += ["f " + " ".join(f"{i + 1}/{i + 1}" for i in t) for t in mesh.triangles.tolist()]
    path.write_text("\n".join(lines) + "\n")
    return sinew.train("lbs", path, arm / "frames.pc2", arm / "skeleton.glb", tangents=1)


def test_tangents(textured, arm):
    model = textured
    joints = model.joints(sinew.load(arm / "skeleton.glb"))
    assert model.info["tangents"] is True
    positions, normals, tangents = model(joints[3], tangents=True)
    assert tangents.shape == (len(model), 4) and tangents.dtype == np.float32
    assert np.allclose((tangents[:, :3] ** 2).sum(1), 1, atol=1e-4) and (abs(tangents[:, 3]) == 1).all()
    assert abs((tangents[:, :3] * normals).sum(1)).max() < 1e-4
    plain = model(joints[3])
    assert len(plain) == 2 and np.array_equal(plain[0], positions) and np.array_equal(plain[1], normals)
    buffer = np.full((len(model), 11), 7, np.float32)
    model(joints[3], out=(buffer[:, 0:3], buffer[:, 3:6], buffer[:, 6:10]))
    assert np.array_equal(buffer[:, 6:10], tangents) and (buffer[:, 10] == 7).all()
    every = model(joints[:4], tangents=True)
    assert every[2].shape == (4, len(model), 4) and np.array_equal(every[2][3], tangents)


def test_tangents_that_are_not_there(textured, arm):
    joints = textured.joints(sinew.load(arm / "skeleton.glb"))
    with pytest.raises(ValueError, match="out: tangents: .* x 4"):
        textured(joints[0], out=tuple(np.zeros((3, len(textured), 3), np.float32)))
    plain = sinew.train("lbs", arm / "rest.obj", arm / "frames.pc2", arm / "skeleton.glb")
    assert plain.info["tangents"] is False
    with pytest.raises(sinew.Error, match="no tangents"):
        plain(joints[0], tangents=True)
    plain(joints[0])


def test_wrong_out_is_refused(arm):
    model = sinew.train("lbs", arm / "rest.obj", arm / "frames.pc2", arm / "skeleton.glb")
    joints = model.joints(sinew.load(arm / "skeleton.glb"))[0]
    n = len(model)
    for wrong in (np.zeros((n, 3)), np.zeros((n - 1, 3), np.float32), np.zeros((3, n), np.float32).T):
        with pytest.raises(ValueError, match="out"):
            model(joints, out=wrong)
    frozen = np.zeros((n, 3), np.float32)
    frozen.flags.writeable = False
    with pytest.raises(ValueError, match="out"):
        model(joints, out=frozen)


def test_wrong_arrays_are_named():
    mesh = grid(8)
    frames, skeleton, _ = bending(mesh, 4)
    with pytest.raises(ValueError, match="triangles"):
        sinew.Mesh(mesh.positions, [[0, 1]])
    with pytest.raises(sinew.Error, match="vertices"):
        sinew.train("lbs", mesh, frames[:, :-1], skeleton)
    with pytest.raises(sinew.Error, match="poses"):
        sinew.train("lbs", mesh, frames, sinew.Skeleton(skeleton.names, skeleton.parents, skeleton.rest, skeleton.poses[:2]))
    bad = np.array(frames)
    bad[2, 5, 1] = np.nan
    with pytest.raises(sinew.Error, match="frame 2.*vertex 5"):
        sinew.train("lbs", mesh, bad, skeleton)
    with pytest.raises(sinew.Error, match="triangle"):
        sinew.rig(sinew.Mesh(mesh.positions, mesh.triangles + 1000), frames)
    with pytest.raises(sinew.Error):
        sinew.train("lbs", mesh, frames, sinew.Skeleton(["a", "b"], [1, 0], skeleton.rest, skeleton.poses))


def test_strided_and_double_arrays_are_converted():
    mesh = grid(8)
    frames, skeleton, _ = bending(mesh, 8)
    plain = sinew.train("lbs", mesh, np.ascontiguousarray(frames[::2]), sinew.Skeleton(
        skeleton.names, skeleton.parents, skeleton.rest, skeleton.poses[::2]))
    doubles = sinew.train("lbs", mesh, frames.astype(np.float64)[::2], sinew.Skeleton(
        skeleton.names, skeleton.parents, skeleton.rest, skeleton.poses[::2]))
    assert bytes(plain) == bytes(doubles)


def test_the_same_arrays_again_and_others(arm):
    """Calls remember the arrays that they were given: new numbers in them count, other arrays too."""
    model = sinew.train("lbs", arm / "rest.obj", arm / "frames.pc2", arm / "skeleton.glb")
    joints = model.joints(sinew.load(arm / "skeleton.glb"))
    expected = [model(pose)[0] for pose in joints]
    pose, out = joints[0].copy(), (np.empty((len(model), 3), np.float32), np.empty((len(model), 3), np.float32))
    for f in (3, 9, 20):
        pose[...] = joints[f]
        assert model(pose, out=out) is out and np.array_equal(out[0], expected[f])
    model(joints[5], out=out)
    assert np.array_equal(out[0], expected[5])
    model(joints[6].astype(np.float64), out=out)  # converted: its copy is gone by the next call
    model(pose, out=out)
    assert np.array_equal(out[0], expected[20])
    other = np.empty((len(model), 3), np.float32)
    model(pose, out=other)
    assert np.allclose(other, expected[20], rtol=0, atol=1e-6)
    pair = [np.empty((len(model), 3), np.float32), out[1]]
    model(pose, out=pair)
    pair[0] = np.empty((len(model), 3), np.float32)
    model(pose, out=pair)
    assert np.array_equal(pair[0], expected[20])
    with pytest.raises(ValueError, match="joints"):
        model(out=out)
