"""Base class of the D-REX nodes: lifecycle, heartbeat, streams and time."""

from __future__ import annotations

import signal
import sys
import threading
import traceback
from collections.abc import Callable
from typing import Any

import rclpy
from rcl_interfaces.msg import ParameterDescriptor
from rclpy.callback_groups import ReentrantCallbackGroup
from rclpy.clock import Clock, ClockType
from rclpy.executors import MultiThreadedExecutor
from rclpy.lifecycle import LifecycleNode, LifecycleState, TransitionCallbackReturn
from rclpy.signals import SignalHandlerOptions
from std_msgs.msg import String

from drex_sim.errors import ConfigError, DrexError
from drex_sim.nodes.support.qos import RELIABLE
from drex_sim.nodes.support.streams import StreamReader

HEARTBEAT_PERIOD = 0.5
"""Seconds of steady time between heartbeats."""


class DrexNode(LifecycleNode):
    """A lifecycle node. Subclasses override setup, start, stop and teardown; all may raise DrexError.

    Topics at more than a few Hz go through `self.streams`; services and actions live on the node itself, in
    `self.group`, spun by a MultiThreadedExecutor.
    """

    def __init__(self, name: str, stream_rate: float = 100.0, **kwargs: Any) -> None:
        super().__init__(name, **kwargs)
        self.group = ReentrantCallbackGroup()
        self._active = False
        self._configured = False
        follow = self._detach_clock()
        self.streams = StreamReader(
            self.get_name(), self.get_namespace(), self.context, self.get_clock() if follow else None, stream_rate
        )
        self._heartbeat = self.create_publisher(String, "heartbeat", RELIABLE)
        self._heartbeat_message = String(data=self.get_fully_qualified_name())
        self.create_timer(
            HEARTBEAT_PERIOD,
            lambda: self._heartbeat.publish(self._heartbeat_message),
            clock=Clock(clock_type=ClockType.STEADY_TIME),
        )

    def _detach_clock(self) -> bool:
        """Take /clock off the executor, where 100 Hz cost 5-10 % of a core per node; True if sim time is used.

        The stream reader sets the node's clock instead; `get_clock()` and `use_sim_time` behave as usual.
        """
        subscription = getattr(self._time_source, "_clock_sub", None)
        if subscription is None:
            return False
        self.destroy_subscription(subscription)
        self._time_source._clock_sub = None
        return True

    # What subclasses override.
    def setup(self) -> None:
        """Read parameters, create interfaces (on configure)."""

    def start(self) -> None:
        """Begin to work (on activate)."""

    def stop(self) -> None:
        """Stop working, cancel what runs (on deactivate and shutdown)."""

    def teardown(self) -> None:
        """Destroy what setup made (on cleanup and shutdown)."""

    @property
    def active(self) -> bool:
        """Whether the node is active."""
        return self._active

    def now(self) -> float:
        """ROS time [s]."""
        return self.get_clock().now().nanoseconds * 1e-9

    def declare(self, name: str, default: Any, description: str) -> Any:
        """Declare a parameter once and return its value.

        Raises:
          ConfigError: a value of the wrong type was given; the text names the parameter.
        """
        if not self.has_parameter(name):
            try:
                self.declare_parameter(name, default, ParameterDescriptor(description=description))
            except Exception as error:
                raise ConfigError(
                    f"parameter {name} of {self.get_name()}: {error}; a {type(default).__name__} is needed"
                ) from error
        return self.get_parameter(name).value

    def report_exception(self, what: str, error: BaseException) -> None:
        """Log an unexpected error with its trace."""
        trace = "".join(traceback.format_exception(error))
        self.get_logger().error(f"{what}: {error}\n{trace}")

    def _transition(self, what: str, step: Callable[[], None]) -> TransitionCallbackReturn:
        try:
            step()
        except DrexError as error:
            self.get_logger().error(f"{what}: {error}")
            return TransitionCallbackReturn.FAILURE
        except Exception as error:
            self.report_exception(what, error)
            return TransitionCallbackReturn.FAILURE
        return TransitionCallbackReturn.SUCCESS

    def on_configure(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Lifecycle callback."""
        outcome = self._transition("configure", self.setup)
        self._configured = outcome is TransitionCallbackReturn.SUCCESS
        if not self._configured:
            self._transition("teardown", self.teardown)
        return outcome

    def on_activate(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Lifecycle callback."""
        outcome = self._transition("activate", self.start)
        self._active = outcome is TransitionCallbackReturn.SUCCESS
        return outcome

    def on_deactivate(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Lifecycle callback."""
        self._active = False
        return self._transition("deactivate", self.stop)

    def on_cleanup(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Lifecycle callback."""
        self._configured = False
        return self._transition("cleanup", self.teardown)

    def on_shutdown(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Lifecycle callback."""
        self.halt()
        return TransitionCallbackReturn.SUCCESS

    def halt(self) -> None:
        """Stop and tear down, whatever the state."""
        if self._active:
            self._active = False
            self._transition("stop", self.stop)
        if self._configured:
            self._configured = False
            self._transition("teardown", self.teardown)

    def destroy_node(self) -> None:
        """Stop, tear down, close the streams and destroy the node."""
        self.halt()
        self.streams.close()
        super().destroy_node()


def run_node(make: Callable[[], DrexNode], threads: int = 6) -> int:
    """Run a node until Ctrl-C or SIGTERM; the exit code of its process.

    rclpy's own signal handlers would invalidate the context first, and then no running motion could be cancelled.
    """
    rclpy.init(args=sys.argv, signal_handler_options=SignalHandlerOptions.NO)
    ended = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: ended.set())
    try:
        node = make()
    except DrexError as error:
        print(f"cannot start: {error}", file=sys.stderr)
        rclpy.try_shutdown()
        return 1
    executor = MultiThreadedExecutor(num_threads=threads)
    executor.add_node(node)
    spinner = threading.Thread(target=executor.spin, name="executor", daemon=True)
    spinner.start()
    while spinner.is_alive() and not ended.wait(0.2):
        pass
    node.halt()
    executor.shutdown(timeout_sec=1.0)
    node.destroy_node()
    rclpy.try_shutdown()
    return 0 if ended.is_set() else 1
