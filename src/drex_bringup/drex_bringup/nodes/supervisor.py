"""Stops the rig when something is wrong, and says what and why."""

from __future__ import annotations

import math
import threading
import time
from pathlib import Path

import numpy as np
from action_msgs.msg import GoalStatus, GoalStatusArray
from action_msgs.srv import CancelGoal
from geometry_msgs.msg import WrenchStamped
from rclpy.clock import Clock, ClockType
from rclpy.serialization import deserialize_message
from sensor_msgs.msg import JointState
from std_msgs.msg import Bool, String
from std_srvs.srv import Trigger
from ur_dashboard_msgs.msg import RobotMode, SafetyMode

from drex_bringup.supervision import Observation, Trip, judge
from drex_msgs.msg import SafetyStatus, TrackedObject
from drex_sim.nodes.robot_streams import ARM_TOPIC, HAND_TOPICS, TRACKED_TOPIC, WRENCH_TOPIC
from drex_sim.nodes.support import LATCHED, STREAM, DrexNode, run_node
from drex_sim.robot.limits import SafetyLimits
from drex_sim.robot.names import driver_joint_names

CHECK_PERIOD = 0.05
"""Seconds of steady time between checks."""
CANCEL_REPEATS = 3
"""A cancel request is sent this many times: the goal may have been accepted in between."""
MOVING = (GoalStatus.STATUS_ACCEPTED, GoalStatus.STATUS_EXECUTING, GoalStatus.STATUS_CANCELING)
STATUS = "/io_and_status_controller/"


