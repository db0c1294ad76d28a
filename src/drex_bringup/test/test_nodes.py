"""Supervisor, lifecycle manager and coordinator over real DDS with stand-ins for their neighbours."""

from __future__ import annotations

import contextlib
import json
import math
import threading
import time

import pytest
import rclpy
from action_msgs.msg import GoalStatus
from control_msgs.action import FollowJointTrajectory
from geometry_msgs.msg import WrenchStamped
from rclpy.action import ActionClient, ActionServer, CancelResponse
from rclpy.callback_groups import ReentrantCallbackGroup
from rclpy.executors import MultiThreadedExecutor
from rclpy.impl.implementation_singleton import rclpy_implementation
from rclpy.node import Node
from sensor_msgs.msg import JointState
from std_msgs.msg import Bool, String
from std_srvs.srv import Trigger
from ur_dashboard_msgs.msg import RobotMode, SafetyMode

from drex_bringup.nodes.coordinator import Coordinator
from drex_bringup.nodes.lifecycle_manager import LifecycleManager
from drex_bringup.nodes.supervisor import Supervisor
from drex_msgs.action import Grasp, IdentifyAndGrasp, IdentifyObject
from drex_msgs.msg import LoadedObject, MassEstimate, SafetyStatus, TrackedObject
from drex_msgs.srv import LoadObject
from drex_sim.errors import CancelledError, ConfigError, GraspError, PushError
from drex_sim.nodes.support import (
    LATCHED,
    RELIABLE,
    SENSOR_PUBLISHER,
    ActionRunner,
    DrexNode,
    call_service,
    run_action_goal,
    wait_for,
)

IO = "/io_and_status_controller/"


class Graph:
    """Nodes on one executor in one thread."""

    def __init__(self) -> None:
        self.executor = MultiThreadedExecutor(num_threads=10)
        self.nodes: list[Node] = []
        self.thread = threading.Thread(target=self.spin, daemon=True)

    def spin(self) -> None:
        # Shutting an executor down while it takes work is reported as an invalid handle.
        with contextlib.suppress(rclpy_implementation.InvalidHandle):
            self.executor.spin()

    def add(self, node: Node) -> Node:
        self.nodes.append(node)
        self.executor.add_node(node)
        if not self.thread.is_alive():
            self.thread.start()
        return node

    def close(self) -> None:
        self.executor.shutdown(timeout_sec=2.0)
        for node in self.nodes:
            node.destroy_node()


@pytest.fixture
def graph(monkeypatch):
    monkeypatch.setenv("ROS_DOMAIN_ID", "46")
    monkeypatch.setenv("ROS_AUTOMATIC_DISCOVERY_RANGE", "LOCALHOST")
    rclpy.init()
    graph = Graph()
    yield graph
    graph.close()
    rclpy.shutdown()


def activate(node: DrexNode) -> None:
    assert node.trigger_configure().name == "SUCCESS"
    assert node.trigger_activate().name == "SUCCESS"


class FakeRobot(Node):
    """Publishes what a driver does and runs trajectories until they are cancelled."""

    def __init__(self) -> None:
        super().__init__("robot")
        group = ReentrantCallbackGroup()
        self.silent, self.force, self.cancelled = False, 0.0, threading.Event()
        self.joints = self.create_publisher(JointState, "/joint_states", SENSOR_PUBLISHER)
        self.hand = self.create_publisher(JointState, "/allegro/joint_states", SENSOR_PUBLISHER)
        self.wrench = self.create_publisher(WrenchStamped, "/force_torque_sensor_broadcaster/wrench", SENSOR_PUBLISHER)
        self.tracked = self.create_publisher(TrackedObject, "tracked_object", SENSOR_PUBLISHER)
        self.mode = self.create_publisher(RobotMode, f"{IO}robot_mode", LATCHED)
        self.safety = self.create_publisher(SafetyMode, f"{IO}safety_mode", LATCHED)
        self.program = self.create_publisher(Bool, f"{IO}robot_program_running", LATCHED)
        self.mode.publish(RobotMode(mode=7))
        self.safety.publish(SafetyMode(mode=1))
        self.program.publish(Bool(data=True))
        self.create_timer(0.02, self.publish, callback_group=group)
        self.server = ActionServer(
            self, FollowJointTrajectory, "/scaled_joint_trajectory_controller/follow_joint_trajectory", self.run,
            cancel_callback=lambda _: CancelResponse.ACCEPT, callback_group=group,
        )

    def publish(self) -> None:
        if not self.silent:
            self.joints.publish(JointState(name=["elbow_joint"], position=[0.0]))
        self.hand.publish(JointState())
        message = WrenchStamped()
        message.wrench.force.z = self.force
        self.wrench.publish(message)
        self.tracked.publish(TrackedObject(state=TrackedObject.INITIALIZING))

    def run(self, handle):
        while not handle.is_cancel_requested:
            time.sleep(0.01)
        self.cancelled.set()
        handle.canceled()
        return FollowJointTrajectory.Result()


