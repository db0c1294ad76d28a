"""The closed forms: derivatives against finite differences, limits, bias of the force."""

from __future__ import annotations

import numpy as np
import pytest

from drex_identification.estimators import TipConfig
from drex_identification.estimators.force_noise import estimate_bias
from drex_identification.estimators.observation import observe
from drex_identification.estimators.tip_model import LOCAL, TipModel
from drex_identification.estimators.tip_problem import TipProblem

THETA = np.array([np.log(0.2), 0.001, -0.002, 0.004, 0.02, -0.01, 1.004, 0.0007, 0.0021, 0.011, 0.0008, -0.0006, 0.002,
                  0.0002, -0.0003])


@pytest.fixture(scope="module")
def model(pushed):
    trials, twin, _, _ = pushed
    o = observe(trials[0], twin, TipConfig())
    return TipModel(o, twin.com_height), o


def relative_difference(function, jacobian, theta, step):
    worst = 0.0
    for i in range(len(theta)):
        h = step * max(1e-3, abs(theta[i]))
        up, down = theta.copy(), theta.copy()
        up[i] += h
        down[i] -= h
        numeric = (function(up) - function(down)) / (2 * h)
        scale = np.abs(jacobian[..., i]).max() + 1e-9
        worst = max(worst, float(np.abs(numeric - jacobian[..., i]).max() / scale))
    return worst


@pytest.mark.parametrize("step", [1e-3, 1e-4, 1e-5])
def test_jacobians_against_finite_differences(model, step):
    tip, o = model
    chosen = slice(40, 120, 5)
    recess = np.full(len(o.pad[chosen]), 0.001)

    def force(theta):
        return tip.moments(o.pad[chosen], recess, o.force[chosen], theta).force_residual

    def poses(theta):
        return tip.poses(o.pad[chosen], recess, theta).values

    assert len(LOCAL) == len(THETA)
    exact = tip.moments(o.pad[chosen], recess, o.force[chosen], THETA)
    assert relative_difference(force, exact.force_jacobian, THETA, step) < 2e-4
    assert relative_difference(poses, tip.poses(o.pad[chosen], recess, THETA).jacobian, THETA, step) < 2e-4


def test_stacked_jacobian_against_finite_differences(pushed):
    trials, twin, _, _ = pushed
    problem = TipProblem([observe(t, twin, TipConfig()) for t in trials], twin, TipConfig())
    theta = problem.prior_mean.copy()
    theta[0] = np.log(0.15)
    problem.select(theta)
    rng = np.random.default_rng(0)
    direction = rng.standard_normal(len(theta)) * np.where(np.isfinite(problem.prior_sigma), problem.prior_sigma, 0.1)
    _, jacobian = problem.residuals(theta)
    for step in (1e-2, 1e-3, 1e-4):
        numeric = (problem.residuals(theta + step * direction)[0] - problem.residuals(theta - step * direction)[0])
        np.testing.assert_allclose(numeric / (2 * step), jacobian @ direction, rtol=2e-3, atol=2e-3)


def test_pad_on_a_turning_face_gives_the_tilt_back(model):
    tip, o = model
    theta = np.zeros(len(LOCAL))
    theta[LOCAL.index("twin_scale")] = 1.0
    tilts = np.linspace(0.0, 0.25, 9)
    # Sharp edge, pad fixed to the object: it turns about the edge.
    start = o.face_point + o.pad_radius * o.face_normal + [0.0, tip._h]
    arm = start - [o.edge, 0.0]
    pad = np.stack([o.edge + arm[0] * np.cos(tilts) + arm[1] * np.sin(tilts),
                    -arm[0] * np.sin(tilts) + arm[1] * np.cos(tilts)], axis=1)
    np.testing.assert_allclose(tip.poses(pad, np.zeros(9), theta).values[:, 0], tilts, atol=1e-9)


def test_bias_walks_between_the_baselines():
    rng = np.random.default_rng(3)
    times = np.arange(0.0, 12.0, 0.05)
    free = (times < 1.0) | (times > 11.0)
    errors, sigmas = [], []
    for _ in range(40):
        walk = np.cumsum(rng.standard_normal((len(times), 3)) * 0.005 * np.sqrt(0.05), axis=0) + 1.0
        force = walk + 0.01 * rng.standard_normal(walk.shape)
        bias = estimate_bias(times, force, free, 0.005, 0.001)
        errors.append((bias.mean - walk)[len(times) // 2])
        sigmas.append(np.sqrt(bias.covariance[len(times) // 2, len(times) // 2]))
    ratio = np.sqrt(np.mean(np.square(errors))) / np.mean(sigmas)
    assert 0.8 < ratio < 1.25
    assert np.mean(sigmas) < 0.01
