# SPDX-License-Identifier: MIT
"""Whatever enters C, in whatever form: the same numbers give the same result, anything else is refused, nothing crashes."""
import copy
import ctypes
import pickle
import threading

import numpy as np
import pytest
from conftest import bending, grid
from test_solve import model_controls

import sinew
from sinew._library import lib
from sinew._session import Session

REFUSED = (ValueError, TypeError, sinew.Error)
FRAMES = 6


# ---- forms of arrays: each has the same numbers -----------------------------------------------------------------------------


def wider(a):
    return a.astype(np.longdouble if a.dtype.kind == "f" else np.int64)


def as_floats(a):
    return a.astype(np.float64)


def swapped(a):
    return a.astype(a.dtype.newbyteorder())


def fortran(a):
    return np.asfortranarray(a)


def strided(a):
    """Every second row of an array with other numbers between."""
    out = np.full((2 * len(a), *a.shape[1:]), 7, a.dtype)
    out[::2] = a
    return out[::2]


def reversed_twice(a):
    return a[::-1].copy()[::-1]


def part_of_wider(a):
    out = np.full((*a.shape[:-1], a.shape[-1] + 3), 9, a.dtype)
    out[..., 1 : 1 + a.shape[-1]] = a
    return out[..., 1 : 1 + a.shape[-1]]


def misaligned(a):
    out = np.empty(a.nbytes + 1, np.uint8)[1:].view(a.dtype).reshape(a.shape)
    out[...] = a
    return out


def read_only(a):
    a = a.view()
    a.flags.writeable = False
    return a


class Other(np.ndarray):
    pass


def subclass(a):
    return a.view(Other)


def nested_lists(a):
    return a.tolist()


FORMS = (wider, as_floats, swapped, fortran, strided, reversed_twice, part_of_wider, misaligned, read_only, subclass)


def forms_of(a, seed):
    """Every form, and some of them on top of each other."""
    rng = np.random.default_rng(seed)
    yield from ((form.__name__, form(a)) for form in (*FORMS, nested_lists))
    for _ in range(8):
        chosen = rng.choice(len(FORMS), 3)
        out = a
        for k in chosen:
            out = FORMS[k](out)
        yield " of ".join(FORMS[k].__name__ for k in chosen[::-1]), out


def wrong_of(a):
    """What must not pass: other shapes, no numbers, numbers that the type cannot hold."""
    yield from (("text", a.astype(str)), ("complex", a + 1j), ("object", a.astype(object)), ("nothing", np.full(a.shape, None)))
    yield from (("an axis more", a[None, None, None]), ("an axis less", a[0, ..., 0] if a.ndim > 1 else a[0]))
    yield from (("a number", 5), ("empty", np.zeros((0,) * (a.ndim + 1))), ("a dict", {}), ("ragged", [[1], [1, 2], 3]))
    yield "structured", np.zeros(a.shape, "f4,f4")
    if a.ndim > 1:
        yield from (("a column more", np.concatenate([a, a[..., :1]], -1)), ("a column less", a[..., :-1]))
    too_large = a.astype(np.float64 if a.dtype.kind == "f" else np.int64)
    too_large.flat[-1] = 1e300 if a.dtype == np.float32 else np.nan if a.dtype.kind == "f" else 2**32
    yield "too large", too_large
    if a.dtype.kind in "iu":
        for value in (0.5, np.nan, np.inf, -(2.0**40)):
            halves = a.astype(np.float64)
            halves.flat[0] = value
            yield f"not whole: {value}", halves


# ---- where arrays enter --------------------------------------------------------------------------------------------------


