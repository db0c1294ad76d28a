"""Sends one IdentifyAndGrasp goal, shows its progress, and exits with its outcome."""

from __future__ import annotations

import argparse
import signal
import sys
import threading
import time

import rclpy
from rclpy.callback_groups import ReentrantCallbackGroup
from rclpy.executors import MultiThreadedExecutor
from rclpy.node import Node
from rclpy.parameter import Parameter
from rclpy.signals import SignalHandlerOptions
from rclpy.utilities import remove_ros_args
from std_srvs.srv import Trigger

from drex_msgs.action import IdentifyAndGrasp
from drex_sim.errors import DrexError, MotionError
from drex_sim.nodes.support import SteadyActionClient, call_service, run_action_goal

EXIT_FAILED, EXIT_NOT_READY, EXIT_CANCELLED = 1, 2, 130


def parse(arguments: list[str]) -> argparse.Namespace:
    """The command line without its ROS part."""
    parser = argparse.ArgumentParser(prog="run_job", description=__doc__)
    parser.add_argument("--object", default="", help="twin id; empty: the loaded object")
    parser.add_argument("--skip-grasp", action="store_true", help="identify only")
    parser.add_argument("--relative-sigma", type=float, default=0.0, help="target of the identification; 0: default")
    parser.add_argument("--max-pushes", type=int, default=0, help="budget; 0: default")
    parser.add_argument("--lift-height", type=float, default=0.0, help="[m]; 0: default")
    parser.add_argument("--hold-time", type=float, default=0.0, help="[s]; 0: default")
    parser.add_argument("--ready-timeout", type=float, default=120.0, help="time for the graph to become active [s]")
    return parser.parse_args(arguments)


def wait_active(node: Node, timeout: float, ended: threading.Event) -> None:
    """Wait until the lifecycle manager says that every node is active.

    Raises:
      MotionError: it did not within `timeout` [s] of steady time; the text carries the manager's reason.
    """
    client = node.create_client(Trigger, "lifecycle_manager/is_active", callback_group=ReentrantCallbackGroup())
    deadline = time.monotonic() + timeout
    reason = "the lifecycle manager does not answer"
    while time.monotonic() < deadline and not ended.is_set():
        try:
            answer = call_service(client, Trigger.Request(), timeout=2.0)
        except MotionError:
            continue
        if answer.success:
            return
        reason = answer.message
        ended.wait(0.2)
    raise MotionError(f"the graph was not active within {timeout:.0f} s: {reason}")


class Job:
    """One goal."""

    def __init__(self, node: Node, options: argparse.Namespace) -> None:
        self._node, self._options = node, options
        self._last = ""
        self.ended = threading.Event()

    def run(self) -> int:
        """Wait for the graph, send the goal, wait for the result; the exit code."""
        options = self._options
        try:
            wait_active(self._node, options.ready_timeout, self.ended)
            client = SteadyActionClient(
                self._node, IdentifyAndGrasp, "identify_and_grasp", callback_group=ReentrantCallbackGroup()
            )
            goal = IdentifyAndGrasp.Goal(
                object_id=options.object, relative_sigma=options.relative_sigma, max_pushes=options.max_pushes,
                lift_height=options.lift_height, hold_time=options.hold_time, skip_grasp=options.skip_grasp,
            )
            outcome = run_action_goal(
                client, goal, feedback=self._show, stop=self.ended.is_set, server_timeout=15.0, timeout=3600.0
            )
        except DrexError as error:
            self._say(f"not run: {error}")
            return EXIT_CANCELLED if self.ended.is_set() else EXIT_NOT_READY
        result = outcome.result
        self._say(f"{'done' if result.success else f'failed ({result.error_code})'}: {result.message}")
        if result.success:
            return 0
        return EXIT_CANCELLED if result.error_code == result.CANCELLED else EXIT_FAILED

    def _show(self, feedback: IdentifyAndGrasp.Feedback) -> None:
        text = f"{feedback.phase} {feedback.detail}".strip()
        if text != self._last:
            self._last = text
            self._say(f"[{100 * feedback.progress:3.0f} %] {text}")

    def _say(self, text: str) -> None:
        print(text, flush=True)


def main() -> int:
    """Entry point."""
    options = parse(remove_ros_args(sys.argv)[1:])
    rclpy.init(args=sys.argv, signal_handler_options=SignalHandlerOptions.NO)
    # Needs no ROS time: /clock on the executor would cost 5-10 % of a core.
    node = Node("run_job", parameter_overrides=[Parameter("use_sim_time", value=False)])
    job = Job(node, options)
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: job.ended.set())
    executor = MultiThreadedExecutor(num_threads=3)
    executor.add_node(node)
    spinner = threading.Thread(target=executor.spin, daemon=True)
    spinner.start()
    codes: list[int] = []
    # In a thread, so that the main thread is free to take signals.
    worker = threading.Thread(target=lambda: codes.append(job.run()), daemon=True)
    worker.start()
    while worker.is_alive():
        worker.join(0.1)
    executor.shutdown(timeout_sec=1.0)
    node.destroy_node()
    rclpy.try_shutdown()
    return codes[0] if codes else EXIT_FAILED


if __name__ == "__main__":
    sys.exit(main())
