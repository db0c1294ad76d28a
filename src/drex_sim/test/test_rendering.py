"""RGB-D rendering against geometry, and the depth camera's imperfections."""

from __future__ import annotations

import numpy as np
import pytest

from drex_sim.rendering.depth_noise import degrade, to_millimetres
from drex_sim.rendering.rgbd import RgbdRenderer, intrinsics
from drex_sim.rig import RigConfig, SimulatedRig
from drex_sim.rig.model import CAMERA, CAMERA_FOVY, base_T_camera
from drex_sim.transforms import apply, inverse


@pytest.fixture(scope="module")
def picture():
    rig = SimulatedRig(RigConfig(object_id="ketchup", seed=1, visuals=True))
    renderer = RgbdRenderer(rig.model, CAMERA)
    color, depth = renderer.render(rig.data)
    yield rig, color, depth
    renderer.close()


def points(depth, rows, columns):
    k = intrinsics(CAMERA_FOVY)
    z = depth[rows, columns].astype(float)
    camera = np.stack([(columns - k.cx) / k.fx * z, (rows - k.cy) / k.fy * z, z], axis=-1)
    return apply(base_T_camera(), camera)


def test_table_pixels_lie_on_the_table(picture):
    rig, _, depth = picture
    rows, columns = np.array([420, 300, 450, 470]), np.array([320, 100, 500, 40])
    on_table = apply(inverse(rig.rig.base_T_table), points(depth, rows, columns))
    assert np.abs(on_table[:, 2]).max() < 1e-4


def test_object_is_seen_in_its_place_and_in_its_colour(picture):
    rig, color, depth = picture
    k = intrinsics(CAMERA_FOVY)
    centre = apply(inverse(base_T_camera()), rig.object_pose()[:3, 3])
    column, row = (
        round(v) for v in (k.fx * centre[0] / centre[2] + k.cx, k.fy * centre[1] / centre[2] + k.cy)
    )
    red, green, blue = color[row, column].astype(int)
    assert red > 2 * max(green, blue)
    surface = points(depth, np.array([row]), np.array([column]))[0]
    assert 0.02 < np.linalg.norm(surface - rig.object_pose()[:3, 3]) < 0.06
    # The arm at home does not hide the object.
    assert (color[row - 60 : row + 60, column - 10 : column + 10, 0] > 100).mean() > 0.95


def test_depth_noise_grows_with_the_square_of_the_depth():
    rng = np.random.default_rng(0)
    for depth, expected in ((0.7, 0.0015), (1.4, 0.006)):
        noise = degrade(np.full((480, 640), depth, np.float32), 0.0015, False, rng) - depth
        assert noise.std() == pytest.approx(expected, rel=0.02)
    assert abs(noise.mean()) < 1e-4


def test_edges_lose_pixels_and_nothing_stays_nothing():
    depth = np.full((100, 100), 0.7, np.float32)
    depth[:, 50:] = 0.9
    depth[:5] = 0.0
    noisy = degrade(depth, 0.0, True, np.random.default_rng(1))
    assert 0.3 < (noisy[10:, 49:51] == 0).mean() < 0.9
    assert (noisy[10:, :40] == 0.7).all() and (noisy[:5] == 0).all()
    assert (degrade(depth, 0.0, False, np.random.default_rng(1)) == depth).all()


def test_millimetres():
    assert to_millimetres(np.array([[0.0, 0.7004, 0.7006, 99.0]], np.float32)).tolist() == [
        [0, 700, 701, 65535]
    ]
