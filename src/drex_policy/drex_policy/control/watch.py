"""Watching the object in the hand: slip by the tracker, weight by the wrist."""

from __future__ import annotations

from collections import deque

import numpy as np
from numpy.typing import NDArray

from drex_policy.control.weighing import ForceMean, mean_force
from drex_sim.errors import NotTrackedError, StaleDataError
from drex_sim.robot.kinematics import RobotKinematics
from drex_sim.robot.protocols import Robot, RobotState
from drex_sim.transforms import inverse

Array = NDArray[np.float64]

MIN_WRENCHES = 20
"""Fewer wrenches than this make no mean."""


class HoldWatch:
    """Where the object is in the hand, and what hangs on the wrist."""

    def __init__(self, robot: Robot, kinematics: RobotKinematics) -> None:
        self._robot = robot
        self._kinematics = kinematics
        self._reference: Array | None = None
        self._tools: deque[tuple[float, Array]] = deque(maxlen=100)
        self.empty: ForceMean | None = None
        """Wrist force with the empty hand in this orientation."""

    def mean_force(self, duration: float) -> ForceMean:
        """Mean wrist force over a duration [s]; nothing may move meanwhile.

        Raises:
          StaleDataError: too few wrenches came.
        """
        with self._robot.record() as recording:
            self._robot.sleep(duration)
            blocks = recording.blocks()
        if len(blocks.wrench_stamps) < MIN_WRENCHES:
            raise StaleDataError(
                f"{len(blocks.wrench_stamps)} wrenches in {duration:.1f} s (needed {MIN_WRENCHES}); the wrist sensor's"
                " broadcaster must publish at 100 Hz or faster"
            )
        return mean_force(blocks.wrench_stamps, blocks.wrenches)

    def weight(self, force: Array) -> float:
        """Weight beyond the empty hand that a wrist force (3,) in tool axes shows [N]."""
        assert self.empty is not None
        rotation = self._kinematics.tool(self._robot.state().arm_position)[:3, :3]
        return float((rotation @ (self.empty.force - force))[2])

    def object_in_palm(self, duration: float) -> Array | None:
        """Mean position of the object in tool0 while nothing moves, (3,) [m]; None: the tracker does not see it."""
        positions, last = [], -np.inf
        end = self._robot.time() + duration
        settled = self._robot.time()
        while self._robot.time() < end:
            self._robot.sleep(0.02)
            try:
                pose = self._robot.tracked()
            except NotTrackedError:
                continue
            if pose.stamp > max(last, settled):
                last = pose.stamp
                positions.append(pose.base_T_object[:3, 3])
        if not positions:
            return None
        tool_T_base = inverse(self._kinematics.tool(self._robot.state().arm_position))
        return tool_T_base[:3, :3] @ np.median(positions, axis=0) + tool_T_base[:3, 3]

    def set_reference(self, duration: float) -> None:
        """Slip is measured from here."""
        self._reference = self.object_in_palm(duration)

    def slip(self, duration: float) -> float:
        """Distance the object moved in the hand since the reference [m]; NaN: not seen."""
        now = self.object_in_palm(duration)
        if now is None or self._reference is None:
            return float("nan")
        return float(np.linalg.norm(now - self._reference))

    def sagging(self, state: RobotState) -> float:
        """How far the newest tracked object hangs below its place in the moving hand [m]; NaN: not seen.

        Call it from a motion's guard: it keeps the tool's poses to compare with pictures that come late.
        """
        self._tools.append((state.stamp, self._kinematics.tool(state.arm_position)))
        if self._reference is None:
            return float("nan")
        try:
            pose = self._robot.tracked()
        except (NotTrackedError, StaleDataError):
            return float("nan")
        stamps = np.array([t for t, _ in self._tools])
        if pose.stamp < stamps[0]:
            return float("nan")
        base_T_tool = self._tools[int(np.abs(stamps - pose.stamp).argmin())][1]
        expected = base_T_tool[:3, :3] @ self._reference + base_T_tool[:3, 3]
        return float(expected[2] - pose.base_T_object[2, 3])
