"""Topics drained in batches by one thread.

High-rate topics never share a MultiThreadedExecutor: measured there, 500 Hz arrive at 60 Hz and services time out
(docs/decisions.md). The reader's node is never spun; its thread takes what has arrived, at a fixed rate.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from rclpy.clock import ROSClock
from rclpy.context import Context
from rclpy.node import Node
from rclpy.qos import QoSProfile
from rclpy.time import Time
from rosgraph_msgs.msg import Clock as ClockMsg

from drex_sim.nodes.support.qos import STREAM


@dataclass
class _Stream:
    subscription: Any
    message_type: type
    on_message: Callable[[Any], None]
    raw: bool
    last_arrival: float | None = None


class StreamReader:
    """Drains subscriptions at a fixed rate and hands each message to its callback, oldest first.

    Callbacks run in the reader's thread: they store or convert, and never block.
    """

    def __init__(
        self, name: str, namespace: str, context: Context, clock: ROSClock | None = None, rate: float = 100.0
    ) -> None:
        """Create the unspun node `<name>_streams`.

        Args:
          name: node the streams belong to.
          namespace: its namespace.
          context: rclpy context.
          clock: when given, this clock follows /clock through the reader.
          rate: how often to drain [Hz].
        """
        self._node = Node(
            f"{name}_streams",
            namespace=namespace,
            context=context,
            use_global_arguments=True,
            enable_rosout=False,
            start_parameter_services=False,
            cli_args=["--ros-args", "-r", f"__node:={name}_streams"],
        )
        self._streams: dict[str, _Stream] = {}
        self._lock = threading.Lock()
        self._period = 1.0 / rate
        self._closed = threading.Event()
        self._context = context
        if clock is not None:
            self._clock = clock
            self.add("/clock", ClockMsg, self._on_clock, qos=QoSProfile(depth=5, reliability=STREAM.reliability))
        self._thread = threading.Thread(target=self._drain, name=f"{name}-streams", daemon=True)
        self._thread.start()

    def add(
        self,
        topic: str,
        message_type: type,
        on_message: Callable[[Any], None],
        qos: QoSProfile = STREAM,
        raw: bool = False,
    ) -> None:
        """Subscribe to a topic. With `raw`, the callback gets the serialized bytes."""
        subscription = self._node.create_subscription(message_type, topic, lambda _: None, qos, raw=raw)
        with self._lock:
            self._streams[topic] = _Stream(subscription, message_type, on_message, raw)

    def remove(self, topic: str) -> None:
        """Unsubscribe; nothing happens when the topic is not subscribed."""
        with self._lock:
            stream = self._streams.pop(topic, None)
            if stream is not None:
                self._node.destroy_subscription(stream.subscription)

    def age(self, topic: str) -> float:
        """Seconds of steady time since the topic's last message; infinity when none came."""
        stream = self._streams.get(topic)
        if stream is None or stream.last_arrival is None:
            return float("inf")
        return time.monotonic() - stream.last_arrival

    def publishers(self, topic: str) -> int:
        """How many publishers the topic has."""
        return self._node.count_publishers(self._node.resolve_topic_name(topic))

    def close(self) -> None:
        """Stop the thread and destroy the subscriptions."""
        self._closed.set()
        if threading.current_thread() is not self._thread:
            self._thread.join(timeout=2.0)
        with self._lock:
            self._streams.clear()
        self._node.destroy_node()

    def _on_clock(self, message: ClockMsg) -> None:
        self._clock.set_ros_time_override(Time.from_msg(message.clock, clock_type=self._clock.clock_type))

    def _drain(self) -> None:
        while not self._closed.wait(self._period):
            if not self._context.ok():
                return
            with self._lock:
                streams = list(self._streams.values())
                batches = [(stream, self._take_all(stream)) for stream in streams]
            for stream, batch in batches:
                for message in batch:
                    try:
                        stream.on_message(message)
                    except Exception as error:
                        self._node.get_logger().error(
                            f"{stream.subscription.topic_name}: {error}", throttle_duration_sec=2.0
                        )

    @staticmethod
    def _take_all(stream: _Stream) -> list[Any]:
        batch = []
        with stream.subscription.handle:
            while (taken := stream.subscription.handle.take_message(stream.message_type, stream.raw)) is not None:
                batch.append(taken[0])
        if batch:
            stream.last_arrival = time.monotonic()
        return batch
