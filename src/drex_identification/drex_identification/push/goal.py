"""What may be asked of a push, and what it tells while it runs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from drex_sim.errors import PushError

Array = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class PushGoal:
    """A request. Zero means: default."""

    push_type: str = "TIP"
    contact_point: Array | None = None
    """Contact in the object frame (3,) [m]; None: the planner chooses."""
    contact_normal: Array | None = None
    """Outward normal there (3,); needed with contact_point."""
    speed: float = 0.0
    """Of the fingertip [m/s]."""
    force_limit: float = 0.0
    """[N]"""
    travel_limit: float = 0.0
    """After contact [m]."""
    repetitions: int = 0
    """Pushes, sides alternating."""
    tare: bool = False
    """Also record the same motion without the object."""

    def checked(self, config: PushConfig) -> PushGoal:
        """The goal with defaults filled in.

        Raises:
          PushError: code BAD_GOAL or NOT_SUPPORTED; names the field, the value and what is allowed.
        """
        if self.push_type != "TIP":
            raise PushError(f"push_type {self.push_type} is not available in this release; use TIP", "NOT_SUPPORTED")
        ranges = {"speed": (0.003, 0.03, config.speed), "force_limit": (0.3, 20.0, config.force_limit),
                  "travel_limit": (0.005, 0.12, config.travel_limit), "repetitions": (1, 12, config.repetitions)}
        values: dict[str, float] = {}
        for name, (low, high, default) in ranges.items():
            value = getattr(self, name) or default
            if not (np.isfinite(value) and low <= value <= high):
                raise PushError(f"{name} is {value}; {low}..{high} is allowed (0: default {default})", "BAD_GOAL")
            values[name] = value
        for name in ("contact_point", "contact_normal"):
            vector = getattr(self, name)
            if vector is not None and (np.shape(vector) != (3,) or not np.isfinite(vector).all()):
                raise PushError(f"{name} is {vector}; three finite numbers are needed", "BAD_GOAL")
        if (self.contact_point is None) != (self.contact_normal is None):
            raise PushError("contact_point and contact_normal belong together; give both or neither", "BAD_GOAL")
        if self.contact_normal is not None and np.linalg.norm(self.contact_normal[:2]) < 0.8:
            raise PushError(
                f"contact_normal is {self.contact_normal}; it must lie within 30 deg of horizontal", "BAD_GOAL"
            )
        return PushGoal(
            push_type="TIP", contact_point=self.contact_point, contact_normal=self.contact_normal,
            speed=values["speed"], force_limit=values["force_limit"], travel_limit=values["travel_limit"],
            repetitions=int(values["repetitions"]), tare=self.tare,
        )


@dataclass(frozen=True, kw_only=True)
class PushConfig:
    """How the procedure moves. The same for every object."""

    speed: float = 0.015
    """Fingertip speed while touching [m/s]."""
    force_limit: float = 8.0
    """Horizontal force that ends a push, never above half of what may harm the object [N]."""
    travel_limit: float = 0.09
    """Fingertip travel after contact [m]."""
    repetitions: int = 2
    baseline: float = 1.0
    """Recorded without contact before and after [s]."""
    settle: float = 0.5
    """Wait at rest before zeroing [s]."""
    stand_off: float = 0.007
    """Gap before the contact motion [m]."""
    search: float = 0.008
    """The contact motion goes on this far past the tracked face [m]."""
    retreat: float = 0.025
    """Back off this far after the push [m]."""
    clearance: float = 0.04
    """Height of the fingertip above the object when moving over it [m]."""
    joint_speed: float = 1.0
    """Arm speed in free space [rad/s]."""
    ramp: float = 0.25
    """Time to reach the push speed [s]."""
    pause: float = 0.15
    """Rest at the top of the lean [s]."""


@dataclass(frozen=True)
class PushProgress:
    """What the procedure tells while it runs."""

    phase: str
    repetition: int
    """From 1."""
    progress: float
    """0..1 over all repetitions."""
    force: float = 0.0
    """Horizontal pushing force [N]."""
    tilt: float = 0.0
    """Tilt of the object [rad]."""
