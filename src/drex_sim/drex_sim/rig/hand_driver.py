"""The Allegro as its driver shows it: one kind of command, at the driver's rate, torques clamped and quantised."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from drex_sim.errors import ConfigError, InvalidDataError
from drex_sim.robot.realisation import DRIVER_RATES, HandGains, check_mode, default_mode

Array = NDArray[np.float64]


class HandDriver:
    """Turns driver commands (canonical joint order) into joint torques."""

    def __init__(
        self, driver: str, mode: str | None, torque_step: float, timestep: float, gains: HandGains
    ) -> None:
        """Make the driver.

        Args:
          driver: see drex_sim.robot.names.HandDriver.
          mode: "position" or "effort"; None: the driver's default.
          torque_step: quantisation of the torques [N m].
          timestep: of the simulation [s].
          gains: stiffness, damping and torque limit of the driver's own position control.

        Raises:
          ConfigError: unknown driver, or it does not accept the mode.
        """
        self.driver, self.mode = driver, mode or default_mode(driver)
        check_mode(driver, self.mode)
        self.gains = gains
        self._stiffness, self._damping = gains.stiffness, gains.damping
        self._torque_step = torque_step
        self._timestep = timestep
        self._period = 1.0 / DRIVER_RATES[driver]
        self.reset(np.zeros(16))

    @property
    def period(self) -> float:
        """Time between two cycles of the driver [s]."""
        return self._period

    def reset(self, position: Array) -> None:
        """Hold a posture (16,) [rad]; in effort mode until the first command too."""
        self._pending: Array | None = None
        self._target = np.array(position, float)
        self._torque = np.zeros(16)
        self._commanded = False
        self._next_cycle = 0.0
        self.effort = np.zeros(16)

    def command(self, values: Array) -> None:
        """Take 16 joint targets [rad] or torques [N m], used from the driver's next cycle on.

        Raises:
          InvalidDataError: wrong shape, NaN or infinity; the command is ignored.
        """
        array = np.asarray(values, float)
        if array.shape != (16,) or not np.isfinite(array).all():
            raise InvalidDataError(
                f"hand driver {self.driver}: command of shape {array.shape}; 16 finite values needed"
            )
        self._pending = array.copy()

    def set_gains(self, stiffness: Array, damping: Array) -> None:
        """Change the position control's gains (16,) each; only v5_sense has this command.

        Raises:
          ConfigError: another driver, or negative gains.
        """
        if self.driver != "v5_sense":
            raise ConfigError(f"hand_driver {self.driver} takes no gains; only v5_sense does")
        stiffness, damping = np.asarray(stiffness, float), np.asarray(damping, float)
        if (
            stiffness.shape != (16,)
            or damping.shape != (16,)
            or not (np.concatenate([stiffness, damping]) >= 0).all()
        ):
            raise ConfigError("hand gains: 16 stiffnesses and 16 dampings, none negative, are needed")
        self._stiffness, self._damping = stiffness, damping

    def step(self, time: float, position: Array, velocity: Array) -> Array:
        """Joint torques (16,) [N m] of this step; `effort` holds what the driver reports."""
        if time >= self._next_cycle - 1e-9:
            self._next_cycle = max(self._next_cycle + self._period, time)
            if self._pending is not None:
                if self.mode == "position":
                    self._target = self._pending
                else:
                    self._torque = self._pending
                self._pending, self._commanded = None, True
        if self.mode == "position" or not self._commanded:
            torque = self._stiffness * (self._target - position) - self._damping * velocity
        else:
            torque = self._torque
        limit = self.gains.torque_limit
        torque = np.minimum(np.maximum(torque, -limit), limit)
        if self._torque_step > 0:
            torque = np.rint(torque / self._torque_step) * self._torque_step
        self.effort = torque
        return torque
