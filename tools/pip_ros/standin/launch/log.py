"""Lines of the launch and of its processes, on the screen and in a file."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path


class LaunchLog:
    """Writes `[LEVEL] [who]: text` and `[name-N] line`; the file has everything, the screen what is meant for it."""

    def __init__(self) -> None:
        home = Path(os.environ.get("ROS_HOME", "~/.ros")).expanduser()
        base = Path(os.environ.get("ROS_LOG_DIR") or home / "log").expanduser()
        self.folder = base / f"{time.strftime('%Y-%m-%d-%H-%M-%S')}-launch-{os.getpid()}"
        self.folder.mkdir(parents=True, exist_ok=True)
        self._file = (self.folder / "launch.log").open("a", encoding="utf-8", buffering=1)
        self._screen_gone = False

    def info(self, who: str, text: str) -> None:
        """A line of the launch itself."""
        self._write(f"[INFO] [{who}]: {text}", screen=True)

    def error(self, who: str, text: str) -> None:
        """A line of the launch itself that wants attention."""
        self._write(f"[ERROR] [{who}]: {text}", screen=True)

    def output(self, process: str, line: str, screen: bool) -> None:
        """A line of a process."""
        self._write(f"[{process}] {line}", screen=screen)

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def _write(self, line: str, *, screen: bool) -> None:
        self._file.write(f"{time.time():.6f} {line}\n")
        if screen and not self._screen_gone:
            try:
                sys.stdout.write(line + "\n")
                sys.stdout.flush()
            except BrokenPipeError:  # the reader (a pager, head) left; the launch goes on
                self._screen_gone = True
                os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
