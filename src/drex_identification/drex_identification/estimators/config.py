"""What the tip estimator assumes about the rig. Every number is a class of rig, never one object or one run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace

import numpy as np

from drex_sim.errors import ConfigError


@dataclass(frozen=True, kw_only=True)
class TipConfig:
    """Prior knowledge of rig and tracker (1 sigma) and the estimator's settings."""

    calibration_id: str = ""
    """Force calibration in use; empty: none."""
    force_scale_sigma: float = 0.01
    """Relative error of the force scale common to all pushes [-]; 0.03 for a sensor that was never calibrated."""
    axis_scale_sigma: float = 0.012
    """Relative error of the axes the push acts on, beyond the common scale [-]."""
    cross_talk_sigma: float = 0.012
    """Share of the vertical force that leaks into the horizontal one [-]."""
    push_scale_sigma: float = 0.007
    """Relative error of the moment that changes from push to push [-]."""
    force_drift: float = 0.005
    """Random walk of each force axis [N/sqrt(s)]."""
    force_floor: float = 0.003
    """Smallest noise assumed for a force averaged over one sample [N]."""
    table_tilt_sigma: float = 0.3
    """Tilt of the table against base_link, per axis [deg]."""
    contact_height_sigma: float = 0.001
    """Height of the contact point per push: kinematics and pad [m]."""
    face_sigma: float = 0.003
    """Tracked place of the pushed face along the push, per push [m]."""
    tilt_offset_sigma: float = 0.1
    """Error of the tracked tilt relative to rest that is common to a push [deg]."""
    tilt_floor: float = 0.1
    """Smallest noise of one tracked tilt [deg]."""
    position_offset_sigma: float = 0.0004
    """Error of the tracked position relative to rest that is common to a push [m]."""
    position_floor: float = 0.0006
    """Smallest noise of one tracked position; a tracker's errors stay alike from picture to picture [m]."""
    sample_period: float = 0.1
    """Signals are averaged over this: about one period of the arm's vibration [s]."""
    min_tilt: float = 0.8
    """Samples tilted less are left out: the base is not clear of the table yet [deg]."""
    min_peak_tilt: float = 1.6
    """A push that never tilted the object this far tells nothing [deg]."""
    max_tip_acceleration: float = 0.02
    """Samples with a faster change of hand speed are left out: the hand's inertia is in the force [m/s2]."""
    max_slide: float = 0.004
    """A push that displaced the object further along the table is rejected [m]."""
    max_turn: float = 6.0
    """A push that turned the object further about the vertical is rejected [deg]."""
    density_low: float = 50.0
    """Prior on the mass: volume times this ... [kg/m3]."""
    density_high: float = 5000.0
    """... to volume times this [kg/m3]."""

    def __post_init__(self) -> None:
        for name in NUMERIC_FIELDS:
            value = getattr(self, name)
            if not np.isfinite(value) or value < 0:
                raise ConfigError(f"tip estimator: {name} is {value}; a finite number >= 0 is needed")
        if not 0 < self.density_low < self.density_high:
            raise ConfigError(
                f"tip estimator: density_low {self.density_low} and density_high {self.density_high} must be"
                " positive and rising"
            )
        if not 0.02 <= self.sample_period <= 0.3:
            raise ConfigError(f"tip estimator: sample_period is {self.sample_period}; 0.02..0.3 s is allowed")

    def override(self, names: Sequence[str], values: Sequence[float]) -> TipConfig:
        """A copy with some numbers replaced.

        Raises:
          ConfigError: unknown name (the text lists those there are), lengths differ, or value out of range.
        """
        if len(names) != len(values):
            raise ConfigError(f"{len(names)} parameter names but {len(values)} values; one value per name is needed")
        for name in names:
            if name not in NUMERIC_FIELDS:
                raise ConfigError(f"parameter {name!r} is unknown; available: {', '.join(NUMERIC_FIELDS)}")
        return replace(self, **{name: float(value) for name, value in zip(names, values, strict=True)})


NUMERIC_FIELDS: tuple[str, ...] = tuple(f.name for f in fields(TipConfig) if f.name != "calibration_id")
"""Settings that a caller may override."""
