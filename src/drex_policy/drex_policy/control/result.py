"""What a grasp brought, and its file."""

from __future__ import annotations

import json
import os
import tempfile
from dataclasses import asdict, dataclass, field
from pathlib import Path

import numpy as np

from drex_sim.errors import DrexError

RESULT_FILE = "grasp.json"


@dataclass(kw_only=True)
class GraspResult:
    """Outcome of a grasp; filled while it proceeds."""

    object_id: str
    mass_used: float
    """Mass the force was computed for [kg]."""
    mass_sigma: float
    """[kg]"""
    held: bool = False
    """Lifted, and held to the end of the hold time within the slip limit."""
    code: str = "NONE"
    """Name of the drex_msgs/Grasp error constant; NONE when it was held."""
    message: str = ""
    """What happened and what to do."""
    fingers: list[str] = field(default_factory=list)
    """Fingers of the plan, thumb included."""
    roll: float = 0.0
    """Turn of the palm about the pinch axis [rad]; 0: palm down."""
    width: float = float("nan")
    """Distance of the two sides [m]."""
    law: str = ""
    force_wanted: float = 0.0
    """What the force law asked for per side [N]."""
    force_per_side: float = 0.0
    """Commanded [N]."""
    force_limit: float = 0.0
    """What hand and object allow per side [N]."""
    friction_assumed: float = 0.0
    chance: float = float("nan")
    """Probability that friction suffices, as far as the twin knows its friction."""
    force_raised: int = 0
    """How often slip or weight made the hand press harder."""
    contacts: int = 0
    """Fingers in contact while holding."""
    finger_forces: dict[str, float] = field(default_factory=dict)
    """Normal force per finger from joint deflection while holding [N]."""
    slip: float = float("nan")
    """Of the object in the hand, from the end of loading to the end of holding [m]; NaN: not seen."""
    lift_height: float = 0.0
    """[m]"""
    weighed_mass: float = float("nan")
    """[kg]"""
    weighed_mass_stddev: float = float("nan")
    """Standard deviation, scale of the wrist sensor included [kg]."""
    duration: float = 0.0
    """[s]"""
    times: list[float] = field(default_factory=list)
    """Rig time of the force history [s]."""
    forces: list[float] = field(default_factory=list)
    """Commanded force per side [N]."""
    weights: list[float] = field(default_factory=list)
    """Weight felt by the wrist beyond the empty hand [N], same times; NaN where it was not read."""


def write_result(result: GraspResult, folder: Path) -> Path:
    """Write `grasp.json` atomically into a run folder and return its path. NaN becomes null.

    Raises:
      DrexError: the folder cannot be written.
    """
    record = {name: _plain(value) for name, value in asdict(result).items()}
    try:
        folder.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=folder, prefix=".grasp-", suffix=".json")
        with os.fdopen(handle, "w") as stream:
            json.dump(record, stream, indent=1, allow_nan=False)
        target = folder / RESULT_FILE
        os.replace(name, target)
    except OSError as error:
        raise DrexError(f"{folder / RESULT_FILE}: cannot be written ({error}); check run_folder and disk") from error
    return target


def _plain(value: object) -> object:
    if isinstance(value, dict):
        return {k: _plain(v) for k, v in value.items()}
    if isinstance(value, list):
        return [_plain(v) for v in value]
    if isinstance(value, float | np.floating):
        return float(value) if np.isfinite(value) else None
    return value
