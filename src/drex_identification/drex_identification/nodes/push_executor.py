"""Executes pushes: serves execute_push and publishes each recorded push on push_trial."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from drex_identification.conversions import goal_from_msg, trial_to_msg
from drex_identification.push.goal import PushConfig, PushProgress
from drex_identification.push.procedure import PushProcedure
from drex_identification.trials import PushTrial
from drex_msgs.action import ExecutePush
from drex_msgs.msg import LoadedObject
from drex_msgs.msg import PushTrial as PushTrialMsg
from drex_sim.errors import ConfigError
from drex_sim.nodes.ros_robot import RosRobot, RosRobotConfig
from drex_sim.nodes.support import LATCHED, TRIALS, ActionRunner, DrexNode, GoalContext, run_node
from drex_sim.robot.kinematics import ARM_HOME, HAND_OPEN, RobotKinematics
from drex_sim.robot.limits import SafetyLimits
from drex_sim.robot.trajectory import timed_path
from drex_sim.twin import load_twin

FEEDBACK_PERIOD = 0.1
"""Seconds of ROS time between feedback messages of one phase."""


class PushExecutor(DrexNode):
    """Node `push_executor`."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__("push_executor", **kwargs)

    def setup(self) -> None:
        """Read parameters and connect to the robot."""
        self._loaded = self.declare("object_id", "", "object to push when nothing is loaded")
        self._twin_path = self.declare("twin_path", "", "folders of twins, separated like PATH; empty: DREX_TWIN_PATH")
        driver = self.declare("hand_driver", "ros2_control", "ros2_control, v5, v5_sense or v5_torque")
        controller = self.declare("arm_controller", "scaled_joint_trajectory_controller", "trajectory controller")
        limits_file = self.declare("safety_limits", "", "YAML file of safety limits; empty: the defaults")
        speed = self.declare("speed", PushConfig.speed, "fingertip speed while touching [m/s]")
        force_limit = self.declare("force_limit", PushConfig.force_limit, "force that ends a push [N]")
        limits = SafetyLimits.from_yaml(limits_file) if limits_file else SafetyLimits()
        self._push_config = PushConfig(speed=speed, force_limit=force_limit)
        self._kinematics = RobotKinematics()
        # Models are compiled at first use: here, not in the middle of a goal.
        limits.check_trajectory(timed_path([0.0, 0.5], np.stack([ARM_HOME, ARM_HOME])))
        self._kinematics.arm_ik(self._kinematics.tool(ARM_HOME), ARM_HOME)
        hand = self._kinematics.hand_center_of_gravity(HAND_OPEN)
        self._robot = RosRobot(self, limits, RosRobotConfig(
            arm_controller=controller, hand_driver=driver, pose_max_age=limits.pose_timeout,
            stale_after=limits.state_timeout, hand_mass=self._kinematics.hand_mass,
            hand_center_of_gravity=(float(hand[0]), float(hand[1]), float(hand[2])),
        ))
        self.streams.add("loaded_object", LoadedObject, self._on_loaded, qos=LATCHED)
        self._publisher = self.create_publisher(PushTrialMsg, "push_trial", TRIALS)
        self._runner = ActionRunner(self, ExecutePush, "execute_push", self._execute)

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
            self.streams.remove("loaded_object")
            self._robot.close()
            self.destroy_publisher(self._publisher)
            del self._runner

    def _on_loaded(self, message: LoadedObject) -> None:
        self._loaded = message.object_id

    def _execute(self, context: GoalContext) -> ExecutePush.Result:
        goal = goal_from_msg(context.goal)
        object_id = context.goal.object_id or self._loaded
        if not object_id:
            raise ConfigError("no object is loaded and the goal names none; call load_object first")
        twin = load_twin(object_id, self._twin_path or None)
        trials: list[PushTrial] = []

        def record(trial: PushTrial) -> None:
            trials.append(trial)
            self._publisher.publish(trial_to_msg(trial))

        with self._robot.session(context.cancelled) as robot:
            PushProcedure(robot, self._kinematics, twin, self._push_config).run(
                goal, progress=_Feedback(context, self.now), on_trial=record
            )
        result = ExecutePush.Result(success=True, trial_ids=[t.trial_id for t in trials])
        result.outcomes = [trial.outcome for trial in trials]
        result.message = f"{len(trials)} push(es) of {object_id}: {', '.join(result.outcomes)}"
        return result


class _Feedback:
    """Publishes progress when the phase changes, else now and then."""

    def __init__(self, context: GoalContext, now: Callable[[], float]) -> None:
        self._context, self._now = context, now
        self._phase, self._last = "", -np.inf

    def __call__(self, progress: PushProgress) -> None:
        now = self._now()
        if progress.phase == self._phase and now - self._last < FEEDBACK_PERIOD:
            return
        self._phase, self._last = progress.phase, now
        self._context.feedback(ExecutePush.Feedback(
            phase=progress.phase, repetition=progress.repetition, progress=float(progress.progress),
            force=float(progress.force), tilt=float(progress.tilt),
        ))


def main() -> int:
    """Entry point."""
    return run_node(PushExecutor)


if __name__ == "__main__":
    sys.exit(main())
