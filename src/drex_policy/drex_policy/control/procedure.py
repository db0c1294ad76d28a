"""The grasp procedure: written once against the robot protocols, run on the simulated and the real rig."""

from __future__ import annotations

import time
from collections.abc import Callable

from drex_policy.control.config import Feedback, GraspConfig
from drex_policy.control.force_law import GRAVITY, grip_force, wanted_force
from drex_policy.control.result import GraspResult
from drex_policy.control.run import SHAKE_ACCELERATION, GraspRun
from drex_policy.planning.planner import Demand, GraspPlanner
from drex_sim.errors import ConfigError
from drex_sim.robot.kinematics import RobotKinematics
from drex_sim.robot.protocols import Robot
from drex_sim.twin import Twin


class GraspProcedure:
    """Carries out grasps of one twin on one robot."""

    def __init__(
        self,
        robot: Robot,
        kinematics: RobotKinematics,
        twin: Twin,
        config: GraspConfig | None = None,
        torque_limit: float = 0.7,
        planner: GraspPlanner | None = None,
    ) -> None:
        """Make the procedure.

        Args:
          robot: real, mocked or simulated.
          kinematics: of that robot; used by this thread only.
          twin: of the object.
          config: speeds, times, thresholds.
          torque_limit: of the hand's joints [N m].
          planner: None: the analytic one for this twin.
        """
        self._robot = robot
        self._kinematics = kinematics
        self._twin = twin
        self._config = config or GraspConfig()
        self._planner = planner or GraspPlanner(twin, kinematics, torque_limit, self._config.planner)

    def run(
        self,
        mass: float,
        mass_sigma: float,
        lift_height: float = 0.10,
        hold_time: float = 5.0,
        shake: bool = False,
        keep_in_hand: bool = False,
        feedback: Feedback = lambda _: None,
    ) -> GraspResult:
        """Grasp the object with the force its mass needs.

        Args:
          mass: [kg].
          mass_sigma: its standard deviation [kg].
          lift_height: [m], 0.03 .. 0.25.
          hold_time: [s], 0 .. 120.
          shake: +-20 mm at 2 Hz, up and down, while holding.
          keep_in_hand: False: put the object back.
          feedback: called at every step.

        Returns:
          The result; `code` SLIPPED, NO_CONTACT or FORCE_TOO_HIGH when it was not held.

        Raises:
          GraspError: NO_GRASP or FORCE_TOO_HIGH, before anything moved.
          ConfigError: lift height or hold time out of range.
          NotTrackedError: no pose of the object, or it does not stand.
          StaleDataError, MotionError, CancelledError: as the robot's; the arm is stopped, the hand keeps its grip.
        """
        if not 0.03 <= lift_height <= 0.25:
            raise ConfigError(f"lift_height is {lift_height} m; 0.03 .. 0.25 m is allowed")
        if not 0.0 <= hold_time <= 120.0:
            raise ConfigError(f"hold_time is {hold_time} s; 0 .. 120 s is allowed")
        law = self._config.law
        acceleration = max(law.acceleration, SHAKE_ACCELERATION if shake else 0.0)
        started = self._robot.time()
        result = GraspResult(object_id=self._twin.id, mass_used=mass, mass_sigma=mass_sigma, law=law.law)
        run = GraspRun(self._robot, self._kinematics, self._twin, self._config, result, feedback, acceleration)
        run.report("plan", 0.0)
        wish = wanted_force(mass, mass_sigma, self._twin.friction_tip, law, acceleration)
        demand = Demand(wish, mass * GRAVITY)
        plan = self._planner.plan(
            run.look(), self._robot.state().arm_position, demand, lift_height + 0.001, _now_and_then(self._robot)
        )
        grip = grip_force(
            mass, mass_sigma, self._twin.friction_tip, plan.posture.side_limit(demand.weight),
            self._twin.fragile_limit, len(plan.fingers), law, acceleration,
        )
        result.fingers, result.roll, result.width = list(plan.fingers), plan.candidate.roll, plan.candidate.width
        result.force_wanted, result.force_limit = grip.wanted, grip.limit
        result.friction_assumed, result.chance = grip.friction, grip.chance
        run.approach(plan)
        if run.close(grip.per_side):
            run.lift(lift_height)
            run.hold(hold_time, shake)
        if keep_in_hand and result.held:
            run.tell_payload()
        else:
            run.put_down()
        result.duration = self._robot.time() - started
        return result


def _now_and_then(robot: Robot) -> Callable[[], None]:
    """Lets a cancel or stop interrupt long computations, at little cost."""
    last = [time.monotonic()]

    def check() -> None:
        if time.monotonic() - last[0] > 0.2:
            robot.sleep(0.001)
            last[0] = time.monotonic()

    return check
