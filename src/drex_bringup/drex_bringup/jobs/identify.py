"""`drex identify RUN`: estimate the mass again from the trials of a run, without robot or ROS graph."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path

from drex_bringup.run_folder import read_json
from drex_identification.estimators import MassEstimateResult, TipConfig, get_estimator
from drex_identification.trials.push_trial import PushTrial
from drex_identification.trials.storage import load_trial
from drex_sim.errors import ConfigError
from drex_sim.twin import load_twin


def load_trials(source: Path) -> list[PushTrial]:
    """Trials of a run folder, of its `trials` folder or of one file, oldest first.

    Raises:
      ConfigError: there are none.
      TrialError: one is damaged; the text names the file.
    """
    if source.is_file():
        return [load_trial(source)]
    folder = source / "trials" if (source / "trials").is_dir() else source
    files = sorted(folder.glob("*.npz"))
    if not files:
        raise ConfigError(f"{source}: no trials/*.npz; give the run folder of a run that pushed")
    return [load_trial(file) for file in files]


def configure(settings: Sequence[str], recorded: dict[str, float] | None = None) -> TipConfig:
    """The estimator's configuration with settings like "force_scale_sigma=0.01", on top of those recorded.

    Raises:
      ConfigError: unknown name or no number; the text lists the names.
    """
    allowed = {f.name: f for f in dataclasses.fields(TipConfig)}
    values = {name: value for name, value in (recorded or {}).items() if name in allowed}
    for setting in settings:
        name, _, text = setting.partition("=")
        if name not in allowed:
            raise ConfigError(f"--set {setting}: unknown; allowed: {', '.join(sorted(allowed))}")
        default = allowed[name].default
        try:
            values[name] = int(text) if isinstance(default, int) else float(text)  # type: ignore[assignment]
        except ValueError as error:
            raise ConfigError(f"--set {setting}: {text!r} is no number; write {name}=NUMBER") from error
    return dataclasses.replace(TipConfig(), **values)


def reidentify(source: Path, method: str, settings: Sequence[str], twin_path: str | None) -> MassEstimateResult:
    """Estimate the mass from recorded trials.

    Raises:
      DrexError: no or damaged trials, another twin, or a bad setting.
    """
    trials = load_trials(source)
    ids = sorted({trial.object_id for trial in trials})
    if len(ids) > 1:
        raise ConfigError(f"{source}: trials of {', '.join(ids)}; give the files of one object only")
    local = source / "twins"
    path = str(local) if twin_path is None and local.is_dir() else twin_path
    return get_estimator(method).estimate(trials, load_twin(ids[0], path), configure(settings, _recorded(source)))


def _recorded(source: Path) -> dict[str, float]:
    """Settings of the estimate that the run made; empty when it made none."""
    estimate = read_json(source / "estimate.json") if source.is_dir() else None
    return dict(estimate.get("config") or {}) if estimate else {}


def describe(result: MassEstimateResult) -> str:
    """The estimate in a few lines."""
    lines = [f"{result.object_id}: {result.verdict.name}, mass {result.mass:.3f} kg +- {result.mass_stddev:.3f}"]
    if result.ci95 is not None:
        lines.append(f"  95 % interval {result.ci95[0]:.3f} .. {result.ci95[1]:.3f} kg")
    lines.append(f"  {result.reason}")
    if result.next_action:
        lines.append(f"  next: {result.next_action}")
    lines.append(f"  {len(result.trials)} trials used, {len(result.rejected)} rejected, {result.elapsed:.2f} s")
    lines += [f"  rejected {trial_id}: {reason}" for trial_id, reason in result.rejected]
    return "\n".join(lines)
