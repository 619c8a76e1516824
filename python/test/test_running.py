# SPDX-License-Identifier: MIT
"""Progress, stopping, threads, and what a call costs."""
import os
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest
from conftest import bending, grid

import sinew


def long_work(n=110, frames=60):
    """Seconds of work on any machine."""
    mesh = grid(n)
    frames, skeleton, _ = bending(mesh, frames)
    rng = np.random.default_rng(1)
    return mesh, sinew.Frames(frames + 0.01 * rng.standard_normal(frames.shape).astype(np.float32)), skeleton


def test_progress_is_told_and_can_stop():
    mesh, frames, _ = long_work(24, 12)
    told = []
    sinew.rig(mesh, frames, bones=4, progress=lambda task, done: told.append((task, done)))
    assert told and all(isinstance(task, str) and 0 <= done <= 1 for task, done in told)
    with pytest.raises(sinew.Stopped):
        sinew.rig(mesh, frames, bones=4, progress=lambda task, done: False)


def test_an_exception_of_the_callback_comes_out():
    mesh, frames, _ = long_work(24, 12)

    def fail(task, done):
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        sinew.rig(mesh, frames, bones=4, progress=fail)


def test_bar(capsys, monkeypatch):
    from sinew._session import Bar

    bar = Bar()
    bar.start -= 10
    bar.last -= 100
    bar("clusters", 0.25)
    assert "clusters: 25 %" in capsys.readouterr().err


INTERRUPTED = """
import sys, threading, os, time
sys.path.insert(0, {test!r})
from test_running import long_work
import sinew
mesh, frames, skeleton = long_work()
before = len(os.listdir("/proc/self/task"))
print("go", flush=True)
try:
    {work}
except KeyboardInterrupt:
    print("stopped", flush=True)
    end = time.monotonic() + 2
    while len(os.listdir("/proc/self/task")) > before and time.monotonic() < end:
        time.sleep(0.01)
    print(len(os.listdir("/proc/self/task")) - before, [t.name for t in threading.enumerate()], flush=True)
"""


@pytest.mark.parametrize("work", ["sinew.rig(mesh, frames, bones=60, keep_bones=True)",
                                  "sinew.train('affine', mesh, frames, controls='auto:20')"])
def test_ctrl_c_stops_within_a_second(work):
    here = os.path.dirname(__file__)
    child = subprocess.Popen([sys.executable, "-c", INTERRUPTED.format(test=here, work=work)], stdout=subprocess.PIPE,
                             stderr=subprocess.PIPE, text=True)
    assert child.stdout.readline() == "go\n"
    time.sleep(1.5)
    if child.poll() is not None:
        pytest.fail("the work ended before it could be interrupted: " + child.communicate()[1])
    asked = time.monotonic()
    child.send_signal(signal.SIGINT)
    line = child.stdout.readline()
    took = time.monotonic() - asked
    left, errors = child.stdout.read(), child.stderr.read()
    child.wait(60)
    assert line.startswith("stopped"), errors
    assert left.split()[0] == "0", left  # no thread
    busy = os.getloadavg()[0] / (os.cpu_count() or 1)
    assert took < max(1.0, busy), f"{took:.2f} s"


def test_the_gil_is_free_during_a_solve():
    mesh, frames, _ = long_work(40, 12)
    count, stop = [0], threading.Event()

    def tick():
        while not stop.is_set():
            count[0] += 1
            time.sleep(0.001)

    thread = threading.Thread(target=tick)
    thread.start()
    before, start = count[0], time.monotonic()
    sinew.rig(mesh, frames, bones=8, keep_bones=True, threads=1)
    ticks, took = count[0] - before, time.monotonic() - start
    stop.set()
    thread.join()
    assert ticks > 20 * took, f"{ticks} ticks in {took:.2f} s"


def wide_model():
    mesh = grid(100)
    joints = 20
    rest = np.tile(np.eye(3, 4), (joints, 1, 1))
    first = np.minimum((mesh.positions[:, :1] * joints).astype(np.int64) + np.arange(4), joints - 1)
    weights = np.full((len(mesh.positions), 4), 0.25, np.float32)
    skeleton = sinew.Skeleton([f"j{j}" for j in range(joints)], np.arange(joints) - 1, rest, None, first, weights)
    return sinew.train("lbs", mesh, None, skeleton, weights="given")


def test_many_threads_give_what_one_gives():
    model = wide_model()
    rng = np.random.default_rng(2)
    poses = np.tile(np.eye(3, 4, dtype=np.float32), (32, 20, 1, 1)) + rng.standard_normal((32, 20, 3, 4)).astype(np.float32)
    expected = [model(pose) for pose in poses]
    found = [None] * len(poses)

    def work(start):
        for f in range(start, len(poses), 4):
            found[f] = model(poses[f])

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for a, b in zip(expected, found):
        assert np.array_equal(a[0], b[0]) and np.array_equal(a[1], b[1])


def test_a_call_costs_what_the_c_call_costs():
    """10,000 vertices into arrays given as out=: at most 1.2 times the C call."""
    model = wide_model()
    joints = np.tile(np.eye(3, 4, dtype=np.float32), (20, 1, 1))
    out = np.empty((len(model), 3), np.float32), np.empty((len(model), 3), np.float32)
    model(joints, out=out)

    def measure():
        start = time.perf_counter()
        model(joints, out=out)
        return time.perf_counter() - start

    rounds = [(min(measure() for _ in range(100)), model.time(joints, repeats=100)) for _ in range(10)]
    python, c = min(p for p, _ in rounds), min(c for _, c in rounds)
    print(f"through Python {1e6 * python:.2f} us, in C {1e6 * c:.2f} us")
    assert python < 1.2 * c


def test_state_continues_past_half_a_turn(arm):
    model = sinew.train("dqs", arm / "rest.obj", arm / "frames.pc2", arm / "skeleton.glb")
    state = model.new_state()
    joints = model.joints(sinew.load(arm / "skeleton.glb"))
    assert state is not None
    with_state = model(joints[0], state=state)
    assert np.allclose(with_state[0], model(joints[0])[0], atol=1e-5)


def test_the_palette_and_the_weights_blend_to_the_model(arm):
    model = sinew.train("lbs", arm / "rest.obj", arm / "frames.pc2", arm / "skeleton.glb")
    joints = model.joints(sinew.load(arm / "skeleton.glb"))[7]
    palette = model.palette(joints)
    index, weights = model.weights()
    moved = np.einsum("nkab,nb->nka", palette[index][..., :3], model.mesh.positions) + palette[index][..., 3]
    assert np.allclose((weights[..., None] * moved).sum(1), model(joints)[0], atol=1e-5)
    assert model.skeleton.names == model.names
