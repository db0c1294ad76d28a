"""Safety limits: reading, refusing, clamping; realisation of hand commands by driver."""

from __future__ import annotations

import numpy as np
import pytest

from drex_sim.errors import ConfigError, InvalidDataError, LimitError
from drex_sim.robot.kinematics import ARM_HOME
from drex_sim.robot.limits import SafetyLimits
from drex_sim.robot.names import HAND_DRIVERS, HAND_JOINTS, driver_joint_names
from drex_sim.robot.realisation import (
    HandGains,
    allowed_modes,
    check_mode,
    from_driver_order,
    realise,
    to_driver_order,
)
from drex_sim.robot.trajectory import JointTrajectory, point_to_point


def write(tmp_path, text):
    file = tmp_path / "safety.yaml"
    file.write_text(text)
    return file


def test_yaml_overrides_defaults(tmp_path):
    limits = SafetyLimits.from_yaml(write(tmp_path, "safety: {tool_speed: 0.3, force: 25}"))
    assert limits.tool_speed == 0.3 and limits.force == 25 and limits.hand_torque == 0.7


@pytest.mark.parametrize(
    ("text", "match"),
    [
        ("tool_sped: 1", "unknown limit tool_sped"),
        ("tool_speed: fast", "tool_speed is 'fast'"),
        ("tool_speed: -1", "tool_speed is -1"),
        ("force: .nan", "finite"),
        ("arm_velocity: [1, 1]", "shape"),
        ("workspace_lower: [1, 0, 0]", "lower must be below upper"),
        ("- 1", "holds list"),
    ],
)
def test_bad_yaml_names_the_field(tmp_path, text, match):
    with pytest.raises(ConfigError, match=match):
        SafetyLimits.from_yaml(write(tmp_path, text))


def test_missing_file_is_named(tmp_path):
    with pytest.raises(ConfigError, match=r"absent\.yaml"):
        SafetyLimits.from_yaml(tmp_path / "absent.yaml")


def test_trajectories_outside_the_limits_are_refused():
    limits = SafetyLimits()
    goal = ARM_HOME + [0.2, 0, 0, 0, 0, 0.2]
    limits.check_trajectory(point_to_point(ARM_HOME, goal, 0.5))
    with pytest.raises(LimitError, match=r"shoulder_pan_joint at .* arm_velocity allows"):
        limits.check_trajectory(point_to_point(ARM_HOME, ARM_HOME + [2, 0, 0, 0, 0, 0], 4.0))
    with pytest.raises(LimitError, match="workspace"):
        limits.check_trajectory(point_to_point(ARM_HOME, ARM_HOME + [0, 0.9, 0, 0, 0, 0], 0.5))
    with pytest.raises(LimitError, match=r"tool_speed allows 0\.1"):
        SafetyLimits(tool_speed=0.1).check_trajectory(point_to_point(ARM_HOME, goal, 1.0))
    beyond = np.array([ARM_HOME, ARM_HOME])
    beyond[1, 2] = 3.3
    with pytest.raises(LimitError, match="elbow_joint"):
        limits.check_trajectory(JointTrajectory(np.array([0.0, 5.0]), beyond, np.zeros((2, 6))))


def test_hand_commands_are_clamped_and_nan_refused():
    limits = SafetyLimits()
    positions, efforts = limits.clamp_hand(np.full(16, 9.0), np.full(16, -9.0))
    assert (positions == limits.hand_upper).all() and (efforts == -0.7).all()
    with pytest.raises(InvalidDataError, match="NaN"):
        limits.clamp_hand(np.full(16, np.nan), np.zeros(16))


def test_position_mode_makes_the_torque_through_the_stiffness():
    gains = HandGains(stiffness=2.0)
    q, tau = np.linspace(0, 1, 16), np.linspace(-0.5, 0.5, 16)
    command = realise(q, tau, mode="position", gains=gains)
    assert np.allclose(gains.stiffness * (command - q), tau)
    assert np.allclose(realise(q, tau * 100, mode="position", gains=gains) - q, np.sign(tau) * 0.35)


def test_effort_mode_is_pd_plus_feed_forward_and_clamped():
    gains = HandGains()
    torque = realise(
        np.full(16, 0.1),
        np.full(16, 0.2),
        mode="effort",
        gains=gains,
        measured=np.zeros(16),
        velocity=np.full(16, 1.0),
    )
    assert np.allclose(torque, 3.0 * 0.1 - 0.1 + 0.2)
    big = realise(
        np.full(16, 9.0),
        np.zeros(16),
        mode="effort",
        gains=gains,
        measured=np.zeros(16),
        velocity=np.zeros(16),
    )
    assert np.allclose(big, 0.7)
    with pytest.raises(ConfigError, match="measured"):
        realise(np.zeros(16), np.zeros(16), mode="effort", gains=gains)


def test_driver_order_is_thumb_first_for_ros2_control_and_last_for_v5():
    values = np.arange(16.0)
    assert to_driver_order("ros2_control", values)[:4].tolist() == [12, 13, 14, 15]
    assert to_driver_order("v5", values).tolist() == values.tolist()
    for driver in HAND_DRIVERS:
        assert (from_driver_order(driver, to_driver_order(driver, values)) == values).all()
    assert driver_joint_names("ros2_control")[HAND_JOINTS.index("thumb_joint_0")] == "ah_joint00"


def test_each_driver_has_its_modes():
    assert allowed_modes("v5") == ("position",) and allowed_modes("v5_torque") == ("effort",)
    with pytest.raises(ConfigError, match="does not accept"):
        check_mode("v5", "effort")
    with pytest.raises(ConfigError, match="unknown"):
        check_mode("v9", "effort")
