"""Runs the launch file in a process of its own, and takes all of it down again."""

from __future__ import annotations

import contextlib
import os
import re
import secrets
import shutil
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from drex_sim.errors import ConfigError

LAUNCH_FILE = "identify_and_grasp.launch.py"
DOMAINS = range(50, 101)
"""ROS domains a simulated run may take (at most 101 on Linux)."""
INTERRUPT_WAIT = 12.0
"""Seconds the launch gets to come down after Ctrl-C before it is killed."""


def free_domain() -> int:
    """A ROS domain in which no other participant of this computer listens."""
    used: set[int] = set()
    for table in ("/proc/net/udp", "/proc/net/udp6"):
        with contextlib.suppress(OSError), open(table, encoding="ascii") as stream:
            used |= {int(line.split()[1].rsplit(":", 1)[1], 16) for line in stream.readlines()[1:]}
    # DDS discovery listens on 7400 + 250 x domain.
    free = [domain for domain in DOMAINS if not used & set(range(7400 + 250 * domain, 7400 + 250 * domain + 40))]
    return secrets.choice(free or list(DOMAINS))


def find_ros2() -> str:
    """Path of the ros2 command.

    Raises:
      ConfigError: there is none.
    """
    path = shutil.which("ros2")
    if path is None:
        raise ConfigError("command ros2 not found; run `make setup` and `source env.sh` (or source your ROS 2)")
    return path


@dataclass(kw_only=True)
class LaunchRun:
    """One run of the launch file."""

    arguments: Sequence[str]
    """Launch arguments, name:=value."""
    log: Path
    """File that gets all output."""
    on_line: Callable[[str, str], None] = lambda node, text: None
    """Called with node and text of every output line."""
    environment: dict[str, str] = field(default_factory=dict)
    """Set on top of this process's environment."""
    timeout: float = 900.0
    """Seconds after which everything is taken down."""

    def run(self) -> int:
        """Run to the end; the launch's exit code, 124 after the timeout.

        Raises:
          KeyboardInterrupt: Ctrl-C; every process is down by then.
        """
        environment = {**os.environ, "PYTHONUNBUFFERED": "1", "ROS_AUTOMATIC_DISCOVERY_RANGE": "LOCALHOST"}
        environment.update(self.environment)
        command = [find_ros2(), "launch", "drex_bringup", LAUNCH_FILE, *self.arguments]
        self.log.parent.mkdir(parents=True, exist_ok=True)
        process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, text=True,
            errors="replace", env=environment, start_new_session=True,
        )
        reader = threading.Thread(target=self._read, args=(process,), daemon=True)
        reader.start()
        try:
            code = process.wait(timeout=self.timeout)
        except subprocess.TimeoutExpired:
            code = 124
        finally:
            take_down(process)
            reader.join(timeout=2.0)
        return code

    def _read(self, process: subprocess.Popen[str]) -> None:
        assert process.stdout is not None
        with self.log.open("w", encoding="utf-8") as log:
            for line in process.stdout:
                log.write(line)
                log.flush()
                self.on_line(*split_line(line.rstrip("\n")))


def split_line(line: str) -> tuple[str, str]:
    """Node and text of an output line of the launch: "[tracker-3] text" gives ("tracker", "text")."""
    match = re.match(r"\[([A-Za-z0-9_.]+?)(?:-\d+)?\]:? ?(.*)", line)
    return (match.group(1), match.group(2)) if match else ("", line)


def take_down(process: subprocess.Popen[str]) -> None:
    """Interrupt the whole session of a process, and kill what is left of it."""
    group = process.pid
    for number, wait in ((signal.SIGINT, INTERRUPT_WAIT), (signal.SIGTERM, 2.0), (signal.SIGKILL, 2.0)):
        if not _alive(group):
            break
        with contextlib.suppress(ProcessLookupError):
            # The launch hands the signal on to its nodes; only the last two go to all of them at once.
            os.kill(process.pid, number) if number == signal.SIGINT else os.killpg(group, number)
        deadline = time.monotonic() + wait
        while time.monotonic() < deadline and _alive(group):
            process.poll()
            time.sleep(0.05)
    process.poll()


def _alive(group: int) -> bool:
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
