"""The supervisor's rules."""

from __future__ import annotations

from dataclasses import replace

import pytest

from drex_bringup.supervision import Observation, judge
from drex_sim.robot.limits import SafetyLimits

LIMITS = SafetyLimits()
FINE = Observation(
    moving=True, stream_ages={"/joint_states": 0.01}, pose_age=0.1, heartbeat_ages={"tracker": 0.4}, robot_mode=7,
    safety_mode=1, program_running=True,
)


def check(**changes):
    return judge(replace(FINE, **changes), LIMITS, pose_timeout=1.0)


def test_all_is_well():
    assert check() is None
    assert check(safety_mode=2) is None


@pytest.mark.parametrize(
    ("changes", "source", "text"),
    [
        ({"stream_ages": {"/joint_states": 0.8}}, "stale:/joint_states", "silent for 0.8 s"),
        ({"pose_age": float("inf")}, "stale:tracked_object", "never arrived"),
        ({"force": 55.0}, "force", "55.0 N, allowed 40.0 N"),
        ({"torque": 9.0}, "force", "torque 9.00"),
        ({"not_finite": "/joint_states"}, "invalid:/joint_states", "NaN"),
        ({"robot_mode": 5}, "robot_mode", "IDLE"),
        ({"safety_mode": 3}, "safety_mode", "PROTECTIVE_STOP"),
        ({"program_running": False}, "robot_program", "play"),
        ({"robot_mode": None}, "robot_mode", "never heard"),
        ({"heartbeat_ages": {"tracker": 9.0}}, "heartbeat:tracker", "no heartbeat for 9.0 s"),
    ],
)
def test_each_rule_trips(changes, source, text):
    trip = check(**changes)
    assert trip is not None and trip.source == source and text in trip.reason


def test_silence_matters_only_in_a_motion():
    assert check(moving=False, stream_ages={"/joint_states": 9.0}, pose_age=9.0, robot_mode=None) is None
    assert check(moving=False, force=55.0) is not None


def test_mock_hardware_has_no_modes():
    seen = replace(FINE, robot_mode=None, safety_mode=None, program_running=None)
    assert judge(seen, LIMITS, pose_timeout=1.0, require_robot_status=False) is None
