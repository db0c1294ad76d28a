"""How hard to grip."""

from __future__ import annotations

import pytest

from drex_policy.control.force_law import ForceLawConfig, friction_force, grip_force
from drex_sim.errors import ConfigError, GraspError, InvalidDataError

TIP = (0.7, 0.17)


def test_friction_force_is_coulomb_on_two_sides() -> None:
    assert friction_force(1.0, 0.5, 0.19, 1.0) == pytest.approx(10.0)


def test_force_grows_with_mass_its_sigma_and_falls_with_friction() -> None:
    base = grip_force(0.5, 0.0, TIP, 30.0, 100.0, 4).per_side
    assert grip_force(0.5, 0.05, TIP, 30.0, 100.0, 4).per_side == pytest.approx(1.2 * base)
    assert grip_force(0.5, 0.0, (0.9, 0.17), 30.0, 100.0, 4).per_side < base
    assert grip_force(1.0, 0.0, TIP, 30.0, 100.0, 4).per_side == pytest.approx(2 * base)


def test_shake_needs_more_force() -> None:
    still, shaken = (grip_force(0.5, 0.0, TIP, 30.0, 100.0, 4, acceleration=a).per_side for a in (0.0, 3.16))
    assert shaken / still == pytest.approx((9.81 + 3.16) / 9.81)


def test_hand_and_fragile_limit_cap_the_force() -> None:
    assert grip_force(0.9, 0.0, TIP, 10.0, 100.0, 4).per_side == pytest.approx(10.0)
    assert grip_force(0.9, 0.0, TIP, 30.0, 12.0, 4).per_side == pytest.approx(0.8 * 12.0)


def test_what_friction_cannot_hold_is_refused_with_the_numbers() -> None:
    with pytest.raises(GraspError, match=r"2\.500 kg needs .* the hand allows 10\.0 N") as caught:
        grip_force(2.5, 0.0, TIP, 10.0, 100.0, 4)
    assert caught.value.code == "FORCE_TOO_HIGH"
    with pytest.raises(GraspError, match=r"fragile limit allows 4\.0 N"):
        grip_force(1.0, 0.0, TIP, 10.0, 5.0, 4)


def test_the_papers_laws_are_selectable() -> None:
    mg_n = grip_force(0.4, 0.0, TIP, 12.0, 100.0, 4, ForceLawConfig(law="paper_mg_n"))
    assert mg_n.per_side == pytest.approx(0.4 * 9.81 / 4)
    clipped = grip_force(0.4, 0.0, TIP, 12.0, 100.0, 4, ForceLawConfig(law="paper_algorithm_2"))
    assert clipped.per_side == pytest.approx(12.0)


@pytest.mark.parametrize(
    ("mass", "sigma", "friction", "contacts"),
    [
        (0.0, 0.0, TIP, 4), (float("nan"), 0.0, TIP, 4), (1.0, -1.0, TIP, 4), (1.0, 0.0, (0.0, 0.1), 4),
        (1.0, 0.0, TIP, 1),
    ],
)
def test_unusable_numbers_are_refused(mass, sigma, friction, contacts) -> None:
    with pytest.raises(InvalidDataError):
        grip_force(mass, sigma, friction, 10.0, 10.0, contacts)


def test_configuration_is_checked() -> None:
    with pytest.raises(ConfigError, match="allowed: friction"):
        ForceLawConfig(law="guess")
    with pytest.raises(ConfigError, match="margin is 0"):
        ForceLawConfig(margin=0)
