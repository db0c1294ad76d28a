"""Runs a launch description until everything in it has ended or it is told to come down."""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import os
import signal
import traceback
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from .action import Entity, LaunchDescription
from .events import ProcessExited, Shutdown
from .launch_context import LaunchContext
from .log import LaunchLog

PR_SET_CHILD_SUBREAPER = 36


class LaunchService:
    """One launch."""

    def __init__(self, *, argv: Iterable[str] | None = None, noninteractive: bool = False, debug: bool = False) -> None:
        self.argv = list(argv or ())
        self.noninteractive = noninteractive
        self.debug = debug
        self.context = LaunchContext(self)
        self.log = LaunchLog()
        self.is_shutdown = False
        self._descriptions: list[LaunchDescription] = []
        self._tasks: set[asyncio.Task[None]] = set()
        self._down: asyncio.Event | None = None
        self._code = 0

    def include_launch_description(self, description: LaunchDescription) -> None:
        """Add a description to what run() executes."""
        self._descriptions.append(description)

    def run(self) -> int:
        """Run to the end.

        Returns:
          0, or the code of the first process that failed by itself (128 + n for signal n), or 1 where an action
          of the launch file failed.
        """
        # Orphans of our children become our children, so that none can stay behind.
        ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
        before = _children()
        try:
            return asyncio.run(self._run())
        finally:
            while strays := _children() - before:
                _kill(strays)
            self.log.close()

    async def _run(self) -> int:
        self._down = asyncio.Event()
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            loop.add_signal_handler(number, self.shutdown, f"{number.name} received")
        self.log.info("launch", f"all log files are in {self.log.folder}")
        self.execute(self._descriptions)
        while self._tasks:
            await asyncio.wait(self._tasks)
        self.shutdown("nothing left to run", quiet=True)
        while self._tasks:
            await asyncio.wait(self._tasks)
        return self._code

    def execute(self, entities: Sequence[Entity]) -> None:
        """Execute actions and what they return, depth first; a failing action brings the launch down."""
        try:
            self._visit(entities)
        except Exception as error:
            if self.debug:
                traceback.print_exc()
            self.log.error("launch", f"{type(error).__name__}: {error}")
            self.fail(1)
            self.shutdown("an action of the launch file failed")

    def _visit(self, entities: Sequence[Entity]) -> None:
        for entity in entities:
            self._visit(entity.visit(self.context) or ())

    def emit(self, event: Any) -> None:
        """Hand an event to the handlers."""
        for handler in [handler for handler in self.context.event_handlers if handler.matches(event)]:
            self.execute(handler.handle(event, self.context))

    def note_exit(self, event: ProcessExited) -> None:
        """Keep the code of the first process that failed before anything was told to stop."""
        if not self.is_shutdown and event.returncode != 0:
            self.fail(event.returncode if event.returncode > 0 else 128 - event.returncode)

    def fail(self, code: int) -> None:
        """Set the launch's exit code unless it is set."""
        self._code = self._code or code

    def shutdown(self, reason: str = "", *, quiet: bool = False) -> None:
        """Bring everything down; safe to call again."""
        if self.is_shutdown:
            return
        self.is_shutdown = True
        if not quiet:
            self.log.info("launch", f"shutting down: {reason}")
        self.emit(Shutdown(reason))
        self._down.set()

    def keep(self, task: asyncio.Task[None]) -> None:
        """The launch lasts as long as this task."""
        self._tasks.add(task)
        task.add_done_callback(self._finished)

    def _finished(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and task.exception() is not None:
            error = task.exception()
            self.log.error("launch", f"{type(error).__name__}: {error}")
            self.fail(1)
            self.shutdown("the launch itself failed")

    async def wait_for_shutdown(self) -> None:
        """Returns once the launch comes down."""
        await self._down.wait()

    async def sleep(self, seconds: float) -> None:
        """Wait, no longer than until the launch comes down."""
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._down.wait(), seconds)


def _children() -> set[int]:
    me, found = os.getpid(), set()
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError):
                if int((entry / "stat").read_text().rpartition(")")[2].split()[1]) == me:
                    found.add(int(entry.name))
    return found


def _kill(strays: set[int]) -> None:
    """End what outlived its parent: daemonised grandchildren that the sub-reaper setting brought to us."""
    for pid in strays:
        with contextlib.suppress(OSError):
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
