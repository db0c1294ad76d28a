"""The rig node over real DDS: the drivers' interfaces, stopping, and that the truth stays hidden."""

from __future__ import annotations

import json
import threading
import time

import numpy as np
import pytest
import rclpy
from control_msgs.action import FollowJointTrajectory
from controller_manager_msgs.srv import ListControllers
from geometry_msgs.msg import WrenchStamped
from rcl_interfaces.srv import ListParameters
from rclpy.action import ActionClient
from rclpy.executors import MultiThreadedExecutor
from rclpy.node import Node
from rclpy.parameter import Parameter
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import CameraInfo, Image, JointState
from std_msgs.msg import Float64MultiArray, String
from std_srvs.srv import Trigger
from tf2_msgs.msg import TFMessage
from trajectory_msgs.msg import JointTrajectoryPoint
from ur_dashboard_msgs.msg import RobotMode
from ur_msgs.srv import SetPayload

from drex_msgs.srv import LoadObject, ResetRig
from drex_sim.nodes.rig_node import RigNode
from drex_sim.nodes.ros_robot import RosRobot
from drex_sim.nodes.support import LATCHED, STREAM, DrexNode, call_service, run_action_goal, wait_for
from drex_sim.rig.truth import SEALED
from drex_sim.robot.kinematics import ARM_HOME, HAND_OPEN
from drex_sim.robot.limits import SafetyLimits
from drex_sim.robot.names import ARM_JOINTS, driver_joint_names, select_by_name
from drex_sim.robot.protocols import MotionResult
from drex_sim.robot.realisation import to_driver_order
from drex_sim.robot.trajectory import point_to_point

ACTION = "/scaled_joint_trajectory_controller/follow_joint_trajectory"


class Graph:
    """The rig node and a peer that listens."""

    def __init__(self, folder, **parameters):
        values = {
            "object_id": "lego",
            "camera_rate": 15.0,
            "seed": 3,
            "run_folder": str(folder),
            **parameters,
        }
        self.rig = RigNode(parameter_overrides=[Parameter(k, value=v) for k, v in values.items()])
        self.peer = Node("peer")
        self.last: dict[str, object] = {}
        self.count: dict[str, int] = {}
        self.executor = MultiThreadedExecutor(num_threads=6)
        self.executor.add_node(self.rig)
        self.executor.add_node(self.peer)
        self.thread = threading.Thread(target=self.executor.spin, daemon=True)
        self.thread.start()

    def activate(self):
        assert self.rig.trigger_configure().name == "SUCCESS"
        assert self.rig.trigger_activate().name == "SUCCESS"

    def listen(self, kind, topic, qos=STREAM):
        def store(message):
            self.last[topic] = message
            self.count[topic] = self.count.get(topic, 0) + 1

        self.rig.streams.add(topic, kind, store, qos=qos)

    def hear(self, topic, timeout=5.0):
        assert wait_for(lambda: topic in self.last, timeout), f"nothing on {topic}"
        return self.last[topic]

    def close(self):
        self.executor.shutdown(timeout_sec=2.0)
        self.thread.join(timeout=3.0)
        self.rig.destroy_node()
        self.peer.destroy_node()


@pytest.fixture
def make(monkeypatch, tmp_path):
    monkeypatch.setenv("ROS_DOMAIN_ID", "42")
    monkeypatch.setenv("MUJOCO_GL", "egl")
    rclpy.init()
    graphs = []

    def build(**parameters):
        graphs.append(Graph(tmp_path, **parameters))
        return graphs[-1]

    yield build
    for graph in graphs:
        graph.close()
    rclpy.shutdown()


def goal(target, duration):
    message = FollowJointTrajectory.Goal()
    message.trajectory.joint_names = list(reversed(ARM_JOINTS))
    point = JointTrajectoryPoint(positions=list(reversed(np.asarray(target).tolist())), velocities=[0.0] * 6)
    point.time_from_start.sec, point.time_from_start.nanosec = divmod(int(duration * 1e9), 10**9)
    message.trajectory.points = [point]
    return message


