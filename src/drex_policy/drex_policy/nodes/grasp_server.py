"""Grasps the loaded object with the force its mass needs: serves `grasp`."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from drex_msgs.action import Grasp
from drex_msgs.msg import LoadedObject, MassEstimate
from drex_policy.control.config import GraspConfig, GraspProgress
from drex_policy.control.force_law import ForceLawConfig
from drex_policy.control.procedure import GraspProcedure
from drex_policy.control.result import GraspResult, write_result
from drex_policy.planning.planner import GraspPlanner
from drex_sim.errors import ConfigError, DrexError, GraspError
from drex_sim.nodes.ros_robot import RosRobot, RosRobotConfig
from drex_sim.nodes.support import LATCHED, ActionRunner, DrexNode, GoalContext, run_node
from drex_sim.robot.kinematics import HAND_OPEN, RobotKinematics
from drex_sim.robot.limits import SafetyLimits
from drex_sim.twin import Twin, load_twin

FEEDBACK_PERIOD = 0.2
"""Seconds of ROS time between feedback messages of one phase."""
DEFAULT_LIFT, DEFAULT_HOLD = 0.10, 5.0
"""Used when the goal says 0 [m, s]."""
GIVEN_MASS_SIGMA = 0.03
"""Relative standard deviation of a mass that comes with the goal."""


class GraspServer(DrexNode):
    """Node `grasp_server`."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__("grasp_server", **kwargs)

    def setup(self) -> None:
        """Read parameters and connect to the robot."""
        self._loaded = self.declare("object_id", "", "object to grasp when nothing is loaded")
        self._twin_path = self.declare("twin_path", "", "folders of twins, separated like PATH; empty: DREX_TWIN_PATH")
        folder = self.declare("run_folder", "", "where grasp.json is written; empty: nowhere")
        driver = self.declare("hand_driver", "ros2_control", "ros2_control, v5, v5_sense or v5_torque")
        controller = self.declare("arm_controller", "scaled_joint_trajectory_controller", "trajectory controller")
        limits_file = self.declare("safety_limits", "", "YAML file of safety limits; empty: the defaults")
        stiffness = self.declare("stiffness", GraspConfig.stiffness, "joint stiffness of the hand's driver [N m/rad]")
        law = self.declare("force_law", "friction", "friction, paper_mg_n or paper_algorithm_2")
        margin = self.declare("margin", ForceLawConfig.margin, "force over what friction needs")
        self._limits = SafetyLimits.from_yaml(limits_file) if limits_file else SafetyLimits()
        self._config = GraspConfig(stiffness=stiffness, law=ForceLawConfig(law=law, margin=margin))
        self._folder = Path(folder) if folder else None
        self._estimate: MassEstimate | None = None
        self._planners: dict[str, GraspPlanner] = {}
        self._kinematics = RobotKinematics()
        hand = self._kinematics.hand_center_of_gravity(HAND_OPEN)
        self._robot = RosRobot(self, self._limits, RosRobotConfig(
            arm_controller=controller, hand_driver=driver, pose_max_age=self._limits.pose_timeout,
            stale_after=self._limits.state_timeout, hand_mass=self._kinematics.hand_mass,
            hand_center_of_gravity=(float(hand[0]), float(hand[1]), float(hand[2])),
        ))
        self.streams.add("loaded_object", LoadedObject, self._on_loaded, qos=LATCHED)
        self.streams.add("mass_estimate", MassEstimate, self._on_estimate, qos=LATCHED)
        self._runner = ActionRunner(self, Grasp, "grasp", self._execute)

    def start(self) -> None:
        """Accept goals."""
        self._runner.resume()

    def stop(self) -> None:
        """Cancel what runs."""
        self._runner.stop()

    def teardown(self) -> None:
        """Give up all interfaces."""
        if hasattr(self, "_runner"):
            self._runner.destroy()
            for topic in ("loaded_object", "mass_estimate"):
                self.streams.remove(topic)
            self._robot.close()
            del self._runner

    def _on_loaded(self, message: LoadedObject) -> None:
        self._loaded = message.object_id

    def _on_estimate(self, message: MassEstimate) -> None:
        self._estimate = message

    def _execute(self, context: GoalContext) -> Grasp.Result:
        goal = context.goal
        object_id = goal.object_id or self._loaded
        if not object_id:
            raise ConfigError("no object is loaded and the goal names none; call load_object first")
        twin = load_twin(object_id, self._twin_path or None)
        mass, sigma = self._mass(goal.mass, twin)
        with self._robot.session(context.cancelled) as robot:
            outcome = GraspProcedure(
                robot, self._kinematics, twin, self._config, planner=self._planner(twin)
            ).run(
                mass, sigma, lift_height=_or_default("lift_height", goal.lift_height, DEFAULT_LIFT),
                hold_time=_or_default("hold_time", goal.hold_time, DEFAULT_HOLD), shake=goal.shake,
                keep_in_hand=goal.keep_in_hand, feedback=_Feedback(context, self.now),
            )
        if self._folder is not None:
            try:
                write_result(outcome, self._folder)
            except DrexError as error:
                self.get_logger().error(str(error))
        return to_result(outcome)

    def _planner(self, twin: Twin) -> GraspPlanner:
        """The twin's planner; kept, because its candidates and postures serve again."""
        if twin.hash not in self._planners:
            self._planners = {
                twin.hash: GraspPlanner(twin, self._kinematics, self._limits.hand_torque, self._config.planner)
            }
        return self._planners[twin.hash]

    def _mass(self, given: float, twin: Twin) -> tuple[float, float]:
        """Mass and sigma to grasp with [kg]: the goal's, else the latest estimate of this twin."""
        if not math.isfinite(given) or given < 0:
            raise ConfigError(f"goal: mass is {given} kg; a positive number, or 0 for the latest estimate, is needed")
        if given > 0:
            return given, GIVEN_MASS_SIGMA * given
        estimate = self._estimate
        if estimate is None:
            raise GraspError(
                "mass is 0 and mass_estimate is empty: identify the object first, or give a mass", "NO_MASS"
            )
        if estimate.object_id != twin.id or (estimate.twin_hash and estimate.twin_hash != twin.hash):
            raise GraspError(
                f"the latest mass_estimate is of {estimate.object_id or 'nothing'} (twin {estimate.twin_hash}), not of"
                f" {twin.id} (twin {twin.hash}): identify it again, or give a mass",
                "NO_MASS",
            )
        usable = math.isfinite(estimate.mass) and estimate.mass > 0 and math.isfinite(estimate.mass_stddev)
        if estimate.verdict == MassEstimate.UNIDENTIFIABLE or not usable:
            raise GraspError(
                f"the mass of {twin.id} is not identified ({estimate.reason or 'no reason given'});"
                f" {estimate.next_action or 'push it again'}, or give a mass",
                "NO_MASS",
            )
        return estimate.mass, max(estimate.mass_stddev, 0.0)


