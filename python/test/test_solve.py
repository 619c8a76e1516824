# SPDX-License-Identifier: MIT
"""Rigs, models and reports are those of the command line."""
import json
import subprocess

import numpy as np
import pytest
from conftest import bending, grid

import sinew


def files(folder):
    return folder / "rest.obj", folder / "frames.pc2", folder / "skeleton.glb"


def train_by_tool(tool, folder, spec, keys, out):
    rest, frames, skeleton = files(folder)
    subprocess.run([tool, "train", "--method", spec, "--rest", rest, "--frames", frames, "--skeleton", skeleton, "--keys", keys,
                    "-o", out, "--json", f"{out}.json", "--quiet"], check=True)
    return out.read_bytes(), json.loads((out.parent / f"{out.name}.json").read_text())


@pytest.mark.parametrize("spec,keys", [("lbs", "all"), ("dqs", "every:3"), ("psd", "every:4"), ("rotreg:bones=6", "every:2"),
                                       ("eigenskin", "auto:8")])
def test_bytes_are_the_command_lines(tool, arm, tmp_path, spec, keys):
    expected, told = train_by_tool(tool, arm, spec, keys, tmp_path / "m.sinew")
    from_files = sinew.train(spec, *files(arm), keys=keys)
    assert bytes(from_files) == expected
    rest, frames, skeleton = (sinew.load(path) for path in files(arm))
    from_arrays = sinew.train(spec, rest, frames, skeleton, keys=keys)
    assert bytes(from_arrays) == expected
    for which in ("train", "test", "all"):
        if told["result"][which] is None:
            assert from_files.report[which] is None
            continue
        for figure, value in told["result"][which].items():
            assert from_files.report[which][figure] == pytest.approx(value, rel=1e-6), figure
    from_files.save(tmp_path / "again.sinew")
    assert (tmp_path / "again.sinew").read_bytes() == expected
    assert bytes(sinew.load(tmp_path / "again.sinew")) == expected


def test_a_glb_with_seams_gives_the_command_lines_bytes(tool, arm, tmp_path):
    """A mesh that is split at its seams: from files, and through load()."""
    glb = arm / "skeleton.glb"
    out = tmp_path / "m.sinew"
    subprocess.run([tool, "train", "--method", "lbs", "--rest", glb, "--frames", glb, "--skeleton", glb, "-o", out, "--quiet"],
                   check=True)
    assert bytes(sinew.train("lbs", glb, glb, glb)) == out.read_bytes()
    mesh = sinew.load_mesh(glb)
    assert mesh.split
    model = sinew.train("lbs", mesh, sinew.load_frames(glb), sinew.load_skeleton(glb))
    assert bytes(model) == out.read_bytes()


def test_files_that_disagree(tool, arm, tmp_path):
    """Frames in centimetres with z up and without the first of them: adjusted as the command line does it, or one by one."""
    rest, frames, skeleton = files(arm)
    other = sinew.load_frames(frames)[1:] * np.float32(100)
    sinew.Frames(other[..., [0, 2, 1]] * np.float32([1, -1, 1]), 30).save(tmp_path / "frames.pc2")
    frames, out, step = tmp_path / "frames.pc2", tmp_path / "m.sinew", 1 / 30
    adjust = {"scale": "frames=0.01", "axes": ["frames=z-up"], "offset": f"skeleton={step}"}
    subprocess.run([tool, "train", "--method", "lbs", "--rest", rest, "--frames", frames, "--skeleton", skeleton, "--scale",
                    "frames=0.01", "--axes", "frames=z-up", "--offset", f"skeleton={step}", "-o", out, "--quiet"], check=True)
    model = sinew.train("lbs", rest, frames, skeleton, **adjust)
    assert bytes(model) == out.read_bytes()
    assert bytes(sinew.train("lbs", sinew.load_mesh(rest), frames, skeleton, **adjust)) == out.read_bytes()
    loaded = sinew.load_frames(frames, scale=0.01, axes="z-up")
    late = sinew.load_skeleton(skeleton, offset=step)
    assert bytes(sinew.train("lbs", sinew.load_mesh(rest), loaded, late)) == out.read_bytes()
    rms = model.report["all"]["rms_pct_diag"]
    assert sinew.compare("lbs", rest, frames, skeleton, **adjust)["methods"][0]["all"]["rms_pct_diag"] == pytest.approx(rms)
    errors = sinew.vertex_errors(model, rest, frames, skeleton, **adjust)
    assert 100 * np.sqrt((errors**2).mean()) / model.mesh.diagonal == pytest.approx(rms, rel=1e-4)
    assert sinew.rig(rest, frames, 2, keys="every:4", scale="frames=0.01", axes="frames=z-up").report["rms_pct_diag"] < 5
    with pytest.raises(sinew.Error, match="scale. frames=0.01"):
        sinew.train("lbs", rest, frames, skeleton)
    for wrong in ({"scale": -1}, {"axes": "xxy"}, {"offset": "rest=1"}, {"scale": "mesh=2"}):
        with pytest.raises(sinew.Error, match=next(iter(wrong))):
            sinew.train("lbs", rest, frames, skeleton, **wrong)
    with pytest.raises(sinew.Error, match="go with files"):
        sinew.train("lbs", sinew.load_mesh(rest), loaded, late, scale=2)


