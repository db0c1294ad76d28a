"""hand_node and grasp_server over real DDS."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable

import numpy as np
import pytest
import rclpy
from rclpy.action import ActionClient
from rclpy.executors import MultiThreadedExecutor
from rclpy.node import Node
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray

from drex_msgs.action import Grasp
from drex_msgs.msg import HandCommand, MassEstimate, SafetyStatus
from drex_policy.control.result import GraspResult
from drex_policy.nodes.grasp_server import GraspServer, to_result
from drex_policy.nodes.hand_node import HandNode
from drex_sim.nodes.support import LATCHED, RELIABLE, DrexNode, run_action_goal, wait_for
from drex_sim.robot.names import HAND_JOINTS, driver_joint_names
from drex_sim.twin import load_twin

COMMANDS = "/allegro/allegro_hand_position_controller/commands"


@pytest.fixture
def graph(monkeypatch):
    monkeypatch.setenv("ROS_DOMAIN_ID", "45")
    rclpy.init()
    made: list[Node] = []
    executor = MultiThreadedExecutor(num_threads=6)

    def add(make: Callable[[], DrexNode]) -> tuple[DrexNode, Node]:
        node, peer = make(), Node("peer")
        for each in (node, peer):
            made.append(each)
            executor.add_node(each)
        assert node.trigger_configure().name == "SUCCESS"
        assert node.trigger_activate().name == "SUCCESS"
        return node, peer

    thread = threading.Thread(target=executor.spin)
    thread.start()
    yield add
    executor.shutdown(timeout_sec=2.0)
    thread.join(timeout=3.0)
    for node in made:
        node.destroy_node()
    rclpy.shutdown()


class _HandRig:
    """Plays the hand's driver and a sender of commands."""

    def __init__(self, peer: Node) -> None:
        self.received: list[np.ndarray] = []
        self._states = peer.create_publisher(JointState, "/allegro/joint_states", 10)
        self.commands = peer.create_publisher(HandCommand, "hand_command", RELIABLE)
        self.safety = peer.create_publisher(SafetyStatus, "safety/status", LATCHED)
        peer.create_subscription(
            Float64MultiArray, COMMANDS, lambda m: self.received.append(np.array(m.data)), RELIABLE
        )
        names = list(driver_joint_names("ros2_control"))[::-1]
        state = JointState(name=names, position=[0.1] * 16, velocity=[0.0] * 16)
        self._timer = peer.create_timer(0.02, lambda: self._states.publish(state))

    def silence(self) -> None:
        self._timer.cancel()

    def send(self, positions: np.ndarray, efforts: np.ndarray) -> None:
        order = np.random.default_rng(0).permutation(16)
        self.commands.publish(HandCommand(
            joint_names=[HAND_JOINTS[i] for i in order], positions=positions[order].tolist(),
            efforts=efforts[order].tolist(),
        ))

    def expect(self, values: np.ndarray) -> bool:
        def arrived() -> bool:
            return bool(self.received) and np.allclose(self.received[-1], values, atol=1e-6)

        return wait_for(arrived, 3.0)


def test_hand_maps_by_name_adds_force_through_stiffness_clamps_and_obeys_the_supervisor(graph) -> None:
    _, peer = graph(HandNode)
    rig = _HandRig(peer)
    time.sleep(0.6)
    assert not rig.received, "nothing may be sent before the first command"
    positions, efforts = np.full(16, 0.3) + 0.01 * np.arange(16), np.zeros(16)
    efforts[1], efforts[12] = 0.3, 5.0
    rig.send(positions, efforts)
    wanted = positions.copy()
    wanted[1] += 0.3 / 3.0
    wanted[12] += 0.7 / 3.0
    thumb_first = np.r_[wanted[12:], wanted[:12]]
    assert rig.expect(thumb_first)
    rig.safety.publish(SafetyStatus(state=SafetyStatus.STOPPED, reason="test"))
    time.sleep(0.3)
    rig.send(positions * 0, efforts * 0)
    time.sleep(0.4)
    assert rig.expect(thumb_first), "a stopped hand keeps its grip"
    rig.safety.publish(SafetyStatus(state=SafetyStatus.OK))
    time.sleep(0.3)
    rig.send(np.full(16, np.nan), efforts)
    rig.send(np.full(16, 0.35), np.zeros(16))
    assert rig.expect(np.full(16, 0.35))


def test_hand_sends_nothing_once_its_joint_states_are_silent(graph) -> None:
    _, peer = graph(HandNode)
    rig = _HandRig(peer)
    time.sleep(0.4)
    rig.send(np.full(16, 0.35), np.zeros(16))
    assert rig.expect(np.full(16, 0.35))
    rig.silence()
    time.sleep(1.0)
    rig.received.clear()
    rig.send(np.full(16, 0.4), np.zeros(16))
    time.sleep(0.3)
    assert not rig.received


def _ask(client: ActionClient, **goal: object) -> Grasp.Result:
    return run_action_goal(client, Grasp.Goal(**goal), timeout=30.0).result


def test_grasp_server_answers_what_it_cannot_do(graph) -> None:
    _, peer = graph(GraspServer)
    client = ActionClient(peer, Grasp, "grasp")
    estimates = peer.create_publisher(MassEstimate, "mass_estimate", LATCHED)
    none = _ask(client)
    assert none.error_code == Grasp.Result.BAD_GOAL and "load_object" in none.message
    unknown = _ask(client, object_id="teapot", mass=0.3)
    assert unknown.error_code == Grasp.Result.UNKNOWN_OBJECT and "ketchup" in unknown.message
    absent = _ask(client, object_id="lego")
    assert absent.error_code == Grasp.Result.NO_MASS and "identify" in absent.message
    bad = _ask(client, object_id="lego", mass=-0.1)
    assert bad.error_code == Grasp.Result.BAD_GOAL
    lift = _ask(client, object_id="lego", mass=0.1, lift_height=math.nan)
    assert lift.error_code == Grasp.Result.BAD_GOAL and "lift_height" in lift.message
    estimates.publish(MassEstimate(
        object_id="lego", twin_hash=load_twin("lego").hash, verdict=MassEstimate.UNIDENTIFIABLE, mass=math.nan,
        reason="it rolled",
    ))
    time.sleep(0.4)
    refused = _ask(client, object_id="lego")
    assert refused.error_code == Grasp.Result.NO_MASS and "it rolled" in refused.message
    other = _ask(client, object_id="domino")
    assert other.error_code == Grasp.Result.NO_MASS and "lego" in other.message
    silent = _ask(client, object_id="lego", mass=0.05)
    assert silent.error_code in (Grasp.Result.NOT_TRACKED, Grasp.Result.STALE_STATE)
    assert not silent.success and not silent.held


def test_result_message_carries_every_field() -> None:
    outcome = GraspResult(
        object_id="lego", mass_used=0.05, mass_sigma=0.001, code="SLIPPED", message="dropped", force_per_side=2.0,
        force_limit=9.0, contacts=3, slip=0.02, lift_height=0.1, weighed_mass=0.049, weighed_mass_stddev=0.001,
    )
    result = to_result(outcome)
    assert result.error_code == Grasp.Result.SLIPPED and not result.success
    assert (result.force_per_side, result.force_limit, result.contacts) == (2.0, 9.0, 3)
    assert (result.slip, result.weighed_mass, result.lift_height) == (0.02, 0.049, 0.1)