class Examples:
    def __init__(self):
        self.mesh = grid(5)
        self.frames, plain, weight = bending(self.mesh, FRAMES)
        count = len(self.mesh.positions)
        self.skeleton = sinew.Skeleton(plain.names, plain.parents, plain.rest, plain.poses, np.tile([0, 1], (count, 1)),
                                       np.stack([1 - weight, weight], 1))
        self.torques = np.linspace(-1, 1, 2 * FRAMES).reshape(FRAMES, 2)
        self.mesh.normals = np.tile(np.float32([0, 0, 1]), (count, 1))
        self.mesh.split = True

    def train(self, spec="lbs:weights=given", **options):
        return bytes(sinew.train(spec, self.mesh, np.asarray(self.frames), self.skeleton, **options))


def assigned(part, name):
    """An attribute that is assigned after the object was made, then trained with."""

    def run(value):
        e = Examples()
        setattr(getattr(e, part), name, value)
        return e.train()

    return getattr(getattr(Examples(), part), name), run


def given_frames(value):
    e = Examples()
    e.frames = value
    return bytes(sinew.train("lbs", e.mesh, value, e.skeleton))


def constructed(value):
    e = Examples()
    e.mesh = sinew.Mesh(e.mesh.positions, value)
    return e.train()


def with_test_frames(value):
    e = Examples()
    return sinew.train("lbs", e.mesh, e.frames, e.skeleton, test_frames=value, test_skeleton=e.skeleton).report["test"]["rms"]


ENTRIES = {
    **{f"mesh.{name}": assigned("mesh", name) for name in ("positions", "triangles", "normals")},
    **{f"skeleton.{name}": assigned("skeleton", name) for name in ("parents", "rest", "poses", "joints", "weights")},
    "triangles": (Examples().mesh.triangles, constructed),
    "frames": (np.asarray(Examples().frames), given_frames),
    "test_frames": (np.asarray(Examples().frames), with_test_frames),
    "torques": (Examples().torques, lambda value: Examples().train("torque:bones=2", torques=value)),
    "controls": (np.int32([0, 4, 20, 24]), lambda value: Examples().train("affine:bones=2", controls=value)),
}


@pytest.fixture(scope="module")
def evaluations():
    e = Examples()
    e.mesh.split = False
    lbs = sinew.train("lbs", e.mesh, e.frames, e.skeleton)
    dqs = sinew.train("dqs", e.mesh, e.frames, e.skeleton)
    torque = sinew.train("torque:bones=2", e.mesh, e.frames, e.skeleton, torques=e.torques)
    affine = sinew.train("affine:bones=2", e.mesh, e.frames, controls=[0, 4, 20, 24])
    joints = lbs.joints(e.skeleton)

    def timed(value):
        assert 0 < lbs.time(value, repeats=2) < 10

    return {
        "joints": (joints[3], lambda value: lbs(value)[0].tobytes()),
        "joints of frames": (joints, lambda value: lbs(value)[0].tobytes()),
        "joints in rows of 12": (joints.reshape(FRAMES, 2, 12), lambda value: lbs(value)[1].tobytes()),
        "joints into out": (joints[3], lambda value: lbs(value, out=tuple(np.empty((2, 25, 3), np.float32)))[0].tobytes()),
        "palette": (joints[2], lambda value: lbs.palette(value).tobytes()),
        "time": (joints[2], timed),
        "torques of a call": (np.float32(e.torques[2]), lambda value: torque(joints[2], torques=value)[0].tobytes()),
        "controls of a call": (model_controls(affine, e.frames[3]), lambda value: affine(controls=value)[0].tobytes()),
        "controls into out": (model_controls(affine, e.frames[3]),
                              lambda value: affine(controls=value, out=tuple(np.empty((2, 25, 3), np.float32)))[0].tobytes()),
        "model": (np.array(lbs.bytes), lambda value: sinew.Model(value)(joints[3])[0].tobytes()),
        "models": (lbs, dqs, joints),
    }


CALLS = ("joints", "joints of frames", "joints in rows of 12", "joints into out", "palette", "time", "torques of a call",
         "controls of a call", "controls into out", "model")


