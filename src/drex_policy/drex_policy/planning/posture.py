"""Postures of the hand for a candidate: joints that put the pads on the surface, and the force they can give."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from drex_policy.planning.candidates import GraspCandidate, pad_centre, pinch_axes_in_palm
from drex_sim.robot.kinematics import ARM_HOME, RobotKinematics
from drex_sim.robot.models import PAD_RADIUS
from drex_sim.robot.names import FINGERS
from drex_sim.transforms import apply, inverse

Array = NDArray[np.float64]

CONTACT_SEED = np.array([0.0, 1.1, 0.5, 0.4] * 3 + [1.35, 0.5, 0.3, 0.4])
"""Fingers bent over the object, thumb opposed [rad]."""
TWO_FINGER_ROW = 0.0225
"""Middle between index and middle finger in the palm's y [m]."""


UNREACHABLE_AFTER, UNREACHABLE_GAP = 6, 0.012
"""A pad still this far off [m] after so many iterations will not get there."""


@dataclass(frozen=True, kw_only=True)
class PostureConfig:
    """Places of the pinch in the palm that are tried, and what is accepted."""

    reach: tuple[float, ...] = (0.078, 0.09, 0.102, 0.114)
    """Distance of the pinch from the palm frame, along the palm's normal [m]."""
    forward: tuple[float, ...] = (0.0, 0.015, 0.03, 0.045)
    """Place of the pinch along the fingers' direction [m]."""
    tilts: tuple[float, ...] = (0.0, 0.2, 0.4)
    """Angle between the fingers' direction and the pinch [rad]."""
    max_residual: float = 0.0015
    """Largest distance of a pad from its place [m]."""
    opening: float = 0.022
    """How far each pad stands off the surface before closing [m]."""
    min_opening: float = 0.010
    """Least stand-off [m]."""
    torque_share: float = 0.92
    """Share of the joint torque limit that the feed-forward may use."""


@dataclass(frozen=True, kw_only=True)
class Posture:
    """Hand joints for a candidate, and what they cost per newton."""

    object_T_palm: Array
    """(4, 4)."""
    hand_contact: Array
    """(16,) pads on the surface [rad]."""
    hand_open: Array
    """(16,) pads off the surface [rad]."""
    grip_forces: dict[str, Array]
    """Force on the object per finger for 1 N per side, palm frame, (3,)."""
    weight_forces: dict[str, Array]
    """Force on the object per finger that carries 1 N of its weight, palm frame, (3,)."""
    grip_torque: Array
    """Joint torques (16,) of `grip_forces` [N m/N]."""
    weight_torque: Array
    """Joint torques (16,) of `weight_forces` [N m/N]."""
    torque_limit: float
    """Joint torque that may be used [N m]."""
    residual: float
    """Distance of the worst pad from its place [m]."""

    def side_limit(self, weight: float) -> float:
        """Force per side that the joint torques leave while they carry a weight [N]; 0: none."""
        carry = weight * self.weight_torque
        grip = np.where(np.abs(self.grip_torque) > 1e-6, self.grip_torque, 1e-6)
        if (np.abs(carry) > self.torque_limit).any():
            return 0.0
        return float(np.min((self.torque_limit - np.sign(grip) * carry) / np.abs(grip)))


class PostureSolver:
    """Solves postures; keeps those of equal geometry."""

    def __init__(self, kinematics: RobotKinematics, torque_limit: float, config: PostureConfig | None = None) -> None:
        self._kinematics = kinematics
        self._config = config or PostureConfig()
        self._limit = self._config.torque_share * torque_limit
        self._known: dict[tuple[float, ...], tuple[Array, Array, float] | None] = {}

    def postures(self, candidate: GraspCandidate) -> list[Posture]:
        """Every posture that puts the pads within `max_residual` of their places; may be empty."""
        found = []
        config = self._config
        row = TWO_FINGER_ROW if len(candidate.fingers) == 2 else 0.0
        for tilt in config.tilts:
            for reach in config.reach:
                for forward in config.forward:
                    posture = self._solve(candidate, np.array([reach, row, forward]), tilt)
                    if posture is not None:
                        found.append(posture)
        return found

    def _solve(self, candidate: GraspCandidate, in_palm: Array, tilt: float) -> Posture | None:
        object_T_palm = candidate.object_T_palm(in_palm, tilt)
        palm_T_object = inverse(object_T_palm)
        pads = {f: apply(palm_T_object, pad_centre(c)) for f, c in candidate.contacts.items()}
        pinch = pinch_axes_in_palm(tilt)[:, 2]
        key = tuple(np.round(np.concatenate([[tilt], *pads.values()]), 4))
        if key not in self._known:
            self._known[key] = self._joints(pads, pinch)
        if (joints := self._known[key]) is None:
            return None
        contact, hand_open, residual = joints
        normals = {f: palm_T_object[:3, :3] @ c.normal for f, c in candidate.contacts.items()}
        grip, weight = share_force(normals, pinch), share_weight(candidate.fingers, palm_T_object[:3, 2])
        return Posture(
            object_T_palm=object_T_palm, hand_contact=contact, hand_open=hand_open, grip_forces=grip,
            weight_forces=weight, grip_torque=fingertip_torques(self._kinematics, contact, grip, grip),
            weight_torque=fingertip_torques(self._kinematics, contact, weight, grip), torque_limit=self._limit,
            residual=residual,
        )

    def _joints(self, pads: Mapping[str, Array], pinch: Array) -> tuple[Array, Array, float] | None:
        config = self._config
        contact, residual = pad_ik(self._kinematics, pads, CONTACT_SEED)
        if residual > config.max_residual:
            return None
        for opening in np.linspace(config.opening, config.min_opening, 3):
            away = {f: p + opening * (-pinch if f == "thumb" else pinch) for f, p in pads.items()}
            hand_open, error = pad_ik(self._kinematics, away, contact)
            if error < opening - config.min_opening + 0.003:
                return contact, hand_open, residual
        return None


