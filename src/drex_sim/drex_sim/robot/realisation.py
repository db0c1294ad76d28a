"""From a driver-independent hand command to what each Allegro driver accepts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from drex_sim.errors import ConfigError
from drex_sim.robot.names import HAND_DRIVERS

Array = NDArray[np.float64]
HandMode = Literal["position", "effort"]

DRIVER_RATES: dict[str, float] = {"ros2_control": 100.0, "v5": 500.0, "v5_sense": 333.0, "v5_torque": 500.0}
"""Rate at which each driver takes commands and publishes states [Hz]."""
THUMB_FIRST = np.r_[12:16, 0:12]
"""Canonical index (index, middle, ring, thumb) of each value in allegro_hand_ros2's order."""


@dataclass(frozen=True, kw_only=True)
class HandGains:
    """Joint stiffness of the hand: the driver's own in position mode, ours in effort mode."""

    stiffness: float = 3.0
    """Per joint [N m/rad]."""
    damping: float = 0.1
    """Per joint [N m s/rad]."""
    torque_limit: float = 0.7
    """Per joint [N m]."""


def allowed_modes(driver: str) -> tuple[HandMode, ...]:
    """Command modes of a driver; all 16 joints are in the same one.

    Raises:
      ConfigError: unknown driver.
    """
    if driver not in HAND_DRIVERS:
        raise ConfigError(f"hand_driver {driver!r} is unknown; allowed: {', '.join(HAND_DRIVERS)}")
    return {"ros2_control": ("position", "effort"), "v5_torque": ("effort",)}.get(driver, ("position",))


def check_mode(driver: str, mode: str) -> None:
    """Refuse a mode the driver does not have.

    Raises:
      ConfigError: unknown driver, or it does not accept the mode.
    """
    if mode not in (modes := allowed_modes(driver)):
        raise ConfigError(f"hand_driver {driver} does not accept mode {mode!r}; allowed: {', '.join(modes)}")


def default_mode(driver: str) -> HandMode:
    """Mode used when none is chosen (position where the driver has it)."""
    return allowed_modes(driver)[0]


def realise(
    positions: ArrayLike,
    efforts: ArrayLike,
    *,
    mode: str,
    gains: HandGains,
    measured: ArrayLike | None = None,
    velocity: ArrayLike | None = None,
) -> Array:
    """The 16 values for the driver, canonical order: joint targets [rad] or torques [N m].

    Effort mode: tau = K (q_des - q) - D qd + J^T f. Position mode: q_cmd = q_des + K^-1 J^T f, so that the driver's
    own stiffness makes the torque. Both are clamped at the torque limit.

    Args:
      positions: joint targets q_des (16,) [rad].
      efforts: feed-forward torques J^T f (16,) [N m].
      mode: "position" or "effort".
      gains: stiffness, damping and torque limit.
      measured: joint positions q (16,), needed in effort mode [rad].
      velocity: joint velocities qd (16,), needed in effort mode [rad/s].
    """
    limit = gains.torque_limit
    feed = np.clip(np.asarray(efforts, float), -limit, limit)
    targets = np.asarray(positions, float)
    if mode == "position":
        return targets + feed / gains.stiffness
    if measured is None or velocity is None:
        raise ConfigError("effort mode needs the measured joint positions and velocities")
    torque = gains.stiffness * (targets - measured) - gains.damping * np.asarray(velocity, float) + feed
    return np.clip(torque, -limit, limit)


def to_driver_order(driver: str, values: ArrayLike) -> Array:
    """Canonical values (16,) in the order of the driver's command array."""
    array = np.asarray(values, float)
    return array[THUMB_FIRST] if driver == "ros2_control" else array.copy()


def from_driver_order(driver: str, values: ArrayLike) -> Array:
    """Values (16,) of the driver's command array in canonical order."""
    array = np.asarray(values, float)
    if driver != "ros2_control":
        return array.copy()
    canonical = np.empty(16)
    canonical[THUMB_FIRST] = array
    return canonical
