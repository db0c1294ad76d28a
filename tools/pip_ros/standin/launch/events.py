"""What happened; handed to event handlers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from .unsupported import refuse_names

if TYPE_CHECKING:
    from .process import ExecuteProcess

__getattr__ = refuse_names("launch.events")


@dataclass(frozen=True)
class ProcessStarted:
    """A process runs."""

    action: ExecuteProcess
    process_name: str
    pid: int


@dataclass(frozen=True)
class ProcessExited:
    """A process ended; the code is negative where a signal ended it."""

    action: ExecuteProcess
    process_name: str
    pid: int
    returncode: int


@dataclass(frozen=True)
class Shutdown:
    """The launch comes down."""

    reason: str
