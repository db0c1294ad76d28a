"""Chooses a grasp: candidates, hand postures, arm motion and collisions, scored."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from drex_policy.planning.candidates import AntipodalCandidates, CandidateSource, GraspCandidate
from drex_policy.planning.posture import Posture, PostureConfig, PostureSolver
from drex_sim.errors import GraspError, UnreachableError
from drex_sim.robot.collision import CollisionChecker
from drex_sim.robot.kinematics import ARM_HOME, HAND_OPEN, RobotKinematics
from drex_sim.transforms import from_matrix, inverse
from drex_sim.twin import Twin

Array = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class PlannerConfig:
    """What the planner accepts and how far it looks."""

    approach_distance: float = 0.10
    """Straight way along the palm's approach direction before the grasp [m]."""
    retreat_height: float = 0.06
    """Straight way up from the approach pose to the pose where free motion ends [m]."""
    clearance: float = 0.006
    """Least distance of the open hand from object and table [m]."""
    palm_clearance: float = 0.004
    """Least distance of everything but the touching pads while grasping [m]."""
    max_candidates: int = 150
    """Candidates that are looked at, the most promising first."""
    postures_per_candidate: int = 4
    """Best postures of a candidate for which the arm is tried."""
    enough: int = 5
    """Feasible ones after which the search ends."""
    posture: PostureConfig = field(default_factory=PostureConfig)


@dataclass(frozen=True, kw_only=True)
class GraspPlan:
    """A grasp that can be carried out."""

    candidate: GraspCandidate
    posture: Posture
    base_T_object: Array
    """Pose of the object that the plan is for, (4, 4)."""
    base_T_tool: Array
    """tool0 while grasping, (4, 4)."""
    approach: Array
    """(N, 6) arm joints from above the approach pose to the grasp [rad]."""
    lift: Array
    """(M, 6) arm joints straight up from the grasp, evenly spaced [rad]."""
    lift_height: float
    """Height of the last of `lift` above the first [m]."""
    score: float
    free_path: Array = field(default_factory=lambda: np.zeros((0, 6)))
    """(K, 6) arm joints from where the arm is to the start of `approach`, clear of the object [rad]."""

    @property
    def fingers(self) -> tuple[str, ...]:
        """Fingers that touch, thumb included."""
        return (*self.candidate.fingers, "thumb")


@dataclass(frozen=True)
class Demand:
    """What the grasp has to give."""

    force: float
    """Force per side that the mass asks for [N]."""
    weight: float
    """Weight of the object [N]."""


class Scorer(Protocol):
    """Judges a candidate with its posture; the highest score is executed."""

    def __call__(self, twin: Twin, candidate: GraspCandidate, posture: Posture, demand: Demand) -> float: ...


SHOULDER, MAX_REACH = np.array([0.0, 0.0, 0.163]), 1.05
"""Shoulder of the arm, base_link, and how far from it a pinch can be, whatever the posture [m]."""
FORCE_RESERVE = 1.5
"""More force than this over the wanted one is no further use."""


def analytic_score(twin: Twin, candidate: GraspCandidate, posture: Posture, demand: Demand) -> float:
    """Force in reserve, near the COM, more fingers, palm down."""
    limit = min(posture.side_limit(demand.weight), twin.fragile_limit)
    reserve = min(limit / max(demand.force, 1e-6), FORCE_RESERVE)
    return 2.5 * reserve + _place_score(twin, candidate) - 200 * posture.residual


def _place_score(twin: Twin, candidate: GraspCandidate) -> float:
    height = candidate.centre[2] / twin.height
    # Held below the COM the object wants to turn over; above it hangs.
    away = 1.5 * height if height > 0 else -4.0 * height
    return 0.25 * len(candidate.fingers) - away - 0.15 * abs(candidate.roll)


