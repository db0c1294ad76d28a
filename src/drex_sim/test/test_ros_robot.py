"""RosRobot against the rig node over real DDS: motion, guard, cancel, stop, silence, payload."""

from __future__ import annotations

import threading
import time
from types import SimpleNamespace

import numpy as np
import pytest
import rclpy
from rclpy.executors import MultiThreadedExecutor
from rclpy.node import Node
from rclpy.parameter import Parameter

from drex_msgs.msg import HandCommand, SafetyStatus, TrackedObject
from drex_sim.errors import (
    CancelledError,
    InvalidDataError,
    LimitError,
    MotionError,
    MotionStoppedError,
    NotTrackedError,
    StaleDataError,
)
from drex_sim.nodes.rig_node import RigNode
from drex_sim.nodes.ros_robot import RosRobot, RosRobotConfig
from drex_sim.nodes.support import LATCHED, RELIABLE, SENSOR_PUBLISHER, DrexNode, wait_for
from drex_sim.robot.kinematics import ARM_HOME, HAND_OPEN
from drex_sim.robot.limits import SafetyLimits
from drex_sim.robot.names import HAND_JOINTS
from drex_sim.robot.protocols import MotionResult
from drex_sim.robot.trajectory import point_to_point

FAR = ARM_HOME + np.array([0.5, 0.0, 0.0, 0.0, 0.0, 0.0])


@pytest.fixture
def world(monkeypatch):
    monkeypatch.setenv("ROS_DOMAIN_ID", "49")
    rclpy.init()
    rig = RigNode(parameter_overrides=[Parameter("camera_rate", value=0.0), Parameter("object_id", value="lego")])
    user = DrexNode("user", parameter_overrides=[Parameter("use_sim_time", value=True)])
    peer = Node("peer")
    executor = MultiThreadedExecutor(num_threads=8)
    for node in (rig, user, peer):
        executor.add_node(node)
    thread = threading.Thread(target=executor.spin)
    thread.start()
    assert rig.trigger_configure().name == "SUCCESS"
    assert rig.trigger_activate().name == "SUCCESS"
    robot = RosRobot(user, SafetyLimits())
    assert wait_for(lambda: robot.streams.silent() is None, 5.0), robot.streams.silent()
    yield SimpleNamespace(rig=rig, user=user, peer=peer, robot=robot)
    robot.close()
    executor.shutdown(timeout_sec=2.0)
    thread.join(timeout=3.0)
    for node in (user, rig, peer):
        node.destroy_node()
    rclpy.shutdown()


def test_motion_guard_cancel_and_stop(world):
    robot = world.robot
    start = robot.state().arm_position
    assert np.allclose(start, ARM_HOME, atol=0.01)
    assert robot.execute(point_to_point(start, FAR, 0.8)) is MotionResult.REACHED
    assert np.allclose(robot.state().arm_position, FAR, atol=0.01)
    # The guard ends a motion early, and the arm rests.
    back = point_to_point(robot.state().arm_position, ARM_HOME, 0.4)
    assert robot.execute(back, guard=lambda s: s.arm_position[0] < FAR[0] - 0.1) is MotionResult.GUARDED
    assert np.abs(robot.state().arm_velocity).max() < 0.02
    assert robot.state().arm_position[0] > ARM_HOME[0] + 0.1
    # Cancelling stops within a second.
    cancel = threading.Event()
    threading.Timer(0.4, cancel.set).start()
    with robot.session(cancel.is_set), pytest.raises(CancelledError):
        robot.execute(point_to_point(robot.state().arm_position, FAR + 0.2, 0.2))
    assert wait_for(lambda: np.abs(robot.state().arm_velocity).max() < 0.02, 1.0)
    # The supervisor's stop ends a motion and refuses the next.
    publisher = world.peer.create_publisher(SafetyStatus, "safety/status", LATCHED)
    stop = SafetyStatus(state=SafetyStatus.STOPPED, reason="test", source="user")
    threading.Timer(0.4, lambda: publisher.publish(stop)).start()
    with pytest.raises(MotionStoppedError, match="test"):
        robot.execute(point_to_point(robot.state().arm_position, ARM_HOME, 0.1))
    with pytest.raises(MotionStoppedError):
        robot.command(HAND_OPEN)