def expect_same(array, run, seed, no_lists):
    expected, before = run(array), array.copy()
    for name, form in forms_of(array, seed):
        if isinstance(form, list) and no_lists:
            continue
        kept = copy.deepcopy(form)
        assert run(form) == expected, name
        assert np.array_equal(form, kept), f"{name} was written to"
    assert np.array_equal(array, before)


def expect_refused(array, run):
    for name, wrong in wrong_of(array):
        with pytest.raises(REFUSED):
            run(wrong)
            pytest.fail(f"{name} was accepted")


@pytest.mark.parametrize("entry", ENTRIES)
def test_examples_in_any_form(entry):
    expect_same(*ENTRIES[entry], len(entry), no_lists="frames" in entry)  # a list of frames is one of clips


@pytest.mark.parametrize("entry", ENTRIES)
def test_wrong_examples(entry):
    expect_refused(*ENTRIES[entry])


@pytest.mark.parametrize("entry", CALLS)
def test_calls_in_any_form(evaluations, entry):
    expect_same(*evaluations[entry], len(entry), no_lists=entry == "model")


@pytest.mark.parametrize("entry", CALLS)
def test_wrong_calls(evaluations, entry):
    expect_refused(*evaluations[entry])


# ---- memory that C writes ------------------------------------------------------------------------------------------------


def guarded(shape, dtype=np.float32, rows_apart=0):
    """An array in the middle of a larger one, and that larger one; a vertex buffer where rows are apart."""
    whole = np.full((shape[0] + 20, shape[1] + rows_apart), 7, dtype)
    return whole[10:-10, : shape[1]], whole


def unwritable(shape):
    a = guarded(shape)[0]
    yield from ((form.__name__, form(a)) for form in FORMS if form not in (strided, part_of_wider, subclass))
    yield from (("a list", a.tolist()), ("nothing", None), ("short", a[:-1]), ("long", guarded((shape[0] + 1, shape[1]))[0]))
    yield from (("narrow", a[:, :-1]), ("flat", a.copy().ravel()), ("frames", a[None]), ("int32", a.astype(np.int32)))
    yield "overlapping", np.lib.stride_tricks.as_strided(a, shape, (4, 4), writeable=True)
    yield "transposed", np.full(shape[::-1], 7, np.float32).T


def test_out_is_checked(evaluations):
    lbs, _, joints = evaluations["models"]
    positions, normals = lbs(joints[3])
    for rows_apart in (0, 5):
        (p, whole_p), (n, whole_n) = (guarded(positions.shape, rows_apart=rows_apart) for _ in range(2))
        for form in (lambda a: a, subclass):
            lbs(joints[3], out=(form(p), form(n)))
            assert np.array_equal(p, positions) and np.array_equal(n, normals)
        p[:], n[:] = 7, 7
        assert (whole_p == 7).all() and (whole_n == 7).all()
    good = guarded(positions.shape)[0]
    for name, wrong in unwritable(positions.shape):
        before = copy.deepcopy(wrong)
        for out in ((wrong, good), (good, wrong), [wrong, good], wrong) if wrong is not None else ((None, good), (good, None)):
            with pytest.raises(REFUSED):
                lbs(joints[3], out=out)
                pytest.fail(f"{name} was accepted")
        assert before is None or np.array_equal(before, wrong), f"{name} was written to"
    for out in ((), [], (good, good, good, good)):
        with pytest.raises(ValueError, match="out"):
            lbs(joints[3], out=out)


def test_arrays_that_change_between_calls(evaluations):
    """Calls remember addresses, and look at the arrays again all the same."""
    lbs, _, joints = evaluations["models"]
    pose, expected = joints[3].copy(), lbs(joints[3])

    def freeze(a):
        a.flags.writeable = False

    def flatten(a):
        a.shape = (-1,)

    def retype(a):
        a.dtype = np.int32

    for change in (freeze, flatten, retype):
        for which in (0, 1):
            out = np.zeros((25, 3), np.float32), np.zeros((25, 3), np.float32)
            for _ in range(3):
                lbs(pose, out=out)
            assert np.array_equal(out[0], expected[0])
            change(out[which])
            out_before = out[which].copy()
            for _ in range(2):
                with pytest.raises(ValueError, match="out"):
                    lbs(pose, out=out)
            assert np.array_equal(out[which], out_before)
    out = np.zeros((25, 3), np.float32), np.zeros((25, 3), np.float32)
    for _ in range(3):
        lbs(pose, out=out)
    flatten(pose)
    with pytest.raises(ValueError, match="joints"):
        lbs(pose, out=out)


