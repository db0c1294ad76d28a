"""The arm's controller: follows joint trajectories, holds, stops; with the arm's lag and vibration."""

from __future__ import annotations

from enum import Enum

import numpy as np
from numpy.typing import NDArray

from drex_sim.rig.model import ARM_DAMPING, ARM_STIFFNESS, TIMESTEP
from drex_sim.rig.profiles import Profile
from drex_sim.robot.trajectory import JointTrajectory

Array = NDArray[np.float64]

STOP_TIME = 0.12
"""Time in which a cancelled motion is braked to rest [s]."""
GOAL_TOLERANCE = 1e-2
"""A trajectory has succeeded when every joint is this near its end [rad]."""
GOAL_TIME = 0.5
"""It has failed when that takes longer than this after its end [s]."""

_VELOCITY_GAIN = ARM_DAMPING / ARM_STIFFNESS
# Vibrating joints with their distance to the flange [m] and frequencies [Hz], as of a standing arm.
_SHAKEN = ((0, 0.55, 9.0), (1, 0.60, 11.0), (2, 0.45, 14.0), (3, 0.25, 19.0))


class MotionPhase(Enum):
    """What the arm is doing."""

    HOLDING = "holding"
    MOVING = "moving"
    STOPPING = "stopping"


class ArmServo:
    """Reference of the arm over time, and the control values that make the MuJoCo servo follow it."""

    def __init__(self, profile: Profile, rng: np.random.Generator, home: Array) -> None:
        self._lag = profile.tracking_lag
        self._phases = rng.uniform(0, 2 * np.pi, len(_SHAKEN))
        # Four independent joints, each with half of the rms acceleration; a sine's amplitude is sqrt(2) rms.
        self._amplitudes = np.array(
            [np.sqrt(2) * profile.vibration / 2 / lever / (2 * np.pi * f) ** 2 for _, lever, f in _SHAKEN]
        )
        self._shaken = [joint for joint, _, _ in _SHAKEN]
        self._omegas = np.array([2 * np.pi * f for _, _, f in _SHAKEN])
        stiffness, damping = ARM_STIFFNESS[self._shaken], ARM_DAMPING[self._shaken]
        self._amplitudes_velocity = self._amplitudes * self._omegas * damping / stiffness
        self._amplitudes_acceleration = self._amplitudes * self._omegas**2 / stiffness
        self._shakes = profile.vibration > 0
        self.reset(home)

    def reset(self, home: Array) -> None:
        """Hold at a position (6,) [rad]."""
        self.phase = MotionPhase.HOLDING
        self.reference = np.array(home, float)
        self._velocity = np.zeros(6)
        self._followed = self.reference.copy()
        self._trajectory: JointTrajectory | None = None
        self._elapsed = 0.0
        self._outcome: bool | None = None

    @property
    def moving(self) -> bool:
        """Whether a trajectory runs or is being braked."""
        return self.phase is not MotionPhase.HOLDING

    def take_outcome(self) -> bool | None:
        """True: the last trajectory ended at its goal; False: it did not; None: none ended since the last call."""
        outcome, self._outcome = self._outcome, None
        return outcome

    def start(self, trajectory: JointTrajectory) -> None:
        """Run a trajectory from the present reference; its own first point is replaced by that."""
        positions, velocities = trajectory.positions.copy(), trajectory.velocities.copy()
        positions[0], velocities[0] = self.reference, self._velocity
        self._trajectory = JointTrajectory(trajectory.times, positions, velocities)
        self._elapsed, self._outcome, self.phase = 0.0, None, MotionPhase.MOVING

    def stop(self) -> None:
        """Brake to rest within STOP_TIME."""
        if self.phase is MotionPhase.MOVING:
            self._elapsed, self._outcome, self.phase = 0.0, None, MotionPhase.STOPPING

    def step(self, time: float, measured: Array, inertia: Array) -> Array:
        """Advance by one step; the servo's control values (6,) [rad].

        Args:
          time: rig time [s].
          measured: arm joints (6,) [rad].
          inertia: diagonal of the joint-space inertia (6,) [kg m2].
        """
        if self.phase is MotionPhase.MOVING:
            self._advance(measured)
        elif self.phase is MotionPhase.STOPPING:
            self._brake()
        if self._lag > 0:
            velocity = (self.reference - self._followed) / self._lag
            self._followed += velocity * TIMESTEP
        else:
            velocity, self._followed = self._velocity, self.reference
        control = self._followed + _VELOCITY_GAIN * velocity
        if self._shakes:
            argument = self._omegas * time + self._phases
            # Position, velocity and acceleration of the wave, each through the servo's feed-forward.
            in_phase = self._amplitudes - self._amplitudes_acceleration * inertia[self._shaken]
            control[self._shaken] += in_phase * np.sin(argument) + self._amplitudes_velocity * np.cos(
                argument
            )
        return control

    def _advance(self, measured: Array) -> None:
        assert self._trajectory is not None
        self._elapsed += TIMESTEP
        self.reference, self._velocity = self._trajectory.sample(self._elapsed)
        late = self._elapsed - self._trajectory.duration
        if late < 0:
            return
        reached = np.abs(measured - self._trajectory.positions[-1]).max() < GOAL_TOLERANCE
        if reached or late > GOAL_TIME:
            self._outcome, self.phase = bool(reached), MotionPhase.HOLDING

    def _brake(self) -> None:
        if self._elapsed == 0.0:
            self._brake_from = self._velocity.copy()
        self._elapsed += TIMESTEP
        left = max(0.0, 1.0 - self._elapsed / STOP_TIME)
        self._velocity = self._brake_from * left
        self.reference = self.reference + self._velocity * TIMESTEP
        if left == 0.0:
            self._outcome, self.phase = False, MotionPhase.HOLDING
