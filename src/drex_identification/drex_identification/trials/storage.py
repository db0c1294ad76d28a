"""Trials on disk: one `<trial_id>.npz` each, written atomically."""

from __future__ import annotations

import json
import os
import re
import tempfile
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from drex_identification.trials.push_trial import BLOCK_NAMES, Phase, PushTrial
from drex_sim.errors import TrialError
from drex_sim.robot.protocols import RecordedBlocks

FORMAT = 1
"""Version of the file layout."""
_ARRAYS = ("contact_point", "contact_normal", "push_direction", "table_plane", "gravity", "tool_T_force")
_SCALARS = ("trial_id", "object_id", "twin_hash", "push_type", "force_frame", "pad_radius", "finger", "outcome")
_SAFE_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,120}")


def save_trial(trial: PushTrial, folder: Path) -> Path:
    """Write a trial to `folder/<trial_id>.npz` atomically and return that path.

    Raises:
      TrialError: the id cannot be a file name.
    """
    if not _SAFE_ID.fullmatch(trial.trial_id):
        raise TrialError(f"trial_id {trial.trial_id!r} cannot be a file name; letters, digits, . _ - are allowed")
    folder.mkdir(parents=True, exist_ok=True)
    meta = {name: getattr(trial, name) for name in _SCALARS}
    meta["format"] = FORMAT
    meta["phases"] = [[phase.name, phase.start, phase.end] for phase in trial.phases]
    arrays = {name: getattr(trial.blocks, name) for name in BLOCK_NAMES}
    arrays |= {name: getattr(trial, name) for name in _ARRAYS}
    if trial.tare is not None:
        arrays["tare"] = trial.tare
    path = folder / f"{trial.trial_id}.npz"
    handle, scratch = tempfile.mkstemp(dir=folder, prefix=".", suffix=".part")
    try:
        with os.fdopen(handle, "wb") as file:
            np.savez(file, meta=np.array(json.dumps(meta)), **arrays)
            file.flush()
            os.fsync(file.fileno())
        os.replace(scratch, path)
    except BaseException:
        Path(scratch).unlink(missing_ok=True)
        raise
    return path


def load_trial(path: Path) -> PushTrial:
    """Read and validate a trial.

    Raises:
      TrialError: the file is missing, truncated, of another format, or holds unusable data.
    """
    try:
        with np.load(path, allow_pickle=False) as file:
            meta: dict[str, Any] = json.loads(str(file["meta"]))
            arrays = {name: file[name] for name in file.files if name != "meta"}
    except FileNotFoundError as error:
        raise TrialError(f"{path}: no such trial") from error
    except (OSError, EOFError, ValueError, KeyError, zipfile.BadZipFile) as error:
        raise TrialError(f"{path}: cannot be read, the file is truncated or not a trial ({error})") from error
    if meta.get("format") != FORMAT:
        raise TrialError(f"{path}: format is {meta.get('format')!r}; {FORMAT} is needed (push again)")
    missing = [n for n in (*BLOCK_NAMES, *_ARRAYS) if n not in arrays] + [n for n in _SCALARS if n not in meta]
    if missing:
        raise TrialError(f"{path}: missing {', '.join(missing)}")
    trial = PushTrial(
        blocks=RecordedBlocks(**{name: arrays[name] for name in BLOCK_NAMES}),
        phases=tuple(Phase(str(n), float(a), float(b)) for n, a, b in meta["phases"]),
        tare=arrays.get("tare"),
        **{name: arrays[name] for name in _ARRAYS},
        **{name: meta[name] for name in _SCALARS},
    )
    trial.validate()
    return trial


class TrialStore:
    """Trials of one run folder. Trials that arrive are kept on disk and in memory."""

    def __init__(self, folder: Path) -> None:
        """Open `folder` (need not exist yet); damaged files are skipped and listed in `damaged`."""
        self.folder = folder
        self._trials: dict[str, PushTrial] = {}
        self.damaged: dict[str, str] = {}
        for path in sorted(folder.glob("*.npz")):
            try:
                trial = load_trial(path)
            except TrialError as error:
                self.damaged[path.stem] = str(error)
            else:
                self._trials[trial.trial_id] = trial

    def add(self, trial: PushTrial) -> bool:
        """Keep a trial; False when it is there already."""
        if trial.trial_id in self._trials:
            return False
        save_trial(trial, self.folder)
        self._trials[trial.trial_id] = trial
        return True

    def list(self, object_id: str = "") -> list[PushTrial]:
        """Trials of an object (empty: of all), oldest first."""
        chosen = [t for t in self._trials.values() if not object_id or t.object_id == object_id]
        return sorted(chosen, key=lambda trial: trial.trial_id)

    def select(self, object_id: str, trial_ids: Sequence[str] = ()) -> list[PushTrial]:
        """Trials by id (empty: all of the object).

        Raises:
          TrialError: an id is not known, or of another object.
        """
        self._require(trial_ids)
        if not trial_ids:
            return self.list(object_id)
        for trial_id in trial_ids:
            if self._trials[trial_id].object_id != object_id:
                raise TrialError(
                    f"trial {trial_id}: object_id is {self._trials[trial_id].object_id!r}; {object_id!r} is asked for"
                )
        return [self._trials[trial_id] for trial_id in trial_ids]

    def delete(self, trial_ids: Sequence[str]) -> int:
        """Move trials to the folder `deleted`; how many were moved.

        Raises:
          TrialError: an id is not known; nothing was moved.
        """
        self._require(trial_ids)
        bin_folder = self.folder / "deleted"
        bin_folder.mkdir(parents=True, exist_ok=True)
        for trial_id in dict.fromkeys(trial_ids):
            os.replace(self.folder / f"{trial_id}.npz", bin_folder / f"{trial_id}.npz")
            del self._trials[trial_id]
        return len(set(trial_ids))

    def _require(self, trial_ids: Sequence[str]) -> None:
        unknown = [trial_id for trial_id in trial_ids if trial_id not in self._trials]
        if unknown:
            why = "; ".join(self.damaged[u] for u in unknown if u in self.damaged)
            known = ", ".join(sorted(self._trials)) or "none"
            raise TrialError(f"trial {', '.join(unknown)} is not known; known: {known}{'. ' + why if why else ''}")