def test_out_of_frames(evaluations):
    lbs, _, joints = evaluations["models"]
    expected = lbs(joints)
    interleaved = np.zeros((25, FRAMES, 6), np.float32)  # all frames of a vertex in a row
    views = tuple(interleaved[..., k : k + 3].transpose(1, 0, 2) for k in (0, 3))
    lbs(joints, out=views)
    assert np.array_equal(views[0], expected[0]) and np.array_equal(views[1], expected[1])
    one = np.zeros((25, 3), np.float32)
    assert np.allclose(lbs(joints[4:5], out=one[None])[0], expected[0][4], atol=1e-6)
    assert lbs(joints[:0])[0].shape == (0, 25, 3)
    for count in (FRAMES - 1, FRAMES + 1):
        with pytest.raises(ValueError, match="out: positions"):
            lbs(joints, out=np.zeros((count, 25, 3), np.float32))


def test_state_is_checked(evaluations):
    _, dqs, joints = evaluations["models"]
    size = len(dqs.new_state())
    whole = np.full(size + 40, 7, np.int32)
    whole[20:-20] = 0
    for run in (dqs, dqs.palette):
        run(joints[2], state=whole[20:-20])
        assert (whole[:20] == 7).all() and (whole[-20:] == 7).all() and whole[20:-20].any()
        good = dqs.new_state()
        for wrong in (good[:-1], good[:0], np.zeros(size + 1, np.int32), good.astype(np.float32), good.astype(np.int64),
                      strided(good), good[::-1], read_only(good), misaligned(good), swapped(good), good[None], list(good), b"state", 5):
            with pytest.raises(REFUSED, match="state"):
                run(joints[2], state=wrong)
        assert not good.any()


def test_memory_does_not_depend_on_info(evaluations):
    lbs, _, joints = evaluations["models"]
    model = sinew.Model(bytes(lbs))
    expected = model.weights(), model.palette(joints[1])
    for name in ("vertices", "influences", "palette", "controls", "torques"):
        model.info[name] = 0
    assert np.array_equal(model.weights()[1], expected[0][1]) and np.array_equal(model.palette(joints[1]), expected[1])
    assert len(model) == 25 and model(joints[1])[0].shape == (25, 3)


def test_a_model_owns_its_bytes(evaluations):
    lbs, _, joints = evaluations["models"]
    for source in (np.array(lbs.bytes), bytearray(bytes(lbs))):
        model = sinew.Model(source)
        source[:] = bytes(len(source)) if isinstance(source, bytearray) else 255
        assert np.array_equal(model(joints[1])[0], lbs(joints[1])[0]) and bytes(model) == bytes(lbs)


# ---- everything else -------------------------------------------------------------------------------------------------------


def test_names_that_were_assigned():
    for names in (["a"], ["a", "b", "c"], ["a", "b\0c"], "ab\0", None, 5):
        e = Examples()
        e.skeleton.names = names
        with pytest.raises(REFUSED):
            e.train()


