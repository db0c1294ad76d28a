"""The simulated rig against physics it must obey, and its imperfections against the profiles."""

from __future__ import annotations

import json
import stat
from dataclasses import fields, replace

import mujoco
import numpy as np
import pytest

from drex_sim.errors import CancelledError, ConfigError, LimitError, MotionError
from drex_sim.rig import DirectRobot, RigConfig, SimulatedRig
from drex_sim.rig.profiles import HARSH, IDEAL, LAB, Profile, get_profile
from drex_sim.rig.truth import SEALED, draw_truth
from drex_sim.robot.kinematics import ARM_HOME, HAND_OPEN
from drex_sim.robot.protocols import MotionResult
from drex_sim.robot.trajectory import along_path, point_to_point
from drex_sim.transforms import rotation_angle
from drex_sim.twin import list_twins, load_twin
from drex_sim.twin.mass_record import LIBRARY_MASSES

NEAR_HOME = ARM_HOME + np.array([0.15, 0.05, 0.05, -0.1, 0.0, 0.15])


def ideal(object_id="lego", **fields_):
    return SimulatedRig(RigConfig(object_id=object_id, realism="ideal", **fields_))


def test_profiles_are_the_designs_table():
    assert (LAB.force_noise, LAB.force_bias, LAB.force_drift, LAB.torque_noise) == (0.05, 2, 0.005, 0.005)
    assert (HARSH.force_noise, HARSH.force_bias, HARSH.force_drift, HARSH.torque_noise) == (
        0.3,
        5,
        0.03,
        0.03,
    )
    assert (LAB.scale_common, LAB.scale_spread, LAB.cross_talk) == (0.03, 0.01, 0.01)
    assert (HARSH.base_edge, HARSH.edge_radius, HARSH.com_offset) == (0.0015, (0, 0.006), 0.10)
    assert IDEAL.friction_table == (0.5, 0.5) and IDEAL.friction_tip == (0.8, 0.8)
    for field in fields(Profile):
        lab, harsh = getattr(LAB, field.name), getattr(HARSH, field.name)
        if isinstance(lab, float):
            assert 0 < lab < harsh, field.name
    assert get_profile("lab", force_calibrated=True).scale_common == 0.01
    with pytest.raises(ConfigError, match="allowed: ideal, lab, harsh"):
        get_profile("real")


def test_a_seed_repeats_the_truth_and_another_does_not():
    twin = load_twin("spam")
    first, again = (draw_truth(twin, LAB, 4, 0.365) for _ in range(2))
    other = draw_truth(twin, LAB, 5, 0.365)
    assert first.mass == again.mass and (first.force_matrix == again.force_matrix).all()
    assert first.mass != other.mass
    masses = [draw_truth(twin, LAB, seed, 1.0).mass for seed in range(400)]
    assert min(masses) > 0.5 and max(masses) < 2.0
    assert np.mean(np.log(masses)) == pytest.approx(0.0, abs=0.06)
    assert draw_truth(twin, LAB, 4, None, 0.2).mass == 0.2
    with pytest.raises(ConfigError, match="no mass for it"):
        draw_truth(twin, LAB, 4, None)


def test_the_same_seed_gives_the_same_signals():
    runs = []
    for _ in range(2):
        robot = DirectRobot(SimulatedRig(RigConfig(object_id="domino", seed=3)))
        with robot.record() as recording:
            robot.sleep(0.3)
        runs.append(recording.blocks())
    assert (runs[0].wrenches == runs[1].wrenches).all() and (runs[0].poses == runs[1].poses).all()


@pytest.mark.parametrize("object_id", sorted(LIBRARY_MASSES))
def test_objects_stand_still_for_five_seconds(object_id):
    assert object_id in list_twins()
    rig = SimulatedRig(RigConfig(object_id=object_id, realism="lab", seed=2))
    before = rig.object_pose()
    for _ in range(2500):
        rig.step()
    after = rig.object_pose()
    assert np.linalg.norm(after[:3, 3] - before[:3, 3]) < 2e-4
    assert np.degrees(rotation_angle(before[:3, :3].T @ after[:3, :3])) < 0.1


def test_wrist_feels_a_weight_hung_on_the_hand():
    rig = ideal()
    for _ in range(200):
        rig.step()
    assert np.abs(rig.sample.wrench).max() < 1e-3
    palm = rig.model.body("hand/palm").id
    rig.data.xfrc_applied[palm, :3] = [0.3, -0.4, -2.0]
    for _ in range(400):
        rig.step()
    rotation = rig.data.site_xmat[rig.rig.tool_site].reshape(3, 3)
    assert np.allclose(rotation @ rig.sample.wrench[:3], [0.3, -0.4, -2.0], atol=2e-3)
    arm = rig.data.xipos[palm] - rig.data.site_xpos[rig.rig.tool_site]
    assert np.allclose(rotation @ rig.sample.wrench[3:], np.cross(arm, [0.3, -0.4, -2.0]), atol=2e-3)


