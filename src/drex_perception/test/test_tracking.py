"""Tracking against rendered depth with known truth: finding, following a tip, occlusion, loss."""

from __future__ import annotations

import os

os.environ.setdefault("MUJOCO_GL", "egl")

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from drex_perception.camera.synthetic import DepthNoise, DepthScene, slow_tip
from drex_perception.tracking import Tracker, TrackerConfig
from drex_sim.errors import InvalidDataError
from drex_sim.rig.model import base_T_camera
from drex_sim.robot.protocols import TrackingState
from drex_sim.transforms import from_matrix, rotation_angle
from drex_sim.twin import load_twin

CAMERA = base_T_camera()
LAB = DepthNoise()


@pytest.fixture
def scene():
    scenes = []

    def make(object_id: str) -> DepthScene:
        scenes.append(DepthScene(load_twin(object_id), CAMERA))
        return scenes[-1]

    yield make
    for made in scenes:
        made.close()


def standing(object_id: str, x: float = 0.5, y: float = 0.0, yaw: float = 0.0) -> np.ndarray:
    return from_matrix([x, y, load_twin(object_id).com_height], Rotation.from_euler("z", yaw).as_matrix())


def tracker_of(object_id: str, world: DepthScene, **settings) -> Tracker:
    return Tracker(load_twin(object_id), world.intrinsics, CAMERA, TrackerConfig(**settings))


@pytest.mark.parametrize("object_id", ["ketchup", "cookie", "lego", "domino", "letter_a"])
@pytest.mark.parametrize("push", [0.0, np.pi / 2])
def test_follows_a_slow_tip_with_a_finger_on_the_object(scene, object_id, push):
    world, rng, twin = scene(object_id), np.random.default_rng(1), load_twin(object_id)
    tracker = tracker_of(object_id, world)
    tilts, positions, claimed = [], [], []
    for frame in slow_tip(twin, place=(0.508, -0.011), yaw=0.2, push=push, rate=8.0, duration=3.0, rest=0.5):
        seen = tracker.track(LAB.apply(world.depth(frame.base_T_object, frame.base_T_finger), rng), frame.time)
        assert seen.state is TrackingState.TRACKING, seen.message
        lean = np.cross(frame.base_T_object[:3, 2], seen.base_T_object[:3, 2])
        tilts.append(np.degrees(np.linalg.norm(lean)))
        positions.append(1e3 * np.linalg.norm(seen.base_T_object[:3, 3] - frame.base_T_object[:3, 3]))
        claimed.append(1e3 * np.sqrt(np.trace(seen.covariance[:3, :3])))
    assert np.sqrt(np.mean(np.square(tilts))) < 0.5
    assert np.sqrt(np.mean(np.square(positions))) < 1.0
    # The claimed standard deviation does not hide the error; its floor stands for what the twin does not know.
    assert 0.3 < np.mean(claimed) / np.sqrt(np.mean(np.square(positions))) < 10.0


@pytest.mark.parametrize("object_id", ["letter_u", "lightbulb", "cube", "spam", "nutella", "spray"])
def test_finds_every_other_object(scene, object_id):
    world, truth = scene(object_id), standing(object_id, 0.49, 0.012, -0.25)
    seen = tracker_of(object_id, world).track(LAB.apply(world.depth(truth), np.random.default_rng(3)), 0.0)
    assert seen.state is TrackingState.TRACKING, seen.message
    assert np.linalg.norm(seen.base_T_object[:3, 3] - truth[:3, 3]) < 0.003
    assert np.isfinite(seen.covariance).all() and np.linalg.eigvalsh(seen.covariance).min() > 0


def test_yaw_of_a_box_is_found_up_to_its_symmetry(scene):
    world, start = scene("domino"), standing("domino", 0.49, 0.01, -0.3)
    seen = tracker_of("domino", world).track(LAB.apply(world.depth(start), np.random.default_rng(0)), 0.0)
    assert rotation_angle(seen.base_T_object[:3, :3].T @ start[:3, :3]) < np.radians(2.0)


