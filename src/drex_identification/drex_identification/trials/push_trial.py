"""One recorded push: signals, phases and what was known while pushing."""

from __future__ import annotations

from dataclasses import dataclass, field, fields

import numpy as np
from numpy.typing import NDArray

from drex_sim.errors import TrialError
from drex_sim.robot.protocols import RecordedBlocks

Array = NDArray[np.float64]

PUSH_TYPES: tuple[str, ...] = ("TIP", "STROKE_SLIDE", "TOPPLE")
"""Kinds of push, numbered as in drex_msgs/PushTrial."""

_WIDTHS = {"pose": {"poses": 8, "pose_covariances": 36},
           "arm": {"arm_positions": 6, "arm_velocities": 6},
           "hand": {"hand_positions": 16, "hand_efforts": 16},
           "hand_command": {"hand_commands": 16},
           "wrench": {"wrenches": 6}}
_MAY_HOLD_NAN = {"hand_efforts"}  # a driver may report no effort at all


@dataclass(frozen=True)
class Phase:
    """A named part of a push."""

    name: str
    """baseline, contact, lean, lower, retreat or baseline_after."""
    start: float
    """Rig time [s]."""
    end: float
    """Rig time [s]."""


@dataclass(frozen=True, kw_only=True)
class PushTrial:
    """One recorded push. Times are rig (ROS) time [s], poses in base_link."""

    trial_id: str
    """Unique; sorts by time."""
    object_id: str
    twin_hash: str
    """Hash of the twin used while pushing (mass excluded)."""
    blocks: RecordedBlocks
    phases: tuple[Phase, ...]
    contact_point: Array
    """Planned contact in the object frame, (3,) [m]."""
    contact_normal: Array
    """Outward unit normal of the object there, object frame, (3,)."""
    push_direction: Array
    """Horizontal unit direction of the push in base_link, (3,)."""
    push_type: str = "TIP"
    table_plane: Array = field(default_factory=lambda: np.array([0.0, 0.0, 1.0, 0.0]))
    """n_x, n_y, n_z, d with n.p = d [-, m]."""
    gravity: Array = field(default_factory=lambda: np.array([0.0, 0.0, -9.81]))
    """(3,) [m/s2]."""
    force_frame: str = "tool0_controller"
    tool_T_force: Array = field(default_factory=lambda: np.eye(4))
    """tool0_T_force_frame, (4, 4)."""
    tare: Array | None = None
    """Wrench of the same motion without the object (6,) [N, N m]; None: not measured."""
    pad_radius: float = 0.012
    """Radius of the pushing fingertip [m]."""
    finger: str = "index"
    outcome: str = "complete"
    """"complete", "slid", "turned", "no_contact", "force_limit", "lost", "cancelled", ..."""

    @property
    def duration(self) -> float:
        """Recorded time [s]."""
        stamps = self.blocks.wrench_stamps
        return float(stamps[-1] - stamps[0]) if len(stamps) else 0.0

    def phase(self, name: str) -> Phase | None:
        """The first phase of this name, or None."""
        return next((phase for phase in self.phases if phase.name == name), None)

    def validate(self, object_id: str | None = None, twin_hash: str | None = None) -> None:
        """Check that the trial can be used.

        Args:
          object_id: object it must be of; None: any.
          twin_hash: twin it must have been recorded with; None: any.

        Raises:
          TrialError: naming the field, what was found and what is allowed.
        """
        self._check_blocks()
        self._check_metadata()
        if object_id is not None and self.object_id != object_id:
            raise self._error("object_id", f"is {self.object_id!r}; {object_id!r} is asked for")
        if twin_hash is not None and self.twin_hash != twin_hash:
            raise self._error(
                "twin_hash", f"is {self.twin_hash!r}, the twin's is {twin_hash!r}; the twin changed since: push again"
            )
        baseline = self.phase("baseline")
        if baseline is None or baseline.end - baseline.start < 0.3:
            raise self._error("phases", "hold no baseline of 0.3 s before contact; without it the force has no zero")

    def _error(self, name: str, text: str) -> TrialError:
        return TrialError(f"trial {self.trial_id}: {name} {text}")

    def _check_blocks(self) -> None:
        for group, widths in _WIDTHS.items():
            stamps = getattr(self.blocks, f"{group}_stamps")
            if stamps.ndim != 1:
                raise self._error(f"{group}_stamps", f"has shape {stamps.shape}; (N,) is needed")
            self._check_finite(f"{group}_stamps", stamps)
            if (np.diff(stamps) < 0).any():
                raise self._error(f"{group}_stamps", "run backwards; they must be sorted by time")
            for name, width in widths.items():
                block = getattr(self.blocks, name)
                if block.shape != (len(stamps), width):
                    raise self._error(name, f"has shape {block.shape}; ({len(stamps)}, {width}) is needed")
                if name not in _MAY_HOLD_NAN:
                    self._check_finite(name, block)
        for group, least in (("arm", 50), ("hand", 10), ("wrench", 50)):
            count = len(getattr(self.blocks, f"{group}_stamps"))
            if count < least:
                raise self._error(f"{group}_stamps", f"holds {count} samples; at least {least} are needed")

    def _check_finite(self, name: str, values: Array) -> None:
        bad = int((~np.isfinite(values)).sum())
        if bad:
            raise self._error(name, f"holds {bad} NaN or infinite values; a sensor failed: push again")

    def _check_metadata(self) -> None:
        if self.push_type not in PUSH_TYPES:
            raise self._error("push_type", f"is {self.push_type!r}; allowed: {', '.join(PUSH_TYPES)}")
        shapes = {"contact_point": (3,), "contact_normal": (3,), "push_direction": (3,), "table_plane": (4,),
                  "gravity": (3,), "tool_T_force": (4, 4)}
        for name, shape in shapes.items():
            value = getattr(self, name)
            if value.shape != shape:
                raise self._error(name, f"has shape {value.shape}; {shape} is needed")
            self._check_finite(name, value)
        for name in ("contact_normal", "push_direction"):
            length = float(np.linalg.norm(getattr(self, name)))
            if abs(length - 1.0) > 1e-3:
                raise self._error(name, f"has length {length:.4f}; a unit vector is needed")
        for phase in self.phases:
            if not (np.isfinite([phase.start, phase.end]).all() and phase.end >= phase.start):
                raise self._error("phases", f"hold {phase.name!r} ending {phase.end}, before its start {phase.start}")


BLOCK_NAMES: tuple[str, ...] = tuple(f.name for f in fields(RecordedBlocks))
"""Names of the recorded arrays."""
