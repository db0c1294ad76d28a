"""The main job: load, track, push and identify, grasp, lift, weigh, report."""

from __future__ import annotations

import math
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from drex_bringup.run_folder import new_run_folder, set_aside, write_json
from drex_msgs.action import Grasp, IdentifyAndGrasp, IdentifyObject
from drex_msgs.msg import LoadedObject, MassEstimate, SafetyStatus, TrackedObject
from drex_msgs.srv import LoadObject
from drex_sim.errors import CancelledError, DrexError
from drex_sim.nodes.support import (
    LATCHED,
    ActionRunner,
    DrexNode,
    GoalContext,
    SteadyActionClient,
    call_service,
    run_action_goal,
    run_node,
    wait_for,
)

VERDICTS = {0: "IDENTIFIED", 1: "PRIOR_DOMINATED", 2: "UNIDENTIFIABLE"}
STATES = {0: "UNKNOWN", 1: "INITIALIZING", 2: "TRACKING", 3: "LOST"}
SHARE = {
    "load": (0.0, 0.02), "track": (0.02, 0.08), "identify": (0.08, 0.6), "grasp": (0.6, 0.95), "report": (0.95, 1.0),
}
"""Progress at the start and the end of each phase."""


class JobError(DrexError):
    """The job failed. `code` is the name of the IdentifyAndGrasp error constant."""

    def __init__(self, message: str, code: str) -> None:
        super().__init__(message)
        self.code = code


