"""The simulated UR driver's action, services and status topics."""

from __future__ import annotations

from typing import Any

import numpy as np
from control_msgs.action import FollowJointTrajectory
from controller_manager_msgs.msg import ControllerState
from controller_manager_msgs.srv import ListControllers
from rclpy.action import ActionServer, CancelResponse, GoalResponse
from rclpy.action.server import ServerGoalHandle
from std_msgs.msg import Bool
from std_srvs.srv import Trigger
from trajectory_msgs.msg import JointTrajectory as JointTrajectoryMsg
from ur_dashboard_msgs.msg import RobotMode, SafetyMode
from ur_msgs.srv import SetPayload

from drex_sim.errors import DrexError, InvalidDataError
from drex_sim.nodes.rig_loop import RigLoop
from drex_sim.nodes.support import LATCHED, DrexNode
from drex_sim.robot.names import ARM_JOINTS, select_by_name
from drex_sim.robot.trajectory import JointTrajectory, timed_path

_STATUS = "/io_and_status_controller"
_WAIT = 0.005


def to_trajectory(message: JointTrajectoryMsg, start: Any) -> JointTrajectory:
    """Core trajectory of a goal, from the arm's present position (6,) [rad].

    Raises:
      JointNamesError: joints missing, doubled or unknown.
      InvalidDataError: no points, times that do not rise, NaN.
    """
    if not message.points:
        raise InvalidDataError("trajectory: no points")
    names = list(message.joint_names)
    times = [p.time_from_start.sec + p.time_from_start.nanosec * 1e-9 for p in message.points]
    positions = [
        select_by_name(names, p.positions, ARM_JOINTS, "trajectory positions") for p in message.points
    ]
    given = all(len(p.velocities) == len(names) for p in message.points)
    if times[0] > 0.0:
        times, positions = [0.0, *times], [np.asarray(start, float), *positions]
    else:
        positions[0] = np.asarray(start, float)
    if len(times) < 2:
        raise InvalidDataError("trajectory: its only point is at time 0; give it a time to get there")
    if not given:
        return timed_path(times, positions)
    velocities = [
        select_by_name(names, p.velocities, ARM_JOINTS, "trajectory velocities") for p in message.points
    ]
    if len(velocities) < len(times):
        velocities = [np.zeros(6), *velocities]
    return JointTrajectory(np.asarray(times), np.asarray(positions), np.asarray(velocities))


class RigArm:
    """Serves what ur_robot_driver serves; the rig's loop does the work."""

    def __init__(self, node: DrexNode, loop: RigLoop, controller: str, hand_controller: str) -> None:
        """Create action, services and latched topics.

        Args:
          node: owner, spun by a multi-threaded executor.
          loop: the rig's loop.
          controller: name of the trajectory controller.
          hand_controller: name of the hand's controller under /allegro; empty: the driver has none.
        """
        self._node, self._loop = node, loop
        self._controllers = [
            (controller, "ur_controllers/ScaledJointTrajectoryController"),
            ("joint_state_broadcaster", "joint_state_broadcaster/JointStateBroadcaster"),
            (
                "force_torque_sensor_broadcaster",
                "force_torque_sensor_broadcaster/ForceTorqueSensorBroadcaster",
            ),
            ("io_and_status_controller", "ur_controllers/GPIOController"),
        ]
        self._server = ActionServer(
            node,
            FollowJointTrajectory,
            f"/{controller}/follow_joint_trajectory",
            execute_callback=self._execute,
            goal_callback=self._on_goal,
            cancel_callback=lambda _: CancelResponse.ACCEPT,
            callback_group=node.group,
        )
        self._services = [
            node.create_service(kind, name, callback, callback_group=node.group)
            for kind, name, callback in (
                (Trigger, f"{_STATUS}/zero_ftsensor", self._on_zero),
                (SetPayload, f"{_STATUS}/set_payload", self._on_payload),
                (ListControllers, "/controller_manager/list_controllers", self._on_list),
            )
        ]
        if hand_controller:
            self._hand_controllers = [
                (hand_controller, "forward_command_controller/ForwardCommandController"),
                ("joint_state_broadcaster", "joint_state_broadcaster/JointStateBroadcaster"),
            ]
            self._services.append(
                node.create_service(
                    ListControllers,
                    "/allegro/controller_manager/list_controllers",
                    lambda _, response: _fill(response, self._hand_controllers, 100),
                    callback_group=node.group,
                )
            )
        self._publishers = []
        for kind, name, message in (
            (RobotMode, "robot_mode", RobotMode(mode=RobotMode.RUNNING)),
            (SafetyMode, "safety_mode", SafetyMode(mode=SafetyMode.NORMAL)),
            (Bool, "robot_program_running", Bool(data=True)),
        ):
            publisher = node.create_publisher(kind, f"{_STATUS}/{name}", LATCHED)
            publisher.publish(message)
            self._publishers.append(publisher)

    def close(self) -> None:
        """Destroy what was created."""
        self._server.destroy()
        for service in self._services:
            self._node.destroy_service(service)
        for publisher in self._publishers:
            self._node.destroy_publisher(publisher)

    def _on_goal(self, goal: FollowJointTrajectory.Goal) -> GoalResponse:
        if not self._node.active:
            return GoalResponse.REJECT
        try:
            to_trajectory(goal.trajectory, self._loop.rig.arm.reference)
        except DrexError as error:
            self._node.get_logger().error(f"trajectory rejected: {error}")
            return GoalResponse.REJECT
        return GoalResponse.ACCEPT

    def _execute(self, handle: ServerGoalHandle) -> FollowJointTrajectory.Result:
        result = FollowJointTrajectory.Result()
        motion = self._loop.move(to_trajectory(handle.request.trajectory, self._loop.rig.arm.reference))
        while not motion.done.wait(_WAIT):
            if self._loop.stopping:
                handle.abort()
                result.error_code, result.error_string = result.INVALID_GOAL, "the simulated rig was stopped"
                return result
            if handle.is_cancel_requested:
                self._loop.brake(motion)
                motion.done.wait(2.0)
                handle.canceled()
                return result
        if motion.replaced:
            handle.abort()
            result.error_code, result.error_string = result.INVALID_GOAL, "replaced by a newer goal"
        elif motion.reached:
            handle.succeed()
            result.error_code = result.SUCCESSFUL
        else:
            handle.abort()
            result.error_code = result.GOAL_TOLERANCE_VIOLATED
            result.error_string = "the arm did not reach the end: something holds it"
        return result

    def _on_zero(self, _request: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        self._loop.call(self._loop.rig.zero_force)
        response.success = True
        return response

    def _on_payload(self, request: SetPayload.Request, response: SetPayload.Response) -> SetPayload.Response:
        center = request.center_of_gravity
        values = np.array([request.mass, center.x, center.y, center.z])
        response.success = bool(np.isfinite(values).all() and 0.0 <= request.mass <= 5.0)
        if response.success:
            self._loop.call(lambda: self._loop.rig.set_payload(values[0], values[1:]))
        else:
            self._node.get_logger().error(f"set_payload refused: {request.mass} kg; 0 to 5 kg are allowed")
        return response

    def _on_list(self, _request: Any, response: ListControllers.Response) -> ListControllers.Response:
        return _fill(response, self._controllers, 500)


def _fill(
    response: ListControllers.Response, controllers: list[tuple[str, str]], rate: int
) -> ListControllers.Response:
    response.controller = [
        ControllerState(name=name, type=kind, state="active", update_rate=rate) for name, kind in controllers
    ]
    return response
