"""Install the stand-in for launch, launch_ros and ros2 into this Python, unless the genuine ones are there."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

STANDIN = Path(__file__).resolve().parent / "standin"
OURS = "drex-ros-standin"


def genuine_is_there() -> bool:
    """Whether launch_ros is installed by something other than this project."""
    if importlib.util.find_spec("launch_ros") is None:
        return False
    owners = importlib.metadata.packages_distributions().get("launch_ros", [])
    return OURS not in owners


def main() -> int:
    """Install; returns the exit code."""
    if genuine_is_there():
        print("launch and launch_ros are there: no stand-in needed")
        return 0
    with tempfile.TemporaryDirectory() as scratch:  # building leaves files beside the sources
        sources = shutil.copytree(STANDIN, Path(scratch) / "standin", ignore=shutil.ignore_patterns("__pycache__"))
        command = [sys.executable, "-m", "pip", "install", "-q", "--disable-pip-version-check", "--no-deps"]
        command += ["--no-build-isolation", "--force-reinstall", str(sources)]
        return subprocess.run(command, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
