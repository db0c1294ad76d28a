"""The thread that steps the simulated rig and publishes each step."""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

from drex_sim.errors import ConfigError, MotionError
from drex_sim.rig import RigSample, SimulatedRig
from drex_sim.rig.model import TIMESTEP
from drex_sim.robot.trajectory import JointTrajectory

PACES = ("realtime", "max")
MAX_LAG = 0.05
"""Behind by more than this, the loop lets /clock slow down instead of catching up [s]."""


class Motion:
    """One running arm trajectory."""

    def __init__(self) -> None:
        self.done = threading.Event()
        self.reached = False
        self.replaced = False


class RigLoop:
    """Steps a rig at its pace. Everything that touches the rig runs in this thread: hand it in with `call`."""

    def __init__(
        self,
        rig: SimulatedRig,
        pace: str,
        before: Callable[[], None],
        after: Callable[[RigSample], None],
        failed: Callable[[BaseException], None],
    ) -> None:
        """Make the loop; `start` starts it.

        Args:
          rig: the rig.
          pace: "realtime", or "max" for as fast as it goes.
          before: called before each step (takes commands).
          after: called with each step's signals (publishes them).
          failed: called when the loop ends by an error.

        Raises:
          ConfigError: unknown pace.
        """
        if pace not in PACES:
            raise ConfigError(f"pace {pace!r} is unknown; allowed: {', '.join(PACES)}")
        self.rig = rig
        self._pace = pace
        self._before, self._after, self._failed = before, after, failed
        self._calls: queue.SimpleQueue[tuple[Future[Any], Callable[[], Any]]] = queue.SimpleQueue()
        self._stopping = threading.Event()
        self._thread: threading.Thread | None = None
        self._motion: Motion | None = None
        self.factor = 1.0
        """Rig seconds per second, over the last second."""

    def start(self) -> None:
        """Start stepping."""
        self._stopping.clear()
        self._thread = threading.Thread(target=self._run, name="rig", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Stop stepping and wait for the thread."""
        self._stopping.set()
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join(timeout=5.0)
        self._thread = None

    @property
    def stopping(self) -> bool:
        """Whether the loop was asked to stop."""
        return self._stopping.is_set()

    def call(self, function: Callable[[], Any], timeout: float = 5.0) -> Any:
        """Run a function between two steps and return its result; its errors are raised here.

        Raises:
          MotionError: the loop does not run.
        """
        if self._thread is None:
            raise MotionError("the simulated rig is not running; activate its node")
        future: Future[Any] = Future()
        self._calls.put((future, function))
        return future.result(timeout)

    def move(self, trajectory: JointTrajectory) -> Motion:
        """Start a trajectory, replacing a running one, as joint_trajectory_controller does."""

        def begin() -> Motion:
            if self._motion is not None:
                self._motion.replaced = True
                self._motion.done.set()
            self.rig.arm.start(trajectory)
            self._motion = Motion()
            return self._motion

        return self.call(begin)

    def brake(self, motion: Motion) -> None:
        """Brake a motion to rest; its `done` is set when the arm rests."""
        self.call(lambda: self.rig.stop_trajectory() if motion is self._motion else None)

    def _run(self) -> None:
        try:
            self._loop()
        except BaseException as error:
            self._failed(error)

    def _loop(self) -> None:
        due = window = time.perf_counter()
        window_steps = self.rig.steps
        while not self._stopping.is_set():
            self._serve_calls()
            self._before()
            self._after(self.rig.step())
            outcome = self.rig.arm.take_outcome()
            if outcome is not None and self._motion is not None:
                self._motion.reached = outcome
                self._motion.done.set()
                self._motion = None
            now = time.perf_counter()
            if now - window >= 1.0:
                self.factor = (self.rig.steps - window_steps) * TIMESTEP / (now - window)
                window, window_steps = now, self.rig.steps
            if self._pace == "max":
                continue
            due += TIMESTEP
            if now < due:
                time.sleep(due - now)
            elif now - due > MAX_LAG:
                due = now

    def _serve_calls(self) -> None:
        while not self._calls.empty():
            future, function = self._calls.get()
            try:
                future.set_result(function())
            except BaseException as error:
                future.set_exception(error)