def pad_ik(
    kinematics: RobotKinematics, pads: Mapping[str, Array], seed: Array, iterations: int = 20, pull: float = 2e-3
) -> tuple[Array, float]:
    """Hand joints that put pad centres at points of the palm frame: damped least squares, finger by finger.

    Args:
      kinematics: of the robot.
      pads: {finger: (3,)} [m]; fingers not named keep the seed's joints.
      seed: (16,) [rad].
      iterations: at most.
      pull: towards the seed [m/rad].

    Returns:
      joints (16,) [rad] within the limits, and the largest distance left [m].
    """
    own = np.array([np.arange(4) + 4 * FINGERS.index(finger) for finger in pads])
    targets = np.array(list(pads.values()))
    joints = np.array(seed, float)
    lower, upper = kinematics.hand_lower[own] + 1e-3, kinematics.hand_upper[own] - 1e-3
    palm = kinematics.forward(ARM_HOME, joints)["palm"][:3, :3]
    damping = (pull**2 + 1e-6) * np.eye(4)
    for iteration in range(iterations):
        tips = kinematics.tips_in_palm(joints)
        gaps = targets - np.array([tips[finger] for finger in pads])
        worst = float(np.abs(gaps).max())
        if iteration > UNREACHABLE_AFTER and worst > UNREACHABLE_GAP:
            break
        jacobians = np.array(
            [palm.T @ kinematics.tip_jacobian(f, ARM_HOME, joints)[:, o] for f, o in zip(pads, own, strict=True)]
        )
        transposed = jacobians.transpose(0, 2, 1)
        right = transposed @ gaps[:, :, None] + pull**2 * (seed[own] - joints[own])[:, :, None]
        steps = np.linalg.solve(transposed @ jacobians + damping, right)[:, :, 0]
        steps *= np.minimum(1.0, 0.4 / np.maximum(np.abs(steps).max(axis=1, keepdims=True), 1e-9))
        moved = np.clip(joints[own] + steps, lower, upper)
        change = float(np.abs(moved - joints[own]).max())
        joints[own] = moved
        if change < 3e-4:
            break
    tips = kinematics.tips_in_palm(joints)
    return joints, max(float(np.linalg.norm(target - tips[f])) for f, target in pads.items())


def share_force(normals: Mapping[str, Array], pinch: Array) -> dict[str, Array]:
    """Forces on the object for 1 N per side: along the contact normals, equal in the fingers, balanced by the thumb.

    Args:
      normals: outward contact normals, {finger: (3,)}.
      pinch: unit direction from the thumb to the fingers (3,).
    """
    fingers = [f for f in normals if f != "thumb"]
    share = 1.0 / sum(float(normals[f] @ pinch) for f in fingers)
    forces = {f: -share * normals[f] for f in fingers}
    forces["thumb"] = normals["thumb"] / float(normals["thumb"] @ pinch)
    return forces


def share_weight(fingers: Sequence[str], up: Array) -> dict[str, Array]:
    """Forces on the object that carry 1 N of weight: half by the thumb, half by the fingers opposite.

    Args:
      fingers: opposite the thumb.
      up: unit vertical (3,) in the frame of the result.
    """
    return {**{f: 0.5 / len(fingers) * up for f in fingers}, "thumb": 0.5 * up}


def fingertip_torques(
    kinematics: RobotKinematics, hand: Array, forces: Mapping[str, Array], presses: Mapping[str, Array]
) -> Array:
    """Joint torques J^T f (16,) [N m] with which the pads act on the object.

    Args:
      kinematics: of the robot.
      hand: joints (16,) [rad].
      forces: on the object, palm frame, {finger: (3,) [N]}.
      presses: direction in which each pad presses, palm frame: the contact is one pad radius from its centre there.
    """
    torques = np.zeros(16)
    rotation = kinematics.forward(ARM_HOME, hand)["palm"][:3, :3]
    for finger, force in forces.items():
        offset = PAD_RADIUS * (rotation @ presses[finger]) / np.linalg.norm(presses[finger])
        torques += kinematics.tip_jacobian(finger, ARM_HOME, hand, offset=offset).T @ (rotation @ force)
    return torques


def fingertip_force(kinematics: RobotKinematics, hand: Array, torques: Array, finger: str, direction: Array) -> float:
    """Force of one fingertip along a palm-frame direction (3,) that its joint torques (16,) [N m] make [N]."""
    rotation = kinematics.forward(ARM_HOME, hand)["palm"][:3, :3]
    jacobian = kinematics.tip_jacobian(finger, ARM_HOME, hand, offset=PAD_RADIUS * (rotation @ direction))
    joints = slice(4 * FINGERS.index(finger), 4 * FINGERS.index(finger) + 4)
    force = np.linalg.lstsq(jacobian[:, joints].T, torques[joints], rcond=1e-3)[0]
    return float(force @ (rotation @ direction))