def test_a_document_in_other_axes(arm):
    glb = arm / "skeleton.glb"
    first = np.array([[0, 0, -1], [1, 0, 0], [0, 1, 0]])
    for turn, axes in ((first, "-zxy"), (first * [[-1], [1], [1]], "zxy")):
        for mesh, plain in ((sinew.load_mesh(glb, scale=2, axes=axes), sinew.load_mesh(glb)),
                            (sinew.load_skeleton(glb, scale=2, axes=axes).mesh, sinew.load_skeleton(glb).mesh)):
            np.testing.assert_allclose(mesh.positions, 2 * plain.positions @ turn.T, atol=1e-6)
            assert (mesh.triangles == plain.triangles).all() == (np.linalg.det(turn) > 0)
            if plain.normals is not None:
                np.testing.assert_allclose(mesh.normals, plain.normals @ turn.T, atol=1e-6)
        skeleton, plain = sinew.load_skeleton(glb, scale=2, axes=axes), sinew.load_skeleton(glb)
        np.testing.assert_allclose(skeleton.moved(), 2 * plain.moved() @ turn.T, atol=1e-9)


def test_options_as_arguments(arm):
    assert bytes(sinew.train("lbs", *files(arm), influences=2)) == bytes(sinew.train("lbs:influences=2", *files(arm)))
    assert sinew.train("lbs:influences=2", *files(arm), smooth=0).report["options"]["influences"] == 2
    assert sinew.methods()["lbs"]["options"]["influences"]["default"] == 4


def test_rig_learns_a_bend_and_writes_it(tmp_path):
    mesh = grid(16)
    frames, _, weight = bending(mesh, 12)
    rig = sinew.rig(mesh, frames, bones=2, influences=2)
    assert rig.report["bones"] == 2 and rig.report["rms_pct_diag"] < 0.2
    assert rig.skeleton.poses.shape == (12, 2, 3, 4)
    model_frames, _ = rig.model(rig.model.joints(rig.skeleton))
    assert np.sqrt(((model_frames - frames) ** 2).sum(-1).mean()) / mesh.diagonal < 0.002
    of_tip = np.zeros(len(mesh.positions))
    tip = rig.skeleton.joints[np.argmax(mesh.positions[:, 0]), 0]
    for k in range(2):
        of_tip += np.where(rig.skeleton.joints[:, k] == tip, rig.skeleton.weights[:, k], 0)
    assert np.abs(of_tip - weight).max() < 0.25
    rig.save(tmp_path / "rig.glb")
    back = sinew.load(tmp_path / "rig.glb", fps=24)
    assert len(back) == 2 and len(back.poses) == 12
    assert np.abs(back.poses - rig.skeleton.poses).max() < 1e-5


def test_rig_is_the_command_lines(tool, arm, tmp_path):
    out = tmp_path / "rig.glb"
    subprocess.run([tool, "rig", "--rest", arm / "rest.obj", "--frames", arm / "frames.pc2", "--bones", "3", "-o", out, "--json",
                    tmp_path / "rig.json", "--quiet"], check=True)
    told = json.loads((tmp_path / "rig.json").read_text())["result"]
    rig = sinew.rig(sinew.load(arm / "rest.obj"), sinew.load(arm / "frames.pc2"), bones=3)
    assert rig.report["bones"] == told["bones"] and rig.report["iterations"] == told["iterations"]
    assert rig.report["rms"] == pytest.approx(told["rms"], rel=1e-3)
    assert rig.report["frame_rms"] == pytest.approx(told["frame_rms"], rel=1e-6, abs=1e-7)  # the file is rounded
    assert np.allclose(sinew.load(out).poses, rig.skeleton.poses, atol=1e-5)


