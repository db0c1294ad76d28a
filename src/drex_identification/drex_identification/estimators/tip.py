"""Mass from slow tips about opposite edges with the full measured force (docs/identification.md)."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.stats import t

from drex_identification.estimators.config import NUMERIC_FIELDS, TipConfig
from drex_identification.estimators.inference import Fit, interval, levenberg_marquardt, profile
from drex_identification.estimators.observation import TipObservation, observe
from drex_identification.estimators.result import MassEstimateResult, Parameter, TrialFit, Verdict
from drex_identification.estimators.tip_model import LOCAL
from drex_identification.estimators.tip_problem import TipProblem
from drex_identification.trials.push_trial import PushTrial
from drex_sim.errors import UninformativePushError
from drex_sim.twin import Twin

Array = NDArray[np.float64]

METHOD = "tip"
STARTS = 7
"""Starts of the fit, spread over three decades of mass."""
COARSE, FINE = 17, 33
"""Points of the profile over the whole prior, and around the best value."""
PRIOR_PUSHES = 10
"""Weight, in pushes, of the prior on the between-push variance: few pushes get Student quantiles of it."""
MIN_SAMPLES = 8
"""A push needs this many tilted samples."""
MAX_MISFIT = 0.2
"""A push whose forces leave the fit by more than this share of their mean is not a slow tip."""
MAX_NOISE = 20.0
"""... or whose noise would have to be this much above that of the baseline (variance ratio)."""


class TipEstimator:
    """Maximum a posteriori of the stacked tips, profile likelihood over the mass, verdict."""

    name = METHOD

    def estimate(self, trials: Sequence[PushTrial], twin: Twin, config: TipConfig) -> MassEstimateResult:
        """Estimate the mass.

        Args:
          trials: validated pushes of this twin.
          twin: geometry and its uncertainty; it holds no mass.
          config: what is assumed of the rig.

        Raises:
          TrialError: a trial is damaged, or of another object or twin.
        """
        started = time.perf_counter()
        for trial in trials:
            trial.validate(twin.id, twin.hash)
        observations, rejected = _observe_all(trials, twin, config)
        result = self.fit(observations, twin, config, rejected)
        return dataclasses.replace(
            result, trial_ids=tuple(trial.trial_id for trial in trials), elapsed=time.perf_counter() - started
        )

    def fit(
        self,
        observations: Sequence[TipObservation],
        twin: Twin,
        config: TipConfig,
        rejected: Sequence[tuple[str, str]] = (),
    ) -> MassEstimateResult:
        """Estimate from tips already brought into their planes; `rejected` are those that were not (id, reason)."""
        low, high = twin.volume * config.density_low, twin.volume * config.density_high
        span = np.log(high / low)
        deviation = float(np.sqrt((high**2 - low**2) / (2 * span) - ((high - low) / span) ** 2))
        base = MassEstimateResult(
            object_id=twin.id, twin_hash=twin.hash, method=METHOD, verdict=Verdict.UNIDENTIFIABLE, reason="",
            next_action="", calibration_id=config.calibration_id, mass_prior=(low, high, deviation),
            trial_ids=tuple(o.trial_id for o in observations),
            config={name: float(getattr(config, name)) for name in NUMERIC_FIELDS},
        )
        used, refused = list(observations), list(rejected)
        while used:
            problem = TipProblem(used, twin, config)
            fit, bad = _fit(problem, low, high)
            if not bad:
                return dataclasses.replace(_conclude(base, problem, fit, low, high), rejected=tuple(refused))
            refused += [(used[i].trial_id, reason) for i, reason in bad.items()]
            used = [o for i, o in enumerate(used) if i not in bad]
        reason = "; ".join(dict.fromkeys(text for _, text in refused)) or "no push was recorded"
        return dataclasses.replace(
            base, reason=f"no usable push: {reason}", rejected=tuple(refused),
            next_action="push again, slowly and high, from two opposite sides",
        )


def _observe_all(
    trials: Sequence[PushTrial], twin: Twin, config: TipConfig
) -> tuple[list[TipObservation], list[tuple[str, str]]]:
    observations, rejected = [], []
    for trial in trials:
        try:
            observation = observe(trial, twin, config)
            _require_motion(observation, config)
        except UninformativePushError as error:
            rejected.append((trial.trial_id, str(error)))
        else:
            observations.append(observation)
    return observations, rejected


def _require_motion(o: TipObservation, config: TipConfig) -> None:
    tilts = np.sort(o.tilt[o.pose_usable])
    peak = float(np.median(tilts[-5:])) if len(tilts) >= 5 else 0.0
    if np.degrees(peak) < config.min_peak_tilt:
        raise UninformativePushError(
            f"push {o.trial_id}: tilt never exceeded {np.degrees(peak):.1f} deg (needs {config.min_peak_tilt} deg);"
            " push higher or further, and check that the finger reaches the object"
        )


def _fit(problem: TipProblem, low: float, high: float) -> tuple[Fit, dict[int, str]]:
    """Best fit from several starts, and the pushes that cannot be slow tips with the reason."""
    geometry = problem.prior_mean.copy()
    geometry[0] = 0.5 * np.log(low * high)
    for number in range(len(problem.observations)):
        geometry = levenberg_marquardt(lambda x, n=number: problem.face_residuals(n, x), geometry).theta
    problem.select(geometry)
    bad = {
        i: f"push {o.trial_id}: only {int(chosen.sum())} steady tilted samples ({MIN_SAMPLES} are needed); push slower"
        for i, (o, chosen) in enumerate(zip(problem.observations, problem.selected, strict=True))
        if chosen.sum() < MIN_SAMPLES
    }
    if bad:
        return Fit(geometry, 0.0, np.eye(len(geometry))), bad
    fit: Fit | None = None
    for _ in range(3):
        starts = [geometry.copy() for _ in range(STARTS)] if fit is None else [fit.theta]
        for start, value in zip(starts, np.linspace(np.log(low), np.log(high), STARTS), strict=False):
            if fit is None:
                start[0] = value
        fits = [levenberg_marquardt(problem.residuals, start) for start in starts]
        fit = min(fits, key=lambda f: f.cost)
        problem.select(fit.theta)
        for number in range(len(problem.observations)):
            misfit, _ = problem.misfit(number, fit.theta)
            # Chatter and vibration beyond the baseline's noise: the noise of that push is what it shows.
            problem.noise_factor[number] = float(np.clip(problem.noise_factor[number] * misfit, 1.0, 1e6))
        problem.select(fit.theta)
    assert fit is not None
    fit = levenberg_marquardt(problem.residuals, fit.theta)
    for number, o in enumerate(problem.observations):
        relative = problem.misfit(number, fit.theta)[1]
        if relative > MAX_MISFIT and problem.noise_factor[number] > MAX_NOISE:
            bad[number] = (
                f"push {o.trial_id}: the force does not follow the motion (misfit {100 * relative:.0f} %,"
                f" allowed {100 * MAX_MISFIT:.0f} %); check the force sensor, its frame and its stamps"
            )
    return fit, bad


def _conclude(
    base: MassEstimateResult, problem: TipProblem, fit: Fit, low: float, high: float
) -> MassEstimateResult:
    covariance = np.linalg.inv(fit.information + 1e-9 * np.eye(len(fit.theta)))
    sigma_log = float(np.sqrt(covariance[0, 0]))
    centre = float(np.clip(fit.theta[0], np.log(low), np.log(high)))
    span = max(8.0 * min(sigma_log, 1.0), 1e-3)
    grid = np.unique(np.concatenate([
        np.linspace(np.log(low), np.log(high), COARSE),
        np.clip(np.linspace(centre - span, centre + span, FINE), np.log(low), np.log(high)),
    ]))
    costs = profile(problem.residuals, fit, 0, grid)
    # Student instead of normal quantiles: the variance between pushes is known as from PRIOR_PUSHES pushes more.
    quantile = float(t.ppf(0.975, PRIOR_PUSHES + len(problem.observations) - 1))
    low95, high95, touches = interval(grid, costs, 0.5 * quantile**2)
    weights = np.exp(-costs)
    density_log = weights / np.trapezoid(weights, grid)
    mean_log = float(np.trapezoid(density_log * grid, grid))
    sigma = float(np.sqrt(np.trapezoid(density_log * (grid - mean_log) ** 2, grid)))
    mass_grid = np.exp(grid)
    mass = float(np.exp(fit.theta[0]))
    ratio = sigma / ((np.log(high) - np.log(low)) / np.sqrt(12.0))
    verdict, reason, action = _verdict(problem, fit, covariance, (low95, high95), touches, ratio, (low, high))
    rms = _rms(problem, fit)
    result = dataclasses.replace(
        base, verdict=verdict, reason=reason, next_action=action, parameters=_parameters(problem, fit, covariance),
        covariance=covariance, position_rms=rms[0], rotation_rms=rms[1], force_rms=rms[2], mass_grid=mass_grid,
        neg_log_posterior=costs - costs.min(), density=density_log / mass_grid,
        trials=tuple(_trial_fit(problem, i, fit.theta) for i in range(len(problem.observations))),
    )
    if verdict is Verdict.UNIDENTIFIABLE:
        return result
    return dataclasses.replace(
        result, mass=mass, mass_stddev=mass * sigma, ci95=(float(np.exp(low95)), float(np.exp(high95)))
    )


def _verdict(
    problem: TipProblem, fit: Fit, covariance: Array, ends: tuple[float, float], touches: bool, ratio: float,
    bounds: tuple[float, float],
) -> tuple[Verdict, str, str]:
    factor = float(np.exp(ends[1] - ends[0]))
    culprit = _least_told_apart(problem, covariance)
    sides = {o.edge_key if o.edge_key != "rim" else f"rim{np.round(o.direction_object, 0)}"
             for o in problem.observations}
    action = "push from the opposite side as well" if len(sides) < 2 else "push both sides again, slowly and high"
    if touches or not np.log(bounds[0]) < fit.theta[0] < np.log(bounds[1]):
        return (Verdict.UNIDENTIFIABLE, f"the 95 % interval reaches the end of what its volume allows"
                f" ({bounds[0]:.3g} .. {bounds[1]:.3g} kg): the force tells no mass; not told apart from {culprit}",
                f"check that the force sensor is alive and zeroed before contact, then {action}")
    if factor > 2.0:
        return (Verdict.UNIDENTIFIABLE, f"the 95 % interval spans a factor {factor:.1f} (allowed 2); the mass cannot be"
                f" told apart from {culprit}", action)
    if ratio > 0.5:
        return (Verdict.PRIOR_DOMINATED, f"posterior / prior standard deviation is {ratio:.2f} (allowed 0.5); the mass"
                f" cannot be told apart from {culprit}", action)
    text = f"{len(problem.observations)} push(es), {len(sides)} side(s); largest share of the uncertainty: {culprit}"
    return Verdict.IDENTIFIED, text, "" if len(sides) > 1 else action


def _least_told_apart(problem: TipProblem, covariance: Array) -> str:
    deviations = np.sqrt(np.diag(covariance))
    correlation = np.abs(covariance[0, 1:]) / (deviations[0] * deviations[1:])
    return problem.names[1 + int(np.argmax(correlation))].split("/")[0]


def _parameters(problem: TipProblem, fit: Fit, covariance: Array) -> tuple[Parameter, ...]:
    deviations = np.sqrt(np.diag(covariance))
    return tuple(
        Parameter(name.split("/")[0], name.split("/")[1], float(fit.theta[i]), float(deviations[i]),
                  float(problem.prior_mean[i]), float(problem.prior_sigma[i]))
        for i, name in enumerate(problem.names)
    )


def _rms(problem: TipProblem, fit: Fit) -> tuple[float, float, float]:
    position, rotation, force = [], [], []
    for number, o in enumerate(problem.observations):
        poses, chosen = problem.pose_selected[number], problem.selected[number]
        local = problem.local(number, fit.theta)
        tracked = problem.models[number].poses(o.pose_pad[poses], o.pose_recess[poses], local).values
        rotation.append(tracked[:, 0] - o.tilt[poses])
        position.append((tracked[:, 1:] - o.displacement[poses]).ravel())
        force.append(problem.predict(number, fit.theta, chosen).force_residual)

    def rms(parts: list[Array]) -> float:
        values = np.concatenate(parts)
        return float(np.sqrt((values**2).mean())) if len(values) else float("nan")

    return rms(position), rms(rotation), rms(force)


def _trial_fit(problem: TipProblem, number: int, theta: Array) -> TrialFit:
    o, chosen = problem.observations[number], problem.selected[number]
    local = dict(zip(LOCAL, problem.local(number, theta), strict=True))
    prediction = problem.predict(number, theta, slice(None))
    hidden = np.where(chosen, 0.0, np.nan)
    expected = o.force[:, 0] - prediction.force_residual
    tracked = np.full(len(o.times), np.nan)
    if len(o.pose_times):
        near = np.abs(o.times[:, None] - o.pose_times).argmin(axis=1)
        close = np.abs(o.pose_times[near] - o.times) < 0.05
        tracked[close] = o.tilt[near[close]]
    d = local["twin_scale"] * o.edge + local["edge_offset"] - local["edge_radius"] - local["com_along"]
    z = problem.twin.com_height + local["com_up"]
    x, y = o.direction_object
    along = "x" if abs(x) > abs(y) else "y"
    return TrialFit(
        trial_id=o.trial_id, outcome=o.outcome, side=f"{'+' if (x if along == 'x' else y) > 0 else '-'}{along}",
        times=o.times - o.times[0], phase=o.phase, fitted=chosen, tilt_observed=tracked,
        tilt_fitted=prediction.tilt + hidden, moment_observed=prediction.push_moment + hidden,
        moment_fitted=prediction.weight_moment + hidden, force_observed=o.force, force_fitted=expected + hidden,
        contact_height=float(problem.twin.com_height + o.face_point[1]), balance_angle=float(np.arctan2(d, z)),
    )
