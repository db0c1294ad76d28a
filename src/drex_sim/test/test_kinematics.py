"""Kinematics against finite differences, published numbers and MuJoCo's own model."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from drex_sim.errors import UnreachableError
from drex_sim.robot.kinematics import ARM_HOME, HAND_OPEN, RobotKinematics
from drex_sim.robot.models import MODEL_PREFIXES, PAD_RADIUS
from drex_sim.robot.names import FINGERS
from drex_sim.transforms import from_matrix, inverse, rotation_angle


@pytest.fixture(scope="module")
def kinematics():
    return RobotKinematics()


def ur5e(q):
    """tool0 of a UR5e from its published DH parameters, in base_link."""
    a = (0.0, -0.425, -0.3922, 0.0, 0.0, 0.0)
    d = (0.1625, 0.0, 0.0, 0.1333, 0.0997, 0.0996)
    alpha = (np.pi / 2, 0.0, 0.0, np.pi / 2, -np.pi / 2, 0.0)
    pose = from_matrix([0, 0, 0], np.diag([-1.0, -1.0, 1.0]))  # "base" is base_link turned by 180 degrees
    for i in range(6):
        turn = from_matrix([0, 0, d[i]], Rotation.from_euler("z", q[i]).as_matrix())
        pose = pose @ turn @ from_matrix([a[i], 0, 0], Rotation.from_euler("x", alpha[i]).as_matrix())
    return pose


def test_tool0_is_where_the_dh_parameters_of_a_ur5e_put_it(kinematics):
    rng = np.random.default_rng(0)
    for _ in range(20):
        q = rng.uniform(-2, 2, 6)
        found, wanted = kinematics.tool(q), ur5e(q)
        assert np.linalg.norm(found[:3, 3] - wanted[:3, 3]) < 1.5e-3
        assert rotation_angle(found[:3, :3].T @ wanted[:3, :3]) < 1e-3


def test_pad_site_is_the_end_sphere_of_the_capsule(kinematics):
    model = kinematics.model
    data = mujoco.MjData(model)
    mujoco.mj_kinematics(model, data)
    for finger in FINGERS:
        geom = model.geom(f"hand/{MODEL_PREFIXES[finger]}_pad")
        axis = data.geom_xmat[geom.id].reshape(3, 3)[:, 2]
        end = data.geom_xpos[geom.id] + geom.size[1] * axis
        site = data.site_xpos[model.site(f"hand/{MODEL_PREFIXES[finger]}_pad").id]
        assert geom.size[0] == pytest.approx(PAD_RADIUS)
        assert np.linalg.norm(end - site) < 1e-9


def test_palm_is_107_mm_above_the_flange(kinematics):
    frames = kinematics.forward(ARM_HOME, HAND_OPEN)
    tool_T_palm = inverse(frames["tool0"]) @ frames["palm"]
    assert np.allclose(tool_T_palm, from_matrix([0, 0, 0.107], np.eye(3)), atol=1e-9)
    assert np.allclose(frames["tool0"], frames["tool0_controller"])
    assert kinematics.hand_mass == pytest.approx(0.644, abs=0.002)


@pytest.mark.parametrize("finger", FINGERS)
def test_tip_jacobian_against_finite_differences(kinematics, finger):
    rng = np.random.default_rng(3)
    hand = HAND_OPEN + rng.uniform(-0.1, 0.2, 16)
    jacobian = kinematics.tip_jacobian(finger, ARM_HOME, hand)
    numeric = np.zeros((3, 16))
    for j in range(16):
        step = np.zeros(16)
        step[j] = 1e-6
        numeric[:, j] = (
            kinematics.tip_position(finger, ARM_HOME, hand + step)
            - kinematics.tip_position(finger, ARM_HOME, hand - step)
        ) / 2e-6
    assert np.abs(jacobian - numeric).max() < 1e-7
    offset = np.array([0.0, 0.0, -0.012])
    moved = kinematics.tip_jacobian(finger, ARM_HOME, hand, offset)
    assert not np.allclose(moved, jacobian)


def test_arm_ik_round_trip_and_path(kinematics):
    start = kinematics.tool(ARM_HOME)
    poses = []
    for s in np.linspace(0, 1, 15):
        pose = start.copy()
        pose[:3, 3] += s * np.array([0.2, -0.25, -0.1])
        pose[:3, :3] = pose[:3, :3] @ Rotation.from_euler("xz", [0.2 * s, 0.5 * s]).as_matrix()
        poses.append(pose)
    path = kinematics.arm_path_ik(poses, ARM_HOME)
    for q, pose in zip(path, poses, strict=True):
        found = kinematics.tool(q)
        assert np.linalg.norm(found[:3, 3] - pose[:3, 3]) < 5e-5
        assert np.degrees(rotation_angle(found[:3, :3].T @ pose[:3, :3])) < 0.02
    assert np.abs(np.diff(path, axis=0)).max() < 0.2


def test_unreachable_pose_is_refused(kinematics):
    far = kinematics.tool(ARM_HOME)
    far[:3, 3] = [1.6, 0.0, 0.3]
    with pytest.raises(UnreachableError, match="cannot reach"):
        kinematics.arm_ik(far, ARM_HOME, iterations=60)


def test_hand_ik_reaches_and_reports_what_is_left(kinematics):
    rng = np.random.default_rng(5)
    hand = HAND_OPEN + rng.uniform(0.0, 0.3, 16)
    tips = kinematics.tips_in_palm(hand)
    solution, left = kinematics.hand_ik(tips, HAND_OPEN, regularisation=1e-5)
    assert left < 1e-4
    for finger, position in kinematics.tips_in_palm(solution).items():
        assert np.linalg.norm(position - tips[finger]) < 1e-4
    _, left = kinematics.hand_ik({"index": np.array([0.5, 0.0, 0.5])}, HAND_OPEN)
    assert left > 0.1