class Supervisor(DrexNode):
    """Watches the robot, the tracker and the heartbeats; owns safety/status, safety/stop and safety/reset."""

    def __init__(self) -> None:
        super().__init__("supervisor")

    def setup(self) -> None:
        """See DrexNode."""
        file = self.declare("safety_limits", "", "YAML file with the safety limits; empty: the built-in ones")
        self.limits = SafetyLimits.from_yaml(Path(file)) if file else SafetyLimits()
        self._pose_timeout = self.declare("pose_timeout", 1.0, "silence of tracked_object allowed in a motion [s]")
        self._require_status = self.declare(
            "require_robot_status", True, "refuse motions of a robot that never told its modes"
        )
        ignored = self.declare("unwatched_nodes", ["recorder"], "nodes whose heartbeat may stop")
        self._ignored = {str(name).rsplit("/", 1)[-1] for name in ignored}
        driver = self.declare("hand_driver", "ros2_control", "driver of the hand, see docs/interfaces.md")
        driver_joint_names(driver)
        controller = self.declare("arm_controller", "scaled_joint_trajectory_controller", "trajectory controller")
        self._lock = threading.RLock()
        self._seen = Observation()
        self._beats: dict[str, float] = {}
        self._arrivals: dict[str, float] = {}
        self._newest_arm: bytes | None = None
        self._state, self._trip = SafetyStatus.OK, Trip("", "")
        self._robot_topics = (ARM_TOPIC, WRENCH_TOPIC, HAND_TOPICS[driver])
        action = f"/{controller}/follow_joint_trajectory/_action"
        self._status = self.create_publisher(SafetyStatus, "safety/status", LATCHED)
        self._cancel = self.create_client(CancelGoal, f"{action}/cancel_goal", callback_group=self.group)
        add = self.streams.add
        add(ARM_TOPIC, JointState, self._on_arm, raw=True)
        add(HAND_TOPICS[driver], JointState, lambda _: self._note(HAND_TOPICS[driver]), raw=True)
        add(WRENCH_TOPIC, WrenchStamped, self._on_wrench)
        add(TRACKED_TOPIC, TrackedObject, self._on_tracked)
        add("heartbeat", String, self._on_heartbeat, qos=STREAM)
        add(f"{action}/status", GoalStatusArray, self._on_goals, qos=LATCHED)
        add(f"{STATUS}robot_mode", RobotMode, lambda m: setattr(self._seen, "robot_mode", int(m.mode)), qos=LATCHED)
        add(f"{STATUS}safety_mode", SafetyMode, lambda m: setattr(self._seen, "safety_mode", int(m.mode)), qos=LATCHED)
        add(
            f"{STATUS}robot_program_running", Bool,
            lambda m: setattr(self._seen, "program_running", bool(m.data)), qos=LATCHED,
        )
        self._triggers = [
            self.create_service(Trigger, "safety/stop", self._on_stop, callback_group=self.group),
            self.create_service(Trigger, "safety/reset", self._on_reset, callback_group=self.group),
        ]
        self._topics = [ARM_TOPIC, HAND_TOPICS[driver], WRENCH_TOPIC, TRACKED_TOPIC, "heartbeat", f"{action}/status",
                        f"{STATUS}robot_mode", f"{STATUS}safety_mode", f"{STATUS}robot_program_running"]
        self._timer = self.create_timer(
            CHECK_PERIOD, self._on_check, callback_group=self.group, clock=Clock(clock_type=ClockType.STEADY_TIME)
        )
        self._timer.cancel()

    def start(self) -> None:
        """See DrexNode."""
        self._publish()
        self._timer.reset()

    def stop(self) -> None:
        """Without a supervisor nothing moves: the running trajectory is cancelled."""
        self._timer.cancel()
        if self._seen.moving:
            self._stop(Trip("supervisor", "the supervisor was deactivated; bring the graph up again"))

    def teardown(self) -> None:
        """See DrexNode."""
        for topic in self._topics:
            self.streams.remove(topic)
        for service in self._triggers:
            self.destroy_service(service)
        self.destroy_timer(self._timer)
        self.destroy_client(self._cancel)
        self.destroy_publisher(self._status)

    # What is seen (reader thread) ------------------------------------------------------------------------------
    def _note(self, topic: str) -> None:
        self._arrivals[topic] = self.now()

    def _age(self, topic: str) -> float:
        """Silence of a topic [s]: steady time, or ROS time where that is less.

        Less only where a simulator's clock slows because the computer is busy: that is no silence of the topic.
        """
        return min(self.streams.age(topic), max(0.0, self.now() - self._arrivals.get(topic, -math.inf)))

    def _on_arm(self, raw: bytes) -> None:
        self._note(ARM_TOPIC)
        self._newest_arm = raw

    def _on_wrench(self, message: WrenchStamped) -> None:
        self._note(WRENCH_TOPIC)
        force, torque = message.wrench.force, message.wrench.torque
        f = math.sqrt(force.x**2 + force.y**2 + force.z**2)
        t = math.sqrt(torque.x**2 + torque.y**2 + torque.z**2)
        if not math.isfinite(f + t):
            self._seen.not_finite = WRENCH_TOPIC
            return
        self._seen.force, self._seen.torque = max(self._seen.force, f), max(self._seen.torque, t)

    def _on_tracked(self, message: TrackedObject) -> None:
        self._note(TRACKED_TOPIC)
        if message.state != TrackedObject.TRACKING:
            return
        p, q = message.pose.pose.position, message.pose.pose.orientation
        if not math.isfinite(p.x + p.y + p.z + q.x + q.y + q.z + q.w):
            self._seen.not_finite = TRACKED_TOPIC

    def _on_heartbeat(self, message: String) -> None:
        name = message.data.rsplit("/", 1)[-1]
        if name not in self._ignored and name != self.get_name():
            self._beats[name] = time.monotonic()

    def _on_goals(self, message: GoalStatusArray) -> None:
        self._seen.moving = any(status.status in MOVING for status in message.status_list)

    # The rules -------------------------------------------------------------------------------------------------
    def _on_check(self) -> None:
        if not self.active:
            return
        with self._lock:
            if self._state == SafetyStatus.STOPPED:
                if self._seen.moving:
                    self._cancel_motion()
                return
            trip = judge(
                self._observe(), self.limits, pose_timeout=self._pose_timeout,
                require_robot_status=self._require_status,
            )
            if trip is not None:
                self._stop(trip)

    def _observe(self) -> Observation:
        """What is known now; forgets the force peak and the NaN flag."""
        seen, now = self._seen, time.monotonic()
        raw, self._newest_arm = self._newest_arm, None
        if raw is not None and not np.isfinite(deserialize_message(raw, JointState).position).all():
            seen.not_finite = ARM_TOPIC
        observed = Observation(
            moving=seen.moving,
            stream_ages={topic: self._age(topic) for topic in self._robot_topics},
            pose_age=self._age(TRACKED_TOPIC),
            not_finite=seen.not_finite,
            force=seen.force,
            torque=seen.torque,
            heartbeat_ages={name: now - beat for name, beat in self._beats.items()},
            robot_mode=seen.robot_mode,
            safety_mode=seen.safety_mode,
            program_running=seen.program_running,
        )
        seen.force = seen.torque = 0.0
        seen.not_finite = ""
        return observed

    def _stop(self, trip: Trip) -> None:
        with self._lock:
            self._state, self._trip = SafetyStatus.STOPPED, trip
            self._publish()
            self._cancel_motion()
        self.get_logger().error(f"STOPPED ({trip.source}): {trip.reason}")

    def _cancel_motion(self) -> None:
        """Ask the trajectory controller to cancel every goal (an empty id and a zero stamp mean all)."""
        if not self._cancel.service_is_ready():
            return
        for _ in range(CANCEL_REPEATS):
            self._cancel.call_async(CancelGoal.Request())

    def _publish(self) -> None:
        message = SafetyStatus(state=self._state, reason=self._trip.reason, source=self._trip.source)
        message.header.stamp = self.get_clock().now().to_msg()
        self._status.publish(message)

    # Services --------------------------------------------------------------------------------------------------
    def _on_stop(self, _request: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        self._stop(Trip("user", "stopped by safety/stop; call safety/reset when it is safe to move"))
        response.success, response.message = True, "stopped; call safety/reset when it is safe to move"
        return response

    def _on_reset(self, _request: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        with self._lock:
            now = time.monotonic()
            limit = self.limits.heartbeat_timeout
            gone = [name for name, beat in self._beats.items() if now - beat > limit]
            trip = judge(
                self._observe(), self.limits, pose_timeout=self._pose_timeout,
                require_robot_status=self._require_status,
            )
            if trip is not None and not gone:
                response.success, response.message = False, f"still unsafe: {trip.reason}"
                return response
            # A node that ended for good must not keep the rig stopped for ever: it counts again once it is back.
            for name in gone:
                del self._beats[name]
            self._state, self._trip = SafetyStatus.OK, Trip("", "")
            self._publish()
        response.success = True
        response.message = "OK" + (f"; no longer watched until heard again: {', '.join(gone)}" if gone else "")
        self.get_logger().info(f"safety/reset: {response.message}")
        return response


def main() -> int:
    """Run the node."""
    return run_node(Supervisor)
