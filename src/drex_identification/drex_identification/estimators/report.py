"""estimate.json, as docs/report_schema.md says."""

from __future__ import annotations

import json
import math
import os
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from drex_identification.estimators.result import MassEstimateResult, TrialFit

SCHEMA = 1
"""Version of estimate.json."""


def _plain(value: Any) -> Any:
    """JSON without NaN: what does not exist is null."""
    if isinstance(value, np.ndarray):
        return _plain(value.tolist())
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def _trial(fit: TrialFit) -> dict[str, Any]:
    return {name: getattr(fit, name) for name in fit.__dataclass_fields__}


def estimate_record(result: MassEstimateResult, stamp: float = 0.0) -> dict[str, Any]:
    """The content of estimate.json; stamp is the ROS time of the estimate [s]."""
    identified = math.isfinite(result.mass)
    record = {
        "schema": SCHEMA, "object_id": result.object_id, "twin_hash": result.twin_hash, "method": result.method,
        "calibration_id": result.calibration_id, "stamp": stamp, "elapsed": result.elapsed,
        "verdict": result.verdict.name, "reason": result.reason, "next_action": result.next_action,
        "mass": result.mass, "mass_stddev": result.mass_stddev, "ci95": result.ci95 if identified else None,
        "mass_prior": dict(zip(("low", "high", "stddev"), result.mass_prior, strict=True)),
        "position_rms": result.position_rms, "rotation_rms": result.rotation_rms, "force_rms": result.force_rms,
        "trials_used": len(result.trials), "trials_rejected": len(result.rejected),
        "rejected": [{"trial_id": trial_id, "reason": reason} for trial_id, reason in result.rejected],
        "parameters": [vars(parameter) for parameter in result.parameters],
        "profile": {"mass_grid": result.mass_grid, "neg_log_posterior": result.neg_log_posterior,
                    "density": result.density},
        "trials": [_trial(fit) for fit in result.trials],
        "config": result.config,
    }
    return _plain(record)


def write_estimate(result: MassEstimateResult, file: Path, stamp: float = 0.0) -> None:
    """Write estimate.json atomically."""
    file.parent.mkdir(parents=True, exist_ok=True)
    handle, scratch = tempfile.mkstemp(dir=file.parent, prefix=".estimate", suffix=".part")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as stream:
            json.dump(estimate_record(result, stamp), stream, allow_nan=False)
        os.replace(scratch, file)
    except BaseException:
        Path(scratch).unlink(missing_ok=True)
        raise
