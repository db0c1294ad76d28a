"""Realism profiles of the simulated rig: the imperfections of design.md, section 4."""

from __future__ import annotations

from dataclasses import dataclass, replace

from drex_sim.errors import ConfigError


@dataclass(frozen=True, kw_only=True)
class Profile:
    """Sizes of the imperfections: 1 sigma, or a range (low, high) drawn uniformly."""

    name: str
    force_noise: float
    """White noise of the wrist force at 500 Hz [N]."""
    force_bias: float
    """Bias before zeroing [N]."""
    force_drift: float
    """Random walk of the bias [N/sqrt(s)]."""
    torque_noise: float
    """White noise of the wrist torque at 500 Hz [N m]; its bias and drift are the force's times 0.1 m."""
    scale_common: float
    """Scale error shared by the axes of the wrist sensor."""
    scale_spread: float
    """Scale error of each axis on top."""
    cross_talk: float
    """Coupling between the force axes, and between the torque axes."""
    vibration: float
    """Acceleration of the flange while it should rest, rms [m/s2]."""
    tracking_lag: float
    """Lag of the arm behind its trajectory [s]."""
    finger_friction: float
    """Coulomb friction of the finger joints [N m]."""
    torque_step: float
    """Quantisation of the finger torques [N m]."""
    contact_location: float
    """Error of the pads' places against the kinematics, per axis and push [m]."""
    friction_table: tuple[float, float]
    friction_tip: tuple[float, float]
    scale: float
    """Relative size of the true object against its twin."""
    base_edge: float
    """Displacement of each side of the base against the twin [m]."""
    edge_radius: tuple[float, float]
    """Radius of the bottom edge [m]."""
    com_offset: float
    """COM offset per axis, relative to the extent along it."""
    inertia_scale: tuple[float, float]
    table_tilt: float
    """[deg]."""
    depth_noise: float
    """Depth noise at 0.7 m [m]; grows with the square of the depth."""
    edge_holes: bool
    camera_latency: float
    """[s]."""
    camera_jitter: float
    """[s]."""
    drop_out: float
    """Share of lost images."""
    clock_offset: float
    """Camera clock against the robot's [s]."""
    pose_noise: float
    """Position noise of poses where no camera is in the loop [m]."""
    tilt_noise: float
    """White tilt noise of such poses [deg]."""
    tilt_offset: float
    """Tilt error of such poses that stays the same for one push [deg]."""


IDEAL = Profile(
    name="ideal",
    force_noise=0.0,
    force_bias=0.0,
    force_drift=0.0,
    torque_noise=0.0,
    scale_common=0.0,
    scale_spread=0.0,
    cross_talk=0.0,
    vibration=0.0,
    tracking_lag=0.0,
    finger_friction=0.0,
    torque_step=0.0,
    contact_location=0.0,
    friction_table=(0.5, 0.5),
    friction_tip=(0.8, 0.8),
    scale=0.0,
    base_edge=0.0,
    edge_radius=(0.0, 0.0),
    com_offset=0.0,
    inertia_scale=(1.0, 1.0),
    table_tilt=0.0,
    depth_noise=0.0,
    edge_holes=False,
    camera_latency=0.0,
    camera_jitter=0.0,
    drop_out=0.0,
    clock_offset=0.0,
    pose_noise=0.0,
    tilt_noise=0.0,
    tilt_offset=0.0,
)
LAB = Profile(
    name="lab",
    force_noise=0.05,
    force_bias=2.0,
    force_drift=0.005,
    torque_noise=0.005,
    scale_common=0.03,
    scale_spread=0.01,
    cross_talk=0.01,
    vibration=0.05,
    tracking_lag=0.008,
    finger_friction=0.03,
    torque_step=0.001,
    contact_location=0.001,
    friction_table=(0.3, 0.7),
    friction_tip=(0.4, 1.0),
    scale=0.005,
    base_edge=0.0006,
    edge_radius=(0.0, 0.003),
    com_offset=0.03,
    inertia_scale=(0.9, 1.2),
    table_tilt=0.3,
    depth_noise=0.0015,
    edge_holes=True,
    camera_latency=0.030,
    camera_jitter=0.005,
    drop_out=0.01,
    clock_offset=0.005,
    pose_noise=0.0005,
    tilt_noise=0.5,
    tilt_offset=0.2,
)
HARSH = Profile(
    name="harsh",
    force_noise=0.3,
    force_bias=5.0,
    force_drift=0.03,
    torque_noise=0.03,
    scale_common=0.05,
    scale_spread=0.02,
    cross_talk=0.03,
    vibration=0.2,
    tracking_lag=0.020,
    finger_friction=0.08,
    torque_step=0.005,
    contact_location=0.003,
    friction_table=(0.2, 0.9),
    friction_tip=(0.2, 1.2),
    scale=0.015,
    base_edge=0.0015,
    edge_radius=(0.0, 0.006),
    com_offset=0.10,
    inertia_scale=(0.7, 1.5),
    table_tilt=1.0,
    depth_noise=0.004,
    edge_holes=True,
    camera_latency=0.080,
    camera_jitter=0.020,
    drop_out=0.05,
    clock_offset=0.020,
    pose_noise=0.002,
    tilt_noise=2.0,
    tilt_offset=0.8,
)
PROFILES: dict[str, Profile] = {profile.name: profile for profile in (IDEAL, LAB, HARSH)}
CALIBRATED_SCALE = 0.01
"""Common scale error of a wrist sensor after calibration."""


def get_profile(name: str, force_calibrated: bool = False) -> Profile:
    """A profile by name; with a calibrated wrist sensor its common scale error is 1 %.

    Raises:
      ConfigError: unknown name.
    """
    if name not in PROFILES:
        raise ConfigError(f"realism {name!r} is unknown; allowed: {', '.join(PROFILES)}")
    profile = PROFILES[name]
    if not force_calibrated:
        return profile
    return replace(
        profile,
        scale_common=min(profile.scale_common, CALIBRATED_SCALE),
        scale_spread=min(profile.scale_spread, CALIBRATED_SCALE),
    )
