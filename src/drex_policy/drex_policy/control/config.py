"""Settings of a grasp and what a feedback callback gets."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from drex_policy.control.force_law import ForceLawConfig
from drex_policy.control.weighing import WeighingConfig
from drex_policy.planning.planner import PlannerConfig


@dataclass(frozen=True, kw_only=True)
class GraspConfig:
    """Speeds, times and thresholds of a grasp."""

    joint_speed: float = 0.9
    """Fastest joint in free motions [rad/s]."""
    approach_speed: float = 0.3
    """Fastest joint in the straight approach and retreat [rad/s]."""
    look_time: float = 0.5
    """How long the tracked pose is averaged [s]."""
    max_lean: float = 0.15
    """A standing object that leans more is not grasped [rad]."""
    close_time: float = 1.2
    """From open to touching [s]."""
    touch_force: float = 1.2
    """First, light force per side [N]."""
    load_time: float = 0.8
    """From touching to the full force [s]."""
    test_height: float = 0.012
    """First part of the lift, after which slip and weight are looked at [m]."""
    min_lift_time: float = 1.2
    """Shortest lift [s]."""
    stiffness: float = 3.0
    """Joint stiffness of the hand's driver [N m/rad]."""
    contact_share: float = 0.25
    """A finger is in contact when it presses with this share of its part."""
    contact_force: float = 0.2
    """... and at least with this force [N]."""
    max_closing: float = 0.012
    """The hand closed on nothing when its aperture is this much below the object's width [m]."""
    slip_limit: float = 0.010
    """Slip above which the grasp failed [m]."""
    slip_reaction: float = 0.003
    """Slip that makes the hand press harder [m]."""
    raise_by: float = 1.3
    """Factor by which it then presses harder."""
    max_raises: int = 4
    """How often."""
    law: ForceLawConfig = field(default_factory=ForceLawConfig)
    weighing: WeighingConfig = field(default_factory=WeighingConfig)
    planner: PlannerConfig = field(default_factory=PlannerConfig)


@dataclass(frozen=True, kw_only=True)
class GraspProgress:
    """What a feedback callback gets."""

    phase: str
    """plan, approach, close, load, lift, hold, weigh, lower, release."""
    progress: float
    """0..1"""
    force_per_side: float
    """[N]"""
    contacts: int
    slip: float
    """[m]"""


Feedback = Callable[[GraspProgress], None]
