"""The weight of an object in the hand from the wrist force."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from drex_policy.control.force_law import GRAVITY

Array = NDArray[np.float64]


MAX_SHIFT = 0.25
"""The empty hand cannot change more than this by drift: then something touches it [N]."""


@dataclass(frozen=True, kw_only=True)
class WeighingConfig:
    """What is known of the wrist sensor."""

    drift: float = 0.005
    """Random walk of the bias [N/sqrt(s)]."""
    scale_sigma: float = 0.01
    """Relative standard deviation of the force scale of a calibrated rig."""
    cross_talk: float = 0.01
    """Relative standard deviation of cross-talk between axes."""
    settle: float = 0.6
    """Waiting time after a motion [s]."""
    duration: float = 1.5
    """Averaging time [s]."""


@dataclass(frozen=True, kw_only=True)
class Weighing:
    """One weighing."""

    mass: float
    """[kg]"""
    sigma: float
    """Standard deviation, force scale included [kg]."""


@dataclass(frozen=True, kw_only=True)
class ForceMean:
    """Mean wrist force over a quiet interval."""

    time: float
    """Middle of the interval, rig time [s]."""
    force: Array
    """(3,) in tool0_controller [N]."""
    sigma: float
    """Standard deviation of the mean, per axis [N]."""


def mean_force(stamps: Array, wrenches: Array) -> ForceMean:
    """Mean of recorded wrenches (N, 6) with stamps (N,); the error from means of ten blocks."""
    blocks = [b.mean(axis=0) for b in np.array_split(wrenches[:, :3], 10)]
    sigma = float(np.std(blocks, axis=0, ddof=1).max() / np.sqrt(len(blocks)))
    return ForceMean(time=float(np.mean(stamps)), force=wrenches[:, :3].mean(axis=0), sigma=sigma)


def weigh(before: ForceMean, held: ForceMean, base_R_tool: Array, config: WeighingConfig,
          after: ForceMean | None = None) -> Weighing:
    """Mass from the force along gravity, held against empty hand in the same wrist orientation.

    Args:
      before: empty hand before the grasp.
      held: object in the hand.
      base_R_tool: orientation of tool0_controller, the same in all, (3, 3).
      config: sensor.
      after: empty hand after putting the object down: halves the drift.
    """
    down = base_R_tool.T @ np.array([0.0, 0.0, -1.0])

    def drift(a: ForceMean, b: ForceMean) -> float:
        return config.drift**2 * abs(a.time - b.time)

    if after is None or np.linalg.norm(after.force - before.force) > MAX_SHIFT:
        empty, variance = before.force, before.sigma**2 + drift(before, held)
    else:
        share = (held.time - before.time) / (after.time - before.time)
        empty = (1 - share) * before.force + share * after.force
        variance = before.sigma**2 * (1 - share) ** 2 + after.sigma**2 * share**2
        variance += drift(before, held) * (1 - share)  # Brownian bridge
    mass = float((held.force - empty) @ down) / GRAVITY
    variance = (variance + held.sigma**2) / GRAVITY**2
    variance += mass**2 * (config.scale_sigma**2 + 0.5 * config.cross_talk**2)
    return Weighing(mass=mass, sigma=float(np.sqrt(variance)))
