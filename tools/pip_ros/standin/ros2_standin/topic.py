"""Topics."""

from __future__ import annotations

import argparse
import time
from collections import deque
from functools import reduce
from itertools import pairwise
from typing import Any

import rclpy
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy

from . import graph, messages
from .errors import CommandError


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The verbs."""
    verbs = parser.add_subparsers(required=True, metavar="verb")
    verb = verbs.add_parser("list", help="names of the topics")
    verb.add_argument("-t", "--show-types", action="store_true")
    verb.set_defaults(run=list_topics)
    verb = verbs.add_parser("echo", help="print messages")
    verb.add_argument("topic")
    verb.add_argument("type", nargs="?", help="e.g. std_msgs/msg/String; found out where the topic has a publisher")
    verb.add_argument("--once", action="store_true", help="end after one message")
    verb.add_argument("--field", help="print only this part, e.g. pose.position")
    verb.add_argument("-f", "--full-length", action="store_true", help="do not cut long arrays and texts")
    verb.add_argument("--no-arr", action="store_true", help="leave arrays out")
    verb.set_defaults(run=echo)
    verb = verbs.add_parser("hz", help="rate at which messages arrive")
    verb.add_argument("topic")
    verb.add_argument("-w", "--window", type=int, default=10000, help="number of messages averaged over")
    verb.set_defaults(run=hz)


def list_topics(arguments: argparse.Namespace) -> int:
    """Print the names."""
    with graph.node() as node:
        topics = graph.settle(node, lambda: graph.visible(node.get_topic_names_and_types()))
    for name, types in topics:
        print(f"{name} [{', '.join(types)}]" if arguments.show_types else name)
    return 0


def echo(arguments: argparse.Namespace) -> int:
    """Print messages until Ctrl-C, or one."""
    with graph.node() as node:
        name, kind = _find(node, arguments.topic, arguments.type)
        seen: list[Any] = []

        def show(message: Any) -> None:
            seen.append(True)
            if arguments.once and len(seen) > 1:
                return
            part = _part(message, arguments.field)
            plain = messages.to_plain(part, full=arguments.full_length)
            if arguments.no_arr:
                plain = _without_arrays(plain)
            print(messages.to_yaml(plain, full=True) + "---", flush=True)

        node.create_subscription(kind, name, show, matching_qos(node, name))
        while rclpy.ok() and not (arguments.once and seen):
            rclpy.spin_once(node, timeout_sec=0.5)
    return 0


def hz(arguments: argparse.Namespace) -> int:
    """Print the rate once a second until Ctrl-C."""
    with graph.node() as node:
        name, kind = _find(node, arguments.topic, None)
        times: deque[float] = deque(maxlen=arguments.window)

        def note(_: bytes) -> None:
            times.append(time.monotonic())

        node.create_subscription(kind, name, note, matching_qos(node, name), raw=True)
        printed = time.monotonic()
        while rclpy.ok():
            rclpy.spin_once(node, timeout_sec=0.2)
            if time.monotonic() - printed < 1.0:
                continue
            printed = time.monotonic()
            stamps = list(times)
            if len(stamps) > 1:
                steps = [after - before for before, after in pairwise(stamps)]
                mean = sum(steps) / len(steps)
                spread = (sum((step - mean) ** 2 for step in steps) / len(steps)) ** 0.5
                print(f"average rate: {1 / mean:.3f}")
                print(f"\tmin: {min(steps):.3f}s max: {max(steps):.3f}s std dev: {spread:.5f}s window: {len(stamps)}")
            else:
                print(f"no new messages on {name}")
    return 0


def matching_qos(node: graph.Node, name: str) -> QoSProfile:
    """Quality of service that every present publisher of the topic can serve."""
    offered = [info.qos_profile for info in node.get_publishers_info_by_topic(name)]
    profile = QoSProfile(depth=10)
    if not offered or any(qos.reliability != ReliabilityPolicy.RELIABLE for qos in offered):
        profile.reliability = ReliabilityPolicy.BEST_EFFORT
    if offered and all(qos.durability == DurabilityPolicy.TRANSIENT_LOCAL for qos in offered):
        profile.durability = DurabilityPolicy.TRANSIENT_LOCAL
    return profile


def _find(node: graph.Node, topic: str, kind: str | None) -> tuple[str, type]:
    name = graph.absolute(topic)
    if kind is None:
        types = graph.wait_for(
            lambda: dict(node.get_topic_names_and_types()).get(name), f"topic {name} does not appear to be published"
        )
        if len(types) > 1:
            raise CommandError(f"topic {name} has several types, name one: {', '.join(types)}")
        kind = types[0]
        graph.settle(node, lambda: node.count_publishers(name), least=0.2, quiet=0.2, most=1.0)
    return name, messages.load_type(kind, "msg")


def _part(message: Any, field: str | None) -> Any:
    try:
        return reduce(getattr, field.split("."), message) if field else message
    except AttributeError:
        raise CommandError(f"{type(message).__name__} has no field '{field}'") from None


def _without_arrays(plain: Any) -> Any:
    if isinstance(plain, dict):
        return {name: _without_arrays(value) for name, value in plain.items()}
    return f"<array of {len(plain)}>" if isinstance(plain, list) else plain
