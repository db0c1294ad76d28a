"""Carries out a launch description: processes, timers, events, and an orderly end."""

from __future__ import annotations

import ctypes
import os
import queue
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from launch.actions import Action, ExecuteProcess
from launch.context import LaunchContext
from launch.event_handlers import OnProcessExit, OnProcessStart, OnShutdown
from launch.substitutions import perform

INTERRUPT_GRACE, TERMINATE_GRACE = 3.0, 1.0
"""Seconds between SIGINT and SIGTERM, and between SIGTERM and SIGKILL: everything ends within 5 s."""
_PR_SET_PDEATHSIG = 1


@dataclass
class ProcessStarted:
    """A process has started."""

    process_name: str
    pid: int
    action: ExecuteProcess


@dataclass
class ProcessExited:
    """A process has ended."""

    process_name: str
    pid: int
    returncode: int
    action: ExecuteProcess


@dataclass
class _Child:
    action: ExecuteProcess
    context: LaunchContext
    name: str
    popen: subprocess.Popen[bytes]
    readers: list[threading.Thread] = field(default_factory=list)


def _die_with_parent() -> None:
    """In the child: get SIGTERM when the launcher dies without saying so."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)


class Engine:
    """Runs one launch description to its end."""

    def __init__(self) -> None:
        self._children: list[_Child] = []
        self._handlers: list[tuple[Any, LaunchContext]] = []
        self._timers: list[tuple[float, list[Action], LaunchContext]] = []
        self._events: queue.Queue[tuple[str, Any]] = queue.Queue()
        self._count = 0
        self._stopping = False
        self._failure = 0
        self._print_lock = threading.Lock()

    def run(self, entities: Iterable[Action], context: LaunchContext) -> int:
        """Carry out a description until every process has ended; the first failing exit code, else 0."""
        context.engine = self
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, lambda n, _: self._events.put(("signal", n)))
        try:
            self.visit_all(entities, context)
            while self._children or self._timers:
                self._step()
        finally:
            self._end_children()
        return self._failure

    def visit_all(self, entities: Iterable[Action], context: LaunchContext) -> None:
        """Carry out actions, and those they return."""
        for entity in entities:
            following = entity.visit(context)
            if following:
                self.visit_all(following, context)

    def schedule(self, period: float, actions: list[Action], context: LaunchContext) -> None:
        """Carry out actions after a period [s]."""
        self._timers.append((time.monotonic() + period, actions, context))

    def register(self, handler: Any, context: LaunchContext) -> None:
        """React to events."""
        self._handlers.append((handler, context))

    def shutdown(self, reason: str) -> None:
        """End every process (called from actions; carried out by the loop)."""
        self._events.put(("shutdown", reason))

    def start(self, action: ExecuteProcess, context: LaunchContext) -> None:
        """Start the process of an action."""
        self._count += 1
        command = action.command(context)
        name = f"{action.label(context)}-{self._count}"
        environment = dict(context.environment) if action.env is None else {
            perform(context, k): perform(context, v) for k, v in action.env.items()
        }
        environment |= {perform(context, k): perform(context, v) for k, v in action.additional_env.items()}
        environment.setdefault("PYTHONUNBUFFERED", "1")
        try:
            popen = subprocess.Popen(
                command if not action.shell else " ".join(command), shell=action.shell, env=environment,
                cwd=perform(context, action.cwd) if action.cwd else None, stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True, preexec_fn=_die_with_parent,
            )
        except OSError as error:
            self._say(name, f"cannot start {command[0]}: {error}")
            self._failure = self._failure or 127
            self.shutdown(f"{name} could not start")
            return
        child = _Child(action, context, name, popen)
        self._children.append(child)
        child.readers = [threading.Thread(target=self._read, args=(child,), daemon=True)]
        for reader in child.readers:
            reader.start()
        threading.Thread(target=self._await, args=(child,), daemon=True).start()
        self._say(name, f"process started with pid [{popen.pid}]")
        self._events.put(("started", child))

    def _say(self, name: str, text: str) -> None:
        with self._print_lock:
            print(f"[{name}] {text}", flush=True)

    def _read(self, child: _Child) -> None:
        assert child.popen.stdout is not None
        for line in child.popen.stdout:
            self._say(child.name, line.decode(errors="replace").rstrip("\n"))

    def _await(self, child: _Child) -> None:
        child.popen.wait()
        for reader in child.readers:
            reader.join(timeout=1.0)
        self._events.put(("exited", child))

    def _step(self) -> None:
        wait = min([0.5, *[max(0.0, due - time.monotonic()) for due, _, _ in self._timers]])
        try:
            kind, value = self._events.get(timeout=wait)
        except queue.Empty:
            kind, value = "none", None
        if kind == "signal":
            self._begin_shutdown(f"signal {signal.Signals(value).name}")
        elif kind == "shutdown":
            self._begin_shutdown(value)
        elif kind == "started":
            self._fire(OnProcessStart, value.action, ProcessStarted(value.name, value.popen.pid, value.action))
        elif kind == "exited":
            self._on_exit(value)
        now = time.monotonic()
        due = [timer for timer in self._timers if timer[0] <= now]
        self._timers = [timer for timer in self._timers if timer[0] > now]
        for _, actions, context in due:
            if not self._stopping:
                self.visit_all(actions, context)

    def _on_exit(self, child: _Child) -> None:
        if child not in self._children:
            return
        self._children.remove(child)
        code = child.popen.returncode
        self._say(child.name, f"process ended with exit code {code}")
        if code != 0 and not self._stopping:
            self._failure = self._failure or (code if code > 0 else 128 - code)
        event = ProcessExited(child.name, child.popen.pid, code, child.action)
        if not self._stopping:
            if child.action.on_exit is not None:
                self._react(child.action.on_exit, event, child.context)
            self._fire(OnProcessExit, child.action, event)
            if perform(child.context, child.action.respawn).lower() in ("true", "1"):
                self._failure = 0
                self.schedule(child.action.respawn_delay, [child.action], child.context)

    def _fire(self, kind: type, action: ExecuteProcess | None, event: Any) -> None:
        for handler, context in list(self._handlers):
            if isinstance(handler, kind) and handler.target_action in (None, action):
                self._react(handler.reaction, event, context)

    def _react(self, reaction: Any, event: Any, context: LaunchContext) -> None:
        actions = reaction(event, context) if callable(reaction) else reaction
        if actions is None:
            return
        self.visit_all(actions if isinstance(actions, list | tuple) else [actions], context)

    def _begin_shutdown(self, reason: str) -> None:
        if self._stopping:
            return
        self._stopping = True
        print(f"[INFO] [launch]: ending: {reason}", flush=True)
        self._fire(OnShutdown, None, None)
        self._timers = []
        self._end_children()

    def _end_children(self) -> None:
        """SIGINT, then SIGTERM, then SIGKILL to the group of every child."""
        self._stopping = True
        for number, grace in (
            (signal.SIGINT, INTERRUPT_GRACE), (signal.SIGTERM, TERMINATE_GRACE), (signal.SIGKILL, 1.0)
        ):
            alive = [child for child in self._children if child.popen.poll() is None]
            for child in alive:
                if number != signal.SIGINT:
                    print(f"[{child.name}] still running, sending {number.name}", file=sys.stderr, flush=True)
                try:
                    os.killpg(child.popen.pid, number)
                except ProcessLookupError:
                    continue
            deadline = time.monotonic() + grace
            while any(c.popen.poll() is None for c in alive) and time.monotonic() < deadline:
                time.sleep(0.02)
        for child in self._children:
            # What a child started itself is in its group.
            try:
                os.killpg(child.popen.pid, signal.SIGKILL)
            except (ProcessLookupError, PermissionError):
                continue
