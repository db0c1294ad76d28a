"""How the hand holds itself while its index fingertip pushes, and the arm joints for it.

The fingers point down, turned by LEAD so that the fingertip leads the palm; the push goes across the finger, where no
joint of it gives way. The other fingers are curled and stay behind.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from drex_sim.errors import UnreachableError
from drex_sim.robot.kinematics import ARM_HOME, RobotKinematics
from drex_sim.transforms import from_matrix

Array = NDArray[np.float64]

FINGER = "index"
LEAD = np.radians(20.0)
"""Tilt of the fingers from the vertical, tip ahead [rad]."""
HAND_PUSH = np.array([0.0, 0.0, 0.0, 0.0] + [0.0, 1.2, 1.2, 1.0] * 2 + [1.39, 0.2, 0.3, 0.3])
"""Index straight, middle and ring curled, thumb opposed [rad]."""


class PushPosture:
    """Tool poses and arm joints for a pad centre and a push direction."""

    def __init__(self, kinematics: RobotKinematics) -> None:
        self._kinematics = kinematics
        tip = kinematics.tool_T_palm @ np.append(kinematics.tips_in_palm(HAND_PUSH)[FINGER], 1.0)
        self._tool_to_tip = tip[:3]

    def tool_pose(self, pad: Array, direction: Array) -> Array:
        """base_T_tool0 (4, 4) with the index pad centre at `pad` (3,) [m] and the push along `direction` (2,)."""
        ahead = np.append(direction / np.linalg.norm(direction), 0.0)
        up = np.array([0.0, 0.0, 1.0])
        fingers = np.sin(LEAD) * ahead - np.cos(LEAD) * up
        leading = np.cos(LEAD) * ahead + np.sin(LEAD) * up
        rotation = np.stack([np.cross(leading, fingers), leading, fingers], axis=1)
        return from_matrix(pad - rotation @ self._tool_to_tip, rotation)

    def arm(self, pad: Array, direction: Array, near: Array) -> Array:
        """Arm joints (6,) for a pad centre, with the least travel from `near` (6,) [rad].

        Raises:
          UnreachableError: no solution.
        """
        target = self.tool_pose(pad, direction)
        best: Array | None = None
        failure: UnreachableError | None = None
        for seed in self._seeds(pad, near):
            try:
                q = self._kinematics.arm_ik(target, seed, iterations=60)
            except UnreachableError as error:
                failure = error
                continue
            q[5] = (q[5] + np.pi) % (2 * np.pi) - np.pi
            if abs(q[2]) > np.pi or q[1] > 0.2:  # elbow folded through, or the upper arm below the table's edge
                continue
            if best is None or np.abs(q - near).max() < np.abs(best - near).max():
                best = q
        if best is None:
            raise failure or UnreachableError(f"arm cannot hold the fingertip at {np.round(pad, 3).tolist()} m")
        return best

    def _seeds(self, pad: Array, near: Array) -> list[Array]:
        seeds = [near]
        for wrist in np.arange(4) * np.pi / 2 - 0.75 * np.pi:
            seed = ARM_HOME.copy()
            seed[0], seed[5] = np.arctan2(pad[1], pad[0]) + 0.25, wrist
            seeds.append(seed)
        return seeds

    def path(self, pads: Array, direction: Array, start: Array) -> Array:
        """Arm joints (N, 6) along pad centres (N, 3) with constant orientation, continuous from `start`.

        Raises:
          UnreachableError: a point cannot be reached.
        """
        return self._kinematics.arm_path_ik([self.tool_pose(p, direction) for p in pads], start)
