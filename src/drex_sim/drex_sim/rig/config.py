"""Configuration of the simulated rig."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from drex_sim.robot.realisation import HandGains
from drex_sim.twin import Twin


@dataclass(frozen=True, kw_only=True)
class RigConfig:
    """What to simulate."""

    object_id: str = "ketchup"
    """Twin of the object on the table."""
    realism: str = "lab"
    """ideal, lab or harsh."""
    seed: int = 0
    """Draws the truth and the noise."""
    hand_driver: str = "ros2_control"
    """See drex_sim.robot.names.HandDriver."""
    hand_mode: str | None = None
    """position or effort; None: the driver's default."""
    hand_gains: HandGains = field(default_factory=HandGains)
    """Position control inside the hand's driver."""
    force_calibrated: bool = False
    """Whether the wrist sensor's common scale error is that of a calibrated rig (1 %)."""
    twin_path: str | None = None
    """Folders of twins, separated like PATH."""
    twin: Twin | None = None
    """Use this twin in place of the one called object_id."""
    mass: float | None = None
    """True mass when the user gives it [kg]; None: drawn around the library's. Never read by an estimator."""
    visuals: bool = False
    """With meshes for a camera."""
    run_folder: Path | None = None
    """Where the sealed truth is written; None: nowhere."""