def _or_default(name: str, value: float, default: float) -> float:
    if not math.isfinite(value) or value < 0:
        raise ConfigError(f"goal: {name} is {value}; 0 (default) or a positive number is needed")
    return value if value > 0 else default


def to_result(outcome: GraspResult) -> Grasp.Result:
    """The action's result."""
    result = Grasp.Result(success=outcome.held, held=outcome.held, message=outcome.message)
    result.error_code = getattr(Grasp.Result, outcome.code)
    result.mass_used, result.force_per_side = float(outcome.mass_used), float(outcome.force_per_side)
    result.force_limit, result.contacts = float(outcome.force_limit), int(outcome.contacts)
    result.slip, result.lift_height = float(outcome.slip), float(outcome.lift_height)
    result.weighed_mass = float(outcome.weighed_mass)
    result.weighed_mass_stddev = float(outcome.weighed_mass_stddev)
    return result


class _Feedback:
    """Publishes progress when the phase changes, else now and then."""

    def __init__(self, context: GoalContext, now: Callable[[], float]) -> None:
        self._context, self._now = context, now
        self._phase, self._last = "", -np.inf

    def __call__(self, progress: GraspProgress) -> None:
        now = self._now()
        if progress.phase == self._phase and now - self._last < FEEDBACK_PERIOD:
            return
        self._phase, self._last = progress.phase, now
        self._context.feedback(Grasp.Feedback(
            phase=progress.phase, progress=float(progress.progress), force_per_side=float(progress.force_per_side),
            contacts=int(progress.contacts), slip=float(progress.slip),
        ))


def main() -> int:
    """Entry point."""
    return run_node(GraspServer)


if __name__ == "__main__":
    sys.exit(main())
