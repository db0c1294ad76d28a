"""The simulated drivers' topics: states out, hand commands in. Used from the rig's thread only."""

from __future__ import annotations

from array import array
from typing import Any

import numpy as np
from builtin_interfaces.msg import Time
from geometry_msgs.msg import TransformStamped, WrenchStamped
from numpy.typing import NDArray
from rclpy.node import Node
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray
from tf2_msgs.msg import TFMessage

from drex_sim.errors import DrexError
from drex_sim.nodes.robot_streams import ARM_TOPIC, HAND_TOPICS, WRENCH_TOPIC
from drex_sim.nodes.support import LATCHED, RELIABLE, SENSOR_PUBLISHER
from drex_sim.rig import RigSample, SimulatedRig
from drex_sim.rig.model import base_T_camera
from drex_sim.robot.names import ARM_JOINTS, FINGERS, driver_joint_names
from drex_sim.robot.realisation import from_driver_order
from drex_sim.transforms import to_xyzw

Array = NDArray[np.float64]

CLOCK_EVERY = 5
"""Steps between two messages on /clock (100 Hz)."""
TF_EVERY = 10
"""Steps between two messages on /tf (50 Hz)."""
AMPERE_PER_NM = 1.0 / 11.0
"""The UR reports motor currents as effort; roughly this per joint torque."""
FORCE_FRAME = "tool0_controller"
CAMERA_FRAME = "camera_color_optical_frame"


def set_stamp(stamp: Time, seconds: float) -> None:
    """Write seconds into a builtin_interfaces/Time in place."""
    nanoseconds = round(seconds * 1e9)
    stamp.sec, stamp.nanosec = divmod(nanoseconds, 1_000_000_000)


def transform(parent: str, child: str, pose: Array) -> TransformStamped:
    """A transform message with zero stamp."""
    message = TransformStamped()
    message.header.frame_id, message.child_frame_id = parent, child
    _write_pose(message, pose)
    return message


def _write_pose(message: TransformStamped, pose: Array) -> None:
    position, quaternion = to_xyzw(pose)
    translation, rotation = message.transform.translation, message.transform.rotation
    translation.x, translation.y, translation.z = map(float, position)
    rotation.x, rotation.y, rotation.z, rotation.w = map(float, quaternion)


