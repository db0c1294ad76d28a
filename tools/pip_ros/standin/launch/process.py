"""Processes: started in a group of their own, read line by line, respawned, and brought down for certain."""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import os
import shlex
import signal
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from .action import Action, Entity
from .event_handlers import Reaction, as_entities
from .events import ProcessExited, ProcessStarted
from .launch_context import LaunchContext
from .substitutions import SomeSubstitutionsType, describe, normalize_to_list_of_substitutions, perform_substitutions
from .unsupported import UnsupportedLaunchFeatureError, refuse_options

ESCALATION = ((signal.SIGINT, 3.0), (signal.SIGTERM, 1.0), (signal.SIGKILL, 0.5))
"""Signals on the way down and how long each is given [s]: below 5 s in all."""
PR_SET_PDEATHSIG = 1
OUTPUTS = ("screen", "log", "both", "own_log")

_libc = ctypes.CDLL(None, use_errno=True)


class ExecuteProcess(Action):
    """Run a program."""

    def __init__(
        self,
        *,
        cmd: Iterable[SomeSubstitutionsType],
        name: SomeSubstitutionsType | None = None,
        cwd: SomeSubstitutionsType | None = None,
        env: Mapping[SomeSubstitutionsType, SomeSubstitutionsType] | None = None,
        additional_env: Mapping[SomeSubstitutionsType, SomeSubstitutionsType] | None = None,
        output: SomeSubstitutionsType = "log",
        respawn: bool | SomeSubstitutionsType = False,
        respawn_delay: float | None = None,
        respawn_max_retries: int = -1,
        on_exit: Reaction | None = None,
        condition: Any = None,
        **options: Any,
    ) -> None:
        refuse_options(type(self).__name__, options)
        super().__init__(condition=condition)
        if isinstance(output, Mapping):
            raise UnsupportedLaunchFeatureError("output as a dictionary: use one of " + ", ".join(OUTPUTS))
        self.cmd = [normalize_to_list_of_substitutions(part) for part in cmd]
        self.name = name
        self.cwd = cwd
        self.env = env
        self.additional_env = additional_env
        self.output = output
        self.respawn = respawn
        self.respawn_delay = respawn_delay
        self.respawn_max_retries = respawn_max_retries
        self.on_exit = on_exit

    def command(self, context: LaunchContext) -> list[str]:
        """The command line."""
        return [perform_substitutions(context, part) for part in self.cmd]

    def execute(self, context: LaunchContext) -> None:
        """Start it; what is unknown in a substitution raises here, a program that is absent too."""
        if context.is_shutdown:
            return
        command = self.command(context)
        if os.path.sep in command[0] and not os.access(command[0], os.X_OK):
            raise FileNotFoundError(f"{command[0]} does not exist or is not executable")
        environment = context.environment if self.env is None else _performed(context, self.env)
        # Python's output comes line by line even through a pipe.
        environment = {"PYTHONUNBUFFERED": "1", **environment, **_performed(context, self.additional_env or {})}
        output = perform_substitutions(context, self.output)
        if output not in OUTPUTS:
            raise UnsupportedLaunchFeatureError(f"output='{output}': use one of {', '.join(OUTPUTS)}")
        respawn = self.respawn
        if not isinstance(respawn, bool):
            respawn = perform_substitutions(context, respawn).strip().lower() in ("true", "1")
        label = Path(command[0]).name if self.name is None else perform_substitutions(context, self.name)
        process = Process(
            action=self,
            label=f"{label}-{context.next_process_number()}",
            command=command,
            environment=environment,
            cwd=None if self.cwd is None else perform_substitutions(context, self.cwd),
            to_screen=output != "own_log",
            stdout_to_screen=output in ("screen", "both"),
            respawn=respawn,
        )
        context.service.keep(asyncio.get_running_loop().create_task(process.run(context)))

    def describe(self) -> str:
        """The command line as written."""
        return f"{type(self).__name__}({' '.join(describe(part) for part in self.cmd)})"

    def sub_entities(self) -> Sequence[Entity]:
        """What is done on exit, where it is known beforehand."""
        return () if callable(self.on_exit) else as_entities(self.on_exit, None, LaunchContext())


def _performed(context: LaunchContext, variables: Mapping[Any, Any]) -> dict[str, str]:
    return {
        perform_substitutions(context, name): perform_substitutions(context, value)
        for name, value in variables.items()
    }