def test_streams_camera_and_status(make):
    graph = make()
    graph.activate()
    for kind, topic in (
        (JointState, "/joint_states"),
        (WrenchStamped, "/force_torque_sensor_broadcaster/wrench"),
        (JointState, "/allegro/joint_states"),
        (Clock, "/clock"),
        (TFMessage, "/tf"),
        (Image, "/camera/camera/color/image_raw"),
        (Image, "/camera/camera/aligned_depth_to_color/image_raw"),
        (CameraInfo, "/camera/camera/aligned_depth_to_color/camera_info"),
    ):
        graph.listen(kind, topic)
    for kind, topic in (
        (String, "/robot_description"),
        (TFMessage, "/tf_static"),
        (RobotMode, "/io_and_status_controller/robot_mode"),
    ):
        graph.listen(kind, topic, LATCHED)
    arm = graph.hear("/joint_states")
    assert np.allclose(select_by_name(arm.name, arm.position, ARM_JOINTS, "arm"), ARM_HOME, atol=1e-2)
    assert graph.hear("/force_torque_sensor_broadcaster/wrench").header.frame_id == "tool0_controller"
    assert set(graph.hear("/allegro/joint_states").name) == set(driver_joint_names("ros2_control"))
    depth = graph.hear("/camera/camera/aligned_depth_to_color/image_raw")
    assert depth.encoding == "16UC1" and len(depth.data) == 640 * 480 * 2
    millimetres = np.frombuffer(depth.data, np.uint16).reshape(480, 640)
    assert 500 < np.median(millimetres[200:400, 250:400]) < 1000
    assert graph.hear("/camera/camera/color/image_raw").encoding == "rgb8"
    assert graph.hear("/camera/camera/aligned_depth_to_color/camera_info").k[0] == pytest.approx(609, abs=1)
    assert graph.hear("/io_and_status_controller/robot_mode").mode == RobotMode.RUNNING
    assert 'joint name="shoulder_pan_joint" type="revolute"' in graph.hear("/robot_description").data
    frames = {t.child_frame_id for t in [*graph.hear("/tf").transforms, *graph.hear("/tf_static").transforms]}
    assert {"tool0", "tool0_controller", "palm", "camera_color_optical_frame", "index_tip"} <= frames
    assert not any("object" in frame for frame in frames)
    counted, started = dict(graph.count), time.monotonic()
    time.sleep(2.0)
    elapsed = time.monotonic() - started
    rates = {topic: (graph.count[topic] - counted[topic]) / elapsed for topic in counted}
    share = graph.rig._loop.factor
    assert rates["/joint_states"] > 0.9 * 500 * min(share, 1.0)
    assert 0.8 * 100 * min(share, 1.0) < rates["/clock"] < 110
    names = call_service(
        graph.peer.create_client(ListControllers, "/controller_manager/list_controllers"),
        ListControllers.Request(),
    )
    assert "scaled_joint_trajectory_controller" in {c.name for c in names.controller if c.state == "active"}


def test_trajectory_cancel_and_bad_goals(make):
    graph = make(camera_rate=0.0)
    graph.activate()
    speeds: list[tuple[float, float]] = []
    graph.rig.streams.add(
        "/joint_states",
        JointState,
        lambda m: speeds.append((time.monotonic(), max(abs(v) for v in m.velocity))),
    )
    client = ActionClient(graph.peer, FollowJointTrajectory, ACTION)
    target = ARM_HOME + 0.1
    assert run_action_goal(client, goal(target, 1.0)).succeeded
    assert np.abs(graph.rig._loop.rig.sample.arm_position - target).max() < 2e-3
    started = time.monotonic()
    asked: list[float] = []

    def stop():
        if time.monotonic() - started > 0.5:
            asked.append(time.monotonic())
            return True
        return False

    outcome = run_action_goal(client, goal(ARM_HOME - 0.6, 2.0), stop=stop)
    assert outcome.cancel_requested and not outcome.succeeded
    time.sleep(0.3)
    late = [speed for at, speed in speeds if at > asked[0] + 0.35]
    assert late and max(late) < 0.02
    bad = goal(ARM_HOME, 1.0)
    bad.trajectory.points[0].positions[0] = float("nan")
    with pytest.raises(Exception, match="rejected"):
        run_action_goal(client, bad)