def moving_robot(graph):
    """A supervised robot in mid-motion, and the list of safety states."""
    robot, peer = graph.add(FakeRobot()), graph.add(Node("peer"))
    supervisor = graph.add(Supervisor())
    activate(supervisor)
    states: list[SafetyStatus] = []
    peer.create_subscription(SafetyStatus, "safety/status", states.append, LATCHED)
    client = ActionClient(peer, FollowJointTrajectory, "/scaled_joint_trajectory_controller/follow_joint_trajectory",
                          callback_group=ReentrantCallbackGroup())
    assert client.wait_for_server(3.0)
    assert wait_for(lambda: bool(states) and supervisor._cancel.service_is_ready(), 3.0)
    time.sleep(0.3)
    client.send_goal_async(FollowJointTrajectory.Goal())
    assert wait_for(lambda: supervisor._seen.moving, 3.0)
    return robot, peer, states


@pytest.mark.parametrize(
    ("trouble", "source"),
    [
        (lambda robot: setattr(robot, "silent", True), "stale:/joint_states"),
        (lambda robot: setattr(robot, "force", 80.0), "force"),
        (lambda robot: setattr(robot, "force", math.nan), "invalid:/force_torque_sensor_broadcaster/wrench"),
        (lambda robot: robot.safety.publish(SafetyMode(mode=3)), "safety_mode"),
    ],
)
def test_trouble_stops_the_motion_within_a_second(graph, trouble, source):
    robot, _, states = moving_robot(graph)
    started = time.monotonic()
    trouble(robot)
    assert robot.cancelled.wait(1.5), "the trajectory was not cancelled"
    assert time.monotonic() - started < 1.2
    assert wait_for(lambda: states[-1].state == SafetyStatus.STOPPED, 1.0)
    assert states[-1].source == source and states[-1].reason


def test_stop_and_reset_services(graph):
    robot, peer, states = moving_robot(graph)
    group = ReentrantCallbackGroup()
    stop = peer.create_client(Trigger, "safety/stop", callback_group=group)
    reset = peer.create_client(Trigger, "safety/reset", callback_group=group)
    assert call_service(stop, Trigger.Request()).success
    assert robot.cancelled.wait(1.0)
    assert wait_for(lambda: states[-1].source == "user", 1.0)
    robot.safety.publish(SafetyMode(mode=3))
    time.sleep(0.2)
    refused = call_service(reset, Trigger.Request())
    assert not refused.success and "PROTECTIVE_STOP" in refused.message
    robot.safety.publish(SafetyMode(mode=1))
    time.sleep(0.2)
    assert call_service(reset, Trigger.Request()).success
    assert wait_for(lambda: states[-1].state == SafetyStatus.OK, 1.0)


