"""What is watched while the finger moves: filtered force and tracked tilt."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from drex_sim.errors import NotTrackedError
from drex_sim.robot.kinematics import RobotKinematics
from drex_sim.robot.protocols import Robot, RobotState
from drex_sim.transforms import inverse

Array = NDArray[np.float64]

TIME_CONSTANT = 0.06
"""Of the force filter [s]."""


class ForceWatch:
    """Low-passed force on the object along the push, relative to the baseline."""

    def __init__(self, kinematics: RobotKinematics, direction: Array) -> None:
        self._kinematics = kinematics
        self._direction = direction
        self._value: float | None = None
        self._stamp = 0.0
        self.baseline = 0.0
        """Reading without contact [N]."""
        self.noise = 0.02
        """Standard deviation of the filtered force [N]."""

    def update(self, state: RobotState) -> float:
        """Filtered pushing force [N]."""
        tool = self._kinematics.tool(state.arm_position)
        raw = float(-(tool[:3, :3] @ state.force)[:2] @ self._direction)
        if self._value is None:
            self._value = raw
        else:
            gain = 1.0 - np.exp(-max(0.0, state.stamp - self._stamp) / TIME_CONSTANT)
            self._value += gain * (raw - self._value)
        self._stamp = state.stamp
        return self._value - self.baseline

    def take_baseline(self, robot: Robot, duration: float) -> None:
        """Let the baseline pass and learn the reading and its noise [s]."""
        self._value, self.baseline = None, 0.0
        end, values = robot.time() + duration, []
        while robot.time() < end:
            robot.sleep(0.01)
            values.append(self.update(robot.state()))
        settled = np.asarray(values[len(values) // 4 :])
        self.baseline, self.noise = float(settled.mean()), float(settled.std())


@dataclass
class TiltWatch:
    """Tracked tilt about the support edge and displacement along the push, relative to rest."""

    rest: Array
    """base_T_object at rest (4, 4)."""
    direction: Array
    """(2,)"""
    tilt: float = 0.0
    """Low-passed over about three poses [rad]."""
    displacement: float = 0.0
    """Of the support edge along the push [m]."""
    stamp: float = -np.inf
    seen: int = 0

    def update(self, robot: Robot, edge_object: Array) -> bool:
        """Take a new pose when there is one; True when there was.

        Args:
          robot: where poses come from.
          edge_object: a point of the support edge, object frame (3,) [m].
        """
        try:
            pose = robot.tracked()
        except NotTrackedError:
            return False
        if pose.stamp <= self.stamp:
            return False
        self.stamp = pose.stamp
        turned = pose.base_T_object[:3, :3] @ inverse(self.rest)[:3, :3]
        tilt = float(np.arctan2(turned[:2, 2] @ self.direction, turned[2, 2]))
        moved = (pose.base_T_object[:3, :3] @ edge_object + pose.base_T_object[:3, 3])
        moved = moved - (self.rest[:3, :3] @ edge_object + self.rest[:3, 3])
        along = float(moved[:2] @ self.direction)
        weight = 0.4 if self.seen else 1.0
        self.tilt += weight * (tilt - self.tilt)
        self.displacement += weight * (along - self.displacement)
        self.seen += 1
        return True
