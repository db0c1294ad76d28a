"""What an estimator answers."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


class Verdict(Enum):
    """What the data can tell, numbered as in drex_msgs/MassEstimate."""

    IDENTIFIED = 0
    PRIOR_DOMINATED = 1
    UNIDENTIFIABLE = 2


@dataclass(frozen=True)
class Parameter:
    """One fitted parameter."""

    name: str
    unit: str
    value: float
    stddev: float
    prior_mean: float
    prior_stddev: float


@dataclass(frozen=True, kw_only=True)
class TrialFit:
    """Fit of one push; series are described in docs/report_schema.md."""

    trial_id: str
    outcome: str
    side: str
    times: Array
    phase: tuple[str, ...]
    fitted: NDArray[np.bool_]
    tilt_observed: Array
    tilt_fitted: Array
    moment_observed: Array
    moment_fitted: Array
    force_observed: Array
    force_fitted: Array
    contact_height: float
    balance_angle: float


@dataclass(frozen=True, kw_only=True)
class MassEstimateResult:
    """Mass with its uncertainty and what the data can tell. Mass fields are NaN when UNIDENTIFIABLE."""

    object_id: str
    twin_hash: str
    method: str
    verdict: Verdict
    reason: str
    next_action: str
    calibration_id: str = ""
    mass: float = float("nan")
    """[kg]"""
    mass_stddev: float = float("nan")
    """[kg]"""
    ci95: tuple[float, float] = (float("nan"), float("nan"))
    """95 % interval [kg]."""
    mass_prior: tuple[float, float, float] = (float("nan"), float("nan"), float("nan"))
    """Lowest, highest and standard deviation of the prior [kg]."""
    parameters: tuple[Parameter, ...] = ()
    covariance: Array = field(default_factory=lambda: np.zeros((0, 0)))
    """Of the parameters, same order."""
    position_rms: float = float("nan")
    rotation_rms: float = float("nan")
    force_rms: float = float("nan")
    trial_ids: tuple[str, ...] = ()
    """Trials given to the estimator."""
    rejected: tuple[tuple[str, str], ...] = ()
    """(trial_id, reason) of those not used."""
    mass_grid: Array = field(default_factory=lambda: np.zeros(0))
    neg_log_posterior: Array = field(default_factory=lambda: np.zeros(0))
    """Profile over mass_grid, minimum 0."""
    density: Array = field(default_factory=lambda: np.zeros(0))
    """Posterior density per kg over mass_grid."""
    trials: tuple[TrialFit, ...] = ()
    config: dict[str, float] = field(default_factory=dict)
    elapsed: float = 0.0
    """[s]"""

    @property
    def half_width(self) -> float:
        """Half of the 95 % interval [kg]."""
        return 0.5 * (self.ci95[1] - self.ci95[0])
