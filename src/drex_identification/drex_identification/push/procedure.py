"""Slow tips from opposite sides, recorded: written once against the robot protocols."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from drex_identification.push.approach import Approach, PreparedTip
from drex_identification.push.goal import PushConfig, PushGoal, PushProgress
from drex_identification.push.motion import arc, constant_speed, path_lengths
from drex_identification.push.outcome import LeanWatch, PhaseRecorder, require_success
from drex_identification.push.plan import TipPlan, plan_pairs
from drex_identification.push.posture import FINGER, HAND_PUSH
from drex_identification.push.rest import resting_pose
from drex_identification.push.watch import ForceWatch, TiltWatch
from drex_identification.trials.push_trial import PushTrial
from drex_sim.errors import PushError, UnreachableError
from drex_sim.robot.kinematics import RobotKinematics
from drex_sim.robot.models import PAD_RADIUS
from drex_sim.robot.protocols import MotionResult, RecordedBlocks, Robot, RobotState
from drex_sim.robot.trajectory import along_path
from drex_sim.twin import Twin

Array = NDArray[np.float64]

RELEASE = 0.006
"""The lowering motion goes on this far behind the contact at push speed [m]."""
START_BLIND = 0.2
"""Delay of the arm and of the force filter behind a command [s]."""
HAND_TIME = 0.8
"""The fingers take their posture within this [s]."""


@dataclass
class _Run:
    """Progress of one run of the procedure."""

    total: int
    tell: Callable[[PushProgress], None]
    repetition: int = 1

    def __call__(self, phase: str, share: float, force: float = 0.0, tilt: float = 0.0) -> None:
        self.tell(PushProgress(phase, self.repetition, (self.repetition - 1 + share) / self.total, force, tilt))


class PushProcedure:
    """Tips the object about opposite edges and records each push."""

    def __init__(
        self, robot: Robot, kinematics: RobotKinematics, twin: Twin, config: PushConfig | None = None
    ) -> None:
        self._robot, self._kinematics, self._twin = robot, kinematics, twin
        self._config = config or PushConfig()
        self._approach = Approach(kinematics, twin, self._config)

    def run(
        self,
        goal: PushGoal | None = None,
        progress: Callable[[PushProgress], None] = lambda _: None,
        on_trial: Callable[[PushTrial], None] = lambda _: None,
        first_side: int = 0,
    ) -> list[PushTrial]:
        """Push as asked and end with the arm above the object.

        Args:
          goal: what is asked; None: two tips, one from each side.
          progress: told about phase, force and tilt.
          on_trial: gets each trial as soon as it is recorded.
          first_side: 0 or 1, the side of the first push.

        Raises:
          PushError: with the code of drex_msgs/ExecutePush; trials recorded before went to `on_trial`.
          CancelledError, MotionStoppedError, StaleDataError, MotionError, NotTrackedError: from the robot, at rest.
        """
        goal = (goal or PushGoal()).checked(self._config)
        pairs = plan_pairs(self._twin)
        if goal.contact_point is not None:
            pairs = [_asked(self._twin, goal)]
        tell = _Run(goal.repetitions, progress)
        tell("approach", 0.0)
        self._robot.hand.command(HAND_PUSH)
        self._robot.sleep(HAND_TIME)
        pair = self._reachable(pairs)
        trials: list[PushTrial] = []
        for repetition in range(goal.repetitions):
            tell.repetition = repetition + 1
            plan = pair[(repetition + first_side) % len(pair)]
            trial = self._push(plan, goal, tell)
            trials.append(trial)
            on_trial(trial)
            if trial.outcome == "lost":
                raise PushError(
                    f"{self._twin.id} fell over or was lost in push {repetition + 1}; stand it up again", "OBJECT_LOST"
                )
            if trial.outcome in ("slid", "turned") and (others := [p for p in pairs if p is not pair]):
                # It slides over this side: try the side that needs the least friction from now on.
                pair = self._reachable(sorted(others, key=lambda p: max(plan.friction_needed for plan in p)))
        tell("retreat", 1.0)
        require_success(trials, self._twin.id)
        return trials

    def _reachable(self, pairs: list[tuple[TipPlan, ...]]) -> tuple[TipPlan, ...]:
        """The first pair whose sides can all be reached from where the object stands."""
        pose = resting_pose(self._robot, self._twin)
        near = self._robot.state().arm_position
        failure: UnreachableError | None = None
        for pair in pairs:
            try:
                for plan in pair:
                    self._approach.prepare(plan, pose, near)
            except UnreachableError as error:
                failure = failure or error
            else:
                return pair
        raise PushError(f"no side of {self._twin.id} can be pushed: {failure}", "UNREACHABLE")

    def _push(self, plan: TipPlan, goal: PushGoal, tell: _Run) -> PushTrial:
        robot, config = self._robot, self._config
        tell("approach", 0.05)
        pose = resting_pose(robot, self._twin)
        tip = self._approach.prepare(plan, pose, robot.state().arm_position)
        for path in self._approach.way(robot.state().arm_position, tip.descent[0], pose):
            robot.arm.execute(along_path(path, config.joint_speed))
        robot.arm.execute(along_path(tip.descent, config.joint_speed))
        tell("zero", 0.2)
        robot.sleep(config.settle)
        robot.zero_force()
        tare = self._tare(tip, goal) if goal.tare else None
        force = ForceWatch(self._kinematics, tip.direction)
        tilt = TiltWatch(pose, tip.direction)
        recorder = PhaseRecorder(robot)
        with robot.record() as recording:
            tell("baseline", 0.25)
            with recorder.phase("baseline"):
                force.take_baseline(robot, config.baseline)
            outcome = self._tip(tip, goal, tell, recorder, force, tilt)
            tell("baseline", 0.9)
            with recorder.phase("baseline_after"):
                robot.sleep(config.baseline)
            blocks = recording.blocks()
        self._rise(tip)
        return self._trial(tip, recorder, blocks, outcome, tare)

    def _tip(
        self, tip: PreparedTip, goal: PushGoal, tell: _Run, recorder: PhaseRecorder, force: ForceWatch, tilt: TiltWatch
    ) -> str:
        """Contact, lean, lower, retreat; the outcome."""
        robot, config = self._robot, self._config
        threshold = max(5.0 * force.noise, 0.03)
        limit = min(goal.force_limit, 0.5 * self._twin.fragile_limit)
        with recorder.phase("contact"):
            approach = constant_speed(tip.contact, path_lengths(tip.contact_pads), goal.speed, config.ramp)

            started = robot.time()

            def touched(state: RobotState) -> bool:
                value = force.update(state)
                tell("contact", 0.35, value)
                # While the hand gains speed its own inertia looks like a contact.
                return value > threshold and state.stamp - started > START_BLIND + config.ramp

            met = robot.arm.execute(approach, touched) is MotionResult.GUARDED
        start = robot.state()
        pad = self._kinematics.tip_position(FINGER, start.arm_position, start.hand_position)
        reached = min(tip.plan.lean, goal.travel_limit / float(np.hypot(tip.to_pivot, pad[2])))
        tilts = np.linspace(0.0, reached, max(6, int(np.degrees(reached)) + 1))
        pads = arc(pad, tip.direction, tip.to_pivot, tilts)
        joints = self._approach.lean_path(pads, tip.direction, start.arm_position)
        lengths = path_lengths(pads)
        watch = LeanWatch(robot, tip, self._edge(tip), force, tilt, limit, tell)
        with recorder.phase("lean"):
            watch.begin(robot.time(), tilts, lengths, goal.speed)
            robot.arm.execute(constant_speed(joints, lengths, goal.speed, config.ramp), watch)
            robot.sleep(config.pause)
        with recorder.phase("lower"):
            self._lower(tip, goal, tell, force, tilt)
        with recorder.phase("retreat"):
            self._back_off(tip, config.retreat)
        if watch.outcome != "complete":
            return watch.outcome
        if not met and watch.peak_force < threshold:
            return "no_contact"
        return "complete"

    def _lower(self, tip: PreparedTip, goal: PushGoal, tell: _Run, force: ForceWatch, tilt: TiltWatch) -> None:
        """Back along the arc at push speed, and a little behind the contact."""
        state = self._robot.state()
        pad = self._kinematics.tip_position(FINGER, state.arm_position, state.hand_position)
        pivot = tip.contact_pad[:2] + tip.to_pivot * tip.direction
        along = float((pad[:2] - pivot) @ tip.direction)
        # Angle of the pad about the pivot, and what it was at the tracked contact.
        now = np.arctan2(pad[2], -along)
        rest = np.arctan2(tip.contact_pad[2], tip.to_pivot)
        angle = max(0.0, float(now - rest))
        tilts = np.linspace(0.0, -angle, max(4, int(np.degrees(angle)) + 1))
        arc_pads = arc(pad, tip.direction, -along, tilts)
        behind = arc_pads[-1] - RELEASE * np.append(tip.direction, 0.0)
        pads = np.vstack([arc_pads, 0.5 * (arc_pads[-1] + behind), behind]) if angle > 0 else np.vstack([pad, behind])
        joints = self._approach.lean_path(pads, tip.direction, state.arm_position)

        def watch(state: RobotState) -> bool:
            tilt.update(self._robot, self._edge(tip))
            tell("lower", 0.7, force.update(state), tilt.tilt)
            return False

        self._robot.arm.execute(constant_speed(joints, path_lengths(pads), goal.speed, self._config.ramp), watch)

    def _back_off(self, tip: PreparedTip, distance: float) -> None:
        state = self._robot.state()
        pad = self._kinematics.tip_position(FINGER, state.arm_position, state.hand_position)
        pads = pad - np.outer(np.linspace(0.0, distance, 4), np.append(tip.direction, 0.0))
        joints = self._approach.lean_path(pads, tip.direction, state.arm_position)
        self._robot.arm.execute(along_path(joints, self._config.joint_speed, min_duration=0.6))

    def _rise(self, tip: PreparedTip) -> None:
        state = self._robot.state()
        pad = self._kinematics.tip_position(FINGER, state.arm_position, state.hand_position)
        top = max(float(pad[2]), self._twin.height + self._config.clearance)
        pads = np.column_stack([np.tile(pad[:2], (6, 1)), np.linspace(pad[2], top + 0.005, 6)])
        joints = self._approach.lean_path(pads, tip.direction, state.arm_position)
        self._robot.arm.execute(along_path(joints, self._config.joint_speed))

    def _tare(self, tip: PreparedTip, goal: PushGoal) -> Array:
        """Mean wrench (6,) of the contact motion in free air, relative to rest."""
        state = self._robot.state()
        start = tip.contact_pads[0]
        pads = start - np.outer(np.linspace(0.0, 0.02, 5), np.append(tip.direction, 0.0))
        joints = self._approach.lean_path(pads, tip.direction, state.arm_position)
        with self._robot.record() as recording:
            self._robot.sleep(0.5)
            before = self._robot.time()
            self._robot.arm.execute(constant_speed(joints, path_lengths(pads), goal.speed, self._config.ramp))
            blocks = recording.blocks()
        moving = blocks.wrench_stamps > before + self._config.ramp
        self._robot.arm.execute(along_path(joints[::-1], self._config.joint_speed))
        return blocks.wrenches[moving].mean(axis=0) - blocks.wrenches[blocks.wrench_stamps <= before].mean(axis=0)

    def _edge(self, tip: PreparedTip) -> Array:
        return np.append(tip.plan.edge * tip.plan.direction, -self._twin.com_height)

    def _trial(
        self, tip: PreparedTip, recorder: PhaseRecorder, blocks: RecordedBlocks, outcome: str, tare: Array | None
    ) -> PushTrial:
        stamp = time.time_ns()
        moment = time.strftime("%Y%m%dT%H%M%S", time.gmtime(stamp // 10**9))
        return PushTrial(
            trial_id=f"{moment}_{stamp % 10**9 // 1000:06d}_{self._twin.id}", object_id=self._twin.id,
            twin_hash=self._twin.hash, blocks=blocks, phases=tuple(recorder.phases),
            contact_point=tip.plan.contact_point, contact_normal=tip.plan.contact_normal,
            push_direction=np.append(tip.direction, 0.0), tare=tare, pad_radius=PAD_RADIUS, finger=FINGER,
            outcome=outcome,
        )


def _asked(twin: Twin, goal: PushGoal) -> tuple[TipPlan, ...]:
    """The plan for a contact the user chose: one side only."""
    assert goal.contact_point is not None and goal.contact_normal is not None
    template = plan_pairs(twin)[0][0]
    direction = -goal.contact_normal[:2] / np.linalg.norm(goal.contact_normal[:2])
    edge = float((twin.support_polygon @ direction).max())
    balance = float(np.arctan2(max(edge - twin.edge_radius, 1e-3), twin.com_height))
    return (replace(
        template, direction=direction, contact_point=np.asarray(goal.contact_point, float),
        contact_normal=goal.contact_normal / np.linalg.norm(goal.contact_normal), edge=edge, balance=balance,
        lean=min(0.6 * balance, template.lean),
    ),)