class GraspPlanner:
    """Plans grasps of one twin."""

    def __init__(
        self,
        twin: Twin,
        kinematics: RobotKinematics,
        torque_limit: float = 0.7,
        config: PlannerConfig | None = None,
        source: CandidateSource | None = None,
        scorer: Scorer = analytic_score,
    ) -> None:
        self._twin = twin
        self._kinematics = kinematics
        self._config = config or PlannerConfig()
        self._source = source or AntipodalCandidates()
        self._scorer = scorer
        self._solver = PostureSolver(kinematics, torque_limit, self._config.posture)
        self._checker = CollisionChecker(twin)
        self._candidates: list[GraspCandidate] | None = None

    def plan(
        self, base_T_object: Array, start: Array, demand: Demand, lift_height: float,
        interrupt: Callable[[], None] = lambda: None,
    ) -> GraspPlan:
        """The best feasible grasp among the first promising ones.

        Args:
          base_T_object: standing object, (4, 4).
          start: arm joints from where it starts (6,) [rad].
          demand: force and weight.
          lift_height: how far up it shall be lifted [m].
          interrupt: called now and then; may raise.

        Raises:
          GraspError: NO_GRASP, with how many candidates failed for which reason.
        """
        reasons: Counter[str] = Counter()
        if self._candidates is None:
            self._candidates = sorted(self._source.propose(self._twin), key=lambda c: -_place_score(self._twin, c))
        if not self._candidates:
            reasons["no opposite faces within the hand's span"] += 1
        feasible: list[GraspPlan] = []
        for tried, candidate in enumerate(self._candidates[: self._config.max_candidates]):
            if len(feasible) >= self._config.enough and (self._enough_force(feasible, demand) or tried > 60):
                break
            centre = base_T_object[:3, :3] @ candidate.centre + base_T_object[:3, 3]
            if np.linalg.norm(centre - SHOULDER) > MAX_REACH:
                reasons["arm cannot reach"] += 1
                continue
            for posture in self._postures(candidate, demand, reasons):
                interrupt()
                score = self._scorer(self._twin, candidate, posture, demand)
                try:
                    feasible.append(self._complete(base_T_object, candidate, posture, lift_height, score))
                    break
                except UnreachableError as error:
                    reasons[str(error)] += 1
        for plan in sorted(feasible, key=lambda plan: -plan.score):
            try:
                return replace(plan, free_path=self.free_path(start, plan))
            except UnreachableError:
                reasons["no free way for the arm to the approach"] += 1
        listed = "; ".join(f"{count} x {reason}" for reason, count in reasons.most_common(6)) or "none proposed"
        raise GraspError(
            f"no grasp of {self._twin.id} at {np.round(base_T_object[:3, 3], 3).tolist()} m: {listed}. Move the object"
            " nearer to (0.5, 0), turn it, or clear the space around it",
            "NO_GRASP",
        )

    def _enough_force(self, plans: list[GraspPlan], demand: Demand) -> bool:
        return max(p.posture.side_limit(demand.weight) for p in plans) >= FORCE_RESERVE * demand.force

    def _postures(self, candidate: GraspCandidate, demand: Demand, reasons: Counter[str]) -> Iterator[Posture]:
        """The best postures whose hand is clear of the object; none of this depends on the arm."""
        postures = self._solver.postures(candidate)
        if not postures:
            reasons["hand cannot put its pads there"] += 1
        ranked = sorted(postures, key=lambda p: -self._scorer(self._twin, candidate, p, demand))
        base_T_palm = self._kinematics.forward(ARM_HOME, HAND_OPEN)["palm"]
        left = self._config.postures_per_candidate
        for posture in ranked[: 5 * left]:
            try:
                self._check_grasp(ARM_HOME, candidate, posture, base_T_palm @ inverse(posture.object_T_palm))
            except UnreachableError as error:
                reasons[str(error)] += 1
                continue
            yield posture
            left -= 1
            if left == 0:
                return

    def _complete(
        self, base_T_object: Array, candidate: GraspCandidate, posture: Posture, lift_height: float, score: float
    ) -> GraspPlan:
        config, kinematics = self._config, self._kinematics
        base_T_palm = base_T_object @ posture.object_T_palm
        base_T_tool = base_T_palm @ inverse(kinematics.tool_T_palm)
        approach_w = base_T_object[:3, :3] @ candidate.approach
        grasp = self._reach(base_T_tool)
        self._check_grasp(grasp, candidate, posture, base_T_object)
        back = [_moved(base_T_tool, -s * approach_w) for s in np.linspace(0, config.approach_distance, 6)]
        rise = np.array([0.0, 0.0, config.retreat_height])
        back.append(_moved(back[-1], rise))
        up = [_moved(base_T_tool, np.array([0.0, 0.0, h])) for h in np.linspace(0, lift_height, 9)]
        try:
            approach = kinematics.arm_path_ik(back, grasp, max_step=0.5)[::-1]
            lift = kinematics.arm_path_ik(up, grasp, max_step=0.5)
        except UnreachableError as error:
            raise UnreachableError("arm cannot follow the straight approach or lift") from error
        for q in approach[::2]:
            self._check(q, posture.hand_open, base_T_object, (), config.clearance, "approach")
        travel = float(np.abs(approach[0] - ARM_HOME).max())
        return GraspPlan(
            candidate=candidate, posture=posture, base_T_object=base_T_object, base_T_tool=base_T_tool,
            approach=approach, lift=lift, lift_height=lift_height, score=score - 0.15 * travel,
        )

    def _check_grasp(self, arm: Array, candidate: GraspCandidate, posture: Posture, base_T_object: Array) -> None:
        config = self._config
        self._check(arm, posture.hand_open, base_T_object, (), config.clearance, "open hand")
        touching = (*candidate.fingers, "thumb")
        self._check(arm, posture.hand_contact, base_T_object, touching, config.palm_clearance, "closed hand")

    def _reach(self, base_T_tool: Array) -> Array:
        """Arm joints for a pose, elbow up, from the seed whose wrist is nearest."""
        toward = np.arctan2(base_T_tool[1, 3], base_T_tool[0, 3])
        for wrist in (0.0, 1.5, -1.5):
            seed = ARM_HOME.copy()
            seed[0], seed[5] = toward, ARM_HOME[5] + wrist
            try:
                q = self._kinematics.arm_ik(base_T_tool, seed, iterations=60)
            except UnreachableError:
                continue
            q = (q + np.pi) % (2 * np.pi) - np.pi
            if -2.9 < q[1] < 0.1 and q[2] > 0:
                return q
        raise UnreachableError("arm cannot reach")

    def _check(
        self, arm: Array, hand: Array, base_T_object: Array, touching: tuple[str, ...], allowed: float, what: str
    ) -> None:
        distance, nearest = self._checker.clearance(arm, hand, base_T_object, touching, limit=2 * allowed)
        if distance < allowed:
            raise UnreachableError(f"{what}: {nearest} too near")

    def free_path(self, start: Array, plan: GraspPlan, height: float = 0.33) -> Array:
        """Arm path (N, 6) from where the arm is to the start of the plan's approach, clear of the object [rad].

        The tool rises first when it is low, then moves in joint space.

        Raises:
          UnreachableError: neither the direct way nor the way over the object is free.
        """
        goal, hand = plan.approach[0], plan.posture.hand_open
        tool = self._kinematics.tool(start)
        raised = [start]
        if tool[2, 3] < height:
            poses = [_moved(tool, np.array([0.0, 0.0, h])) for h in np.linspace(0, height - tool[2, 3], 8)[1:]]
            try:
                raised += list(self._kinematics.arm_path_ik(poses, start, max_step=0.6))
            except UnreachableError:
                raised = [start]
        above_pose = _moved(self._kinematics.tool(goal), np.array([0.0, 0.0, 0.12]))
        ways = [[*raised, goal], [start, goal]]
        with suppress(UnreachableError):
            ways.insert(1, [*raised, self._kinematics.arm_ik(above_pose, goal), goal])
        for way in ways:
            dense = _densify(np.asarray(way))
            distances = [
                self._checker.clearance(q, hand, plan.base_T_object, (), limit=0.012)[0] for q in dense[1::2]
            ]
            if min(distances) >= self._config.clearance:
                return np.asarray(way)
        raise UnreachableError(
            f"no free way for the arm from {np.round(start, 2).tolist()} rad to the grasp of {self._twin.id}; move the"
            " arm home first"
        )


def _densify(path: Array, step: float = 0.12) -> Array:
    points = [path[0]]
    for a, b in pairwise(path):
        count = max(1, int(np.ceil(np.abs(b - a).max() / step)))
        points += [a + (b - a) * k / count for k in range(1, count + 1)]
    return np.asarray(points)


def _moved(pose: Array, offset: Array) -> Array:
    return from_matrix(pose[:3, 3] + offset, pose[:3, :3])
