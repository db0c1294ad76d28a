"""The two nodes over real DDS: services, actions, files, replay, and a cancel in mid-push on the simulated rig."""

from __future__ import annotations

import json
import threading
import time

import numpy as np
import pytest
import rclpy
from action_msgs.msg import GoalStatus
from builtin_interfaces.msg import Time
from mcap.writer import Writer
from rclpy.action import ActionClient
from rclpy.executors import MultiThreadedExecutor
from rclpy.node import Node
from rclpy.parameter import Parameter
from rclpy.serialization import serialize_message
from std_msgs.msg import Float64MultiArray

from drex_identification.conversions import trial_to_msg
from drex_identification.nodes.mass_estimator import MassEstimator
from drex_identification.nodes.push_executor import PushExecutor
from drex_msgs.action import Calibrate, ExecutePush, IdentifyObject
from drex_msgs.msg import HandCommand, MassEstimate, PushTrial, TrackedObject
from drex_msgs.srv import DeleteTrials, IdentifyMass, ListTrials
from drex_sim.errors import PushError
from drex_sim.nodes.rig_node import RigNode
from drex_sim.nodes.support import (
    LATCHED,
    RELIABLE,
    SENSOR_PUBLISHER,
    TRIALS,
    ActionRunner,
    DrexNode,
    call_service,
    run_action_goal,
    wait_for,
)
from drex_sim.robot.names import HAND_JOINTS
from drex_sim.robot.realisation import to_driver_order
from drex_sim.transforms import to_xyzw


class Graph:
    """Nodes spun together, with a peer that calls and listens."""

    def __init__(self) -> None:
        self.nodes: list[Node] = []
        self.peer = Node("peer")
        self.executor = MultiThreadedExecutor(num_threads=10)
        self.executor.add_node(self.peer)
        self.thread = threading.Thread(target=self.executor.spin, daemon=True)
        self.thread.start()

    def start(self, node: DrexNode) -> DrexNode:
        self.nodes.append(node)
        self.executor.add_node(node)
        assert node.trigger_configure().name == "SUCCESS"
        assert node.trigger_activate().name == "SUCCESS"
        return node

    def call(self, kind, name, **fields):
        client = self.peer.create_client(kind, name)
        return call_service(client, kind.Request(**fields), timeout=20.0)

    def close(self) -> None:
        for node in self.nodes:
            node.halt()
        self.executor.shutdown(timeout_sec=2.0)
        self.thread.join(timeout=3.0)
        for node in [*self.nodes, self.peer]:
            node.destroy_node()


class RecordedExecutor(DrexNode):
    """Answers execute_push with recorded trials."""

    def __init__(self, trials) -> None:
        super().__init__("push_executor")
        self.trials, self.asked, self.slow = list(trials), [], False

    def setup(self) -> None:
        self.publisher = self.create_publisher(PushTrial, "push_trial", TRIALS)
        self.runner = ActionRunner(self, ExecutePush, "execute_push", self.push)

    def push(self, context) -> ExecutePush.Result:
        self.asked.append(context.goal.repetitions)
        while self.slow and not context.cancelled():
            time.sleep(0.01)
        if context.cancelled():
            raise PushError("cancelled by the user", "CANCELLED")
        given = [self.trials.pop(0) for _ in range(min(context.goal.repetitions, len(self.trials)))]
        if not given:
            raise PushError("the object slid", "OBJECT_SLID")
        for trial in given:
            self.publisher.publish(trial_to_msg(trial))
        return ExecutePush.Result(success=True, trial_ids=[t.trial_id for t in given], message="done")


@pytest.fixture
def graph(monkeypatch):
    monkeypatch.setenv("ROS_DOMAIN_ID", "44")
    rclpy.init()
    made = Graph()
    yield made
    made.close()
    rclpy.shutdown()


def estimator(folder, **parameters) -> MassEstimator:
    values = {"run_folder": str(folder), "object_id": "letter_a", "calibration_id": "rig-1", **parameters}
    return MassEstimator(parameter_overrides=[Parameter(k, value=v) for k, v in values.items()])


