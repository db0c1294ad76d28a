"""`drex demo`: the main job on the simulated rig, from bring-up to report."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from drex_bringup.jobs.graph import LaunchRun, free_domain
from drex_bringup.run_folder import new_run_folder, read_json
from drex_sim.errors import ConfigError, DrexError
from drex_sim.twin import load_twin
from drex_sim.twin.mass_record import check_mass, nominal_mass
from drex_sim.twin.store import write_twin

REALISM = ("ideal", "lab", "harsh")


class DemoFailed(DrexError):
    """The job did not come to a result; the text is the reason."""


@dataclass(frozen=True, kw_only=True)
class DemoOptions:
    """What to run."""

    object_id: str = "ketchup"
    """Twin on the table; with `mesh`, the name of the new twin."""
    mesh: Path | None = None
    """Scanned mesh to make a twin of."""
    up: str | None = None
    """Axis of the mesh that points up, e.g. "-y"; None: found."""
    mass: float | None = None
    """True mass for the simulator [kg]; None: drawn per seed around the library's."""
    realism: str = "lab"
    seed: int = 1
    headless: bool = True
    skip_grasp: bool = False
    calibrated: bool = False
    """Force-scale error of a calibrated rig (1 %)."""
    pace: str = "realtime"
    hand_driver: str = "ros2_control"
    runs: Path | None = None
    """Folder of runs; None: $DREX_RUNS or ./runs."""
    timeout: float = 900.0
    """Steady time for the whole run [s]."""
    verbose: bool = False
    """Show every line of every node."""


@dataclass(frozen=True)
class DemoOutcome:
    """How it ended."""

    folder: Path
    exit_code: int
    summary: dict[str, Any]
    """report.json."""
    seconds: float
    """Steady time from start to end."""


def run_demo(options: DemoOptions, say: Callable[[str], None] = print) -> DemoOutcome:
    """Bring up the simulated rig, run the job and wait for its report.

    Raises:
      DemoFailed: no result came; the text says why and where the log is.
      DrexError: object, mesh, mass or another option cannot be used; nothing was started.
    """
    started = time.monotonic()
    check_options(options)
    folder, object_id, twin_path = prepare(options, say)
    arguments = launch_arguments(options, folder, object_id, twin_path)
    domain = free_domain()
    say(f"{object_id}: starting the simulated rig ({options.realism}, seed {options.seed}) in ROS domain {domain}")
    say(f"run folder {folder}")
    progress = _Progress(say, options.verbose)
    run = LaunchRun(
        arguments=arguments, log=folder / "launch.log", on_line=progress.line, timeout=options.timeout,
        environment={"ROS_DOMAIN_ID": str(domain)},
    )
    code = run.run()
    summary = read_json(folder / "report.json")
    if summary is None:
        reason = progress.reason or (f"it took longer than {options.timeout:.0f} s" if code == 124 else "")
        reason = reason or "the graph did not come up"
        raise DemoFailed(f"{object_id}: no result: {reason}; see {folder / 'launch.log'}")
    return DemoOutcome(folder, 0 if summary["success"] else 1, summary, time.monotonic() - started)


def check_options(options: DemoOptions) -> None:
    """Refuse what cannot work before anything starts.

    Raises:
      ConfigError: names the option, what was found and what is allowed.
    """
    if options.realism not in REALISM:
        raise ConfigError(f"--realism is {options.realism!r}; allowed: {', '.join(REALISM)}")
    if options.seed < 0:
        raise ConfigError(f"--seed is {options.seed}; 0 or more is needed")
    if options.mass is not None:
        check_mass(options.mass, "--mass")
    if options.mesh is not None and options.mass is None:
        raise ConfigError("--mesh needs --mass KG: the simulator has no mass for a scan (no estimator reads it)")
    if options.mesh is not None and not options.mesh.is_file():
        raise ConfigError(f"--mesh {options.mesh}: no such file; give a mesh in metres (.ply, .obj, .stl, .glb)")


def prepare(options: DemoOptions, say: Callable[[str], None]) -> tuple[Path, str, str]:
    """Make the run folder, and a twin of the scan if there is one: folder, object id, twin path.

    Raises:
      DrexError: unknown object, or a scan that cannot be used; the text says why.
    """
    twin_path = os.environ.get("DREX_TWIN_PATH", "")
    object_id = options.object_id
    if options.mesh is None:
        load_twin(object_id, twin_path or None)
        if options.mass is None and nominal_mass(object_id, twin_path or None) is None:
            raise ConfigError(f"object {object_id}: its object.yaml has no mass to simulate; give one with --mass KG")
        folder = new_run_folder(object_id, options.runs)
    else:
        from drex_sim.twin.scan import inspect_scan  # its helpers are heavy: only where a scan is given

        twin, notes = inspect_scan(options.mesh, object_id, up=options.up)
        folder = new_run_folder(object_id, options.runs)
        write_twin(twin, folder / "twins")
        twin_path = os.pathsep.join(part for part in (str(folder / "twins"), twin_path) if part)
        say(f"{object_id}: twin of {options.mesh.name}, {1e3 * twin.height:.0f} mm high, {1e3 * twin.volume:.2f} l")
        for note in notes:
            say(f"  {note}")
    if options.mass is not None:
        seal_mass(folder, options.mass)
    return folder, object_id, twin_path


def seal_mass(folder: Path, mass: float) -> Path:
    """Write the user's mass where only the simulated rig looks, readable by the owner alone."""
    file = sealed_mass_file(folder)
    file.parent.mkdir(mode=0o700, exist_ok=True)
    handle = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(handle, "w") as stream:
        stream.write(f"{mass!r}\n")
    return file


def sealed_mass_file(folder: Path) -> Path:
    """Where the user's mass is."""
    return folder / ".sealed" / "mass"


def launch_arguments(options: DemoOptions, folder: Path, object_id: str, twin_path: str) -> list[str]:
    """Arguments of the launch file."""
    values = {
        "sim": "true", "run": "true", "object": object_id, "realism": options.realism, "seed": str(options.seed),
        "headless": _flag(options.headless), "pace": options.pace, "calibrated": _flag(options.calibrated),
        "skip_grasp": _flag(options.skip_grasp), "hand_driver": options.hand_driver, "run_folder": str(folder),
    }
    if twin_path:
        values["twin_path"] = twin_path
    if options.calibrated:
        values["calibration_id"] = "simulated"
    if options.mass is not None:
        values["sealed_mass_file"] = str(sealed_mass_file(folder))
    return [f"{name}:={value}" for name, value in values.items()]


def _flag(value: bool) -> str:
    return "true" if value else "false"


class _Progress:
    """Shows what matters of the launch's output and remembers the last reason for a failure."""

    def __init__(self, say: Callable[[str], None], verbose: bool) -> None:
        self._say, self._verbose = say, verbose
        self.reason = ""

    def line(self, node: str, text: str) -> None:
        if node == "run_job":
            if text.startswith(("not run:", "failed")):
                self.reason = text
            self._say(f"  {text}")
        elif self._verbose:
            self._say(f"  [{node}] {text}")
        elif "[ERROR]" in text or "[FATAL]" in text or text.startswith(("cannot start:", "Traceback")):
            self.reason = self.reason or f"{node}: {text}"
            self._say(f"  [{node}] {text}")
