"""Safety limits of the rig, from one YAML file."""

from __future__ import annotations

import threading
from dataclasses import dataclass, fields
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import yaml
from numpy.typing import NDArray

from drex_sim.errors import ConfigError, InvalidDataError, LimitError
from drex_sim.robot.names import ARM_JOINTS, HAND_JOINTS
from drex_sim.robot.trajectory import JointTrajectory

if TYPE_CHECKING:
    from drex_sim.robot.kinematics import RobotKinematics

Array = NDArray[np.float64]

_FINGER_LOWER, _FINGER_UPPER = (-0.47, -0.196, -0.174, -0.227), (0.47, 1.61, 1.709, 1.618)
_THUMB_LOWER, _THUMB_UPPER = (0.263, -0.105, -0.189, -0.162), (1.396, 1.163, 1.644, 1.719)
CHECK_PERIOD = 0.02
"""Spacing of the samples at which a trajectory is checked [s]."""


@dataclass(frozen=True, kw_only=True)
class SafetyLimits:
    """What the robot may do. Lists are in ARM_JOINTS and HAND_JOINTS order."""

    arm_lower: tuple[float, ...] = (-6.2832, -6.2832, -3.1416, -6.2832, -6.2832, -6.2832)
    """Lowest arm joint positions [rad]."""
    arm_upper: tuple[float, ...] = (6.2832, 6.2832, 3.1416, 6.2832, 6.2832, 6.2832)
    """Highest arm joint positions [rad]."""
    arm_velocity: tuple[float, ...] = (2.0, 2.0, 2.0, 2.5, 2.5, 2.5)
    """Largest arm joint speeds [rad/s]."""
    tool_speed: float = 0.8
    """Largest speed of the flange [m/s]."""
    workspace_lower: tuple[float, float, float] = (-0.2, -0.7, 0.06)
    """Lower corner of the box the flange stays in, base_link [m]."""
    workspace_upper: tuple[float, float, float] = (0.9, 0.7, 1.1)
    """Upper corner of that box [m]."""
    force: float = 40.0
    """Wrist force at which the supervisor stops the rig [N]."""
    torque: float = 6.0
    """Wrist torque at which the supervisor stops the rig [N m]."""
    hand_lower: tuple[float, ...] = _FINGER_LOWER * 3 + _THUMB_LOWER
    """Lowest hand joint positions [rad]."""
    hand_upper: tuple[float, ...] = _FINGER_UPPER * 3 + _THUMB_UPPER
    """Highest hand joint positions [rad]."""
    hand_torque: float = 0.7
    """Largest hand joint torque [N m]."""
    state_timeout: float = 0.5
    """Silence of a robot stream after which the rig is stopped, steady time [s]."""
    pose_timeout: float = 0.9
    """Age of a tracked pose after which nothing acts on it [s]."""
    heartbeat_timeout: float = 2.0
    """Silence of a node's heartbeat after which the rig is stopped, steady time [s]."""

    def __post_init__(self) -> None:
        lengths = {
            "arm_lower": 6,
            "arm_upper": 6,
            "arm_velocity": 6,
            "workspace_lower": 3,
            "workspace_upper": 3,
            "hand_lower": 16,
            "hand_upper": 16,
        }
        for field in fields(self):
            value = np.asarray(getattr(self, field.name), float)
            wanted = (lengths[field.name],) if field.name in lengths else ()
            if value.shape != wanted:
                raise ConfigError(
                    f"safety limit {field.name}: shape {value.shape}; {wanted or 'one number'} needed"
                )
            if not np.isfinite(value).all():
                raise ConfigError(f"safety limit {field.name} is {value}; finite numbers are needed")
            if field.name not in lengths and value <= 0:
                raise ConfigError(f"safety limit {field.name} is {value}; a number above 0 is needed")
        if min(self.arm_velocity) <= 0:
            raise ConfigError(f"safety limit arm_velocity is {self.arm_velocity}; numbers above 0 are needed")
        for name in ("arm", "workspace", "hand"):
            if (
                np.asarray(getattr(self, f"{name}_lower")) >= np.asarray(getattr(self, f"{name}_upper"))
            ).any():
                raise ConfigError(
                    f"safety limits {name}_lower and {name}_upper: lower must be below upper everywhere"
                )

    @staticmethod
    def from_yaml(file: str | Path) -> SafetyLimits:
        """Limits from a YAML mapping (key `safety` or top level); what it leaves out keeps its default.

        Raises:
          ConfigError: names the file and the field.
        """
        try:
            record = yaml.safe_load(Path(file).read_text())
        except (OSError, yaml.YAMLError) as error:
            raise ConfigError(
                f"{file}: cannot be read ({error}); a YAML mapping of safety limits is needed"
            ) from error
        record = record.get("safety", record) if isinstance(record, dict) else record
        if not isinstance(record, dict):
            raise ConfigError(f"{file}: holds {type(record).__name__}; a mapping of safety limits is needed")
        allowed = {field.name for field in fields(SafetyLimits)}
        unknown = sorted(set(record) - allowed)
        if unknown:
            raise ConfigError(
                f"{file}: unknown limit {', '.join(map(str, unknown))}; allowed: {', '.join(sorted(allowed))}"
            )
        values = {}
        for name, value in record.items():
            try:
                values[name] = tuple(float(v) for v in value) if isinstance(value, list) else float(value)
            except (TypeError, ValueError) as error:
                raise ConfigError(f"{file}: {name} is {value!r}; numbers are needed") from error
        try:
            return SafetyLimits(**values)
        except ConfigError as error:
            raise ConfigError(f"{file}: {error}") from error

    def check_trajectory(self, trajectory: JointTrajectory) -> None:
        """Refuse a trajectory that leaves the limits of joints, speed or workspace.

        Raises:
          LimitError: names the joint or the tool, what was found and what is allowed.
        """
        times = np.arange(0.0, trajectory.duration + CHECK_PERIOD, CHECK_PERIOD)
        samples = [trajectory.sample(float(t)) for t in times]
        positions, velocities = (np.stack(part) for part in zip(*samples, strict=True))
        self._check_joints(positions, velocities)
        with _KINEMATICS_LOCK:
            tool = np.stack([_kinematics().tool(q)[:3, 3] for q in positions])
        lower, upper = np.asarray(self.workspace_lower), np.asarray(self.workspace_upper)
        outside = np.maximum(lower - tool, tool - upper).max(axis=1)
        if outside.max() > 0:
            at = int(outside.argmax())
            raise LimitError(
                f"trajectory takes the flange to {np.round(tool[at], 3).tolist()} m at {times[at]:.2f} s, outside the"
                f" workspace {lower.tolist()} .. {upper.tolist()}; nothing moved"
            )
        speed = np.linalg.norm(np.diff(tool, axis=0), axis=1) / CHECK_PERIOD
        if len(speed) and speed.max() > self.tool_speed:
            raise LimitError(
                f"trajectory moves the flange at {speed.max():.2f} m/s; tool_speed allows {self.tool_speed} m/s;"
                " nothing moved; use a lower velocity"
            )

    def _check_joints(self, positions: Array, velocities: Array) -> None:
        excess = np.maximum(np.asarray(self.arm_lower) - positions, positions - np.asarray(self.arm_upper))
        if excess.max() > 0:
            joint = int(excess.max(axis=0).argmax())
            raise LimitError(
                f"trajectory takes {ARM_JOINTS[joint]} {excess.max():.3f} rad beyond its limits"
                f" {self.arm_lower[joint]} .. {self.arm_upper[joint]} rad; nothing moved"
            )
        ratio = np.abs(velocities).max(axis=0) / np.asarray(self.arm_velocity)
        if ratio.max() > 1:
            joint = int(ratio.argmax())
            raise LimitError(
                f"trajectory moves {ARM_JOINTS[joint]} at {ratio.max() * self.arm_velocity[joint]:.2f} rad/s;"
                f" arm_velocity allows {self.arm_velocity[joint]} rad/s; nothing moved"
            )

    def clamp_hand(self, positions: Array, efforts: Array) -> tuple[Array, Array]:
        """Hand command (16,) [rad] and feed-forward (16,) [N m] inside the limits.

        Raises:
          InvalidDataError: wrong shape, NaN or infinity.
        """
        positions, efforts = np.asarray(positions, float), np.asarray(efforts, float)
        if positions.shape != (len(HAND_JOINTS),) or efforts.shape != (len(HAND_JOINTS),):
            raise InvalidDataError(
                f"hand command: shapes {positions.shape}, {efforts.shape}; (16,) each is needed"
            )
        if not (np.isfinite(positions).all() and np.isfinite(efforts).all()):
            raise InvalidDataError("hand command: NaN or infinity; nothing was sent")
        return (
            np.clip(positions, self.hand_lower, self.hand_upper),
            np.clip(efforts, -self.hand_torque, self.hand_torque),
        )


_KINEMATICS_LOCK = threading.Lock()


@cache
def _kinematics() -> RobotKinematics:
    from drex_sim.robot.kinematics import RobotKinematics  # heavy: MuJoCo and the models

    return RobotKinematics()
