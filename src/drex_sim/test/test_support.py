"""The base node over real DDS: lifecycle, streams, actions, time."""

from __future__ import annotations

import threading
import time

import pytest
import rclpy
from action_msgs.msg import GoalStatus
from rclpy.action import ActionClient
from rclpy.executors import MultiThreadedExecutor
from rclpy.node import Node
from rclpy.parameter import Parameter
from rosgraph_msgs.msg import Clock
from std_msgs.msg import Float64, String
from std_srvs.srv import Trigger

from drex_msgs.action import ExecutePush
from drex_sim.errors import CancelledError, MotionError, PushError
from drex_sim.nodes.support import (
    RELIABLE,
    SENSOR_PUBLISHER,
    ActionRunner,
    DrexNode,
    GoalContext,
    call_service,
    run_action_goal,
    wait_for,
)


class Worker(DrexNode):
    """Counts a 500 Hz topic and runs goals."""

    def setup(self) -> None:
        self.values: list[float] = []
        self.streams.add("fast", Float64, lambda message: self.values.append(message.data))
        self.runner = ActionRunner(self, ExecutePush, "execute_push", self.run)
        self.create_service(Trigger, "ping", lambda _, response: response, callback_group=self.group)

    def run(self, context: GoalContext) -> ExecutePush.Result:
        if context.goal.object_id == "bad":
            raise PushError("the finger met nothing", "NO_CONTACT")
        if context.goal.object_id == "broken":
            raise ValueError("boom")
        for _ in range(int(context.goal.speed * 100)):
            if context.cancelled():
                raise CancelledError("cancelled by the user")
            context.feedback(ExecutePush.Feedback(phase="lean"))
            time.sleep(0.01)
        return ExecutePush.Result(success=True, message="done")


@pytest.fixture
def graph(monkeypatch):
    monkeypatch.setenv("ROS_DOMAIN_ID", "40")
    rclpy.init()
    worker = Worker("worker", parameter_overrides=[Parameter("use_sim_time", value=True)])
    peer = Node("peer")
    executor = MultiThreadedExecutor(num_threads=6)
    executor.add_node(worker)
    executor.add_node(peer)
    thread = threading.Thread(target=executor.spin)
    thread.start()
    yield worker, peer
    executor.shutdown(timeout_sec=2.0)
    thread.join(timeout=3.0)
    worker.destroy_node()
    peer.destroy_node()
    rclpy.shutdown()


def activate(worker: Worker) -> None:
    assert worker.trigger_configure().name == "SUCCESS"
    assert worker.trigger_activate().name == "SUCCESS"
    assert worker.active


def test_inactive_node_rejects_goals(graph):
    worker, peer = graph
    assert worker.trigger_configure().name == "SUCCESS"
    client = ActionClient(peer, ExecutePush, "execute_push")
    with pytest.raises(MotionError, match="rejected"):
        run_action_goal(client, ExecutePush.Goal())


def test_goal_outcomes(graph):
    worker, peer = graph
    activate(worker)
    client = ActionClient(peer, ExecutePush, "execute_push")
    phases: list[str] = []
    done = run_action_goal(client, ExecutePush.Goal(speed=0.1), feedback=lambda f: phases.append(f.phase))
    assert done.succeeded and done.result.message == "done" and "lean" in phases
    bad = run_action_goal(client, ExecutePush.Goal(object_id="bad"))
    assert bad.status == GoalStatus.STATUS_ABORTED
    assert bad.result.error_code == ExecutePush.Result.NO_CONTACT and "met nothing" in bad.result.message
    broken = run_action_goal(client, ExecutePush.Goal(object_id="broken"))
    assert broken.result.error_code == ExecutePush.Result.INTERNAL and "boom" in broken.result.message


def test_cancel_ends_within_a_second_and_second_goal_is_busy(graph):
    worker, peer = graph
    activate(worker)
    client = ActionClient(peer, ExecutePush, "execute_push")
    started = time.monotonic()
    outcomes = []
    first = threading.Thread(
        target=lambda: outcomes.append(
            run_action_goal(client, ExecutePush.Goal(speed=20.0), stop=lambda: time.monotonic() - started > 0.5)
        )
    )
    first.start()
    assert wait_for(lambda: worker.runner.busy, 2.0)
    busy = run_action_goal(client, ExecutePush.Goal(speed=0.1))
    assert busy.result.error_code == ExecutePush.Result.BUSY
    first.join(timeout=3.0)
    assert time.monotonic() - started < 1.5
    assert outcomes[0].status == GoalStatus.STATUS_CANCELED
    assert outcomes[0].result.error_code == ExecutePush.Result.CANCELLED


def test_streams_lose_nothing_while_services_answer(graph):
    worker, peer = graph
    activate(worker)
    publisher = peer.create_publisher(Float64, "fast", SENSOR_PUBLISHER)
    client = peer.create_client(Trigger, "ping")
    assert wait_for(lambda: publisher.get_subscription_count() > 0, 3.0)
    time.sleep(0.2)
    for i in range(500):
        publisher.publish(Float64(data=float(i)))
        time.sleep(0.002)
        if i % 100 == 0:
            call_service(client, Trigger.Request(), timeout=2.0)
    assert wait_for(lambda: len(worker.values) >= 495, 2.0), f"only {len(worker.values)} of 500 arrived"
    assert worker.values == sorted(worker.values)
    assert worker.streams.age("fast") < 1.0


def test_clock_follows_the_topic_and_heartbeat_beats(graph):
    worker, peer = graph
    beats: list[str] = []
    peer.create_subscription(String, "heartbeat", lambda m: beats.append(m.data), RELIABLE)
    publisher = peer.create_publisher(Clock, "/clock", 5)
    assert wait_for(lambda: publisher.get_subscription_count() > 0, 3.0)
    message = Clock()
    message.clock.sec = 123
    assert wait_for(lambda: publisher.publish(message) or abs(worker.now() - 123.0) < 1e-6, 2.0, period=0.05)
    assert wait_for(lambda: len(beats) >= 2, 3.0)
    assert beats[0] == "/worker"


def test_absent_service_is_named(graph):
    _, peer = graph
    client = peer.create_client(Trigger, "nowhere")
    with pytest.raises(MotionError, match="nowhere is absent"):
        call_service(client, Trigger.Request(), timeout=0.3)


def test_deactivation_cancels_the_running_goal(graph):
    worker, peer = graph
    activate(worker)
    client = ActionClient(peer, ExecutePush, "execute_push")
    outcomes = []
    thread = threading.Thread(
        target=lambda: outcomes.append(run_action_goal(client, ExecutePush.Goal(speed=20.0)))
    )
    thread.start()
    assert wait_for(lambda: worker.runner.busy, 2.0)
    worker.runner.stop()
    thread.join(timeout=3.0)
    assert outcomes[0].result.error_code == ExecutePush.Result.CANCELLED