def test_zero_payload_hand_reset_and_load(make):
    graph = make(camera_rate=0.0, realism="ideal")
    graph.activate()
    graph.listen(WrenchStamped, "/force_torque_sensor_broadcaster/wrench")
    graph.listen(JointState, "/allegro/joint_states")
    payload = graph.peer.create_client(SetPayload, "/io_and_status_controller/set_payload")
    request = SetPayload.Request(mass=0.0)
    assert call_service(payload, request).success
    time.sleep(0.4)
    force = graph.hear("/force_torque_sensor_broadcaster/wrench").wrench.force
    assert np.linalg.norm([force.x, force.y, force.z]) == pytest.approx(0.644 * 9.81, abs=0.05)
    assert call_service(
        graph.peer.create_client(Trigger, "/io_and_status_controller/zero_ftsensor"), Trigger.Request()
    ).success
    time.sleep(0.2)
    force = graph.hear("/force_torque_sensor_broadcaster/wrench").wrench.force
    assert np.linalg.norm([force.x, force.y, force.z]) < 0.05
    assert not call_service(payload, SetPayload.Request(mass=float("nan"))).success

    publisher = graph.peer.create_publisher(
        Float64MultiArray, "/allegro/allegro_hand_position_controller/commands", 1
    )
    assert wait_for(lambda: publisher.get_subscription_count() > 0, 3.0)
    target = HAND_OPEN + 0.2
    publisher.publish(Float64MultiArray(data=to_driver_order("ros2_control", target).tolist()))
    time.sleep(1.0)
    state = graph.hear("/allegro/joint_states")
    found = select_by_name(state.name, state.position, driver_joint_names("ros2_control"), "hand")
    assert np.abs(found - target).max() < 0.02

    load = graph.peer.create_client(LoadObject, "sim/load")
    answer = call_service(load, LoadObject.Request(object_id="domino"), timeout=20.0)
    assert answer.success and answer.loaded.object_id == "domino" and answer.loaded.twin_hash
    answer = call_service(load, LoadObject.Request(object_id="teapot"))
    assert answer.error_code == LoadObject.Request.UNKNOWN_OBJECT and "domino" in answer.message
    reset = graph.peer.create_client(ResetRig, "sim/reset")
    answer = call_service(reset, ResetRig.Request(seed=8, keep_realisation=False), timeout=20.0)
    assert answer.success
    assert (
        call_service(reset, ResetRig.Request(seed=-1, realism="dream")).error_code
        == ResetRig.Request.BAD_REQUEST
    )


class User(DrexNode):
    """A node that uses the robot as the procedures do."""

    def setup(self) -> None:
        self.robot = RosRobot(self, SafetyLimits())

    def teardown(self) -> None:
        self.robot.close()


def test_ros_robot_moves_the_simulated_rig(make):
    graph = make(camera_rate=0.0, realism="lab")
    graph.activate()
    user = User("user", parameter_overrides=[Parameter("use_sim_time", value=True)])
    graph.executor.add_node(user)
    try:
        assert user.trigger_configure().name == "SUCCESS"
        robot = user.robot
        assert wait_for(lambda: robot.streams.silent() is None, 5.0)
        robot.zero_force()
        robot.sleep(0.2)
        assert np.linalg.norm(robot.state().force) < 0.5
        with robot.record() as recording:
            result = robot.arm.execute(point_to_point(robot.state().arm_position, ARM_HOME + 0.05, 0.4))
        assert result is MotionResult.REACHED
        assert np.abs(robot.state().arm_position - ARM_HOME - 0.05).max() < 3e-3
        blocks = recording.blocks()
        stamps = blocks.arm_stamps
        assert np.diff(stamps).max() < 0.0021 and len(blocks.wrenches) >= 0.98 * len(stamps)
        start = robot.state().arm_position
        guarded = robot.arm.execute(
            point_to_point(start, ARM_HOME - 0.2, 0.3), guard=lambda s: np.abs(s.arm_velocity).max() > 0.1
        )
        assert guarded is MotionResult.GUARDED and np.abs(robot.state().arm_velocity).max() < 0.02
        robot.set_payload(0.3, np.array([0.0, 0.0, 0.15]))
        robot.sleep(0.3)
        assert np.linalg.norm(robot.state().force) == pytest.approx(0.3 * 9.81, abs=0.4)
    finally:
        graph.executor.remove_node(user)
        user.destroy_node()


def test_a_second_simulator_refuses_to_start(make):
    graph = make(camera_rate=0.0)
    publisher = graph.peer.create_publisher(JointState, "/joint_states", 1)
    assert graph.rig.trigger_configure().name == "FAILURE"
    graph.peer.destroy_publisher(publisher)


def test_no_topic_or_parameter_carries_the_mass(make, tmp_path):
    graph = make(camera_rate=0.0, object_id="ketchup")
    graph.activate()
    mass = json.loads((tmp_path / SEALED).read_text())["mass"]
    listed = call_service(
        graph.peer.create_client(ListParameters, "/rig/list_parameters"), ListParameters.Request()
    )
    assert not any("mass" in name for name in listed.result.names)
    for name in listed.result.names:
        assert f"{mass:.3f}" not in str(graph.rig.get_parameter(name).value)
    description = robot_text(graph)
    assert "object" not in description and f"{mass:.4f}" not in description
    topics = {name for name, _ in graph.peer.get_topic_names_and_types()}
    assert not any("mass" in name or "truth" in name for name in topics)


def robot_text(graph):
    graph.listen(String, "/robot_description", LATCHED)
    return graph.hear("/robot_description").data