def test_refusals_before_anything_moves(world):
    robot = world.robot
    start = robot.state().arm_position
    with pytest.raises(MotionError, match="starts"):
        robot.execute(point_to_point(FAR, ARM_HOME, 0.5))
    with pytest.raises(LimitError):
        robot.execute(point_to_point(start, start + [0, 1.5, 0, 0, 0, 0], 1.0))
    absent = RosRobot(world.user, SafetyLimits(), RosRobotConfig(arm_controller="no_such_controller"))
    assert wait_for(lambda: absent.streams.silent() is None, 5.0)
    begun = time.monotonic()
    with pytest.raises(MotionError, match="no_such_controller"):
        absent.execute(point_to_point(start, FAR, 0.5))
    assert time.monotonic() - begun < 12.0
    assert np.allclose(robot.state().arm_position, start, atol=0.005)
    with pytest.raises(InvalidDataError, match="NaN"):
        robot.command(np.full(16, np.nan))


def test_zero_payload_and_recording(world):
    robot = world.robot
    robot.zero_force()
    with robot.record() as recording:
        robot.sleep(0.5)
        blocks = recording.blocks()
    assert len(blocks.arm_stamps) > 200 and len(blocks.wrench_stamps) > 200 and len(blocks.hand_stamps) > 30
    assert np.abs(blocks.wrenches[:, :3].mean(axis=0)).max() < 0.1
    assert (np.diff(blocks.arm_stamps) > 0).all()
    robot.set_payload(0.2, np.zeros(3))
    robot.sleep(0.3)
    # The sensor now takes off 0.2 kg that is not there: it seems to be pulled up, which is -z of a tool looking down.
    assert abs(robot.state().force[2] + 0.2 * 9.81) < 0.3


def test_hand_command_is_named_and_clamped(world):
    received: list[HandCommand] = []
    world.peer.create_subscription(HandCommand, "hand_command", received.append, RELIABLE)
    assert wait_for(lambda: world.robot._hand_publisher.get_subscription_count() > 0, 3.0)
    world.robot.command(HAND_OPEN + 5.0, np.full(16, 9.0), 3.0)
    assert wait_for(lambda: bool(received), 2.0)
    assert list(received[0].joint_names) == list(HAND_JOINTS)
    assert max(received[0].efforts) <= 0.7 and max(received[0].positions) < 1.8


def test_tracked_pose_must_be_fresh_and_tracking(world):
    robot = world.robot
    with pytest.raises(NotTrackedError, match="nothing arrived"):
        robot.tracked()
    publisher = world.peer.create_publisher(TrackedObject, "tracked_object", SENSOR_PUBLISHER)
    message = TrackedObject(object_id="lego", state=TrackedObject.TRACKING, confidence=0.9)
    message.pose.pose.position.x = 0.5
    message.pose.pose.orientation.w = 1.0

    def publish(age: float = 0.0, **changes) -> None:
        message.header.stamp.sec, message.header.stamp.nanosec = divmod(int((robot.time() - age) * 1e9), 10**9)
        for name, value in changes.items():
            setattr(message, name, value)
        publisher.publish(message)
        time.sleep(0.1)

    assert wait_for(lambda: publish() or robot.streams.tracked() is not None, 3.0)
    assert robot.tracked().base_T_object[0, 3] == 0.5
    publish(age=2.0)
    with pytest.raises(NotTrackedError, match="old"):
        robot.tracked()
    publish(state=TrackedObject.LOST)
    with pytest.raises(NotTrackedError, match="LOST"):
        robot.tracked()
    # A NaN pose is dropped, and never acted on.
    message.pose.pose.position.x = float("nan")
    publish(state=TrackedObject.TRACKING)
    with pytest.raises(NotTrackedError):
        robot.tracked()


def test_silent_rig_stops_everything(world):
    robot = world.robot
    assert world.rig.trigger_deactivate().name == "SUCCESS"
    time.sleep(0.8)
    with pytest.raises(StaleDataError, match="silent"):
        robot.state()
