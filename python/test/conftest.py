# SPDX-License-Identifier: MIT
import os
import subprocess

import numpy as np
import pytest

import sinew


@pytest.fixture(scope="session")
def tool():
    path = os.environ.get("SINEW")
    if not path or not os.path.exists(path):
        pytest.skip("the tool is not built")
    return path


@pytest.fixture(scope="session")
def arm(tool, tmp_path_factory):
    """A folder with a generated set: rest.obj, frames.pc2, skeleton.glb, torque.csv."""
    folder = tmp_path_factory.mktemp("arm")
    subprocess.run([tool, "gen", "bar", "-o", folder, "--frames", "24", "--quiet"], check=True)
    return folder


def grid(n, size=1.0):
    """A flat mesh of n x n vertices."""
    side = np.linspace(0, size, n)
    x, y = np.meshgrid(side, side)
    positions = np.stack([x.ravel(), y.ravel(), np.zeros(n * n)], 1).astype(np.float32)
    index = np.arange(n * n, dtype=np.int32).reshape(n, n)
    a, b, c, d = index[:-1, :-1], index[:-1, 1:], index[1:, :-1], index[1:, 1:]
    triangles = np.concatenate([np.stack([a, b, d], -1).reshape(-1, 3), np.stack([a, d, c], -1).reshape(-1, 3)])
    return sinew.Mesh(positions, np.ascontiguousarray(triangles))


def bending(mesh, frames):
    """Frames of a mesh that bends about the line x = 1/2, and the skeleton of two joints that does so."""
    poses = np.tile(np.eye(3, 4), (frames, 2, 1, 1))
    for f, angle in enumerate(np.linspace(0, 1.2, frames)):
        c, s = np.cos(angle), np.sin(angle)
        poses[f, 1, :, :3] = [[c, 0, -s], [0, 1, 0], [s, 0, c]]
        poses[f, 1, :, 3] = [0.5 - 0.5 * c, 0, -0.5 * s]
    rest = np.tile(np.eye(3, 4), (2, 1, 1))
    rest[1, 0, 3] = 0.5
    weight = np.clip((mesh.positions[:, 0] - 0.4) / 0.2, 0, 1).astype(np.float64)
    skinned = np.einsum("fjab,nb->fjna", poses[..., :3], mesh.positions.astype(np.float64)) + poses[:, :, None, :, 3]
    moved = (1 - weight)[:, None] * skinned[:, 0] + weight[:, None] * skinned[:, 1]
    skeleton = sinew.Skeleton(["root", "tip"], [-1, 0], rest, poses)
    return sinew.Frames(moved, 24), skeleton, weight