def test_identify_object_and_services(graph, pushed, tmp_path):
    trials, _, mass, _ = pushed
    node = graph.start(estimator(tmp_path))
    executor = graph.start(RecordedExecutor(trials))
    latched: list[MassEstimate] = []
    client = ActionClient(graph.peer, IdentifyObject, "identify_object")
    phases: list[str] = []
    done = run_action_goal(
        client, IdentifyObject.Goal(relative_sigma=0.2), feedback=lambda f: phases.append(f.phase), timeout=30.0
    )
    assert done.succeeded, done.result.message
    assert abs(done.result.estimate.mass - mass) < 0.1 * mass
    assert executor.asked == [2] and "estimating" in phases
    record = json.loads((tmp_path / "estimate.json").read_text())
    assert record["mass"] == done.result.estimate.mass and record["calibration_id"] == "rig-1"
    assert {p.stem for p in (tmp_path / "trials").glob("*.npz")} == {t.trial_id for t in trials}
    graph.peer.create_subscription(MassEstimate, "mass_estimate", latched.append, LATCHED)
    assert wait_for(lambda: latched, 5.0)

    listed = graph.call(ListTrials, "list_trials")
    assert list(listed.trial_ids) == [t.trial_id for t in trials] and list(listed.outcomes) == ["complete"] * 2
    again = graph.call(IdentifyMass, "identify_mass", method="auto")
    assert again.success and again.estimate.mass == pytest.approx(done.result.estimate.mass, rel=1e-6)
    wide = graph.call(IdentifyMass, "identify_mass", parameter_names=["force_scale_sigma"], parameter_values=[0.12])
    assert wide.estimate.mass_stddev > 2 * again.estimate.mass_stddev

    refused = run_action_goal(ActionClient(graph.peer, Calibrate, "calibrate"), Calibrate.Goal())
    assert refused.result.error_code == Calibrate.Result.NOT_SUPPORTED
    deleted = graph.call(DeleteTrials, "delete_trials", trial_ids=[trials[0].trial_id])
    assert deleted.deleted == 1 and len(node.store.list()) == 1
    unknown = graph.call(DeleteTrials, "delete_trials", trial_ids=["nope"])
    assert unknown.error_code == DeleteTrials.Request.UNKNOWN_TRIAL and "nope" in unknown.message


def test_identify_mass_refusals_have_codes(graph, pushed, tmp_path):
    graph.start(estimator(tmp_path))
    codes = IdentifyMass.Request
    cases = [
        ({"method": "magic"}, codes.UNKNOWN_METHOD, "available: auto, tip"),
        ({"object_id": "spoon"}, codes.UNKNOWN_OBJECT, "letter_a"),
        ({}, codes.NO_TRIALS, "push it first"),
        ({"trial_ids": ["x"]}, codes.BAD_TRIAL, "not known"),
        ({"parameter_names": ["x"], "parameter_values": [1.0]}, codes.BAD_PARAMETER, "force_drift"),
        ({"bag_uri": str(tmp_path / "none.mcap")}, codes.BAD_TRIAL, "no such"),
    ]
    for fields, code, text in cases:
        answer = graph.call(IdentifyMass, "identify_mass", **fields)
        assert (answer.error_code, answer.success) == (code, False), answer.message
        assert text in answer.message
        assert np.isnan(answer.estimate.mass)