class RigSignals:
    """Publishers and command subscriptions of the simulated drivers; messages are reused."""

    def __init__(self, node: Node, rig: SimulatedRig, driver: str, mode: str) -> None:
        """Create the topics.

        Args:
          node: owner of publishers and subscriptions; it is not spun, commands are taken in `take_commands`.
          rig: the rig.
          driver: hand driver.
          mode: its command mode.
        """
        self._node, self._rig = node, rig
        self._driver, self._mode = driver, mode
        self._clock = node.create_publisher(Clock, "/clock", RELIABLE)
        self._arm = node.create_publisher(JointState, ARM_TOPIC, SENSOR_PUBLISHER)
        self._wrench = node.create_publisher(WrenchStamped, WRENCH_TOPIC, SENSOR_PUBLISHER)
        self._hand = node.create_publisher(JointState, HAND_TOPICS[driver], SENSOR_PUBLISHER)
        self._tf = node.create_publisher(TFMessage, "/tf", SENSOR_PUBLISHER)
        self._tf_static = node.create_publisher(TFMessage, "/tf_static", LATCHED)
        self._clock_message, self._wrench_message = Clock(), WrenchStamped()
        self._wrench_message.header.frame_id = FORCE_FRAME
        self._arm_message = JointState(name=list(ARM_JOINTS))
        self._hand_message = JointState(name=list(driver_joint_names(driver)))
        self._tf_message = TFMessage()
        self._next_hand = 0.0
        self._subscriptions: list[tuple[Any, type, Any]] = []
        self._subscribe_hand()
        kinematics = rig.kinematics
        fixed = [
            transform("base_link", CAMERA_FRAME, base_T_camera()),
            transform("tool0", FORCE_FRAME, np.eye(4)),
            transform("tool0", "palm", kinematics.tool_T_palm),
        ]
        self._tf_static.publish(TFMessage(transforms=fixed))

    def _subscribe_hand(self) -> None:
        if self._driver == "ros2_control":
            topic = f"/allegro/allegro_hand_{self._mode}_controller/commands"
            self._add(topic, Float64MultiArray, lambda m: from_driver_order(self._driver, m.data))
        elif self._driver == "v5_torque":
            self._add("/allegroHand_0/torque_cmd", JointState, lambda m: np.asarray(m.effort, float))
        else:
            prefix = "/allegroHand" if self._driver == "v5" else "/allegroHand_0"
            self._add(f"{prefix}/joint_cmd", JointState, lambda m: np.asarray(m.position, float))
        if self._driver == "v5_sense":
            self._add("/allegroHand_0/gain_cmd", Float64MultiArray, self._on_gains)

    def _add(self, topic: str, kind: type, convert: Any) -> None:
        subscription = self._node.create_subscription(kind, topic, lambda _: None, RELIABLE)
        self._subscriptions.append((subscription, kind, convert))

    def _on_gains(self, message: Float64MultiArray) -> None:
        values = np.asarray(message.data, float)
        self._rig.hand.set_gains(values[:16], values[16:])

    def take_commands(self) -> None:
        """Hand the newest command of each topic to the hand's driver, once per cycle of that driver."""
        time = self._rig.time
        self._hand_cycle = time >= self._next_hand - 1e-9
        if not self._hand_cycle:
            return
        self._next_hand = max(self._next_hand + self._rig.hand.period, time)
        for subscription, kind, convert in self._subscriptions:
            with subscription.handle:
                taken = subscription.handle.take_message(kind, False)
            if taken is None:
                continue
            try:
                values = convert(taken[0])
                if values is not None:
                    self._rig.hand.command(values)
            except (DrexError, ValueError, IndexError) as error:
                self._node.get_logger().error(
                    f"{subscription.topic_name}: {error}; command ignored", throttle_duration_sec=2.0
                )

    def publish(self, sample: RigSample) -> None:
        """Publish one step."""
        step = self._rig.steps
        stamp = self._arm_message.header.stamp
        set_stamp(stamp, sample.time)
        if step % CLOCK_EVERY == 0:
            self._clock_message.clock = stamp
            self._clock.publish(self._clock_message)
        arm = self._arm_message
        arm.position, arm.velocity = array("d", sample.arm_position), array("d", sample.arm_velocity)
        arm.effort = array("d", AMPERE_PER_NM * self._rig.data.actuator_force[:6])
        self._arm.publish(arm)
        wrench = self._wrench_message
        wrench.header.stamp = stamp
        force, torque = wrench.wrench.force, wrench.wrench.torque
        force.x, force.y, force.z, torque.x, torque.y, torque.z = sample.wrench.tolist()
        self._wrench.publish(wrench)
        if self._hand_cycle:
            hand = self._hand_message
            hand.header.stamp = stamp
            hand.position, hand.velocity = array("d", sample.hand_position), array("d", sample.hand_velocity)
            hand.effort = array("d", sample.hand_effort)
            self._hand.publish(hand)
        if step % TF_EVERY == 0 and self._tf.get_subscription_count() > 0:
            self._publish_tf(sample, stamp)

    def _publish_tf(self, sample: RigSample, stamp: Time) -> None:
        frames = self._rig.kinematics.forward(sample.arm_position, sample.hand_position)
        message = self._tf_message
        names = ("tool0", *(f"{finger}_tip" for finger in FINGERS))
        if not message.transforms:
            message.transforms = [transform("base_link", name, frames[name]) for name in names]
        for entry, name in zip(message.transforms, names, strict=True):
            entry.header.stamp = stamp
            _write_pose(entry, frames[name])
        self._tf.publish(message)
