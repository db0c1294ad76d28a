"""Brings the nodes of the graph to active, in order, and tells which one failed and why."""

from __future__ import annotations

import signal
import sys
import threading
import time

import rclpy
from lifecycle_msgs.msg import State, Transition
from lifecycle_msgs.srv import ChangeState, GetState
from rcl_interfaces.msg import Log
from rclpy.callback_groups import ReentrantCallbackGroup
from rclpy.client import Client
from rclpy.clock import Clock, ClockType
from rclpy.executors import MultiThreadedExecutor
from rclpy.node import Node
from rclpy.parameter import Parameter
from rclpy.qos import QoSProfile
from rclpy.signals import SignalHandlerOptions
from rclpy.timer import Timer
from std_msgs.msg import String
from std_srvs.srv import Trigger

from drex_sim.errors import DrexError
from drex_sim.nodes.support import RELIABLE, call_service, wait_for

NODES = (
    "twin_server",
    "supervisor",
    "tracker",
    "hand",
    "push_executor",
    "mass_estimator",
    "grasp_server",
    "recorder",
    "coordinator",
)
ERROR_LEVEL = 40
"""rcl_interfaces/Log: ERROR."""
MOVERS = ("coordinator", "grasp_server", "push_executor")
"""Nodes that may not run without the supervisor."""


class BringUpError(DrexError):
    """A node could not be brought up."""


