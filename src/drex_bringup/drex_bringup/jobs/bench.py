"""`drex bench NAME`: runs a script of `benchmarks/`."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from drex_sim.errors import ConfigError

BENCHMARKS = {
    "main-job": "main_job.py",
    "rig": "rig_realtime.py",
    "tracking": "tracking.py",
    "identification": "identification_direct.py",
    "grasp": "grasp_direct.py",
}


def benchmarks_folder() -> Path:
    """Where the benchmarks are: $DREX_ROOT, the working directory, or above this file.

    Raises:
      ConfigError: not found.
    """
    roots = [Path(os.environ["DREX_ROOT"])] if os.environ.get("DREX_ROOT") else []
    roots += [Path.cwd(), *Path(__file__).resolve().parents]
    for root in roots:
        if (root / "benchmarks" / "main_job.py").is_file():
            return root / "benchmarks"
    raise ConfigError("benchmarks/ not found; run this inside the repository, or set DREX_ROOT to it")


def run_benchmark(name: str, arguments: Sequence[str]) -> int:
    """Run a benchmark in this environment; its exit code.

    Raises:
      ConfigError: unknown, or not in this checkout.
    """
    if name not in BENCHMARKS:
        raise ConfigError(f"benchmark {name!r} is unknown; available: {', '.join(BENCHMARKS)}")
    script = benchmarks_folder() / BENCHMARKS[name]
    if not script.is_file():
        raise ConfigError(f"{script}: missing; it is part of the repository: check it out again")
    return subprocess.run([sys.executable, str(script), *arguments], check=False).returncode
