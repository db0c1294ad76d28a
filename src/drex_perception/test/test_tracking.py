"""Tracking against rendered depth with known truth: finding, following a tip, occlusion, loss."""

from __future__ import annotations

import os

os.environ.setdefault("MUJOCO_GL", "egl")

import mujoco
import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from drex_perception.camera.depth import Intrinsics, decode_depth
from drex_perception.tracking.tracker import ObjectTracker
from drex_sim.errors import InvalidDataError
from drex_sim.robot.protocols import TrackingState
from drex_sim.transforms import from_matrix, rotation_angle, tilt_angle, to_wxyz
from drex_sim.twin import load_twin

WIDTH, HEIGHT, FOVY = 640, 480, 43.0
FOCAL = HEIGHT / 2 / np.tan(np.radians(FOVY) / 2)
INTRINSICS = Intrinsics(WIDTH, HEIGHT, FOCAL, FOCAL, (WIDTH - 1) / 2, (HEIGHT - 1) / 2)


def camera_pose() -> np.ndarray:
    position, target = np.array([0.95, -0.45, 0.55]), np.array([0.5, 0.0, 0.08])
    back = (position - target) / np.linalg.norm(position - target)
    right = np.cross([0, 0, 1.0], back)
    right /= np.linalg.norm(right)
    return from_matrix(position, np.stack([right, -np.cross(back, right), -back], axis=1))


class Scene:
    """A table, the object and a finger-like capsule, rendered as noisy depth."""

    def __init__(self, object_id: str, noise: float = 0.0015, seed: int = 0) -> None:
        self.twin = load_twin(object_id)
        self.rng, self.noise = np.random.default_rng(seed), noise
        spec = mujoco.MjSpec()
        spec.worldbody.add_geom(type=mujoco.mjtGeom.mjGEOM_PLANE, size=(2, 2, 0.1))
        spec.visual.map.znear = 0.05
        body = spec.worldbody.add_body(name="object", mocap=True)
        for i, piece in enumerate(self.twin.pieces):
            spec.add_mesh(name=f"m{i}", uservert=piece.ravel())
            body.add_geom(type=mujoco.mjtGeom.mjGEOM_MESH, meshname=f"m{i}")
        finger = spec.worldbody.add_body(name="finger", mocap=True, pos=(0, 0, -5))
        finger.add_geom(type=mujoco.mjtGeom.mjGEOM_CAPSULE, size=(0.012, 0.05, 0))
        camera = camera_pose()
        spec.worldbody.add_camera(
            name="rgbd", pos=camera[:3, 3], fovy=FOVY,
            quat=to_wxyz(from_matrix(np.zeros(3), camera[:3, :3] @ np.diag([1.0, -1, -1])))[1],
        )
        self.model = spec.compile()
        self.data = mujoco.MjData(self.model)
        self.renderer = mujoco.Renderer(self.model, HEIGHT, WIDTH)
        self.renderer.enable_depth_rendering()

    def depth(self, pose: np.ndarray, finger: np.ndarray | None = None) -> np.ndarray:
        self.data.mocap_pos[0], self.data.mocap_quat[0] = to_wxyz(pose)
        self.data.mocap_pos[1] = (0, 0, -5) if finger is None else finger
        mujoco.mj_forward(self.model, self.data)
        self.renderer.update_scene(self.data, "rgbd")
        depth = self.renderer.render().astype(np.float32)
        noisy = depth + self.noise * (depth / 0.7) ** 2 * self.rng.standard_normal(depth.shape)
        return decode_depth(np.rint(noisy * 1000).clip(0, 65535).astype(np.uint16).tobytes(), "16UC1", WIDTH, HEIGHT)

    def close(self) -> None:
        self.renderer.close()


@pytest.fixture
def scene():
    scenes = []

    def make(*arguments, **options) -> Scene:
        scenes.append(Scene(*arguments, **options))
        return scenes[-1]

    yield make
    for made in scenes:
        made.close()


def standing(twin, x=0.5, y=0.0, yaw=0.0) -> np.ndarray:
    return from_matrix([x, y, twin.com_height], Rotation.from_euler("z", yaw).as_matrix())


def tipped(twin, pose: np.ndarray, angle: float) -> np.ndarray:
    """The pose turned about its lower +x edge."""
    edge = twin.support_polygon[:, 0].max()
    pivot = np.array([edge, 0.0, -twin.com_height])
    rotation = Rotation.from_euler("y", angle).as_matrix()
    local = from_matrix(pivot - rotation @ pivot, rotation)
    return pose @ local