def test_lost_heartbeat_stops_even_at_rest(graph):
    peer = graph.add(Node("peer"))
    supervisor = graph.add(Supervisor())
    activate(supervisor)
    beat = peer.create_publisher(String, "heartbeat", RELIABLE)
    states: list[SafetyStatus] = []
    peer.create_subscription(SafetyStatus, "safety/status", states.append, LATCHED)
    assert wait_for(lambda: beat.publish(String(data="/tracker")) or "tracker" in supervisor._beats, 3.0, period=0.1)
    assert wait_for(lambda: states[-1].state == SafetyStatus.STOPPED, supervisor.limits.heartbeat_timeout + 2.0)
    assert states[-1].source == "heartbeat:tracker"


class Broken(DrexNode):
    """Cannot be configured."""

    def setup(self) -> None:
        raise ConfigError("parameter speed is -1; a number above 0 is needed")


def manager_for(graph, nodes):
    manager = LifecycleManager.__new__(LifecycleManager)
    overrides = ["--ros-args", "-p", f"nodes:=[{', '.join(nodes)}]", "-p", "start_timeout:=6.0"]
    rclpy_node_init = Node.__init__

    def init(self, name, **options):
        rclpy_node_init(self, name, cli_args=overrides, **options)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Node, "__init__", init)
        manager.__init__()
    return graph.add(manager)


def test_manager_brings_nodes_up_and_down(graph):
    first, second = graph.add(DrexNode("first")), graph.add(DrexNode("second"))
    manager = manager_for(graph, ["first", "second"])
    assert wait_for(lambda: manager._ready, 10.0), manager._problem
    assert first.active and second.active
    peer = graph.add(Node("peer"))
    client = peer.create_client(Trigger, "lifecycle_manager/is_active", callback_group=ReentrantCallbackGroup())
    assert call_service(client, Trigger.Request()).success
    manager.shut_down()
    assert not first.active and not second.active


def test_manager_names_the_node_and_its_reason(graph):
    good = graph.add(DrexNode("good"))
    graph.add(Broken("broken"))
    manager = manager_for(graph, ["good", "broken"])
    assert manager.failed.wait(15.0)
    assert "broken failed to configure" in manager._problem and "speed is -1" in manager._problem
    assert not good.active


class FakeNeighbours(DrexNode):
    """Twin server, tracker, estimator and grasp server in one."""

    outcome = "good"

    def setup(self) -> None:
        self.loaded = self.create_publisher(LoadedObject, "loaded_object", LATCHED)
        self.tracked = self.create_publisher(TrackedObject, "tracked_object", SENSOR_PUBLISHER)
        self.status = self.create_publisher(SafetyStatus, "safety/status", LATCHED)
        self.create_service(LoadObject, "load_object", self.load, callback_group=self.group)
        self.identify = ActionRunner(self, IdentifyObject, "identify_object", self.run_identify)
        self.grasp = ActionRunner(self, Grasp, "grasp", self.run_grasp)
        self.object_id = ""
        self.create_timer(0.05, self.track, callback_group=self.group)

    def start(self) -> None:
        self.status.publish(SafetyStatus())

    def track(self) -> None:
        state = TrackedObject.LOST if self.outcome == "lost" else TrackedObject.TRACKING
        self.tracked.publish(TrackedObject(object_id=self.object_id, state=state))

    def load(self, request, response):
        if request.object_id == "teapot":
            response.error_code, response.message = request.UNKNOWN_OBJECT, "object 'teapot' is unknown; available: x"
            return response
        self.object_id = request.object_id
        self.loaded.publish(LoadedObject(object_id=request.object_id))
        response.success = True
        return response

    def run_identify(self, context):
        if self.outcome == "slow":
            while not context.cancelled():
                context.feedback(IdentifyObject.Feedback(phase="pushing", mass=math.nan))
                time.sleep(0.02)
            raise CancelledError("cancelled by the user")
        if self.outcome == "no_contact":
            raise PushError("the finger met nothing", "PUSH_FAILED")
        estimate = MassEstimate(object_id=self.object_id, mass=0.7, mass_stddev=0.02, ci95_low=0.66, ci95_high=0.74)
        return IdentifyObject.Result(success=True, estimate=estimate, message="0.7 kg")

    def run_grasp(self, context):
        if self.outcome == "slips":
            raise GraspError("slipped by 30 mm", "SLIPPED")
        return Grasp.Result(success=True, held=True, force_per_side=8.0, slip=0.001, weighed_mass=0.69, message="held")