class Coordinator(DrexNode):
    """Serves `identify_and_grasp` by calling the other nodes; every failure is an answer with a reason."""

    def __init__(self) -> None:
        super().__init__("coordinator", stream_rate=20.0)

    def setup(self) -> None:
        """See DrexNode."""
        folder = self.declare("run_folder", "", "where the run's data go; empty: a new folder under runs/")
        self._folder = Path(folder) if folder else None
        self._ready_timeout = self.declare("ready_timeout", 10.0, "time for the other nodes to be there [s]")
        self._track_timeout = self.declare("track_timeout", 30.0, "steady time until the object must be tracked [s]")
        self._track_hold = self.declare("track_hold", 0.5, "time it must stay tracked before the first push [s]")
        self._report_timeout = self.declare("report_timeout", 120.0, "time to write the report [s]")
        self._write_report = self.declare("write_report", True, "write report.html and report.json after the job")
        self._lock = threading.Lock()
        self._tracked: TrackedObject | None = None
        self._safety: SafetyStatus | None = None
        self._loaded = LoadedObject()
        self._load = self.create_client(LoadObject, "load_object", callback_group=self.group)
        self._identify = SteadyActionClient(self, IdentifyObject, "identify_object", callback_group=self.group)
        self._grasp = SteadyActionClient(self, Grasp, "grasp", callback_group=self.group)
        self.streams.add("tracked_object", TrackedObject, lambda m: setattr(self, "_tracked", m))
        self.streams.add("safety/status", SafetyStatus, lambda m: setattr(self, "_safety", m), qos=LATCHED)
        self.streams.add("loaded_object", LoadedObject, lambda m: setattr(self, "_loaded", m), qos=LATCHED)
        self._runner = ActionRunner(self, IdentifyAndGrasp, "identify_and_grasp", self._run)

    def start(self) -> None:
        """See DrexNode."""
        self._runner.resume()

    def stop(self) -> None:
        """See DrexNode."""
        self._runner.stop()

    def teardown(self) -> None:
        """See DrexNode."""
        self._runner.destroy()
        for topic in ("tracked_object", "safety/status", "loaded_object"):
            self.streams.remove(topic)
        self._identify.destroy()
        self._grasp.destroy()
        self.destroy_client(self._load)

    # The job ---------------------------------------------------------------------------------------------------
    def _run(self, context: GoalContext) -> IdentifyAndGrasp.Result:
        started = self.now()
        folder = self._folder or new_run_folder(context.goal.object_id or self._loaded.object_id)
        folder.mkdir(parents=True, exist_ok=True)
        set_aside(folder)
        result = IdentifyAndGrasp.Result(run_folder=str(folder), weighed_mass=math.nan, weighed_mass_stddev=math.nan)
        result.estimate.mass = result.estimate.mass_stddev = math.nan
        result.estimate.verdict = MassEstimate.UNIDENTIFIABLE
        try:
            self._steps(context, result)
            result.success, result.error_code = True, result.NONE
            result.message = _sentence(result, context.goal.skip_grasp)
        except JobError as error:
            result.error_code, result.message = getattr(result, error.code), str(error)
        except CancelledError as error:
            result.error_code, result.message = result.CANCELLED, str(error)
        except DrexError as error:
            result.error_code, result.message = result.INTERNAL, str(error)
        result.elapsed = self.now() - started
        self._finish(context, result, folder)
        if result.error_code == result.CANCELLED:
            raise CancelledError(result.message)
        return result

    def _steps(self, context: GoalContext, result: IdentifyAndGrasp.Result) -> None:
        goal = context.goal
        self._check_goal(goal)
        self._check_graph(goal)
        self._feedback(context, "load", goal.object_id)
        object_id = self._load_object(goal.object_id)
        self._feedback(context, "track", object_id)
        self._wait_tracked(context, object_id)
        self._feedback(context, "identify", "")
        inner = IdentifyObject.Goal(
            object_id=object_id, relative_sigma=goal.relative_sigma, max_pushes=goal.max_pushes, method="auto"
        )
        outcome = self._inner(context, self._identify, inner, "identify", "IDENTIFY_FAILED")
        result.estimate = outcome.estimate
        self._judge(outcome, "IDENTIFY_FAILED", IdentifyObject.Result)
        if goal.skip_grasp:
            return
        self._feedback(context, "grasp", "")
        inner = Grasp.Goal(
            object_id=object_id, mass=0.0, lift_height=goal.lift_height, hold_time=goal.hold_time, shake=False
        )
        outcome = self._inner(context, self._grasp, inner, "grasp", "GRASP_FAILED")
        result.held, result.force_per_side, result.slip = outcome.held, outcome.force_per_side, outcome.slip
        result.weighed_mass, result.weighed_mass_stddev = outcome.weighed_mass, outcome.weighed_mass_stddev
        self._judge(outcome, "GRASP_FAILED", Grasp.Result)
        if not outcome.held:
            raise JobError(f"the grasp did not hold: {outcome.message or 'no reason given'}", "GRASP_FAILED")

    def _check_goal(self, goal: Any) -> None:
        for name in ("relative_sigma", "lift_height", "hold_time"):
            value = getattr(goal, name)
            if not math.isfinite(value) or value < 0:
                raise JobError(f"goal: {name} is {value}; 0 (default) or a positive number is needed", "BAD_GOAL")
        if goal.relative_sigma >= 1:
            raise JobError(f"goal: relative_sigma is {goal.relative_sigma}; a number below 1 is needed", "BAD_GOAL")

    def _check_graph(self, goal: Any) -> None:
        needed: list[tuple[str, Callable[[], bool]]] = [
            ("service load_object (twin_server)", self._load.service_is_ready),
            ("action identify_object (mass_estimator)", self._identify.server_is_ready),
        ]
        if not goal.skip_grasp:
            needed.append(("action grasp (grasp_server)", self._grasp.server_is_ready))
        deadline = time.monotonic() + self._ready_timeout
        for name, ready in needed:
            if not wait_for(ready, max(0.0, deadline - time.monotonic())):
                raise JobError(
                    f"{name} is missing after {self._ready_timeout:.0f} s; its node is not running or not active"
                    " (`drex doctor`)",
                    "NOT_READY",
                )
        if not wait_for(lambda: self._safety is not None, max(0.1, deadline - time.monotonic())):
            raise JobError("safety/status never arrived; the supervisor must run before anything moves", "NOT_READY")
        if self._safety is not None and self._safety.state == SafetyStatus.STOPPED:
            raise JobError(f"the supervisor holds the rig: {self._safety.reason}; call safety/reset", "STOPPED")

    def _load_object(self, object_id: str) -> str:
        if not object_id and not self._loaded.object_id:
            raise JobError("no object is loaded; name one in object_id", "UNKNOWN_OBJECT")
        if object_id in ("", self._loaded.object_id):
            return self._loaded.object_id
        response = call_service(self._load, LoadObject.Request(object_id=object_id), timeout=60.0)
        if not response.success:
            code = "BUSY" if response.error_code == LoadObject.Request.BUSY else "NOT_READY"
            if response.error_code in (LoadObject.Request.UNKNOWN_OBJECT, LoadObject.Request.BAD_TWIN):
                code = "UNKNOWN_OBJECT"
            raise JobError(response.message, code)
        self._tracked = None
        return object_id

    def _wait_tracked(self, context: GoalContext, object_id: str) -> None:
        since: list[float] = []

        def steady() -> bool:
            message = self._tracked
            good = message is not None and message.state == TrackedObject.TRACKING and message.object_id == object_id
            if not good:
                since.clear()
            elif not since:
                since.append(time.monotonic())
            return bool(since) and time.monotonic() - since[0] >= self._track_hold

        if not wait_for(steady, self._track_timeout, context.cancelled):
            seen = self._tracked
            what = "nothing arrived from the tracker" if seen is None else (
                f"the tracker is in state {STATES.get(seen.state, seen.state)} with {seen.object_id or 'no object'}"
            )
            raise JobError(
                f"{object_id} was not tracked within {self._track_timeout:.0f} s: {what}; it must stand in the"
                " camera's view, and the camera must publish colour and aligned depth",
                "NOT_TRACKED",
            )

    def _inner(self, context: GoalContext, client: SteadyActionClient, goal: Any, phase: str, code: str) -> Any:
        """Run an inner action; its feedback becomes ours, our cancel becomes its."""
        begin, end = SHARE[phase]

        def feedback(message: Any) -> None:
            detail = message.phase
            if phase == "identify" and math.isfinite(message.mass) and message.mass > 0:
                detail += f" ({message.pushes_done} pushes, {message.mass:.3f} kg +- {message.mass_stddev:.3f})"
            self._feedback(context, phase, detail, begin + (end - begin) * float(message.progress))

        try:
            outcome = run_action_goal(client, goal, feedback=feedback, stop=context.cancelled, timeout=1800.0)
        except CancelledError:
            raise
        except DrexError as error:
            raise JobError(str(error), code) from error
        if outcome.cancel_requested and not outcome.result.success:
            raise CancelledError(f"cancelled while {phase} ran; the robot has stopped")
        return outcome.result

    def _judge(self, outcome: Any, code: str, kind: Any) -> None:
        if outcome.success:
            return
        if outcome.error_code == kind.STOPPED:
            code = "STOPPED"
        elif outcome.error_code == kind.UNKNOWN_OBJECT:
            code = "UNKNOWN_OBJECT"
        elif outcome.error_code == kind.CANCELLED:
            code = "CANCELLED"
        raise JobError(outcome.message or f"error code {outcome.error_code}", code)

    # The end ---------------------------------------------------------------------------------------------------
    def _finish(self, context: GoalContext, result: IdentifyAndGrasp.Result, folder: Path) -> None:
        """Write result.json, then the report. The report runs in a process of its own: it alone may see the truth."""
        self._feedback(context, "report", "")
        self._write_result(result, folder)
        if not self._write_report:
            return
        command = [sys.executable, "-m", "drex_bringup.report", str(folder)]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=self._report_timeout, check=False)
            problem = "" if done.returncode == 0 else (done.stderr.strip().splitlines() or ["no reason given"])[-1]
        except (OSError, subprocess.TimeoutExpired) as error:
            problem = str(error)
        if problem:
            self.get_logger().error(f"report: {problem}")
            if result.success:
                result.success, result.error_code = False, result.REPORT_FAILED
                result.message = f"the job ran but its report could not be written: {problem}"
                self._write_result(result, folder)

    def _write_result(self, result: IdentifyAndGrasp.Result, folder: Path) -> None:
        code = next(
            (name for name in ERROR_NAMES if getattr(result, name) == result.error_code), str(result.error_code)
        )
        estimate = result.estimate
        write_json(folder / "result.json", {
            "schema": 1, "success": bool(result.success), "error": code, "message": result.message,
            "object_id": estimate.object_id or self._loaded.object_id, "held": bool(result.held),
            "force_per_side": result.force_per_side, "slip": result.slip, "weighed_mass": result.weighed_mass,
            "weighed_mass_stddev": result.weighed_mass_stddev, "elapsed": result.elapsed,
            "estimate": {
                "mass": estimate.mass, "mass_stddev": estimate.mass_stddev,
                "ci95": [estimate.ci95_low, estimate.ci95_high],
                "verdict": VERDICTS.get(estimate.verdict, str(estimate.verdict)), "reason": estimate.reason,
                "next_action": estimate.next_action,
            },
        })

    def _feedback(self, context: GoalContext, phase: str, detail: str, progress: float | None = None) -> None:
        share = SHARE[phase][0] if progress is None else progress
        context.feedback(IdentifyAndGrasp.Feedback(phase=phase, detail=detail, progress=float(share)))


ERROR_NAMES = (
    "NONE", "UNKNOWN_OBJECT", "NOT_TRACKED", "IDENTIFY_FAILED", "GRASP_FAILED", "REPORT_FAILED", "STOPPED", "BUSY",
    "NOT_READY", "CANCELLED", "BAD_GOAL", "INTERNAL",
)


def _sentence(result: IdentifyAndGrasp.Result, skipped: bool) -> str:
    estimate = result.estimate
    text = f"{estimate.object_id}: mass {estimate.mass:.3f} kg +- {estimate.mass_stddev:.3f}"
    if skipped:
        return text + ", grasp not asked for"
    return text + f", grasp held with {result.force_per_side:.1f} N per side"


def main() -> int:
    """Run the node."""
    return run_node(Coordinator)