def test_numbers_and_texts():
    e = Examples()
    for options in ({"threads": -1}, {"threads": 2**32 + 1}, {"seed": -1}, {"seed": 2**64}, {"seed": 1.5}, {"threads": "two"},
                    {"keys": "all\0,1"}, {"fps": -1}, {"fps": float("nan")}, {"fps": "24"}, {"controls": "auto:0"},
                    {"controls": "auto:5000000000"}, {"controls": "auto:x"}):
        with pytest.raises(REFUSED):
            if "fps" in options:
                sinew.load_frames("x.pc2", **options)
            sinew.train("lbs", e.mesh, e.frames, e.skeleton, **options)
    for count in (-1, 2**32 + 3, 2.5):
        with pytest.raises(REFUSED):
            sinew.keys("all", count)
    with pytest.raises(ValueError, match="zero character"):
        sinew.load("frames.pc2\0.obj")
    with pytest.raises(REFUSED, match="pair up"):
        sinew.train("lbs", e.mesh, e.frames, None, test_skeleton=e.skeleton)
    with pytest.raises(ValueError, match="at most"):
        sinew.Frames(np.zeros((2**31, 0, 3), np.float32))


def test_joints_of_the_same_name():
    e = Examples()
    e.skeleton.names = ["j", "j"]
    model = sinew.train("lbs", e.mesh, e.frames, e.skeleton)
    assert np.array_equal(model.joints(e.skeleton), e.skeleton.poses.astype(np.float32))
    more = sinew.Skeleton(["j", "j", "k"], [-1, 0, 0], np.zeros((3, 3, 4)))
    with pytest.raises(sinew.Error, match="several joints called 'j'"):
        model.joints(more)


def test_a_rig_without_size():
    with pytest.raises(sinew.Error, match="at one place"):
        sinew.rig(sinew.Mesh(np.zeros((3, 3)), [[0, 1, 2]]), np.zeros((3, 3, 3)), bones=2)


def test_frames_are_written_with_faces_that_fit(tmp_path):
    e = Examples()
    for mesh in (sinew.Mesh(e.mesh.positions, e.mesh.triangles + 1), sinew.Mesh(e.mesh.positions[:4], [[0, 1, 2]])):
        for name in ("a.abc", "objs/"):
            with pytest.raises(sinew.Error, match="vert"):
                e.frames.save(str(tmp_path / name), mesh)
    assert not list(tmp_path.iterdir())


def test_arguments_that_ctypes_refuses_are_raised():
    with pytest.raises(ctypes.ArgumentError):
        Session().do(lib.sn_session_train, 5, True)


def test_copies_and_pickles(evaluations):
    lbs, _, joints = evaluations["models"]
    expected = lbs(joints[1])[0]
    for again in (copy.copy, copy.deepcopy, lambda m: pickle.loads(pickle.dumps(m))):
        model = again(lbs)
        assert np.array_equal(model(joints[1])[0], expected) and model.report == lbs.report and model.names == lbs.names
        del model
        frames = again(Examples().frames)
        assert type(frames) is sinew.Frames and frames.rate == 24
        assert again(Examples().skeleton).names == ["root", "tip"]
        assert np.array_equal(again(Examples().mesh).triangles, grid(5).triangles)
    assert np.array_equal(lbs(joints[1])[0], expected)
    rig = sinew.rig(Examples().mesh, Examples().frames, bones=2)
    for again in (copy.deepcopy, pickle.dumps):
        with pytest.raises(TypeError, match="pickle"):
            again(rig)
    again = pickle.loads(pickle.dumps((rig.skeleton, rig.model, rig.report)))
    assert np.array_equal(again[0].poses, rig.skeleton.poses)


def test_a_rig_is_saved_after_its_callback_says_no_more(tmp_path):
    go_on = [True]
    rig = sinew.rig(Examples().mesh, Examples().frames, bones=2, progress=lambda task, done: go_on[0])
    go_on[0] = False
    rig.save(tmp_path / "rig.glb")
    expected, found = (tmp_path / "rig.glb").read_bytes(), []

    def save(k):
        for _ in range(5):
            rig.save(tmp_path / f"{k}.glb")
            found.append((tmp_path / f"{k}.glb").read_bytes())

    threads = [threading.Thread(target=save, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 20 and all(part == expected for part in found)
