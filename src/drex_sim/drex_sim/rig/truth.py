"""The hidden truth of one run: drawn per seed, known to the simulator alone."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from drex_sim.errors import ConfigError
from drex_sim.rig.profiles import Profile
from drex_sim.twin import Twin

Array = NDArray[np.float64]

SEALED = Path(".sealed") / "truth.json"
"""The sealed file, relative to the run folder."""
PLACE = (0.50, 0.0)
"""Where the object stands, base_link x and y [m]."""


@dataclass(frozen=True, kw_only=True)
class Truth:
    """What is really so. Lengths in metres, angles in radians."""

    object_id: str
    mass: float
    scale: float
    base_shift: tuple[float, float, float, float]
    """Displacement of the base sides +x, -x, +y, -y outwards."""
    edge_radius: float
    com_offset: tuple[float, float, float]
    inertia_scale: float
    friction_table: float
    friction_tip: float
    table_tilt: float
    table_azimuth: float
    force_matrix: Array
    """(6, 6): what the wrist sensor shows of the true wrench."""
    force_bias: Array
    """(6,) [N, N m]."""
    clock_offset: float
    """Camera stamps minus rig time [s]."""
    place: tuple[float, float]
    """Where the object stands, base_link x and y."""
    yaw: float


def draw_truth(
    twin: Twin, profile: Profile, seed: int, nominal: float | None, mass: float | None = None
) -> Truth:
    """Draw the truth of a run.

    Args:
      twin: the object's twin.
      profile: sizes of the imperfections.
      seed: the same seed gives the same truth.
      nominal: the library's mass, of which 0.5 to 2 times is drawn [kg].
      mass: the true mass when the user gives it [kg].

    Raises:
      ConfigError: neither mass is known.
    """
    rng = np.random.default_rng([seed, 20261])
    factor = float(np.exp(rng.uniform(np.log(0.5), np.log(2.0))))
    if mass is None:
        if nominal is None:
            raise ConfigError(
                f"object {twin.id}: the simulator has no mass for it; write mass.value in its object.yaml or give"
                " a mass"
            )
        mass = nominal * factor
    offset = np.clip(profile.com_offset * rng.standard_normal(3), -0.25, 0.25) * twin.extents
    scale = 1.0 + profile.scale_common * rng.standard_normal()
    matrix = np.zeros((6, 6))
    for block in (slice(0, 3), slice(3, 6)):
        talk = profile.cross_talk * rng.standard_normal((3, 3))
        np.fill_diagonal(talk, profile.scale_spread * rng.standard_normal(3))
        matrix[block, block] = scale * (np.eye(3) + talk)
    return Truth(
        object_id=twin.id,
        mass=float(mass),
        scale=float(1.0 + profile.scale * rng.standard_normal()),
        base_shift=tuple(float(v) for v in profile.base_edge * rng.standard_normal(4)),  # type: ignore[arg-type]
        edge_radius=float(rng.uniform(*profile.edge_radius)),
        com_offset=tuple(float(v) for v in offset),  # type: ignore[arg-type]
        inertia_scale=float(rng.uniform(*profile.inertia_scale)),
        friction_table=float(rng.uniform(*profile.friction_table)),
        friction_tip=float(rng.uniform(*profile.friction_tip)),
        table_tilt=float(np.radians(profile.table_tilt) * abs(rng.standard_normal())),
        table_azimuth=float(rng.uniform(-np.pi, np.pi)),
        force_matrix=matrix,
        force_bias=profile.force_bias * rng.standard_normal(6) * np.array([1, 1, 1, 0.1, 0.1, 0.1]),
        clock_offset=float(profile.clock_offset * rng.standard_normal()),
        place=(PLACE[0] + float(rng.uniform(-0.015, 0.015)), PLACE[1] + float(rng.uniform(-0.015, 0.015))),
        yaw=float(rng.uniform(-0.3, 0.3)),
    )


def seal(truth: Truth, seed: int, realism: str, run_folder: Path) -> Path:
    """Write the truth where only the report step looks, readable by the owner alone; returns the file."""
    file = run_folder / SEALED
    file.parent.mkdir(parents=True, exist_ok=True)
    os.chmod(file.parent, 0o700)
    record = {
        key: value.tolist() if isinstance(value, np.ndarray) else value for key, value in vars(truth).items()
    }
    record |= {"seed": seed, "realism": realism}
    handle = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(handle, "w") as stream:
        json.dump(record, stream, indent=1)
    os.chmod(file, 0o600)
    return file
