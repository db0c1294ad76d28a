"""The closed hand: a posture that is held, and a force on top of it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from drex_policy.control.result import GraspResult
from drex_policy.planning.planner import GraspPlan
from drex_policy.planning.posture import fingertip_force, fingertip_torques
from drex_sim.robot.kinematics import RobotKinematics
from drex_sim.robot.names import FINGERS
from drex_sim.robot.protocols import Robot
from drex_sim.robot.trajectory import minimum_jerk
from drex_sim.transforms import inverse

Array = NDArray[np.float64]

COMMAND_PERIOD = 0.02
"""Spacing of hand commands while force or posture change [s]."""


class Grip:
    """Closes, presses and opens; keeps the force history in the result."""

    def __init__(
        self, robot: Robot, kinematics: RobotKinematics, plan: GraspPlan, stiffness: float, result: GraspResult
    ) -> None:
        """Make the grip.

        Args:
          robot: whose hand it is.
          kinematics: of that robot.
          plan: the grasp.
          stiffness: of the hand's joints [N m/rad].
          result: gets the force history.
        """
        self._robot = robot
        self._kinematics = kinematics
        self._plan = plan
        self._stiffness = stiffness
        self._result = result
        self._posture = robot.state().hand_position.copy()
        self.force = 0.0
        """Commanded force per side [N]."""
        self.weight = 0.0
        """Weight that the fingers' torques carry [N]."""
        self._active = np.concatenate([np.arange(4) + 4 * FINGERS.index(f) for f in plan.fingers])

    def close(self, duration: float) -> None:
        """Move the pads to the surface [s]."""
        self._move(self._plan.posture.hand_contact, duration)
        self._find_torques()

    def open(self, duration: float) -> None:
        """Let go and move the pads off the surface [s]."""
        self.force = self.weight = 0.0
        self._move(self._plan.posture.hand_open, duration)

    def _move(self, target: Array, duration: float) -> None:
        start = self._posture.copy()
        steps = max(2, round(duration / COMMAND_PERIOD))
        for i in range(1, steps + 1):
            self._posture = start + float(minimum_jerk(i / steps)) * (target - start)
            self._robot.hand.command(self._posture)
            self._robot.sleep(COMMAND_PERIOD)

    def anchor(self) -> None:
        """Hold the joints where they are now, so that stiffness neither adds to the force nor takes from it."""
        measured = self._robot.state().hand_position
        self._posture[self._active] = measured[self._active]
        self._find_torques()
        self.press(self.force)

    def _find_torques(self) -> None:
        plan = self._plan.posture
        self._per_force = fingertip_torques(self._kinematics, self._posture, plan.grip_forces, plan.grip_forces)
        self._per_weight = fingertip_torques(self._kinematics, self._posture, plan.weight_forces, plan.grip_forces)

    def _torque(self) -> Array:
        return self.force * self._per_force + self.weight * self._per_weight

    def press(self, force: float, felt: float = float("nan")) -> None:
        """Command a force per side [N] now; `felt` (weight at the wrist [N]) goes into the history."""
        self.force = force
        self._robot.hand.command(self._posture, self._torque(), force)
        self._result.times.append(self._robot.time())
        self._result.forces.append(force)
        self._result.weights.append(felt)

    def ramp(self, force: float, weight: float, duration: float) -> None:
        """Go to a force per side [N] and a carried weight [N] within a duration [s]."""
        force_start, weight_start = self.force, self.weight
        steps = max(2, round(duration / COMMAND_PERIOD))
        for i in range(1, steps + 1):
            share = float(minimum_jerk(i / steps))
            self.weight = weight_start + share * (weight - weight_start)
            self.press(force_start + share * (force - force_start))
            self._robot.sleep(COMMAND_PERIOD)

    # Feeling ------------------------------------------------------------------------------------------------
    def finger_forces(self) -> dict[str, float]:
        """Force of each finger along its contact normal, from what the joints deflect [N]."""
        measured = self._robot.state().hand_position
        torque = self._stiffness * (self._posture - measured) + self._torque()
        forces = {}
        for finger, vector in self._plan.posture.grip_forces.items():
            direction = vector / np.linalg.norm(vector)
            forces[finger] = fingertip_force(self._kinematics, measured, torque, finger, direction)
        return forces

    def contacts(self, share: float, least: float) -> list[str]:
        """Fingers that press with at least `share` of their part and `least` newtons."""
        unit = self._plan.posture.grip_forces
        return [
            finger for finger, force in self.finger_forces().items()
            if force > max(least, share * self.force * float(np.linalg.norm(unit[finger])))
        ]

    def aperture(self) -> float:
        """Distance of the thumb's pad from the other pads along the pinch, less what the plan has [m].

        0: as planned; clearly negative: the fingers closed on nothing, or the object left.
        """
        palm_T_object = inverse(self._plan.posture.object_T_palm)
        pinch = palm_T_object[:3, :3] @ self._plan.candidate.pinch
        now = self._kinematics.tips_in_palm(self._robot.state().hand_position)
        planned = self._kinematics.tips_in_palm(self._plan.posture.hand_contact)
        fingers = self._plan.candidate.fingers

        def distance(tips: dict[str, Array]) -> float:
            return float((np.mean([tips[f] for f in fingers], axis=0) - tips["thumb"]) @ pinch)

        return distance(now) - distance(planned)