class LifecycleManager(Node):
    """Configures and activates the nodes; watches their heartbeats; deactivates them at the end."""

    def __init__(self) -> None:
        # Needs no ROS time: /clock on the executor would cost 5-10 % of a core.
        super().__init__("lifecycle_manager", parameter_overrides=[Parameter("use_sim_time", value=False)])
        self.group = ReentrantCallbackGroup()
        self._names = [str(n) for n in self.declare_parameter("nodes", list(NODES)).value]
        if self.declare_parameter("with_rig", False).value:
            self._names.insert(0, "rig")
        self._autostart = bool(self.declare_parameter("autostart", True).value)
        self._start_timeout = float(self.declare_parameter("start_timeout", 60.0).value)
        self._heartbeat_timeout = float(self.declare_parameter("heartbeat_timeout", 5.0).value)
        self._change: dict[str, Client] = {}
        self._state: dict[str, Client] = {}
        for name in self._names:
            self._change[name] = self.create_client(ChangeState, f"{name}/change_state", callback_group=self.group)
            self._state[name] = self.create_client(GetState, f"{name}/get_state", callback_group=self.group)
        self._complaints: dict[str, str] = {}
        self._beats: dict[str, float] = {}
        self._active: list[str] = []
        self._problem = "the nodes are still starting"
        self._ready = False
        self._closing = threading.Event()
        self.failed = threading.Event()
        self.create_subscription(Log, "/rosout", self._on_log, QoSProfile(depth=200), callback_group=self.group)
        self.create_subscription(
            String, "heartbeat", self._on_heartbeat, QoSProfile(depth=50), callback_group=self.group
        )
        self.create_service(Trigger, "lifecycle_manager/is_active", self._on_is_active, callback_group=self.group)
        steady = Clock(clock_type=ClockType.STEADY_TIME)
        self._beat = self.create_publisher(String, "heartbeat", RELIABLE)
        self._timers_kept: list[Timer] = [
            self.create_timer(0.5, self._on_watch, callback_group=self.group, clock=steady)
        ]
        self._worker = threading.Thread(target=self._bring_up, name="bring-up", daemon=True)
        if self._autostart:
            self._worker.start()

    # Start ---------------------------------------------------------------------------------------------------
    def _bring_up(self) -> None:
        started = time.monotonic()
        try:
            for name in self._names:
                self._expect(name, Transition.TRANSITION_CONFIGURE, State.PRIMARY_STATE_INACTIVE, "configure")
            for name in self._names:
                self._expect(name, Transition.TRANSITION_ACTIVATE, State.PRIMARY_STATE_ACTIVE, "activate")
                self._active.append(name)
                self._beats.setdefault(name, time.monotonic())
        except Exception as error:  # whatever it was, nothing stays half up
            if self._closing.is_set() or not rclpy.ok():
                return
            self._problem = str(error)
            self.get_logger().fatal(self._problem)
            self.shut_down()
            self.failed.set()
            return
        self._ready, self._problem = True, ""
        self.get_logger().info(f"all {len(self._names)} nodes are active after {time.monotonic() - started:.1f} s")

    def _expect(self, name: str, transition: int, target: int, verb: str) -> None:
        client = self._change[name]
        if not wait_for(client.service_is_ready, self._start_timeout, self._closing.is_set, 0.05):
            raise BringUpError(
                f"node {name} did not appear within {self._start_timeout:.0f} s; it crashed or was not launched: read"
                f" its output above, or start it alone to see why"
            )
        if self._state_of(name) == target:
            return
        request = ChangeState.Request()
        request.transition.id = transition
        response = call_service(client, request, timeout=self._start_timeout)
        if not response.success:
            wait_for(lambda: name in self._complaints, 0.5)
            raise BringUpError(f"node {name} failed to {verb}: {self._complaints.get(name, 'see its log')}")

    def _state_of(self, name: str) -> int:
        return int(call_service(self._state[name], GetState.Request(), timeout=3.0, attempts=8).current_state.id)

    # Watch ---------------------------------------------------------------------------------------------------
    def _on_log(self, message: Log) -> None:
        if message.level >= ERROR_LEVEL:
            self._complaints[message.name.rsplit(".", 1)[-1]] = message.msg.splitlines()[0]

    def _on_heartbeat(self, message: String) -> None:
        self._beats[message.data.rsplit("/", 1)[-1]] = time.monotonic()

    def _on_watch(self) -> None:
        self._beat.publish(String(data=self.get_fully_qualified_name()))
        now = time.monotonic()
        for name in list(self._active):
            silent = now - self._beats[name]
            if silent > self._heartbeat_timeout:
                self._active.remove(name)
                self._ready = False
                self._problem = f"node {name} has sent no heartbeat for {silent:.1f} s; restart the bring-up"
                self.get_logger().error(self._problem)
                if name == "supervisor":
                    threading.Thread(target=self._stop_movers, daemon=True).start()

    def _stop_movers(self) -> None:
        """Without a supervisor nothing may move."""
        self._deactivate([name for name in MOVERS if name in self._active])

    def _on_is_active(self, _request: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        response.success = self._ready
        response.message = "every node is active" if self._ready else self._problem
        return response

    # End -----------------------------------------------------------------------------------------------------
    def _deactivate(self, names: list[str], budget: float = 3.0) -> None:
        request = ChangeState.Request()
        request.transition.id = Transition.TRANSITION_DEACTIVATE
        deadline = time.monotonic() + budget
        for name in names:
            if name in self._active:
                self._active.remove(name)
            left = deadline - time.monotonic()
            # On Ctrl-C every process gets the signal: nodes that are already gone need nothing.
            if left <= 0.0 or not self._change[name].service_is_ready():
                continue
            try:
                call_service(self._change[name], request, timeout=min(left, 2.0))
            except DrexError as error:
                self.get_logger().warning(f"node {name} did not deactivate: {error}")

    def shut_down(self) -> None:
        """Deactivate what is active, last one first."""
        self._closing.set()
        self._ready = False
        self._deactivate(list(reversed(self._active)))


def main() -> int:
    """Run the node; 0 at Ctrl-C, 1 when a node could not be brought up."""
    rclpy.init(args=sys.argv, signal_handler_options=SignalHandlerOptions.NO)
    ended = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: ended.set())
    node = LifecycleManager()
    executor = MultiThreadedExecutor(num_threads=4)
    executor.add_node(node)
    spinner = threading.Thread(target=executor.spin, daemon=True)
    spinner.start()
    while not ended.wait(0.1) and not node.failed.is_set():
        pass
    if not node.failed.is_set():
        node.shut_down()
    executor.shutdown(timeout_sec=1.0)
    node.destroy_node()
    rclpy.try_shutdown()
    return 1 if node.failed.is_set() else 0
