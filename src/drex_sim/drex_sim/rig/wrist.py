"""The wrist's force-torque sensor as the UR driver shows it."""

from __future__ import annotations

from collections import deque

import numpy as np
from numpy.typing import NDArray

from drex_sim.rig.profiles import Profile
from drex_sim.rig.truth import Truth

Array = NDArray[np.float64]

GRAVITY = 9.81
"""[m/s2]"""
ZERO_SAMPLES = 50
"""Samples averaged when zeroing (0.1 s)."""
_BLOCK = 512
_TORQUE_ARM = 0.1
"""Torque drift per force drift [m]."""


class WristSensor:
    """Shows the wrench of the environment on the hand: true loads through scale, cross-talk, bias, drift and noise.

    The sensor carries the hand: its weight and inertia are in the raw signal; the weight of the payload the robot
    was told of is taken off, as the UR does.
    """

    def __init__(
        self,
        truth: Truth,
        profile: Profile,
        rng: np.random.Generator,
        timestep: float,
        mass: float,
        center: Array,
    ) -> None:
        """Make the sensor.

        Args:
          truth: scale, cross-talk and bias.
          profile: noise and drift.
          rng: for noise and drift.
          timestep: between samples [s].
          mass: payload the robot knows of at start: the hand's [kg].
          center: its COM in tool0 (3,) [m].
        """
        self._matrix = truth.force_matrix
        self._bias = truth.force_bias.copy()
        self._noise = np.array([profile.force_noise] * 3 + [profile.torque_noise] * 3)
        drift = profile.force_drift * np.sqrt(timestep)
        self._drift = np.array([drift] * 3 + [_TORQUE_ARM * drift] * 3)
        self._noisy = bool((self._noise > 0).any() or drift > 0)
        self._rng = rng
        self._index = _BLOCK
        self._offset = np.zeros(6)
        self._history: deque[Array] = deque(maxlen=ZERO_SAMPLES)
        self.set_payload(mass, center)

    def set_payload(self, mass: float, center: Array) -> None:
        """Everything the flange carries: mass [kg] and COM in tool0 (3,) [m]."""
        self._payload, self._center = float(mass), np.asarray(center, float).copy()
        self._history.clear()

    def zero(self) -> None:
        """Take what is shown now as zero."""
        if self._history:
            self._offset = np.mean(self._history, axis=0)

    def read(self, load: Array, rotation: Array) -> Array:
        """The wrench shown (6,) [N, N m], axes of tool0_controller.

        Args:
          load: force and torque that the hand exerts on the arm, tool0 axes and origin (6,) [N, N m].
          rotation: base_R_tool0 (3, 3).
        """
        gx, gy, gz = -GRAVITY * self._payload * rotation[2]
        cx, cy, cz = self._center
        weight = (gx, gy, gz, cy * gz - cz * gy, cz * gx - cx * gz, cx * gy - cy * gx)
        raw = self._matrix @ load + self._bias - weight
        if self._noisy:
            if self._index == _BLOCK:
                self._white = self._rng.standard_normal((_BLOCK, 6)) * self._noise
                self._walk = self._rng.standard_normal((_BLOCK, 6)) * self._drift
                self._index = 0
            self._bias = self._bias + self._walk[self._index]
            raw = raw + self._white[self._index]
            self._index += 1
        self._history.append(raw)
        return raw - self._offset
