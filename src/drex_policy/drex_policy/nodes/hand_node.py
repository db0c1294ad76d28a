"""Realises `hand_command` on the hand's driver: clamped, by name, and only while everything is alive."""

from __future__ import annotations

import sys
import threading
import time
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rclpy.publisher import Publisher
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray

from drex_msgs.msg import HandCommand, SafetyStatus
from drex_sim.errors import DrexError, InvalidDataError
from drex_sim.nodes.robot_streams import HAND_TOPICS
from drex_sim.nodes.support import LATCHED, RELIABLE, DrexNode, run_node
from drex_sim.robot.limits import SafetyLimits
from drex_sim.robot.names import HAND_JOINTS, driver_joint_names, select_by_name
from drex_sim.robot.realisation import (
    HandGains,
    check_mode,
    default_mode,
    realise,
    to_driver_order,
)

Array = NDArray[np.float64]

COMMAND_TOPICS = {
    ("ros2_control", "position"): "/allegro/allegro_hand_position_controller/commands",
    ("ros2_control", "effort"): "/allegro/allegro_hand_effort_controller/commands",
    ("v5", "position"): "/allegroHand/joint_cmd",
    ("v5_sense", "position"): "/allegroHand_0/joint_cmd",
    ("v5_torque", "effort"): "/allegroHand_0/torque_cmd",
}
"""Where each driver listens."""


class HandNode(DrexNode):
    """Node `hand`. It sends nothing before the first command; when stopped it takes no new one and holds the last."""

    def __init__(self) -> None:
        super().__init__("hand", stream_rate=200.0)

    def setup(self) -> None:
        """Parameters and interfaces."""
        self._driver = self.declare("hand_driver", "ros2_control", "ros2_control, v5, v5_sense or v5_torque")
        mode = self.declare("hand_mode", "", "position or effort; empty: the driver's default")
        safety = self.declare("safety_limits", "", "YAML file of safety limits; empty: the defaults")
        stiffness = self.declare("stiffness", 3.0, "joint stiffness of the driver, or of our own loop [N m/rad]")
        damping = self.declare("damping", 0.1, "damping of our own loop in effort mode [N m s/rad]")
        self._limits = SafetyLimits.from_yaml(safety) if safety else SafetyLimits()
        driver_joint_names(self._driver)  # refuses an unknown driver
        self._mode = mode or default_mode(self._driver)
        check_mode(self._driver, self._mode)
        self._gains = HandGains(stiffness=stiffness, damping=damping, torque_limit=self._limits.hand_torque)
        self._names = driver_joint_names(self._driver)
        self._lock = threading.Lock()
        self._target: tuple[Array, Array] | None = None
        self._measured: tuple[Array, Array] | None = None
        self._stopped = False
        self._last_sent = 0.0
        topic = COMMAND_TOPICS[self._driver, self._mode]
        kind = Float64MultiArray if self._driver == "ros2_control" else JointState
        self._publisher: Publisher = self.create_publisher(kind, topic, RELIABLE)
        self._state_topic = HAND_TOPICS[self._driver]
        self.streams.add(self._state_topic, JointState, self._on_state)
        self.streams.add("safety/status", SafetyStatus, self._on_safety, qos=LATCHED)
        self.streams.add("hand_command", HandCommand, self._on_command, qos=RELIABLE)
        self.get_logger().info(f"hand driver {self._driver} in {self._mode} mode, commands on {topic}")

    def stop(self) -> None:
        """Hold the last command."""
        self._hold("the hand node was deactivated")

    def teardown(self) -> None:
        """Give up the interfaces."""
        for topic in (self._state_topic, "safety/status", "hand_command"):
            self.streams.remove(topic)
        self.destroy_publisher(self._publisher)

    def _on_command(self, message: HandCommand) -> None:
        if not self.active or self._stopped:
            self.get_logger().warning(
                "hand_command ignored: " + ("the supervisor stopped the rig" if self._stopped else "not active"),
                throttle_duration_sec=2.0,
            )
            return
        positions = select_by_name(message.joint_names, message.positions, HAND_JOINTS, "hand_command positions")
        efforts = np.zeros(16)
        if message.efforts:
            efforts = select_by_name(message.joint_names, message.efforts, HAND_JOINTS, "hand_command efforts")
        with self._lock:
            self._target = self._limits.clamp_hand(positions, efforts)
        if self._mode == "position":
            self._send()

    def _on_state(self, message: JointState) -> None:
        position = select_by_name(message.name, message.position, self._names, self._state_topic)
        velocity = np.zeros(16)
        if message.velocity:
            velocity = select_by_name(message.name, message.velocity, self._names, self._state_topic)
        if not np.isfinite(position).all():
            raise InvalidDataError(f"{self._state_topic}: NaN or infinity; the message was dropped")
        with self._lock:
            self._measured = (position, velocity)
        # The joint states are the clock of the loop: at the driver's rate in effort mode, and as a repeat otherwise.
        if self._mode == "effort" or time.monotonic() - self._last_sent > 0.1:
            self._send()

    def _on_safety(self, message: SafetyStatus) -> None:
        stopped = message.state == SafetyStatus.STOPPED
        if stopped and not self._stopped:
            self._hold(message.reason)
        self._stopped = stopped

    def _hold(self, why: str) -> None:
        """Keep the last command in force: opening the hand at a stop would drop what it holds."""
        if self._target is not None:
            self.get_logger().warning(f"hand holds its last command: {why}")
            self._send()

    def _send(self) -> None:
        with self._lock:
            target, measured = self._target, self._measured
        if target is None or not self._publishable():
            return
        try:
            values = realise(
                *target, mode=self._mode, gains=self._gains, measured=None if measured is None else measured[0],
                velocity=None if measured is None else measured[1],
            )
        except DrexError as error:
            self.get_logger().error(str(error), throttle_duration_sec=2.0)
            return
        self._publisher.publish(self._message(values))
        self._last_sent = time.monotonic()

    def _publishable(self) -> bool:
        """Silent joint states end the commands: the driver then holds by itself."""
        age = self.streams.age(self._state_topic)
        if age > self._limits.state_timeout:
            self.get_logger().error(
                f"{self._state_topic} silent for {min(age, 999.0):.1f} s (allowed {self._limits.state_timeout} s):"
                " no command sent; is the hand's driver running?", throttle_duration_sec=2.0,
            )
            return False
        return True

    def _message(self, values: Array) -> Any:
        ordered = to_driver_order(self._driver, values).tolist()
        if self._driver == "ros2_control":
            return Float64MultiArray(data=ordered)
        message = JointState(name=list(self._names))
        message.header.stamp = self.get_clock().now().to_msg()
        if self._mode == "position":
            message.position = ordered
        else:
            message.effort = ordered
        return message


def main() -> None:
    """Entry point."""
    sys.exit(run_node(HandNode))