def test_given_skeletons(arm):
    rest, frames, skeleton = (sinew.load(path) for path in files(arm))
    solved = sinew.rig(rest, frames, skeleton=skeleton, solve="weights")
    assert solved.skeleton.names == skeleton.names
    motion = sinew.rig(rest, frames, skeleton=skeleton, solve="motion")
    assert motion.report["rms_pct_diag"] <= solved.report["rms_pct_diag"] + 1


def test_several_clips_and_test_clips():
    mesh = grid(10)
    frames, skeleton, _ = bending(mesh, 12)

    def part(a, b):
        return sinew.Skeleton(skeleton.names, skeleton.parents, skeleton.rest, skeleton.poses[a:b])

    whole = sinew.train("lbs", mesh, frames, skeleton)
    parts = sinew.train("lbs", mesh, [frames[:5], frames[5:]], [part(0, 5), part(5, 12)])
    assert bytes(whole) == bytes(parts)
    tested = sinew.train("lbs", mesh, frames[:8], part(0, 8), test_frames=frames[8:], test_skeleton=part(8, 12))
    assert tested.report["test"]["frames"] == 4 and tested.report["train"]["frames"] == 8


def test_compare(arm):
    report = sinew.compare(["rigid", "lbs"], *files(arm), keys="every:2")
    rigid, lbs = report["methods"]
    assert [rigid["spec"], lbs["spec"]] == ["rigid", "lbs"]
    assert lbs["test"]["ee"] < rigid["test"]["ee"]
    assert lbs["ratio_lbs"] is not None and lbs["us_per_frame"] > 0
    assert report["input"]["frames"] == 24
    one = sinew.compare("lbs", *files(arm), keys="0-5", loocv=True)["methods"][0]
    assert one["test"]["frames"] == 6


def test_torque_and_affine_models(arm):
    rest, frames, skeleton = (sinew.load(path) for path in files(arm))
    model = sinew.train("affine", rest, frames, controls="auto:8", bones=4)
    assert model.info["controls"] == 8 and not model.names
    assert bytes(model) == bytes(sinew.train("affine:bones=4", arm / "rest.obj", arm / "frames.pc2", controls="auto:8"))
    points = np.frombuffer(bytes(model), np.uint8)  # positions of the control vertices drive it
    assert len(points)
    moved, _ = model(controls=model_controls(model, frames[5]))
    assert np.sqrt(((moved - frames[5]) ** 2).sum(1).mean()) < 0.05 * rest.diagonal
    with pytest.raises(ValueError, match="controls"):
        model(np.zeros((1, 3, 4)))
    torques = np.zeros((24, len(skeleton)))
    torques[:, -1] = np.linspace(-1, 1, 24)
    model = sinew.train("torque:bones=4", rest, frames, skeleton, torques=torques)
    assert model.info["torques"] == len(skeleton)
    joints = model.joints(skeleton)
    positions, _ = model(joints, torques=torques)
    assert positions.shape == frames.shape and np.isfinite(positions).all()
    with pytest.raises(ValueError, match="torques"):
        model(joints[0])


