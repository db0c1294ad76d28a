"""Messages and core types."""

from __future__ import annotations

import math

import numpy as np
import pytest
from builtin_interfaces.msg import Time
from rclpy.serialization import deserialize_message, serialize_message

from drex_identification.conversions import estimate_to_msg, goal_from_msg, trial_from_msg, trial_to_msg
from drex_identification.estimators import TipConfig, TipEstimator
from drex_msgs.action import ExecutePush
from drex_msgs.msg import MassEstimate, PushTrial
from drex_sim.errors import PushError, TrialError


def test_trial_survives_the_wire(pushed):
    trial = pushed[0][0]
    wire = serialize_message(trial_to_msg(trial))
    back = trial_from_msg(deserialize_message(wire, PushTrial))
    assert back.phases == trial.phases and back.outcome == trial.outcome and back.tare is None
    np.testing.assert_array_equal(back.blocks.wrenches, trial.blocks.wrenches)
    np.testing.assert_array_equal(back.blocks.hand_positions, trial.blocks.hand_positions)
    np.testing.assert_allclose(back.tool_T_force, trial.tool_T_force, atol=1e-12)


def test_joints_are_mapped_by_name(pushed):
    message = trial_to_msg(pushed[0][0])
    names = list(message.arm_names)
    message.arm_names = names[::-1]
    message.arm_positions = np.asarray(message.arm_positions).reshape(-1, 6)[:, ::-1].ravel().tolist()
    message.arm_velocities = np.asarray(message.arm_velocities).reshape(-1, 6)[:, ::-1].ravel().tolist()
    np.testing.assert_array_equal(trial_from_msg(message).blocks.arm_positions, pushed[0][0].blocks.arm_positions)
    message.arm_names = [*names[:5], "surprise"]
    with pytest.raises(TrialError, match="arm_names"):
        trial_from_msg(message)


def test_bad_messages_name_the_field(pushed):
    message = trial_to_msg(pushed[0][0])
    message.wrenches = message.wrenches[:-1]
    with pytest.raises(TrialError, match=r"wrenches has .* a multiple of 6"):
        trial_from_msg(message)
    message = trial_to_msg(pushed[0][0])
    message.poses[3] = math.nan
    with pytest.raises(TrialError, match="poses holds 1 NaN"):
        trial_from_msg(message)
    with pytest.raises(TrialError, match="push_type"):
        trial_from_msg(PushTrial(trial_id="x", push_type=9))


def test_estimate_message(pushed):
    trials, twin, _, _ = pushed
    result = TipEstimator().estimate(trials, twin, TipConfig(calibration_id="rig-1"))
    message = estimate_to_msg(result, Time(sec=3))
    assert message.verdict == MassEstimate.IDENTIFIED and message.mass == result.mass
    assert len(message.covariance) == len(message.parameter_names) ** 2 == len(message.parameter_values) ** 2
    assert list(message.trial_ids) == [trial.trial_id for trial in trials]
    assert message.parameter_names[0] == "log_mass/1" and message.calibration_id == "rig-1"
    silent = TipEstimator().estimate([], twin, TipConfig())
    assert math.isnan(estimate_to_msg(silent, Time()).mass)


def test_goal(pushed):
    goal = goal_from_msg(ExecutePush.Goal(auto_contact=True, speed=0.01, repetitions=3))
    assert goal.contact_point is None and goal.repetitions == 3
    with pytest.raises(PushError, match="push_type"):
        goal_from_msg(ExecutePush.Goal(push_type=7))