def test_replay_of_a_bag(graph, pushed, tmp_path):
    trials, _, mass, _ = pushed
    bag = tmp_path / "bag" / "bag_0.mcap"
    bag.parent.mkdir()
    with bag.open("wb") as stream:
        writer = Writer(stream)
        writer.start()
        schema = writer.register_schema("drex_msgs/msg/PushTrial", "ros2msg", b"")
        channel = writer.register_channel("/push_trial", "cdr", schema)
        for i, trial in enumerate(trials):
            writer.add_message(channel, i, serialize_message(trial_to_msg(trial)), i)
        writer.finish()
    graph.start(estimator(tmp_path / "run"))
    answer = graph.call(IdentifyMass, "identify_mass", bag_uri=str(bag.parent))
    assert answer.success and abs(answer.estimate.mass - mass) < 0.1 * mass
    data = bag.read_bytes()
    bag.write_bytes(data[: len(data) // 2])
    damaged = graph.call(IdentifyMass, "identify_mass", bag_uri=str(bag))
    assert damaged.error_code == IdentifyMass.Request.BAD_TRIAL and "damaged" in damaged.message


def test_identify_object_failure_and_cancel(graph, tmp_path):
    graph.start(estimator(tmp_path))
    executor = graph.start(RecordedExecutor([]))
    client = ActionClient(graph.peer, IdentifyObject, "identify_object")
    failed = run_action_goal(client, IdentifyObject.Goal())
    assert failed.result.error_code == IdentifyObject.Result.PUSH_FAILED and "slid" in failed.result.message
    bad = run_action_goal(client, IdentifyObject.Goal(relative_sigma=3.0))
    assert bad.result.error_code == IdentifyObject.Result.BAD_GOAL
    executor.slow = True
    started = time.monotonic()
    cancelled = run_action_goal(client, IdentifyObject.Goal(), stop=lambda: time.monotonic() > started + 0.5)
    assert cancelled.status == GoalStatus.STATUS_CANCELED
    assert time.monotonic() - started < 1.5


class Bench(DrexNode):
    """Stands in for tracker and hand node beside the simulated rig: poses of the object, hand commands passed on."""

    def __init__(self, rig: RigNode) -> None:
        super().__init__("bench")
        self.rig, self.silent = rig, False

    def setup(self) -> None:
        self.poses = self.create_publisher(TrackedObject, "tracked_object", SENSOR_PUBLISHER)
        self.driver = self.create_publisher(
            Float64MultiArray, "/allegro/allegro_hand_position_controller/commands", RELIABLE
        )
        self.create_subscription(HandCommand, "hand_command", self._on_hand, RELIABLE, callback_group=self.group)
        self.create_timer(0.07, self._publish, callback_group=self.group)

    def _on_hand(self, message: HandCommand) -> None:
        order = [list(message.joint_names).index(name) for name in HAND_JOINTS]
        values = to_driver_order("ros2_control", np.asarray(message.positions)[order])
        self.driver.publish(Float64MultiArray(data=values.tolist()))

    def _publish(self) -> None:
        if self.silent:
            return
        rig = self.rig._loop.rig
        position, q = to_xyzw(rig.object_pose())
        message = TrackedObject(object_id="letter_a", confidence=1.0, state=TrackedObject.TRACKING)
        message.header.stamp = Time(sec=int(rig.time), nanosec=int(rig.time % 1 * 1e9))
        pose = message.pose.pose
        pose.position.x, pose.position.y, pose.position.z = map(float, position)
        pose.orientation.x, pose.orientation.y, pose.orientation.z, pose.orientation.w = map(float, q)
        self.poses.publish(message)


def test_cancel_in_mid_push_over_dds(graph, tmp_path):
    sim = Parameter("use_sim_time", value=True)
    rig = graph.start(RigNode(parameter_overrides=[
        Parameter(k, value=v) for k, v in {"object_id": "letter_a", "camera_rate": 0.0, "realism": "ideal"}.items()
    ]))
    bench = graph.start(Bench(rig))
    graph.start(PushExecutor(parameter_overrides=[sim, Parameter("object_id", value="letter_a")]))
    client = ActionClient(graph.peer, ExecutePush, "execute_push")
    unsupported = run_action_goal(client, ExecutePush.Goal(push_type=ExecutePush.Goal.TOPPLE))
    assert unsupported.result.error_code == ExecutePush.Result.NOT_SUPPORTED
    unknown = run_action_goal(client, ExecutePush.Goal(object_id="spoon"))
    assert unknown.result.error_code == ExecutePush.Result.UNKNOWN_OBJECT

    phases: list[str] = []
    asked: list[float] = []

    def stop() -> bool:
        if "lean" in phases and not asked:
            asked.append(time.monotonic())
        return bool(asked)

    outcome = run_action_goal(
        client, ExecutePush.Goal(auto_contact=True), feedback=lambda f: phases.append(f.phase), stop=stop, timeout=60.0
    )
    assert asked, f"never leaned: {outcome.result.message}"
    assert time.monotonic() - asked[0] < 1.0
    assert outcome.status == GoalStatus.STATUS_CANCELED
    assert outcome.result.error_code == ExecutePush.Result.CANCELLED
    assert wait_for(lambda: np.abs(rig._loop.rig.sample.arm_velocity).max() < 0.01, 0.5)

    bench.silent = True
    time.sleep(1.0)
    blind = run_action_goal(client, ExecutePush.Goal(auto_contact=True), timeout=30.0)
    assert blind.result.error_code == ExecutePush.Result.NOT_TRACKED and "camera" in blind.result.message