def model_controls(model, positions):
    """The control vertices that a model has chosen, in a frame."""
    import ctypes

    from sinew._library import lib

    lib.sn_rt_find_section.restype = ctypes.c_void_p
    size = ctypes.c_uint64()
    address = lib.sn_rt_find_section(ctypes.c_void_p(model._handle), b"control.points", ctypes.byref(size))
    points = np.ctypeslib.as_array(ctypes.cast(address, ctypes.POINTER(ctypes.c_uint32)), (size.value // 4,))
    return np.ascontiguousarray(positions[points])


def test_vertex_errors(arm):
    rest, frames, skeleton = (sinew.load(path) for path in files(arm))
    model = sinew.train("rigid", rest, frames, skeleton)
    errors = sinew.vertex_errors(model, rest, frames, skeleton)
    mine, _ = model(model.joints(skeleton))
    assert np.allclose(errors, np.sqrt(((mine - frames) ** 2).sum(-1).mean(0)), rtol=1e-3, atol=1e-6)


def test_frames_are_written_and_read(tmp_path):
    mesh = grid(6)
    frames, _, _ = bending(mesh, 4)
    for name in ("a.pc2", "a.mdd", "a.abc", "objs/"):
        frames.save(tmp_path / name if name[-1] != "/" else str(tmp_path / name), mesh)
        assert np.allclose(sinew.load(tmp_path / name), frames, atol=1e-6), name
    assert sinew.load(tmp_path / "a.abc").rate == pytest.approx(24)
    assert np.array_equal(sinew.load_mesh(tmp_path / "a.abc").triangles, mesh.triangles)


def test_messages_are_the_librarys(arm, tmp_path):
    with pytest.raises(sinew.Error, match="did you mean lbs") as error:
        sinew.train("lbz", *files(arm))
    assert error.value.status == "SN_BAD_INPUT"
    with pytest.raises(sinew.Error, match="nothere.pc2") as error:
        sinew.load(tmp_path / "nothere.pc2")
    assert error.value.status == "SN_IO"
    (tmp_path / "bad.sinew").write_bytes(b"not a model, surely not a model" * 9)
    with pytest.raises(sinew.Error) as error:
        sinew.load(tmp_path / "bad.sinew")
    assert error.value.status == "SN_BAD_FILE"
    with pytest.raises(sinew.Error):
        sinew.keys("every:x", 10)
    assert list(sinew.keys("every:4", 10)) == [0, 4, 8] and list(sinew.keys([1, 3], 10)) == [1, 3]
    with pytest.raises(sinew.Error):
        sinew.keys("auto:3", 10)  # no poses
    with pytest.raises(sinew.Error, match="no joint"):
        model = sinew.train("lbs", *files(arm))
        model.joints(sinew.Skeleton(["other"], [-1], np.eye(3, 4)[None]))


def run_train(tool, folder, *arguments):
    subprocess.run([tool, "train", *map(str, arguments), "-o", folder / "m.sinew", "--quiet"], check=True)
    return (folder / "m.sinew").read_bytes()


def test_poses_mirrors_and_choices_are_the_command_lines(tool, arm, tmp_path):
    files = {"rest": arm / "rest.obj", "skeleton": arm / "skeleton.glb"}
    options = [x for name, path in files.items() for x in (f"--{name}", path)]
    frames = ["--frames", arm / "frames.pc2"]
    mirrored = sinew.train("lbs", frames=arm / "frames.pc2", mirror="y", **files)
    assert bytes(mirrored) == run_train(tool, tmp_path, "--method", "lbs", *options, *frames, "--mirror", "y")
    assert mirrored.report["train"]["frames"] == 48
    with pytest.raises(sinew.Error, match="choose x, y or z"):
        sinew.train("lbs", frames=arm / "frames.pc2", mirror="xy", **files)
    chosen = sinew.train("auto", frames=arm / "frames.pc2", keys="every:4", max_bytes=100000, **files)
    assert chosen.report["method"] in [row["spec"] for row in chosen.report["candidates"] if row["chosen"]]
    mesh = sinew.load_mesh(arm / "rest.obj")
    shaped = sinew.load_frames(arm / "frames.pc2")[12]
    sinew.Frames(shaped[None] + np.float32(0.01)).save(tmp_path / "sculpt/", mesh)
    sculpt = next((tmp_path / "sculpt").iterdir())
    posed = sinew.train("psd:space=whole", pose={12: sculpt}, **files)
    assert bytes(posed) == run_train(tool, tmp_path, "--method", "psd:space=whole", *options, "--pose", f"12={sculpt}")
    (tmp_path / "base.sinew").write_bytes(bytes(posed))
    added = sinew.train(posed, skeleton=arm / "skeleton.glb", pose={20: sculpt})
    assert bytes(added) == run_train(tool, tmp_path, "--from", tmp_path / "base.sinew", "--skeleton", arm / "skeleton.glb",
                                     "--pose", f"20={sculpt}")
    assert sinew.compare(["lbs", "dqs"], pose={12: sculpt}, **files)["methods"][0]["spec"] == "lbs"


def test_named_values(tool, tmp_path):
    folder = tmp_path / "face"
    subprocess.run([tool, "gen", "face", "-o", folder, "--frames", "12", "--vertices", "1500", "--quiet"], check=True)
    files = [folder / "rest.obj", folder / "frames.pc2"]
    model = sinew.train("psd", *files, values=folder / "values.csv")
    assert bytes(model) == run_train(tool, tmp_path, "--method", "psd", "--rest", files[0], "--frames", files[1],
                                     "--values", folder / "values.csv")
    table = np.genfromtxt(folder / "values.csv", delimiter=",", names=True, dtype=None, encoding=None)
    rows = table[[str(frame) != "rest" for frame in table["frame"]]]
    values = {name: rows[name].astype(float) for name in model.values}
    memory = sinew.train("psd", sinew.load_mesh(files[0]), sinew.load_frames(files[1]), values=values)
    assert memory.values == model.values
    positions, _ = model(values=values)
    assert np.abs(positions - sinew.load_frames(files[1])).max() < 0.05 * model.mesh.diagonal
    first, _ = model(values=np.array([values[name][0] for name in model.values]))
    np.testing.assert_array_equal(first, positions[0])
    with pytest.raises(ValueError, match="this model has"):
        model(values={"nothing": 1.0})


def test_motion_of_another_skeleton(arm, tmp_path):
    model = sinew.train("lbs", arm / "rest.obj", arm / "frames.pc2", arm / "skeleton.glb")
    other = sinew.load_skeleton(arm / "skeleton.glb")
    own = model.joints(other)
    names = other.names
    other.names = [f"other{k}" for k in range(len(names))]
    with pytest.raises(sinew.Error, match="none of its joints"):
        model.retarget(other)
    (tmp_path / "map").write_text("".join(f"{a} {b}\n" for a, b in zip(names, other.names)))
    np.testing.assert_allclose(model.joints(model.retarget(other, map=tmp_path / "map")), own, atol=1e-5)


def test_keys_as_a_list(tool, arm, tmp_path):
    by_list = sinew.train("lbs", *files(arm), keys=[0, 5, 10])
    assert bytes(by_list) == bytes(sinew.train("lbs", *files(arm), keys="0,5,10"))
    assert bytes(sinew.train("lbs", *files(arm), keys=np.array([0, 5, 10]))) == bytes(by_list)
    with pytest.raises(ValueError, match="keys"):
        sinew.train("lbs", *files(arm), keys=[-1])
    rest, frames, skeleton = files(arm)
    rig = sinew.rig(rest, [frames, frames], 2, keys=range(0, 48, 6))
    assert len(rig.skeleton.poses) == 8


def test_test_clips_and_limits_are_the_command_lines(tool, arm, tmp_path):
    rest, frames, skeleton = files(arm)
    model = sinew.train("lbs", rest, frames, skeleton, test_frames=frames, test_skeleton=skeleton)
    assert bytes(model) == run_train(tool, tmp_path, "--method", "lbs", "--rest", rest, "--frames", frames, "--skeleton", skeleton,
                                     "--test-frames", frames, "--test-skeleton", skeleton)
    assert model.report["test"]["frames"] == 24
    small = sinew.train("psd", rest, frames, skeleton, keys="every:4", max_bytes=150000)
    assert len(bytes(small)) <= 150000


def test_rest_frames_and_locked_joints(tool, arm, tmp_path):
    rest, frames, skeleton = files(arm)
    posed = sinew.rig(rest, frames, 3, rest_frame=5)
    assert posed.report["rest_frame"] == 5
    names = sinew.load_skeleton(skeleton).names
    for given in (skeleton, sinew.load_skeleton(skeleton)):
        mesh = rest if given is skeleton else sinew.load_mesh(rest)
        locked = sinew.rig(mesh, frames, skeleton=given, solve="both", lock=[names[0]])
        np.testing.assert_allclose(locked.skeleton.poses[:, 0], sinew.load_skeleton(skeleton).poses[:, 0], atol=1e-5)
    with pytest.raises(sinew.Error, match="did you mean"):
        sinew.rig(rest, frames, skeleton=skeleton, solve="both", lock=names[0][:-1] + "_")
    with pytest.raises(sinew.Error, match="no vertex colours"):
        sinew.rig(rest, frames, skeleton=skeleton, keep_weights=True)


def test_errors_of_a_model(arm):
    rest, frames, skeleton = (sinew.load(path) for path in files(arm))
    model = sinew.train("lbs", rest, frames, skeleton, keys="every:4")
    error = model.error(frames, skeleton)
    assert error["rms_pct_diag"] == pytest.approx(model.report["all"]["rms_pct_diag"], rel=1e-6)
    mine, _ = model(model.joints(skeleton))
    assert np.allclose(error["frame_rms"], np.sqrt(((mine - frames) ** 2).sum(-1).mean(1)), rtol=1e-3, atol=1e-6)
    assert np.allclose(error["vertex_rms"], sinew.vertex_errors(model, rest, frames, skeleton))
    by_files = model.error(files(arm)[1], files(arm)[2], rest=files(arm)[0])
    assert by_files["ee"] == pytest.approx(error["ee"], rel=1e-4)


def test_evaluations_are_the_command_lines(tool, arm, tmp_path):
    rest, frames, skeleton = files(arm)
    model = sinew.train("psd", rest, frames, skeleton, keys="every:4")
    model.save(tmp_path / "m.sinew")
    for name in ("out.pc2", "out.glb"):
        report = model.evaluate(tmp_path / name, skeleton, rest=rest, frames=frames)
        subprocess.run([tool, "eval", tmp_path / "m.sinew", "--skeleton", skeleton, "--rest", rest, "--frames", frames, "-o",
                        tmp_path / f"tool-{name}", "--quiet"], check=True)
        assert (tmp_path / name).read_bytes() == (tmp_path / f"tool-{name}").read_bytes()
        assert report["frames"] == 24 and report["all"]["rms_pct_diag"] == pytest.approx(model.report["all"]["rms_pct_diag"])
    with pytest.raises(sinew.Error, match="give `skeleton`"):
        model.evaluate(tmp_path / "no.pc2")


def test_files_are_told_converted_and_packed(tool, arm, tmp_path):
    rest, frames, skeleton = files(arm)
    assert sinew.info(skeleton)["kind"] == "gltf" and sinew.info(frames)["frames"] == 24
    sinew.convert(frames, tmp_path / "twice.mdd", scale=2)
    assert np.allclose(sinew.load_frames(tmp_path / "twice.mdd"), 2 * sinew.load_frames(frames), atol=1e-5)
    with pytest.raises(sinew.Error, match="need triangles"):
        sinew.convert(frames, tmp_path / "no.abc")
    model = sinew.train("lbs", rest, frames, skeleton)
    model.save(tmp_path / "m.sinew")
    subprocess.run([tool, "pack", tmp_path / "m.sinew", "-o", tmp_path / "p.sinew", "--quiet"], check=True)
    assert bytes(model.packed()) == (tmp_path / "p.sinew").read_bytes()
    with pytest.raises(sinew.Error, match="blocks or file"):
        model.packed("joints")


def test_charts(tmp_path):
    chart = sinew.plot({"falls": [3.0, 2.0, 1.0], "rises": (np.array([0.0, 2.0]), np.array([1.0, 3.0]))}, y="numbers")
    chart.save(tmp_path / "chart.svg")
    text = (tmp_path / "chart.svg").read_text()
    assert chart._repr_svg_() == text and all(word in text for word in ("falls", "rises", "numbers", "<svg"))
    with pytest.raises(sinew.Error, match="nothing to plot"):
        sinew.plot({}).save(tmp_path / "no.svg")


def test_poses_to_sculpt(arm, tool):
    """keys("auto:N") of a clip, as `sinew info --keys auto:N` chooses them."""
    told = subprocess.run([tool, "info", arm / "skeleton.glb", "--keys", "auto:4"], check=True, capture_output=True, text=True).stdout
    chosen = [int(frame) for frame in told.split("frames chosen: ")[1].split()[0].split(",")]
    assert list(sinew.keys("auto:4", arm / "skeleton.glb")) == chosen == list(sinew.keys("auto:4", sinew.load(arm / "skeleton.glb")))


def test_compare_keeps_models(arm, tmp_path):
    sinew.compare(["lbs", "psd:pack=1"], *files(arm), keys="every:4", models=tmp_path / "models")
    assert bytes(sinew.load(tmp_path / "models/lbs.sinew")) == bytes(sinew.train("lbs", *files(arm), keys="every:4"))
    assert len(list((tmp_path / "models").iterdir())) == 2


def test_curve(arm):
    rates = sinew.train("psd", *files(arm), keys="every:4", curve=True).report["rates"]
    assert len(rates) > 1
    assert "<svg" in sinew.plot({"psd": ([row["bytes"] for row in rates], [row["rms_pct_diag"] for row in rates])})._repr_svg_()


def test_export(arm, tmp_path):
    character = arm / "skeleton.glb"
    model = sinew.train("helpers", character, arm / "frames.pc2", character)
    report = model.export(tmp_path / "table.json", character, "json")
    table = json.loads((tmp_path / "table.json").read_text())
    assert report["helpers"] == len(table["helpers"]) > 0 and report["drivers"] == len(table["drivers"])
    model.packed("blocks").export(tmp_path / "arm.glb", character, "three")
    assert len(sinew.load(tmp_path / "arm.glb")) == len(model.names) + report["helpers"]
    with pytest.raises(sinew.Error, match="choose json"):
        model.export(tmp_path / "arm.ma", character, "maya")
