"""Settings of the tracker."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class TrackerConfig:
    """Settings of the tracker; lengths in base_link."""

    region_min: tuple[float, float] = (0.25, -0.35)
    """Corner of the table region in which an object is looked for, x and y [m]."""
    region_max: tuple[float, float] = (0.80, 0.35)
    """Opposite corner [m]."""
    table_height: float = 0.0
    """Nominal height of the table top [m]; the plane itself is measured in the picture."""
    table_search: float = 0.03
    """Half-thickness of the slab in which table points are looked for [m]."""
    max_table_tilt: float = 3.0
    """A fitted table that leans more than this is not believed [deg]."""
    points: int = 1100
    """Most scene points in one registration."""
    grid: int = 3600
    """Most pixels looked at in one frame: the crop is thinned to this."""
    crop_margin: float = 0.020
    """Scene points up to this far outside the model's box are looked at [m]."""
    capture: float = 0.012
    """Greatest distance of a point to the predicted surface in the first pass [m]."""
    gate_sigmas: float = 3.0
    """Points beyond this many sigmas of the depth noise from the surface are not the object's."""
    min_gate: float = 0.0025
    """Lower bound of that gate [m]."""
    max_gate: float = 0.007
    """Upper bound of that gate: a fingertip of 12 mm radius must stand out however noisy the depth is [m]."""
    occluder_margin: float = 0.008
    """Object points this near a foreign body are left out too [m]."""
    min_points: int = 60
    """Fewer points on the object than this: lost."""
    min_confidence: float = 0.15
    """Less of the visible surface explained than this: lost."""
    max_seen_through: float = 0.35
    """A greater share of the unoccluded surface with something farther behind it: lost."""
    max_residual_sigmas: float = 2.5
    """A residual above this many sigmas of the depth noise: lost."""
    patience: int = 3
    """Frames that tracking retries from the last pose before the object is searched anew."""
    search_period: float = 0.4
    """Least time between two searches: one costs as much as ten frames of tracking [s]."""
    max_speed: float = 0.5
    """Bound of the predicted speed [m/s]."""
    max_turn: float = 4.0
    """Bound of the predicted turn rate [rad/s]."""
    yaw_candidates: int = 12
    """Yaw angles tried when searching."""
    min_search_score: float = 0.45
    """Score below which a search found nothing."""
    max_standing_tilt: float = 8.0
    """Lean of a searched object above which it does not stand [deg]."""
    position_floor: float = 0.0004
    """Noise floor of each coordinate in the covariance [m]."""
    rotation_floor: float = 0.002
    """Noise floor of each angle in the covariance [rad]."""
