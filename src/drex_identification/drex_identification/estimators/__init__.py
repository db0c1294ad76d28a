"""Mass estimators."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from drex_identification.estimators.config import TipConfig
from drex_identification.estimators.report import estimate_record, write_estimate
from drex_identification.estimators.result import MassEstimateResult, Parameter, TrialFit, Verdict
from drex_identification.estimators.tip import TipEstimator
from drex_identification.trials.push_trial import PushTrial
from drex_sim.errors import ConfigError
from drex_sim.twin import Twin


class Estimator(Protocol):
    """A way to get the mass out of recorded pushes."""

    name: str

    def estimate(self, trials: Sequence[PushTrial], twin: Twin, config: TipConfig) -> MassEstimateResult:
        """Estimate; raises TrialError for trials that are damaged or of another object or twin."""
        ...


METHODS: tuple[str, ...] = ("auto", "tip")
"""Names of the estimators; `auto` is the tip."""


def get_estimator(method: str = "auto") -> Estimator:
    """An estimator by name (empty: auto).

    Raises:
      ConfigError: unknown; the text lists those there are.
    """
    if method in ("", *METHODS):
        return TipEstimator()
    raise ConfigError(f"method {method!r} is unknown; available: {', '.join(METHODS)}")


__all__ = [
    "METHODS", "Estimator", "MassEstimateResult", "Parameter", "TipConfig", "TipEstimator", "TrialFit", "Verdict",
    "estimate_record", "get_estimator", "write_estimate",
]