def test_payload_is_taken_off_in_every_attitude_and_zero_removes_the_rest():
    rig = ideal()
    robot = DirectRobot(rig)
    robot.set_payload(0.5, np.array([0.0, 0.0, 0.1]))
    robot.sleep(0.2)
    rotation = rig.data.site_xmat[rig.rig.tool_site].reshape(3, 3)
    assert np.allclose(rotation @ robot.state().force, [0, 0, 0.5 * 9.81], atol=2e-3)
    robot.zero_force()
    robot.sleep(0.1)
    assert np.abs(robot.state().force).max() < 1e-3
    robot.set_payload(0.0, np.zeros(3))
    robot.zero_force()
    turned = ARM_HOME + np.array([0, 0, 0, 0.6, 0.4, 0.0])
    robot.execute(point_to_point(ARM_HOME, turned, 0.4))
    robot.sleep(0.5)
    assert np.abs(robot.state().force).max() < 5e-3


def test_wrist_noise_bias_and_zeroing_are_of_the_profile():
    robot = DirectRobot(SimulatedRig(RigConfig(object_id="lego", seed=1)))
    with robot.record() as recording:
        robot.sleep(2.0)
    wrenches = recording.blocks().wrenches
    assert np.diff(wrenches[:, :3], axis=0).std() / np.sqrt(2) == pytest.approx(0.05, rel=0.1)
    assert np.abs(wrenches.mean(axis=0)[:3]).max() > 0.3
    robot.zero_force()
    with robot.record() as recording:
        robot.sleep(0.5)
    assert np.abs(recording.blocks().wrenches[:, :3].mean(axis=0)).max() < 0.03


def test_flange_shakes_as_the_profile_says():
    rig = SimulatedRig(RigConfig(object_id="lego", seed=1))
    positions = []
    for _ in range(2500):
        rig.step()
        positions.append(rig.data.site_xpos[rig.rig.tool_site].copy())
    acceleration = np.diff(np.asarray(positions)[500:], 2, axis=0) / 0.002**2
    rms = np.sqrt((acceleration**2).sum(axis=1).mean())
    assert 0.5 * LAB.vibration < rms < 2.0 * LAB.vibration


@pytest.mark.parametrize(("realism", "allowed"), [("ideal", 0.0005), ("lab", 0.0015)])
def test_arm_follows_a_slow_trajectory_within_a_millimetre_and_its_lag(realism, allowed):
    rig = SimulatedRig(RigConfig(object_id="lego", realism=realism))
    kinematics = rig.kinematics
    poses = [kinematics.tool(ARM_HOME) for _ in range(25)]
    for i, pose in enumerate(poses):
        pose[:3, 3] += i / 24 * np.array([0.08, -0.05, 0.03])
    path = kinematics.arm_path_ik(poses, ARM_HOME)
    errors = []
    robot = DirectRobot(
        rig,
        on_step=lambda s: errors.append(
            np.linalg.norm(kinematics.tool(s.arm_position)[:3, 3] - kinematics.tool(rig.arm.reference)[:3, 3])
        ),
    )
    assert robot.execute(along_path(path, 0.15)) is MotionResult.REACHED
    assert max(errors) < allowed
    assert np.linalg.norm(kinematics.tool(robot.state().arm_position)[:3, 3] - poses[-1][:3, 3]) < 0.0005


def test_guard_stops_the_arm_within_a_fifth_of_a_second():
    rig = SimulatedRig(RigConfig(object_id="lego"))
    speeds, stopped_at = [], []
    robot = DirectRobot(rig, on_step=lambda s: speeds.append((s.time, np.abs(s.arm_velocity).max())))

    def guard(state):
        if np.abs(state.arm_velocity).max() > 0.3:
            stopped_at.append(state.stamp)
            return True
        return False

    goal = NEAR_HOME + np.array([0.2, 0, 0, 0, 0, 0])
    assert robot.execute(point_to_point(ARM_HOME, goal, 0.6), guard) is MotionResult.GUARDED
    robot.sleep(0.2)
    late = [speed for time, speed in speeds if time > stopped_at[0] + 0.2]
    assert max(late) < 0.02


def test_cancel_and_bad_motions():
    cancel = []
    robot = DirectRobot(SimulatedRig(RigConfig(object_id="lego")), cancelled=lambda: bool(cancel))
    with pytest.raises(MotionError, match="starts"):
        robot.execute(point_to_point(NEAR_HOME, ARM_HOME, 0.5))
    with pytest.raises(LimitError, match="workspace"):
        robot.execute(point_to_point(ARM_HOME, ARM_HOME + [0, 1.0, 0, 0, 0, 0], 0.5))
    robot._on_step = lambda s: cancel.append(1) if s.time > 0.6 else None
    with pytest.raises(CancelledError):
        robot.execute(point_to_point(ARM_HOME, NEAR_HOME, 0.1))
    assert np.abs(robot.state().arm_velocity).max() < 0.02


