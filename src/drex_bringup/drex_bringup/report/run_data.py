"""What a run folder holds, read for the report. The only place that opens the sealed truth."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from drex_bringup.run_folder import read_json
from drex_identification.trials.push_trial import PushTrial
from drex_identification.trials.storage import load_trial
from drex_sim.errors import ConfigError, TrialError

SEALED = Path(".sealed") / "truth.json"


@dataclass(frozen=True, kw_only=True)
class RunData:
    """One run. What a run did not reach is None or empty."""

    folder: Path
    result: dict[str, Any] | None = None
    """result.json of the coordinator."""
    estimate: dict[str, Any] | None = None
    """estimate.json (docs/report_schema.md)."""
    grasp: dict[str, Any] | None = None
    """grasp.json of the grasp server."""
    truth: dict[str, Any] | None = None
    """What the simulator really used; None on a real rig, or as long as there is no estimate."""
    trials: tuple[PushTrial, ...] = ()
    damaged: dict[str, str] = field(default_factory=dict)
    """Reason by trial file that could not be read."""
    pictures: tuple[Path, ...] = ()
    """Pictures of the colour camera, oldest first."""

    @property
    def object_id(self) -> str:
        """Twin id."""
        for record in (self.estimate, self.result, self.grasp):
            if record is not None and record.get("object_id"):
                return str(record["object_id"])
        return self.trials[0].object_id if self.trials else "object"


def load_run(folder: Path) -> RunData:
    """Read a run folder.

    Raises:
      ConfigError: it does not exist, holds nothing of a run, or a file in it is damaged.
    """
    if not folder.is_dir():
        raise ConfigError(f"{folder}: no such run folder; `ls runs` shows what there is")
    estimate = read_json(folder / "estimate.json")
    result = read_json(folder / "result.json")
    grasp = read_json(folder / "grasp.json")
    trials: list[PushTrial] = []
    damaged: dict[str, str] = {}
    for file in sorted((folder / "trials").glob("*.npz")):
        try:
            trials.append(load_trial(file))
        except TrialError as error:
            damaged[file.name] = str(error)
    if estimate is None and result is None and not trials:
        raise ConfigError(f"{folder}: holds no result.json, estimate.json or trials; it is no run folder")
    return RunData(
        folder=folder,
        result=result,
        estimate=estimate,
        grasp=grasp,
        # The truth may be looked at only after the estimate has been written: nothing can use it any more.
        truth=_truth(folder) if estimate is not None else None,
        trials=tuple(trials),
        damaged=damaged,
        pictures=tuple(sorted((folder / "pictures").glob("*.jpg"))),
    )


def _truth(folder: Path) -> dict[str, Any] | None:
    try:
        return read_json(folder / SEALED)
    except ConfigError as error:
        # Of another user's run, say: the report is complete without it.
        if isinstance(error.__cause__, PermissionError):
            return None
        raise
