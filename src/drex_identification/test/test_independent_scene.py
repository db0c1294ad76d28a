"""The estimator on a plain MuJoCo scene that shares nothing with its model, and negative controls."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from tip_scene import box_twin, tip_box

from drex_identification.estimators import TipConfig, TipEstimator, Verdict

WIDTH, HEIGHT = 0.05, 0.14


@pytest.fixture(scope="module")
def sides():
    """Two sides of a 150 g box with a COM 3 % off: (twin, observations, mass)."""
    rng = np.random.default_rng(5)
    twin = box_twin(WIDTH, HEIGHT)
    observations = [
        tip_box(twin, WIDTH, HEIGHT, 0.150, rng, side=side, cx=0.03 * WIDTH, cz=-0.02 * HEIGHT) for side in (1, -1)
    ]
    return twin, observations, 0.150


def test_model_is_exact_where_geometry_is_known():
    rng = np.random.default_rng(1)
    twin = replace(box_twin(WIDTH, HEIGHT), edge_radius_sigma=1e-6, base_edge_sigma=1e-6, scale_sigma=1e-6)
    config = TipConfig(
        force_scale_sigma=1e-6, axis_scale_sigma=1e-6, push_scale_sigma=1e-6, cross_talk_sigma=1e-6,
        table_tilt_sigma=1e-4, contact_height_sigma=1e-6,
    )
    observations = [
        tip_box(twin, WIDTH, HEIGHT, 0.3, rng, side=side, cx=0.001, cz=-0.003, noise=0.0, drift=0.0) for side in (1, -1)
    ]
    result = TipEstimator().fit(observations, twin, config)
    assert result.mass == pytest.approx(0.3, rel=0.005)
    found = {parameter.name: parameter.value for parameter in result.parameters}
    assert found["com_x"] == pytest.approx(0.001, abs=2e-4)
    assert found["com_z"] == pytest.approx(-0.003, abs=5e-4)


def test_two_sides_find_the_mass(sides):
    twin, observations, mass = sides
    result = TipEstimator().fit(observations, twin, TipConfig())
    assert result.verdict is Verdict.IDENTIFIED
    assert result.mass == pytest.approx(mass, rel=0.10)
    assert result.ci95[0] < mass < result.ci95[1]
    assert result.half_width < 0.15 * mass
    density = np.trapezoid(result.density, result.mass_grid)
    assert density == pytest.approx(1.0, abs=0.1)


def test_com_offset_cancels_only_with_both_sides(sides):
    twin, observations, _ = sides
    both = TipEstimator().fit(observations, twin, TipConfig())
    one = TipEstimator().fit(observations[:1], twin, TipConfig())
    assert one.mass_stddev > 1.3 * both.mass_stddev or one.verdict is not Verdict.IDENTIFIED
    assert "opposite side" in one.next_action


@pytest.mark.parametrize("mass", [0.04, 0.9])
def test_other_masses_need_no_other_setting(mass):
    rng = np.random.default_rng(8)
    twin = box_twin(WIDTH, HEIGHT)
    observations = [tip_box(twin, WIDTH, HEIGHT, mass, rng, side=side) for side in (1, -1)]
    result = TipEstimator().fit(observations, twin, TipConfig())
    assert result.ci95[0] < mass < result.ci95[1]
    assert abs(result.mass - mass) < max(0.12 * mass, 0.006)


def test_force_withheld_is_unidentifiable(sides):
    twin, observations, _ = sides
    silent = [replace(o, force=np.zeros_like(o.force)) for o in observations]
    result = TipEstimator().fit(silent, twin, TipConfig())
    assert result.verdict is Verdict.UNIDENTIFIABLE
    assert np.isnan(result.mass)
    assert result.next_action


def test_force_shuffled_is_unidentifiable(sides):
    twin, observations, _ = sides
    rng = np.random.default_rng(0)
    shuffled = [replace(o, force=o.force[rng.permutation(len(o.force))]) for o in observations]
    result = TipEstimator().fit(shuffled, twin, TipConfig())
    assert result.verdict is Verdict.UNIDENTIFIABLE
    assert result.reason


def test_the_scale_error_enters_the_interval(sides):
    twin, observations, _ = sides
    calibrated = TipEstimator().fit(observations, twin, TipConfig())
    uncalibrated = TipEstimator().fit(observations, twin, TipConfig(force_scale_sigma=0.10))
    assert uncalibrated.mass_stddev > 0.09 * uncalibrated.mass > calibrated.mass_stddev
