"""IdentifyObject: push in pairs of opposite sides until the mass is known well enough."""

from __future__ import annotations

from typing import TYPE_CHECKING

from drex_identification.estimators import MassEstimateResult, Verdict, get_estimator
from drex_msgs.action import ExecutePush, IdentifyObject
from drex_msgs.msg import MassEstimate
from drex_sim.errors import CancelledError, ConfigError, MotionStoppedError, PushError
from drex_sim.nodes.support import GoalContext, run_action_goal, wait_for

if TYPE_CHECKING:
    from drex_identification.nodes.mass_estimator import MassEstimator

RELATIVE_SIGMA = 0.05
"""Default target of mass_stddev / mass."""
MAX_PUSHES = 4
"""Default budget."""
TRIAL_TIMEOUT = 5.0
"""A trial arrives within this after its push [s]."""


def identify_object(node: MassEstimator, context: GoalContext) -> IdentifyObject.Result:
    """Run one goal.

    Raises:
      CancelledError, MotionStoppedError: cancelled, stopped.
      PushError: code PUSH_FAILED, no usable push.
      ConfigError: a goal field is out of range.
    """
    goal = context.goal
    target, budget = goal.relative_sigma or RELATIVE_SIGMA, goal.max_pushes or MAX_PUSHES
    if not 0.0 < target < 1.0:
        raise ConfigError(f"relative_sigma is {goal.relative_sigma}; a number between 0 and 1 is needed (0: default)")
    if not 1 <= budget <= 20:
        raise ConfigError(f"max_pushes is {goal.max_pushes}; 1..20 is allowed (0: default {MAX_PUSHES})")
    get_estimator(goal.method)
    object_id = node.object_of(goal.object_id)
    known = {trial.trial_id for trial in node.store.list(object_id)}
    done, result, message, problem = 0, None, MassEstimate(), ""
    while done < budget and not problem:
        asked = min(2, budget - done)
        problem = _push(node, context, object_id, asked, done, budget, result)
        done += asked
        trials = [trial for trial in node.store.list(object_id) if trial.trial_id not in known]
        if not trials:
            break
        _feedback(context, "estimating", len(trials), done / budget, result)
        result, message = node.estimate(object_id, trials, goal.method)
        _feedback(context, "estimating", len(trials), done / budget, result)
        if result.verdict is Verdict.IDENTIFIED and result.mass_stddev <= target * result.mass:
            break
    if result is None:
        raise PushError(f"no usable push of {object_id}: {problem or 'no trial arrived'}", "PUSH_FAILED")
    return _conclude(result, message, target, problem)


def _push(
    node: MassEstimator, context: GoalContext, object_id: str, repetitions: int, done: int, budget: int,
    result: MassEstimateResult | None,
) -> str:
    """Ask for pushes and wait for their trials; what went wrong, or nothing."""

    def forward(feedback: ExecutePush.Feedback) -> None:
        share = (done + repetitions * feedback.progress) / budget
        _feedback(context, "pushing", done + max(0, feedback.repetition - 1), share, result)

    outcome = run_action_goal(
        node.push_client, ExecutePush.Goal(object_id=object_id, auto_contact=True, repetitions=repetitions),
        feedback=forward, stop=context.cancelled,
    )
    answer = outcome.result
    if outcome.cancel_requested or answer.error_code == ExecutePush.Result.CANCELLED:
        raise CancelledError("cancelled by the user; the robot was stopped")
    if answer.error_code == ExecutePush.Result.STOPPED:
        raise MotionStoppedError(answer.message)
    wanted = set(answer.trial_ids)
    arrived = wait_for(lambda: wanted <= {trial.trial_id for trial in node.store.list(object_id)}, TRIAL_TIMEOUT)
    if not arrived:
        return f"trials {', '.join(sorted(wanted))} did not arrive on push_trial"
    return "" if answer.success else answer.message


def _feedback(
    context: GoalContext, phase: str, pushes: int, progress: float, result: MassEstimateResult | None
) -> None:
    nan = float("nan")
    context.feedback(IdentifyObject.Feedback(
        phase=phase, pushes_done=pushes, mass=nan if result is None else result.mass,
        mass_stddev=nan if result is None else result.mass_stddev, progress=min(1.0, float(progress)),
    ))


def _conclude(
    result: MassEstimateResult, message: MassEstimate, target: float, problem: str
) -> IdentifyObject.Result:
    answer = IdentifyObject.Result(estimate=message)
    if result.verdict is not Verdict.IDENTIFIED:
        answer.error_code = answer.PUSH_FAILED if problem else answer.NOT_IDENTIFIED
        answer.message = f"{problem + '; ' if problem else ''}{result.reason}; next: {result.next_action}"
        return answer
    answer.success = True
    relative = result.mass_stddev / result.mass
    note = "" if relative <= target else f"; the target of {100 * target:.0f} % was not reached within the budget"
    note += f"; the last push failed: {problem}" if problem else ""
    answer.message = (
        f"{result.object_id}: {result.mass:.4f} kg +- {result.mass_stddev:.4f} ({100 * relative:.1f} %,"
        f" {len(result.trials)} pushes){note}"
    )
    return answer
