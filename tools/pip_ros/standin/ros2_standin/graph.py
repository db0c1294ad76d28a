"""A node for the time of one command, and waiting for what it needs to see."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Callable, Iterator
from typing import Any

import rclpy
from rclpy.node import Node
from rclpy.signals import SignalHandlerOptions

from .errors import CommandError

DISCOVERY_TIME = 5.0
"""How long to wait for a named thing to appear [s]."""


@contextlib.contextmanager
def node() -> Iterator[Node]:
    """A hidden node without parameter services."""
    rclpy.init(args=[], signal_handler_options=SignalHandlerOptions.NO)
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    hidden = Node(f"_ros2_{os.getpid()}", start_parameter_services=False, enable_rosout=False)
    try:
        yield hidden
    finally:
        hidden.destroy_node()
        rclpy.try_shutdown()


def settle(node: Node, read: Callable[[], Any], *, least: float = 0.8, quiet: float = 0.4, most: float = 5.0) -> Any:
    """Read the graph until another node is seen, something is there, and nothing has changed for a while [s]."""
    start = changed = time.monotonic()
    value = read()
    while (now := time.monotonic()) - start < most:
        alone = len(node.get_node_names()) < 2
        if value and not alone and now - start > least and now - changed > quiet:
            break
        time.sleep(0.05)
        latest = read()
        if latest != value:
            value, changed = latest, time.monotonic()
    return value


def wait_for(find: Callable[[], Any], what: str, seconds: float = DISCOVERY_TIME) -> Any:
    """First true value of find(); raises CommandError after the given time."""
    end = time.monotonic() + seconds
    while not (value := find()):
        if time.monotonic() > end:
            raise CommandError(f"{what} (waited {seconds:g} s; ROS_DOMAIN_ID={os.environ.get('ROS_DOMAIN_ID', '0')})")
        time.sleep(0.05)
    return value


def absolute(name: str) -> str:
    """A graph name with its leading slash."""
    return name if name.startswith("/") else f"/{name}"


def is_hidden(name: str) -> bool:
    """Whether any part of a graph name starts with an underscore."""
    return any(part.startswith("_") for part in name.split("/"))


def visible(items: list[tuple[str, list[str]]]) -> list[tuple[str, list[str]]]:
    """Names and types without the hidden ones, sorted."""
    return sorted(item for item in items if not is_hidden(item[0]))


def call(client_node: Node, service_type: type, name: str, request: Any, seconds: float = DISCOVERY_TIME) -> Any:
    """Call a service and return its response; raises CommandError where it does not answer."""
    client = client_node.create_client(service_type, name)
    if not client.wait_for_service(seconds):
        raise CommandError(f"no service {name} (waited {seconds:g} s); is its node running?")
    future = client.call_async(request)
    rclpy.spin_until_future_complete(client_node, future)
    return future.result()