@pytest.mark.parametrize("object_id", ["ketchup", "cookie", "lego", "domino", "letter_a"])
def test_finds_and_follows_a_tip(scene, object_id):
    world = scene(object_id)
    start = standing(world.twin, 0.508, -0.011, 0.23)
    tracker = ObjectTracker(world.twin, INTRINSICS, camera_pose())
    first = tracker.update(world.depth(start))
    assert first.state is TrackingState.TRACKING, first.reason
    assert np.linalg.norm(first.base_T_object[:3, 3] - start[:3, 3]) < 0.003
    tilt_errors, position_errors = [], []
    for angle in np.radians(np.concatenate([np.linspace(0, 8, 16), np.linspace(8, 0, 16)])):
        truth = tipped(world.twin, start, angle)
        # A finger leans on the high face, as while pushing.
        touch = truth @ np.array([-world.twin.extents[0] / 2 - 0.012, 0, 0.3 * world.twin.height, 1.0])
        result = tracker.update(world.depth(truth, touch[:3] + [0, 0, 0.05]))
        assert result.state is TrackingState.TRACKING, result.reason
        tilt_errors.append(np.degrees(tilt_angle(result.base_T_object) - tilt_angle(truth)))
        position_errors.append(1e3 * np.linalg.norm(result.base_T_object[:3, 3] - truth[:3, 3]))
    print(object_id, f"tilt rms {np.sqrt(np.mean(np.square(tilt_errors))):.2f} deg, position"
          f" {np.sqrt(np.mean(np.square(position_errors))):.2f} mm")
    assert np.sqrt(np.mean(np.square(tilt_errors))) < 0.6
    assert np.sqrt(np.mean(np.square(position_errors))) < 2.0


def test_yaw_of_a_box_is_found_up_to_its_symmetry(scene):
    world = scene("domino")
    start = standing(world.twin, 0.49, 0.01, -0.3)
    result = ObjectTracker(world.twin, INTRINSICS, camera_pose()).update(world.depth(start))
    turn = rotation_angle(result.base_T_object[:3, :3].T @ start[:3, :3])
    assert min(turn, abs(np.pi - turn)) < np.radians(3.0)


def test_covered_camera_means_lost_and_return_means_found(scene):
    world = scene("ketchup")
    start = standing(world.twin)
    tracker = ObjectTracker(world.twin, INTRINSICS, camera_pose())
    assert tracker.update(world.depth(start)).state is TrackingState.TRACKING
    for _ in range(10):
        result = tracker.update(np.zeros((HEIGHT, WIDTH), np.float32))
        assert result.state is TrackingState.LOST
    assert result.reason
    assert tracker.update(world.depth(start)).state is TrackingState.TRACKING


def test_empty_table_and_wrong_object_are_not_tracked(scene):
    world = scene("lego")
    away = standing(world.twin, 5.0)
    tracker = ObjectTracker(world.twin, INTRINSICS, camera_pose())
    assert tracker.update(world.depth(away)).state is TrackingState.INITIALIZING
    other = ObjectTracker(load_twin("ketchup"), INTRINSICS, camera_pose())
    assert other.update(world.depth(standing(world.twin))).state is TrackingState.INITIALIZING


def test_covariance_is_wide_about_a_symmetry_axis(scene):
    world = scene("cookie")
    result = ObjectTracker(world.twin, INTRINSICS, camera_pose()).update(world.depth(standing(world.twin)))
    rotation = np.diag(result.covariance)[3:]
    assert rotation[2] > 0.5 and rotation[:2].max() < np.radians(2.0) ** 2


@pytest.mark.parametrize("data, encoding, match", [
    (b"\0" * 8, "16UC1", "bytes for"),
    (b"\0" * 24, "rgb8", "encoding 'rgb8'"),
    (np.full((2, 4), 700.0, np.float32).tobytes(), "32FC1", "millimetres"),
])
def test_bad_depth_pictures_are_refused(data, encoding, match):
    with pytest.raises(InvalidDataError, match=match):
        decode_depth(data, encoding, 4, 2)


def test_bad_camera_info_is_refused():
    with pytest.raises(InvalidDataError, match="focal"):
        Intrinsics.from_k(640, 480, np.zeros(9))