@pytest.mark.parametrize(
    ("driver", "mode"), [("ros2_control", "position"), ("v5_torque", "effort"), ("v5", None)]
)
def test_hand_reaches_its_targets_in_every_mode(driver, mode):
    rig = SimulatedRig(RigConfig(object_id="lego", realism="ideal", hand_driver=driver, hand_mode=mode))
    robot = DirectRobot(rig)
    target = HAND_OPEN + 0.2
    robot.command(target)
    robot.sleep(1.0)
    assert np.abs(robot.state().hand_position - target).max() < 0.01
    efforts = np.full(16, 0.05)
    robot.command(target, efforts)
    robot.sleep(1.0)
    assert np.allclose(robot.state().hand_position - target, 0.05 / 3.0, atol=3e-3)
    with pytest.raises(ConfigError, match="does not accept"):
        SimulatedRig(RigConfig(hand_driver="v5", hand_mode="effort"))


def test_torques_are_clamped_and_quantised():
    rig = SimulatedRig(RigConfig(object_id="lego"))
    rig.hand.command(HAND_OPEN + 1.0)
    for _ in range(10):
        rig.step()
    assert np.abs(rig.sample.hand_effort).max() <= 0.7 + 1e-12
    assert np.allclose(rig.sample.hand_effort / 0.001, np.rint(rig.sample.hand_effort / 0.001), atol=1e-6)


def test_poses_have_the_noise_rate_and_latency_of_the_profile():
    rig = SimulatedRig(RigConfig(object_id="ketchup", seed=2))
    robot = DirectRobot(rig)
    with robot.record() as recording:
        robot.sleep(20.0)
    blocks = recording.blocks()
    assert 280 <= len(blocks.poses) <= 300
    assert blocks.poses[:, :3].std(axis=0).mean() == pytest.approx(0.0005, rel=0.2)
    latency = blocks.pose_receive_stamps - blocks.pose_stamps + rig.sealed_truth.clock_offset
    assert latency.mean() == pytest.approx(0.030, abs=0.004)
    assert robot.tracked().object_id == "ketchup"


def test_truth_is_sealed_for_the_owner_alone(tmp_path):
    rig = SimulatedRig(RigConfig(object_id="cookie", seed=9, run_folder=tmp_path))
    file = tmp_path / SEALED
    assert stat.S_IMODE(file.stat().st_mode) == 0o600 and stat.S_IMODE(file.parent.stat().st_mode) == 0o700
    record = json.loads(file.read_text())
    assert record["mass"] == rig.sealed_truth.mass and record["object_id"] == "cookie" and record["seed"] == 9
    assert not hasattr(rig.twin, "mass")


def test_reset_keeps_or_redraws_the_truth():
    rig = SimulatedRig(RigConfig(object_id="lego", seed=1))
    mass = rig.sealed_truth.mass
    robot = DirectRobot(rig)
    robot.execute(point_to_point(ARM_HOME, NEAR_HOME, 0.5))
    now = rig.time
    rig.reset(keep=True)
    assert rig.sealed_truth.mass == mass and np.abs(rig.sample.arm_position - ARM_HOME).max() < 1e-6
    assert rig.time > now
    rig.reset(seed=2)
    assert rig.sealed_truth.mass != mass
    with pytest.raises(ConfigError):
        rig.reset(realism="dream")
    rig.load("domino")
    assert rig.twin.id == "domino"


def test_tipped_object_obeys_the_moment_balance():
    """A force high on one side leans a box about its opposite edge: F h = m g d at onset."""
    rig = ideal("domino", mass=0.1)
    body, pose = rig.rig.object_body, rig.object_pose()
    push = pose[:3, 0]
    half, height = 0.015, 0.12
    onset = 0.1 * 9.81 * half / height
    for share, tips in ((0.98, False), (1.02, True)):
        rig.reset(keep=True)
        for _ in range(400):
            point = rig.object_pose()[:3, 3] + rig.object_pose()[:3, 2] * (height - rig.rig.shape.com_height)
            rig.data.qfrc_applied[:] = 0.0
            mujoco.mj_applyFT(
                rig.model, rig.data, share * onset * push, np.zeros(3), point, body, rig.data.qfrc_applied
            )
            rig.step()
        leaned = np.degrees(np.arccos(rig.object_pose()[2, 2]))
        assert bool(leaned > 1.0) is tips, (share, leaned)
        rig.data.qfrc_applied[:] = 0.0


def test_true_shape_differs_from_the_twin_as_drawn():
    rig = ideal("domino")
    shape = rig.rig.shape
    assert np.ptp(shape.supports[:, 0]) == pytest.approx(0.030, abs=5e-4)
    truth = replace(rig.sealed_truth, base_shift=(0.001, -0.001, 0.0, 0.0), edge_radius=0.003, scale=1.01)
    from drex_sim.rig.geometry import true_shape

    changed = true_shape(rig.twin, truth)
    assert changed.support_radius == 0.003
    assert changed.supports[:, 0].max() == pytest.approx(0.01515 + 0.001 - 0.003, abs=1e-4)
    assert changed.supports[:, 0].min() == pytest.approx(-0.01515 + 0.001 + 0.003, abs=1e-4)
    assert changed.com_height == pytest.approx(1.01 * rig.twin.com_height)