class Process:
    """One program under the launch, over all its respawns."""

    def __init__(
        self,
        *,
        action: ExecuteProcess,
        label: str,
        command: list[str],
        environment: dict[str, str],
        cwd: str | None,
        to_screen: bool,
        stdout_to_screen: bool,
        respawn: bool,
    ) -> None:
        self.action = action
        self.label = label
        self.command = command
        self.environment = environment
        self.cwd = cwd
        self.to_screen = to_screen
        self.stdout_to_screen = stdout_to_screen
        self.respawn = respawn

    async def run(self, context: LaunchContext) -> None:
        """Run to the end, again after every end where respawn is set."""
        service = context.service
        retries = 0
        while not service.is_shutdown:
            event = await self._run_once(context)
            if event is None:
                return
            limit = self.action.respawn_max_retries
            again = self.respawn and not service.is_shutdown and (limit < 0 or retries < limit)
            if not again:
                service.note_exit(event)
            service.execute(as_entities(self.action.on_exit, event, context))
            service.emit(event)
            if not again:
                return
            retries += 1
            await service.sleep(self.action.respawn_delay or 0.0)

    async def _run_once(self, context: LaunchContext) -> ProcessExited | None:
        service, log = context.service, context.service.log
        # Pipes of our own: asyncio's would make child.wait() last until every grandchild has closed them.
        (out, child_out), (err, child_err) = os.pipe(), os.pipe()
        readers = [
            asyncio.ensure_future(self._read(out, log, self.stdout_to_screen)),
            asyncio.ensure_future(self._read(err, log, self.to_screen)),
        ]
        try:
            child = await asyncio.create_subprocess_exec(
                *self.command,
                stdin=subprocess.DEVNULL,
                stdout=child_out,
                stderr=child_err,
                env=self.environment,
                cwd=self.cwd,
                process_group=0,
                preexec_fn=_end_with_parent(os.getpid()),
            )
        except OSError as error:
            log.error(self.label, f"cannot start {shlex.join(self.command)}: {error}")
            service.fail(1)
            return None
        finally:
            os.close(child_out)
            os.close(child_err)
        log.info(self.label, f"process started with pid [{child.pid}]")
        service.emit(ProcessStarted(self.action, self.label, child.pid))
        code = await self._wait(child, service)
        # A grandchild may hold the pipes open: what was written so far is enough.
        _, unfinished = await asyncio.wait(readers, timeout=0.5)
        for reader in unfinished:
            reader.cancel()
        if code == 0 or (service.is_shutdown and code in (-signal.SIGINT, -signal.SIGTERM, 130)):
            log.info(self.label, f"process has finished cleanly [pid {child.pid}]")
        else:
            log.error(
                self.label, f"process has died [pid {child.pid}, exit code {code}, cmd '{shlex.join(self.command)}']."
            )
        return ProcessExited(self.action, self.label, child.pid, code)

    async def _wait(self, child: asyncio.subprocess.Process, service: Any) -> int:
        """Wait for the end; once the launch comes down, signal the child's whole group harder and harder."""
        ended = asyncio.ensure_future(child.wait())
        down = asyncio.ensure_future(service.wait_for_shutdown())
        await asyncio.wait([ended, down], return_when=asyncio.FIRST_COMPLETED)
        down.cancel()
        if not ended.done():
            for number, seconds in ESCALATION:
                if number != signal.SIGINT:
                    service.log.error(self.label, f"still running; sending {number.name}")
                _signal_group(child.pid, number)
                await asyncio.wait([ended], timeout=seconds)
                if ended.done():
                    break
            _signal_group(child.pid, signal.SIGKILL)  # what is left of its group
        return await ended

    async def _read(self, pipe: int, log: Any, screen: bool) -> None:
        reader = asyncio.StreamReader()
        transport, _ = await asyncio.get_running_loop().connect_read_pipe(
            lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(pipe, "rb", buffering=0)
        )
        rest = b""
        try:
            while chunk := await reader.read(65536):
                *lines, rest = (rest + chunk).split(b"\n")
                for line in lines:
                    log.output(self.label, line.decode(errors="replace"), screen)
        finally:
            if rest:
                log.output(self.label, rest.decode(errors="replace"), screen)
            transport.close()


def _signal_group(group: int, number: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(group, number)


def _end_with_parent(parent: int) -> Any:
    """Run in the child before the program: the kernel ends it when the launch dies, even by SIGKILL."""

    def prepare() -> None:
        _libc.prctl(PR_SET_PDEATHSIG, int(signal.SIGTERM), 0, 0, 0)
        if os.getppid() != parent:
            os._exit(1)

    return prepare
