"""Blocking waits for worker threads. Never spins: an executor does that in other threads."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from action_msgs.msg import GoalStatus
from rclpy.action import ActionClient
from rclpy.client import Client
from rclpy.task import Future

from drex_sim.errors import CancelledError, MotionError

GOAL_ANSWER_TIMEOUT = 5.0
"""Seconds of steady time within which an action server must answer a goal or a cancel request."""


class SteadyActionClient(ActionClient):
    """An ActionClient whose answers cannot overtake the bookkeeping of their requests.

    rclpy registers a request after sending it; with the executor in another thread a quick server's answer may be
    taken in between, is then "unexpected", and is lost.
    """

    def __init__(self, *arguments: Any, **options: Any) -> None:
        self._requesting = threading.RLock()
        super().__init__(*arguments, **options)

    def send_goal_async(self, *arguments: Any, **options: Any) -> Future:
        """See ActionClient."""
        with self._requesting:
            return super().send_goal_async(*arguments, **options)

    def _cancel_goal_async(self, goal_handle: Any) -> Future:
        with self._requesting:
            return super()._cancel_goal_async(goal_handle)

    def _get_result_async(self, goal_handle: Any) -> Future:
        with self._requesting:
            return super()._get_result_async(goal_handle)

    async def execute(self, taken_data: Any) -> None:
        """Wait until no request is half registered, then handle what was taken."""
        with self._requesting:
            pass
        await super().execute(taken_data)


def wait_for(
    condition: Callable[[], bool],
    timeout: float,
    cancelled: Callable[[], bool] = lambda: False,
    period: float = 0.02,
) -> bool:
    """Wait in steady time until the condition holds; False after the timeout [s].

    Raises:
      CancelledError: `cancelled` said so.
    """
    deadline = time.monotonic() + timeout
    while not condition():
        if cancelled():
            raise CancelledError("cancelled by the user")
        if time.monotonic() > deadline:
            return False
        time.sleep(period)
    return True


def _await(future: Future, timeout: float) -> bool:
    done = threading.Event()
    future.add_done_callback(lambda _: done.set())
    return done.wait(timeout)


def call_service(client: Client, request: Any, timeout: float = 5.0, attempts: int = 1) -> Any:
    """Call a service from a worker thread and return its response.

    Args:
      client: of the service.
      request: its request.
      timeout: for the service to appear, and for each attempt to be answered [s].
      attempts: more than one only for requests that may be carried out twice: while DDS is still matching the two
        sides, a response can be lost.

    Raises:
      MotionError: the service is absent or did not answer in time; the text names it.
    """
    if not client.wait_for_service(timeout):
        raise MotionError(
            f"service {client.srv_name} is absent after {timeout:.1f} s; start its node (`ros2 service list` shows"
            " what there is)"
        )
    for _ in range(attempts):
        future = client.call_async(request)
        if _await(future, timeout):
            return future.result()
        client.remove_pending_request(future)
    raise MotionError(f"service {client.srv_name} did not answer within {attempts * timeout:.1f} s")


@dataclass(frozen=True)
class GoalOutcome:
    """How an action goal ended."""

    status: int
    """One of action_msgs/GoalStatus."""
    result: Any
    cancel_requested: bool

    @property
    def succeeded(self) -> bool:
        """Whether the server said succeeded."""
        return self.status == GoalStatus.STATUS_SUCCEEDED


def run_action_goal(
    client: ActionClient,
    goal: Any,
    *,
    feedback: Callable[[Any], None] | None = None,
    stop: Callable[[], bool] = lambda: False,
    server_timeout: float = 5.0,
    timeout: float = 600.0,
    period: float = 0.01,
) -> GoalOutcome:
    """Send a goal from a worker thread and wait for its result.

    `stop` is asked every `period` seconds; once it says True the goal is cancelled and its result awaited.

    Raises:
      MotionError: server absent, goal rejected, or no result in time (the goal is cancelled then).
    """
    name = client._action_name
    if not client.wait_for_server(server_timeout):
        raise MotionError(
            f"action {name} is absent after {server_timeout:.1f} s; start its node or controller (`ros2 action list`"
            " shows what there is)"
        )
    callback = None if feedback is None else (lambda message: feedback(message.feedback))
    goal_future = client.send_goal_async(goal, feedback_callback=callback)
    if not _await(goal_future, GOAL_ANSWER_TIMEOUT):
        raise MotionError(f"action {name} did not answer the goal within {GOAL_ANSWER_TIMEOUT:.0f} s")
    handle = goal_future.result()
    if not handle.accepted:
        raise MotionError(f"action {name} rejected the goal; see the log of its server for the reason")
    result_future = handle.get_result_async()
    done = threading.Event()
    result_future.add_done_callback(lambda _: done.set())
    deadline = time.monotonic() + timeout
    cancel_requested = False
    while not done.wait(period):
        now = time.monotonic()
        if not cancel_requested and (stop() or now > deadline):
            handle.cancel_goal_async()
            cancel_requested = True
            deadline = now + GOAL_ANSWER_TIMEOUT
        elif cancel_requested and now > deadline:
            raise MotionError(f"action {name} did not end within {GOAL_ANSWER_TIMEOUT:.0f} s after being cancelled")
    response = result_future.result()
    return GoalOutcome(response.status, response.result, cancel_requested)
