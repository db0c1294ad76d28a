"""Action servers that run one goal at a time and answer every failure with an error code."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from rclpy.action import ActionServer, CancelResponse, GoalResponse
from rclpy.action.server import ServerGoalHandle

from drex_sim import errors

if TYPE_CHECKING:
    from drex_sim.nodes.support.node import DrexNode

# Tried in order; the first constant that the action's result has is taken.
_CODES: tuple[tuple[type[Exception], tuple[str, ...]], ...] = (
    (errors.CancelledError, ("CANCELLED",)),
    (errors.MotionStoppedError, ("STOPPED",)),
    (errors.UnknownObjectError, ("UNKNOWN_OBJECT",)),
    (errors.NotTrackedError, ("NOT_TRACKED",)),
    (errors.StaleDataError, ("STALE_STATE",)),
    (errors.UnreachableError, ("UNREACHABLE", "NO_GRASP")),
    (errors.MotionError, ("CONTROLLER",)),
    (errors.ConfigError, ("BAD_GOAL",)),
)


class GoalContext:
    """What the code behind an action sees of its goal."""

    def __init__(self, handle: ServerGoalHandle, stopping: Callable[[], bool]) -> None:
        self._handle = handle
        self._stopping = stopping

    @property
    def goal(self) -> Any:
        """The goal message."""
        return self._handle.request

    def cancelled(self) -> bool:
        """Whether the user cancelled, or the node is being deactivated."""
        return self._handle.is_cancel_requested or self._stopping()

    def feedback(self, message: Any) -> None:
        """Publish a feedback message."""
        if self._handle.is_active:
            self._handle.publish_feedback(message)


class ActionRunner:
    """Serves an action: one goal at a time, failures as `error_code` and `message` of the result."""

    def __init__(
        self, node: DrexNode, action_type: Any, name: str, run: Callable[[GoalContext], Any]
    ) -> None:
        """Serve `name`.

        Args:
          node: the node that owns the server.
          action_type: a drex_msgs action; its result has success, error_code, message and error constants.
          run: does the work in a worker thread and returns the result message. A DrexError it raises becomes the
            error code of that kind (`code` of the error, else by its type, else INTERNAL).
        """
        self._node = node
        self._type = action_type
        self._run = run
        self._name = name
        self._busy = threading.Lock()
        self._stopping = threading.Event()
        self._server = ActionServer(
            node,
            action_type,
            name,
            execute_callback=self._execute,
            goal_callback=self._on_goal,
            cancel_callback=lambda _: CancelResponse.ACCEPT,
            callback_group=node.group,
        )

    @property
    def busy(self) -> bool:
        """Whether a goal is running."""
        return self._busy.locked()

    def stop(self, timeout: float = 3.0) -> None:
        """Cancel the running goal and wait for it to end [s]."""
        self._stopping.set()
        if self._busy.acquire(timeout=timeout):
            self._busy.release()

    def resume(self) -> None:
        """Accept goals again after `stop`."""
        self._stopping.clear()

    def destroy(self) -> None:
        """Cancel what runs and remove the server."""
        self.stop()
        self._server.destroy()

    def _on_goal(self, _request: Any) -> GoalResponse:
        if not self._node.active:
            self._node.get_logger().warning(f"{self._name}: goal rejected, the node is not active")
            return GoalResponse.REJECT
        return GoalResponse.ACCEPT

    def _failure(self, code: str, message: str) -> Any:
        result = self._type.Result()
        result.success = False
        result.error_code = getattr(result, code, result.INTERNAL)
        result.message = message
        return result

    def _execute(self, handle: ServerGoalHandle) -> Any:
        if not self._busy.acquire(blocking=False):
            handle.abort()
            return self._failure("BUSY", f"{self._name} is already running a goal; cancel it or wait")
        try:
            result, cancelled = self._guarded(GoalContext(handle, self._stopping.is_set))
        finally:
            self._busy.release()
        if result.success:
            handle.succeed()
        elif cancelled and handle.is_cancel_requested:
            handle.canceled()
        else:
            handle.abort()
        # Two calls on two lines: rclpy allows one severity per line of code.
        if result.success:
            self._node.get_logger().info(f"{self._name}: {result.message}")
        else:
            self._node.get_logger().error(f"{self._name}: {result.message}")
        return result

    def _guarded(self, context: GoalContext) -> tuple[Any, bool]:
        try:
            return self._run(context), False
        except errors.DrexError as error:
            code = getattr(error, "code", None) or next(
                (name for kind, names in _CODES if isinstance(error, kind) for name in names
                 if hasattr(self._type.Result, name)),
                "INTERNAL",
            )
            return self._failure(code, str(error)), isinstance(error, errors.CancelledError)
        except Exception as error:
            self._node.report_exception(f"{self._name} failed", error)
            return self._failure("INTERNAL", f"{type(error).__name__}: {error}; see the log of {self._name}"), False