def test_yaw_of_a_can_is_frozen_and_its_covariance_wide(scene):
    world, start, rng = scene("cookie"), standing("cookie"), np.random.default_rng(0)
    tracker = tracker_of("cookie", world)
    yaws = []
    for k in range(6):
        seen = tracker.track(LAB.apply(world.depth(start), rng), k / 15)
        yaws.append(np.arctan2(seen.base_T_object[1, 0], seen.base_T_object[0, 0]))
    assert np.ptp(yaws) < 1e-3
    rotation = np.diag(seen.covariance)[3:]
    assert rotation[2] > 0.5 and rotation[:2].max() < np.radians(1.0) ** 2


def test_hidden_object_is_lost_and_found_again_elsewhere(scene):
    world, rng = scene("ketchup"), np.random.default_rng(0)
    tracker = tracker_of("ketchup", world)
    start, moved = standing("ketchup"), standing("ketchup", 0.46, 0.06, 0.2)
    assert tracker.track(LAB.apply(world.depth(start), rng), 0.0).state is TrackingState.TRACKING
    for k in range(1, 8):
        seen = tracker.track(LAB.apply(world.depth(None), rng), k / 15)
        assert seen.state is TrackingState.LOST and seen.message
        assert np.allclose(seen.base_T_object[:3, 3], start[:3, 3], atol=0.003)
    seen = tracker.track(LAB.apply(world.depth(moved), rng), 2.0)
    assert seen.state is TrackingState.TRACKING, seen.message
    assert np.linalg.norm(seen.base_T_object[:3, 3] - moved[:3, 3]) < 0.003


def test_picture_without_depth_says_so(scene):
    world = scene("lego")
    tracker = tracker_of("lego", world)
    seen = tracker.track(np.zeros((480, 640), np.uint16), 0.0)
    assert seen.state is TrackingState.INITIALIZING and "covered" in seen.message and seen.base_T_object is None


def test_empty_table_and_wrong_object_are_not_tracked(scene):
    world, rng = scene("lego"), np.random.default_rng(0)
    seen = tracker_of("lego", world).track(LAB.apply(world.depth(None), rng), 0.0)
    assert seen.state is TrackingState.INITIALIZING and "nothing stands" in seen.message
    other = tracker_of("ketchup", world).track(LAB.apply(world.depth(standing("lego")), rng), 0.0)
    assert other.state is TrackingState.INITIALIZING and other.message


def test_harsh_noise_and_a_tilted_table_are_survived(scene):
    world, rng, twin = scene("ketchup"), np.random.default_rng(5), load_twin("ketchup")
    lean = from_matrix(np.zeros(3), Rotation.from_euler("y", 1.0, degrees=True).as_matrix())
    tracker = Tracker(twin, world.intrinsics, lean @ CAMERA)
    harsh = DepthNoise(sigma=0.004)
    for frame in slow_tip(twin, rate=5.0, duration=2.0, rest=0.4):
        seen = tracker.track(harsh.apply(world.depth(frame.base_T_object, frame.base_T_finger), rng), frame.time)
        assert seen.state is TrackingState.TRACKING, seen.message
        truth = lean @ frame.base_T_object
        assert np.linalg.norm(seen.base_T_object[:3, 3] - truth[:3, 3]) < 0.003


@pytest.mark.parametrize("depth, match", [
    (np.zeros((240, 320), np.uint16), "camera_info says"),
    (np.full((480, 640), 790.0, np.float32), "millimetres"),
    (np.zeros((480, 640), np.int32), "uint16"),
])
def test_pictures_that_cannot_be_right_are_refused(scene, depth, match):
    world = scene("lego")
    with pytest.raises(InvalidDataError, match=match):
        tracker_of("lego", world).track(depth, 0.0)


def test_a_camera_pose_that_is_no_rotation_is_refused(scene):
    world = scene("lego")
    with pytest.raises(InvalidDataError, match="rigid transform"):
        Tracker(load_twin("lego"), world.intrinsics, np.diag([1.0, 1.0, 2.0, 1.0]))
    with pytest.raises(InvalidDataError, match="rigid transform"):
        Tracker(load_twin("lego"), world.intrinsics, np.full((4, 4), np.nan))