def coordinated(graph, tmp_path, outcome="good"):
    neighbours = FakeNeighbours("neighbours")
    neighbours.outcome = outcome
    graph.add(neighbours)
    activate(neighbours)
    coordinator = Coordinator()
    coordinator.declare_parameter("run_folder", str(tmp_path))
    coordinator.declare_parameter("track_timeout", 2.0)
    coordinator.declare_parameter("track_hold", 0.2)
    coordinator.declare_parameter("write_report", False)
    graph.add(coordinator)
    activate(coordinator)
    peer = graph.add(Node("peer"))
    return ActionClient(peer, IdentifyAndGrasp, "identify_and_grasp", callback_group=ReentrantCallbackGroup())


def test_job_runs_through(graph, tmp_path):
    client = coordinated(graph, tmp_path)
    phases: list[str] = []
    outcome = run_action_goal(
        client, IdentifyAndGrasp.Goal(object_id="ketchup"), feedback=lambda f: phases.append(f.phase), timeout=20.0
    )
    assert outcome.result.success, outcome.result.message
    assert outcome.result.held and outcome.result.weighed_mass == pytest.approx(0.69)
    assert list(dict.fromkeys(phases)) == ["load", "track", "identify", "grasp", "report"]
    record = json.loads((tmp_path / "result.json").read_text())
    assert record["success"] and record["object_id"] == "ketchup" and record["estimate"]["mass"] == 0.7


@pytest.mark.parametrize(
    ("outcome", "goal", "code", "text"),
    [
        ("no_contact", {}, "IDENTIFY_FAILED", "met nothing"),
        ("slips", {}, "GRASP_FAILED", "slipped by 30 mm"),
        ("lost", {}, "NOT_TRACKED", "LOST"),
        ("good", {"object_id": "teapot"}, "UNKNOWN_OBJECT", "teapot"),
        ("good", {"lift_height": math.nan}, "BAD_GOAL", "lift_height"),
        ("good", {"hold_time": -1.0}, "BAD_GOAL", "hold_time"),
    ],
)
def test_failures_carry_code_and_reason(graph, tmp_path, outcome, goal, code, text):
    client = coordinated(graph, tmp_path, outcome)
    result = run_action_goal(
        client, IdentifyAndGrasp.Goal(**{"object_id": "ketchup", **goal}), timeout=20.0
    ).result
    assert not result.success and result.error_code == getattr(result, code), result.message
    assert text in result.message
    assert json.loads((tmp_path / "result.json").read_text())["error"] == code


def test_cancel_reaches_the_inner_action(graph, tmp_path):
    client = coordinated(graph, tmp_path, "slow")
    started = time.monotonic()
    identifying: list[float] = []

    def feedback(message):
        if message.detail == "pushing" and not identifying:
            identifying.append(time.monotonic())

    outcome = run_action_goal(
        client, IdentifyAndGrasp.Goal(object_id="ketchup"), feedback=feedback, stop=lambda: bool(identifying),
        timeout=20.0,
    )
    assert outcome.status == GoalStatus.STATUS_CANCELED
    assert outcome.result.error_code == outcome.result.CANCELLED
    assert time.monotonic() - identifying[0] < 1.0
    assert started < identifying[0]


def test_missing_node_is_named(graph, tmp_path):
    coordinator = Coordinator()
    coordinator.declare_parameter("run_folder", str(tmp_path))
    coordinator.declare_parameter("ready_timeout", 0.5)
    coordinator.declare_parameter("write_report", False)
    graph.add(coordinator)
    activate(coordinator)
    peer = graph.add(Node("peer"))
    client = ActionClient(peer, IdentifyAndGrasp, "identify_and_grasp", callback_group=ReentrantCallbackGroup())
    result = run_action_goal(client, IdentifyAndGrasp.Goal(object_id="ketchup"), timeout=10.0).result
    assert result.error_code == result.NOT_READY and "twin_server" in result.message
