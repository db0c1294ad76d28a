"""When the rig must stop: the supervisor's rules, without ROS."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from drex_sim.robot.limits import SafetyLimits

ROBOT_RUNNING = 7
"""ur_dashboard_msgs/RobotMode.RUNNING."""
SAFETY_FINE = (1, 2)
"""ur_dashboard_msgs/SafetyMode NORMAL and REDUCED."""
ROBOT_MODES = {
    -1: "NO_CONTROLLER", 0: "DISCONNECTED", 1: "CONFIRM_SAFETY", 2: "BOOTING", 3: "POWER_OFF", 4: "POWER_ON",
    5: "IDLE", 6: "BACKDRIVE", 7: "RUNNING", 8: "UPDATING_FIRMWARE",
}
SAFETY_MODES = {
    1: "NORMAL", 2: "REDUCED", 3: "PROTECTIVE_STOP", 4: "RECOVERY", 5: "SAFEGUARD_STOP", 6: "SYSTEM_EMERGENCY_STOP",
    7: "ROBOT_EMERGENCY_STOP", 8: "VIOLATION", 9: "FAULT", 10: "VALIDATE_JOINT_ID", 11: "UNDEFINED_SAFETY_MODE",
    12: "AUTOMATIC_MODE_SAFEGUARD_STOP", 13: "SYSTEM_THREE_POSITION_ENABLING_STOP",
}


@dataclass(frozen=True)
class Trip:
    """A reason to stop."""

    source: str
    """What tripped, as in drex_msgs/SafetyStatus."""
    reason: str
    """What was found, what is allowed and what to do."""


@dataclass(kw_only=True)
class Observation:
    """What the supervisor knows at one moment. Ages in seconds of steady time, infinite when nothing came."""

    moving: bool = False
    """Whether the arm's trajectory controller runs a goal."""
    stream_ages: dict[str, float] = field(default_factory=dict)
    """Age of each robot stream by topic."""
    pose_age: float = math.inf
    """Age of the newest tracked_object."""
    not_finite: str = ""
    """Topic whose newest message held NaN or infinity; empty: none."""
    force: float = 0.0
    """Largest wrist force since the last check [N]."""
    torque: float = 0.0
    """Largest wrist torque since the last check [N m]."""
    heartbeat_ages: dict[str, float] = field(default_factory=dict)
    """Age of the last heartbeat by node; only nodes that were heard."""
    robot_mode: int | None = None
    safety_mode: int | None = None
    program_running: bool | None = None
    """None: never heard."""


def judge(
    seen: Observation, limits: SafetyLimits, *, pose_timeout: float, require_robot_status: bool = True
) -> Trip | None:
    """The first rule that is broken, or None.

    Args:
      seen: what is known.
      limits: force, torque, state and heartbeat timeouts.
      pose_timeout: silence of the tracker that is allowed while the arm moves [s].
      require_robot_status: whether a robot that never told its modes may not move (false with mock hardware).
    """
    if seen.not_finite:
        return Trip(f"invalid:{seen.not_finite}", f"{seen.not_finite} holds NaN or infinity; check its driver")
    if seen.force > limits.force:
        return Trip(
            "force",
            f"wrist force {seen.force:.1f} N, allowed {limits.force:.1f} N; clear the collision, then safety/reset",
        )
    if seen.torque > limits.torque:
        return Trip(
            "force",
            f"wrist torque {seen.torque:.2f} N m, allowed {limits.torque:.2f} N m; clear the collision, then"
            " safety/reset",
        )
    return _judge_robot(seen, require_robot_status) or _judge_silence(seen, limits, pose_timeout)


def _judge_robot(seen: Observation, required: bool) -> Trip | None:
    if seen.robot_mode not in (None, ROBOT_RUNNING):
        name = ROBOT_MODES.get(seen.robot_mode, str(seen.robot_mode))
        return Trip("robot_mode", f"robot mode is {name}; RUNNING is needed: power on and release the brakes")
    if seen.safety_mode is not None and seen.safety_mode not in SAFETY_FINE:
        name = SAFETY_MODES.get(seen.safety_mode, str(seen.safety_mode))
        return Trip("safety_mode", f"safety mode is {name}; resolve it on the pendant, then safety/reset")
    if seen.program_running is False:
        return Trip(
            "robot_program",
            "the external-control program is not running; press play on the pendant (or resend_robot_program)",
        )
    unheard = [
        name
        for name, value in (
            ("robot_mode", seen.robot_mode),
            ("safety_mode", seen.safety_mode),
            ("robot_program_running", seen.program_running),
        )
        if value is None
    ]
    if seen.moving and required and unheard:
        return Trip(
            "robot_mode",
            f"the arm moves but /io_and_status_controller/{unheard[0]} was never heard; start io_and_status_controller,"
            " or set require_robot_status false for mock hardware",
        )
    return None


def _judge_silence(seen: Observation, limits: SafetyLimits, pose_timeout: float) -> Trip | None:
    for node, age in seen.heartbeat_ages.items():
        if age > limits.heartbeat_timeout:
            return Trip(
                f"heartbeat:{node}",
                f"node {node} has sent no heartbeat for {age:.1f} s (allowed {limits.heartbeat_timeout:.1f} s); it died"
                " or hangs: restart the bring-up",
            )
    if not seen.moving:
        return None
    for topic, age in seen.stream_ages.items():
        if age > limits.state_timeout:
            return Trip(
                f"stale:{topic}", f"{topic} {_silence(age)} (allowed {limits.state_timeout:.1f} s); check its driver"
            )
    if seen.pose_age > pose_timeout:
        return Trip(
            "stale:tracked_object",
            f"tracked_object {_silence(seen.pose_age)} (allowed {pose_timeout:.1f} s); check camera and tracker",
        )
    return None


def _silence(age: float) -> str:
    return "never arrived" if math.isinf(age) else f"is silent for {age:.1f} s"
