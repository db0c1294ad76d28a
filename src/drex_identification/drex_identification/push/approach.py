"""Ways through free space: to the start of a push and away from it, clear of object and table."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from drex_identification.push.goal import PushConfig
from drex_identification.push.motion import arc, line
from drex_identification.push.plan import TipPlan
from drex_identification.push.posture import FINGER, HAND_PUSH, PushPosture
from drex_sim.errors import UnreachableError
from drex_sim.robot.collision import CollisionChecker
from drex_sim.robot.kinematics import RobotKinematics
from drex_sim.robot.models import PAD_RADIUS
from drex_sim.transforms import from_matrix
from drex_sim.twin import Twin

Array = NDArray[np.float64]

MIN_CLEARANCE = 0.004
"""Least distance of everything but the pushing fingertip [m]."""


@dataclass(frozen=True, kw_only=True)
class PreparedTip:
    """A tip planned for where the object stands."""

    plan: TipPlan
    base_T_object: Array
    direction: Array
    """Of the push, base_link (2,)."""
    contact_pad: Array
    """Pad centre at the tracked face, base_link (3,) [m]."""
    to_pivot: float
    """Horizontal distance of the pad centre from the support edge [m]."""
    descent: Array
    """Joints from above down to the start (N, 6) [rad]."""
    contact: Array
    """Joints from the start past the face (N, 6) [rad]."""
    contact_pads: Array
    """Pad centres of `contact` (N, 3) [m]."""


class Approach:
    """Plans a tip and the ways to it."""

    def __init__(self, kinematics: RobotKinematics, twin: Twin, config: PushConfig) -> None:
        self._kinematics = kinematics
        self._twin = twin
        self._config = config
        self._posture = PushPosture(kinematics)
        self._checker = CollisionChecker(twin)

    def prepare(self, plan: TipPlan, base_T_object: Array, near: Array) -> PreparedTip:
        """Everything of a tip that can be planned before contact.

        Raises:
          UnreachableError: the arm cannot, or something would be hit; the text says what.
        """
        config, rotation = self._config, base_T_object[:3, :3]
        direction = (rotation @ np.append(plan.direction, 0.0))[:2]
        direction /= np.linalg.norm(direction)
        ahead = np.append(direction, 0.0)
        pad = rotation @ (plan.contact_point + PAD_RADIUS * plan.contact_normal) + base_T_object[:3, 3]
        to_pivot = plan.to_pivot - PAD_RADIUS * float(plan.direction @ plan.contact_normal[:2])
        start = pad - config.stand_off * ahead
        top = self._twin.height + config.clearance
        above = np.append(start[:2], max(start[2], top))
        q_start = self._posture.arm(start, direction, near)
        rise = self._posture.path(line(start, above, 0.03), direction, q_start)
        contact_pads = line(start, pad + config.search * ahead, 0.006)
        contact = self._posture.path(contact_pads, direction, q_start)
        leans = np.linspace(0.0, plan.lean, 4)
        lean = self._posture.path(arc(pad, direction, to_pivot, leans), direction, contact[0])
        for q in rise:
            self._require_clear(q, base_T_object)
        for q, tilt in zip(lean, leans, strict=True):
            self._require_clear(q, self._leaned(base_T_object, plan, direction, tilt), touching=True)
        return PreparedTip(
            plan=plan, base_T_object=base_T_object, direction=direction, contact_pad=pad, to_pivot=to_pivot,
            descent=rise[::-1], contact=contact, contact_pads=contact_pads,
        )

    def way(self, start: Array, goal: Array, base_T_object: Array) -> list[Array]:
        """Joint paths from here to the top of a descent: straight up where needed, then over.

        Raises:
          UnreachableError: something would be hit.
        """
        paths = []
        tip = self._kinematics.tip_position(FINGER, start, HAND_PUSH)
        rise = self._twin.height + self._config.clearance - tip[2]
        if rise > 0.005:
            tool = self._kinematics.tool(start)
            poses = []
            for height in np.linspace(0.0, rise, max(2, int(rise / 0.04) + 1)):
                pose = tool.copy()
                pose[2, 3] += height
                poses.append(pose)
            paths.append(self._kinematics.arm_path_ik(poses, start))
            start = paths[0][-1]
        over = start + np.linspace(0.0, 1.0, 13)[:, None] * (goal - start)
        for q in over[1:]:
            self._require_clear(q, base_T_object)
        paths.append(over)
        return paths

    def lean_path(self, pads: Array, direction: Array, start: Array) -> Array:
        """Joints along pad centres (N, 3), first `start`."""
        path = self._posture.path(pads, direction, start)
        path[0] = start
        return path

    def _leaned(self, base_T_object: Array, plan: TipPlan, direction: Array, tilt: float) -> Array:
        pivot = np.append(base_T_object[:2, 3] + plan.edge * direction, 0.0)
        turn = Rotation.from_rotvec(tilt * np.array([-direction[1], direction[0], 0.0])).as_matrix()
        return from_matrix(turn @ (base_T_object[:3, 3] - pivot) + pivot, turn @ base_T_object[:3, :3])

    def _require_clear(self, q: Array, base_T_object: Array, touching: bool = False) -> None:
        distance, what = self._checker.clearance(
            q, HAND_PUSH, base_T_object, touching=(FINGER,) if touching else (), limit=0.02
        )
        if distance < MIN_CLEARANCE:
            raise UnreachableError(
                f"{what} would come within {1e3 * distance:.0f} mm (allowed {1e3 * MIN_CLEARANCE:.0f}); move the"
                f" {self._twin.id} nearer to (0.5, 0) or turn it"
            )
