"""The robot protocols over the drivers' ROS interfaces: the same on the real, mocked and simulated rig."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass

import numpy as np
from control_msgs.action import FollowJointTrajectory
from numpy.typing import NDArray
from rclpy.duration import Duration
from std_srvs.srv import Trigger
from trajectory_msgs.msg import JointTrajectoryPoint
from ur_msgs.srv import SetPayload

from drex_msgs.msg import HandCommand, SafetyStatus
from drex_sim.errors import (
    CancelledError,
    DrexError,
    InvalidDataError,
    MotionError,
    MotionStoppedError,
    NotTrackedError,
    StaleDataError,
)
from drex_sim.nodes.robot_streams import RobotStreams
from drex_sim.nodes.support import LATCHED, RELIABLE, DrexNode, SteadyActionClient, call_service, run_action_goal
from drex_sim.robot.limits import SafetyLimits
from drex_sim.robot.names import ARM_JOINTS, HAND_JOINTS
from drex_sim.robot.protocols import (
    Guard,
    MotionResult,
    RobotState,
    StateRecorder,
    TrackedPose,
    TrackingState,
)
from drex_sim.robot.trajectory import JointTrajectory

Array = NDArray[np.float64]

START_TOLERANCE = 0.05
"""A trajectory must start within this of the present joint position [rad]."""
CLOCK_TIMEOUT = 5.0
"""ROS time that stands still this long in steady time means the simulator is gone [s]."""


@dataclass(frozen=True, kw_only=True)
class RosRobotConfig:
    """Names and limits of the robot side."""

    arm_controller: str = "scaled_joint_trajectory_controller"
    """Trajectory controller (joint_trajectory_controller from Lyrical on)."""
    hand_driver: str = "ros2_control"
    """See drex_sim.robot.names.HandDriver."""
    stale_after: float = 0.5
    """Steady seconds after which a robot stream counts as silent."""
    pose_max_age: float = 0.9
    """ROS seconds after which a tracked pose is too old to act on."""
    hand_mass: float = 0.644
    """Mass of the hand, part of every payload [kg]."""
    hand_center_of_gravity: tuple[float, float, float] = (0.0, 0.0, 0.08)
    """COM of the hand in tool0 [m]."""


class RosRobot:
    """Implements drex_sim.robot.protocols.Robot. One thread uses it at a time."""

    def __init__(self, node: DrexNode, limits: SafetyLimits, config: RosRobotConfig | None = None) -> None:
        self._node = node
        self._config = config or RosRobotConfig()
        self._limits = limits
        self._cancelled: Callable[[], bool] = lambda: False
        self._safety: SafetyStatus | None = None
        self.streams = RobotStreams(node, self._config.hand_driver, self._config.stale_after)
        node.streams.add("safety/status", SafetyStatus, self._on_safety, qos=LATCHED)
        action = f"/{self._config.arm_controller}/follow_joint_trajectory"
        self._trajectory_client = SteadyActionClient(node, FollowJointTrajectory, action, callback_group=node.group)
        self._zero_client = node.create_client(
            Trigger, "/io_and_status_controller/zero_ftsensor", callback_group=node.group
        )
        self._payload_client = node.create_client(
            SetPayload, "/io_and_status_controller/set_payload", callback_group=node.group
        )
        self._hand_publisher = node.create_publisher(HandCommand, "hand_command", RELIABLE)

    def close(self) -> None:
        """Give up every interface."""
        self.streams.close()
        self._node.streams.remove("safety/status")
        self._trajectory_client.destroy()
        self._node.destroy_client(self._zero_client)
        self._node.destroy_client(self._payload_client)
        self._node.destroy_publisher(self._hand_publisher)

    @contextmanager
    def session(self, cancelled: Callable[[], bool]) -> Iterator[RosRobot]:
        """Use the robot for one goal; `cancelled` is asked during every motion and wait."""
        self._cancelled = cancelled
        try:
            yield self
        finally:
            self._cancelled = lambda: False

    @property
    def arm(self) -> RosRobot:
        """The arm."""
        return self

    @property
    def hand(self) -> RosRobot:
        """The hand."""
        return self

    # Robot -------------------------------------------------------------------------------------------------
    def state(self) -> RobotState:
        """See protocols.Robot."""
        return self.streams.state()

    def tracked(self) -> TrackedPose:
        """See protocols.Robot."""
        pose = self.streams.tracked()
        if pose is None:
            raise NotTrackedError("tracked_object: nothing arrived; start the tracker and the camera (`drex doctor`)")
        if pose.state is not TrackingState.TRACKING:
            raise NotTrackedError(
                f"tracked_object: {pose.object_id or 'object'} is in state {pose.state.name}; it must stand in the"
                " camera's view, unoccluded"
            )
        age = self.time() - pose.stamp
        if age > self._config.pose_max_age:
            raise NotTrackedError(
                f"tracked_object: newest pose is {age:.2f} s old (allowed {self._config.pose_max_age:.2f} s); the"
                " camera or the tracker went silent"
            )
        return pose

    def time(self) -> float:
        """See protocols.Robot."""
        return self._node.now()

    def sleep(self, duration: float) -> None:
        """See protocols.Robot."""
        end = self.time() + duration
        last, last_change = self.time(), time.monotonic()
        while (now := self.time()) < end:
            self._raise_if_interrupted()
            if now != last:
                last, last_change = now, time.monotonic()
            elif time.monotonic() - last_change > CLOCK_TIMEOUT:
                raise StaleDataError(f"/clock stood still for {CLOCK_TIMEOUT:.0f} s; is the simulator still running?")
            time.sleep(0.005)

    def zero_force(self) -> None:
        """See protocols.Robot."""
        response = call_service(self._zero_client, Trigger.Request())
        if not response.success:
            raise MotionError(f"zero_ftsensor refused: {response.message or 'no reason given'}")

    def set_payload(self, mass: float, center_of_gravity: Array) -> None:
        """See protocols.Robot. The hand's own weight is added: UR's payload is all that hangs on the flange."""
        hand = np.asarray(self._config.hand_center_of_gravity)
        total = self._config.hand_mass + mass
        center = (self._config.hand_mass * hand + mass * np.asarray(center_of_gravity, float)) / total
        request = SetPayload.Request()
        request.mass = float(total)
        request.center_of_gravity.x, request.center_of_gravity.y, request.center_of_gravity.z = map(float, center)
        if not call_service(self._payload_client, request).success:
            raise MotionError(f"set_payload refused {total:.3f} kg; check the robot mode on the pendant")

    def record(self) -> AbstractContextManager[StateRecorder]:
        """See protocols.Robot."""
        return self.streams.record()

    # Hand --------------------------------------------------------------------------------------------------
    def command(self, positions: Array, efforts: Array | None = None, grasp_force: float = 0.0) -> None:
        """See protocols.Hand."""
        self._raise_if_interrupted()
        positions = np.asarray(positions, float)
        efforts = np.zeros(16) if efforts is None else np.asarray(efforts, float)
        if positions.shape != (16,) or efforts.shape != (16,):
            raise InvalidDataError(f"hand command: shapes {positions.shape}, {efforts.shape}; (16,) needed")
        if not (np.isfinite(positions).all() and np.isfinite(efforts).all()):
            raise InvalidDataError("hand command: NaN or infinity; nothing was sent")
        positions, efforts = self._limits.clamp_hand(positions, efforts)
        message = HandCommand(joint_names=list(HAND_JOINTS), grasp_force=float(grasp_force))
        message.header.stamp = self._node.get_clock().now().to_msg()
        message.positions = positions.tolist()
        message.efforts = efforts.tolist()
        self._hand_publisher.publish(message)
        self.streams.note_hand_command(positions)

    # Arm ---------------------------------------------------------------------------------------------------
    def execute(self, trajectory: JointTrajectory, guard: Guard | None = None) -> MotionResult:
        """See protocols.Arm."""
        self._raise_if_interrupted()
        start = self.state().arm_position
        gap = np.abs(trajectory.positions[0] - start).max()
        if gap > START_TOLERANCE:
            raise MotionError(
                f"trajectory starts {gap:.3f} rad from the arm's position (allowed {START_TOLERANCE} rad); nothing"
                " moved"
            )
        self._limits.check_trajectory(trajectory)
        interruption: list[DrexError] = []
        guarded: list[bool] = []

        def stop() -> bool:
            try:
                self._raise_if_interrupted()
                state = self.state()
                if guard is not None and guard(state):
                    guarded.append(True)
            except DrexError as error:
                interruption.append(error)
            return bool(interruption or guarded)

        outcome = run_action_goal(
            self._trajectory_client, _goal(trajectory), stop=stop, timeout=10.0 * trajectory.duration + 30.0
        )
        if interruption:
            raise interruption[0]
        if guarded:
            self._wait_for_rest()
            return MotionResult.GUARDED
        if not outcome.succeeded:
            self._raise_if_interrupted()
            raise MotionError(
                f"{self._config.arm_controller} ended the trajectory with code {outcome.result.error_code}:"
                f" {outcome.result.error_string or 'no reason given'}; check robot mode, speed slider and that the"
                " program runs on the pendant"
            )
        return MotionResult.REACHED

    def _wait_for_rest(self) -> None:
        deadline = time.monotonic() + 1.0
        while np.abs(self.state().arm_velocity).max() > 0.01 and time.monotonic() < deadline:
            time.sleep(0.01)

    def _raise_if_interrupted(self) -> None:
        if self._cancelled():
            raise CancelledError("cancelled by the user; the robot was stopped")
        if self._safety is not None and self._safety.state == SafetyStatus.STOPPED:
            raise MotionStoppedError(
                f"the supervisor stopped the robot: {self._safety.reason}; call safety/reset when it is safe"
            )

    def _on_safety(self, message: SafetyStatus) -> None:
        self._safety = message


def _goal(trajectory: JointTrajectory) -> FollowJointTrajectory.Goal:
    goal = FollowJointTrajectory.Goal()
    goal.trajectory.joint_names = list(ARM_JOINTS)
    for t, position, velocity in zip(
        trajectory.times[1:], trajectory.positions[1:], trajectory.velocities[1:], strict=True
    ):
        point = JointTrajectoryPoint(positions=position.tolist(), velocities=velocity.tolist())
        point.time_from_start = Duration(seconds=float(t)).to_msg()
        goal.trajectory.points.append(point)
    return goal
