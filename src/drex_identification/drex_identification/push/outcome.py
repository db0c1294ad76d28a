"""What ends a lean early, when each phase was, and which outcomes are failures."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from drex_identification.push.approach import PreparedTip
from drex_identification.push.watch import ForceWatch, TiltWatch
from drex_identification.trials.push_trial import Phase, PushTrial
from drex_sim.errors import PushError
from drex_sim.robot.protocols import Robot, RobotState

Array = NDArray[np.float64]

SLIDE_LIMIT = 0.006
"""Displacement of the support edge during a lean that counts as sliding [m]."""
FALL_SHARE = 0.85
"""Share of the balance angle at which a lean is stopped at once."""
MIN_COMMANDED = np.radians(5.0)
"""From this commanded tilt on, an object that does not follow is sliding [rad]."""
COMMAND_DELAY = 0.2
"""Delay of arm, camera and tracker behind a command [s]."""


class PhaseRecorder:
    """Collects the phases of a push."""

    def __init__(self, robot: Robot) -> None:
        self._robot = robot
        self.phases: list[Phase] = []

    def phase(self, name: str) -> _PhaseTimer:
        """A context whose duration becomes a phase; an exception leaves it out."""
        return _PhaseTimer(self, self._robot, name)


class _PhaseTimer:
    def __init__(self, recorder: PhaseRecorder, robot: Robot, name: str) -> None:
        self._recorder, self._robot, self._name = recorder, robot, name

    def __enter__(self) -> None:
        self._start = self._robot.time()

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        if kind is None:
            self._recorder.phases.append(Phase(self._name, self._start, self._robot.time()))


class LeanWatch:
    """Guard of the lean: force limit, sliding, falling, lost tracking."""

    def __init__(
        self, robot: Robot, tip: PreparedTip, edge: Array, force: ForceWatch, tilt: TiltWatch, limit: float,
        tell: Callable[..., None],
    ) -> None:
        """Watch a lean.

        Args:
          robot: where states and poses come from.
          tip: what is being pushed.
          edge: a point of the support edge, object frame (3,) [m].
          force: filtered pushing force.
          tilt: tracked tilt.
          limit: force that ends the push [N].
          tell: gets phase, share, force and tilt.
        """
        self._robot, self._tip, self._edge, self._force, self._tilt = robot, tip, edge, force, tilt
        self._limit, self._tell = limit, tell
        self.outcome, self.peak_force = "complete", 0.0

    def begin(self, now: float, tilts: Array, lengths: Array, speed: float) -> None:
        """The lean starts now: commanded tilts [rad] at path lengths [m], at a speed [m/s]."""
        self._start, self._tilts, self._lengths, self._speed = now, tilts, lengths, speed

    def __call__(self, state: RobotState) -> bool:
        """Whether the lean must stop; `outcome` says why."""
        force = self._force.update(state)
        self.peak_force = max(self.peak_force, force)
        elapsed = max(0.0, state.stamp - self._start - COMMAND_DELAY)
        commanded = float(np.interp(elapsed * self._speed, self._lengths, self._tilts))
        fresh = self._tilt.update(self._robot, self._edge)
        self._tell("lean", 0.5, force, self._tilt.tilt)
        if force > self._limit:
            self.outcome = "force_limit"
        elif fresh and self._tilt.tilt > FALL_SHARE * self._tip.plan.balance:
            self.outcome = "lost"
        elif fresh and (self._moved() or self._lags(commanded)):
            self.outcome = "slid"
        return self.outcome != "complete"

    def _moved(self) -> bool:
        return self._tilt.seen > 8 and self._tilt.displacement > SLIDE_LIMIT

    def _lags(self, commanded: float) -> bool:
        return commanded > MIN_COMMANDED and self._tilt.tilt < 0.3 * commanded


def require_success(trials: Sequence[PushTrial], object_id: str) -> None:
    """Raise when no push was complete.

    Raises:
      PushError: with the code of the last outcome.
    """
    if any(trial.outcome == "complete" for trial in trials):
        return
    texts = {
        "slid": ("OBJECT_SLID", "slid instead of tipping; use a rougher table or weigh it in the hand"),
        "turned": ("OBJECT_SLID", "turned instead of tipping; place it so that a face looks along the table's axes"),
        "no_contact": ("NO_CONTACT", "was not met by the finger; check the tracked pose"),
        "force_limit": ("FORCE_LIMIT", "needed more force than allowed; raise force_limit, or it is too heavy"),
    }
    code, text = texts.get(trials[-1].outcome, ("INTERNAL", f"ended as {trials[-1].outcome}"))
    raise PushError(f"{object_id} {text}", code)
