"""How hard to grip: the force on each side of the object that its mass needs.

Coulomb friction on both sides carries the weight and the acceleration, `2 mu F >= gamma m (g + a)`, hence
`F = gamma m (g + a) / (2 mu)` per SIDE; the fingers of one side share it, the thumb balances their sum.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from scipy.stats import norm

from drex_sim.errors import ConfigError, GraspError, InvalidDataError

GRAVITY = 9.81
"""[m/s2]"""
ForceLaw = Literal["friction", "paper_mg_n", "paper_algorithm_2"]
FORCE_LAWS: tuple[str, ...] = get_args(ForceLaw)


@dataclass(frozen=True, kw_only=True)
class ForceLawConfig:
    """Margins of the force law."""

    law: ForceLaw = "friction"
    """friction; or the paper's `m g / n` per contact, or its Algorithm 2 `clip(m g n / f_max, 0, 1)` of the limit."""
    margin: float = 1.3
    """gamma: force over what friction needs."""
    acceleration: float = 0.5
    """Largest upward acceleration a of the lift [m/s2]."""
    mass_sigmas: float = 2.0
    """The force is that of mass + this many standard deviations."""
    friction_sigmas: float = 1.2
    """The force is that of the twin's friction minus this many standard deviations."""
    min_friction: float = 0.2
    """Friction is never assumed lower; a fingertip pad below it is dirty."""
    min_force: float = 1.5
    """Never less: finger friction and joint stiffness hide smaller forces [N]."""
    fragile_share: float = 0.8
    """Share of the object's fragile limit that is used."""
    min_chance: float = 0.1
    """Try a grasp at the limit when the chance that friction suffices is at least this."""

    def __post_init__(self) -> None:
        if self.law not in FORCE_LAWS:
            raise ConfigError(f"force law {self.law!r} is unknown; allowed: {', '.join(FORCE_LAWS)}")
        for name in ("margin", "min_friction", "fragile_share"):
            if not getattr(self, name) > 0:
                raise ConfigError(f"force law: {name} is {getattr(self, name)}; a number above 0 is needed")
        for name in ("acceleration", "mass_sigmas", "friction_sigmas", "min_force"):
            if not getattr(self, name) >= 0:
                raise ConfigError(f"force law: {name} is {getattr(self, name)}; 0 or more is needed")


@dataclass(frozen=True, kw_only=True)
class GripForce:
    """What to command, and why."""

    per_side: float
    """Force on each side of the object [N]."""
    limit: float
    """Most that hand and object allow per side [N]."""
    wanted: float
    """What the law asks for, before the limit [N]."""
    mass: float
    """Mass the force is meant for: estimate plus its uncertainty [kg]."""
    friction: float
    """Friction assumed."""
    chance: float
    """Probability that friction suffices at this force, as far as the twin knows its friction."""


def friction_force(mass: float, friction: float, acceleration: float, margin: float) -> float:
    """Force per side that holds a mass: margin m (g + a) / (2 mu) [N]."""
    return margin * mass * (GRAVITY + acceleration) / (2.0 * friction)


def wanted_force(
    mass: float, mass_sigma: float, friction: tuple[float, float], config: ForceLawConfig, acceleration: float
) -> float:
    """Force per side that the friction law asks for with its margins, before any limit [N]."""
    _check(mass, mass_sigma, friction)
    heavy = mass + config.mass_sigmas * mass_sigma
    return max(config.min_force, friction_force(heavy, _low_friction(friction, config), acceleration, config.margin))


def _low_friction(friction: tuple[float, float], config: ForceLawConfig) -> float:
    return max(config.min_friction, friction[0] - config.friction_sigmas * friction[1])


def grip_force(
    mass: float,
    mass_sigma: float,
    friction: tuple[float, float],
    hand_limit: float,
    fragile_limit: float,
    contacts: int,
    config: ForceLawConfig | None = None,
    acceleration: float | None = None,
) -> GripForce:
    """Force per side for an object.

    Args:
      mass: estimate [kg].
      mass_sigma: its standard deviation [kg].
      friction: mean and standard deviation of the fingertip friction.
      hand_limit: force per side that the joint torques allow in this posture [N].
      fragile_limit: contact force that may harm the object [N].
      contacts: number of fingers that touch, thumb included.
      config: margins and law.
      acceleration: of lift or shake [m/s2]; None: that of the configuration.

    Raises:
      InvalidDataError: mass, sigma or friction are not usable numbers.
      GraspError: FORCE_TOO_HIGH, with the numbers.
    """
    config = config or ForceLawConfig()
    a = config.acceleration if acceleration is None else acceleration
    if contacts < 2:
        raise InvalidDataError(f"{contacts} contacts; a grasp needs 2 or more")
    wanted = wanted_force(mass, mass_sigma, friction, config, a)
    limit = min(hand_limit, config.fragile_share * fragile_limit)
    if config.law == "paper_mg_n":
        # One contact faces the others, so a side carries what the thumb carries: one contact's share.
        wanted = mass * GRAVITY / contacts
    elif config.law == "paper_algorithm_2":
        wanted = limit * float(np.clip(mass * GRAVITY * contacts / limit, 0.0, 1.0))
    force = min(wanted, limit)
    needed = friction_force(mass, 1.0, a, 1.0) / max(force, 1e-9)
    chance = float(norm.sf(needed, friction[0], max(friction[1], 1e-6)))
    if wanted > limit and chance < config.min_chance:
        which = "the hand" if hand_limit <= config.fragile_share * fragile_limit else "the object's fragile limit"
        raise GraspError(
            f"{mass:.3f} kg needs {friction_force(mass, friction[0], a, 1.0):.1f} N per side at friction"
            f" {friction[0]:.2f} and {wanted:.1f} N with margins; {which} allows {limit:.1f} N (friction would have to"
            f" be {needed:.2f}). Use a grippier fingertip, or carry it another way",
            "FORCE_TOO_HIGH",
        )
    return GripForce(
        per_side=force, limit=limit, wanted=wanted, mass=mass + config.mass_sigmas * mass_sigma,
        friction=_low_friction(friction, config), chance=chance,
    )


def _check(mass: float, sigma: float, friction: tuple[float, float]) -> None:
    if not (np.isfinite(mass) and mass > 0):
        raise InvalidDataError(f"mass is {mass} kg; a positive number is needed")
    if not (np.isfinite(sigma) and sigma >= 0):
        raise InvalidDataError(f"mass sigma is {sigma} kg; 0 or more is needed")
    if not (np.isfinite(friction).all() and friction[0] > 0 and friction[1] >= 0):
        raise InvalidDataError(f"friction (mean, sigma) is {friction}; positive numbers are needed")
