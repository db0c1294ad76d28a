"""Commands about nodes, topics, services, actions, parameters and lifecycle states."""

from __future__ import annotations

import sys
import time
from argparse import Namespace
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import rclpy
import yaml
from rcl_interfaces.msg import Parameter, ParameterType, ParameterValue
from rclpy.action import ActionClient, get_action_names_and_types
from rclpy.node import Node
from rclpy.parameter import parameter_value_to_python
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy, qos_profile_sensor_data

from ros2_standin.messages import BadMessageError, fill, load_interface, plain

DISCOVERY = 1.5
"""Seconds to learn the graph."""


@contextmanager
def temporary_node() -> Iterator[Node]:
    """A node for one command."""
    rclpy.init(args=[])
    node = Node(f"ros2cli_{int(time.time() * 1e3) % 10**8}", enable_rosout=False, start_parameter_services=False)
    try:
        yield node
    finally:
        node.destroy_node()
        rclpy.try_shutdown()


def _settle(node: Node, condition: Callable[[], Any], timeout: float = DISCOVERY) -> bool:
    deadline = time.monotonic() + timeout
    while not condition():
        if time.monotonic() > deadline:
            return False
        rclpy.spin_once(node, timeout_sec=0.05)
    return True


def _listing(rows: list[tuple[str, list[str]]], show_types: bool) -> None:
    for name, types in sorted(rows):
        print(f"{name} [{', '.join(types)}]" if show_types else name)


def node_list(arguments: Namespace) -> int:
    """Names of all nodes."""
    with temporary_node() as node:
        _settle(node, lambda: False)
        names = {f"{ns.rstrip('/')}/{name}" for name, ns in node.get_node_names_and_namespaces()}
        print("\n".join(sorted(n for n in names if "ros2cli_" not in n)))
    return 0


def topic_list(arguments: Namespace) -> int:
    """Names of all topics."""
    with temporary_node() as node:
        _settle(node, lambda: False)
        _listing(node.get_topic_names_and_types(), arguments.show_types)
    return 0


def service_list(arguments: Namespace) -> int:
    """Names of all services."""
    with temporary_node() as node:
        _settle(node, lambda: False)
        _listing(node.get_service_names_and_types(), arguments.show_types)
    return 0


def action_list(arguments: Namespace) -> int:
    """Names of all actions."""
    with temporary_node() as node:
        _settle(node, lambda: False)
        _listing(get_action_names_and_types(node), arguments.show_types)
    return 0


def _topic_type(node: Node, topic: str, given: str | None) -> Any:
    name = topic if topic.startswith("/") else "/" + topic
    if given is None:
        found: list[str] = []

        def look() -> bool:
            found[:] = dict(node.get_topic_names_and_types()).get(name, [])
            return bool(found)

        if not _settle(node, look, 5.0):
            raise BadMessageError(f"topic {name} does not exist and no type was given; see `ros2 topic list`")
        given = found[0]
    return load_interface(given, "msg")


def _qos(node: Node, topic: str) -> QoSProfile:
    """Best effort, and latched where every publisher is."""
    name = topic if topic.startswith("/") else "/" + topic
    _settle(node, lambda: node.count_publishers(name) > 0, 2.0)
    publishers = node.get_publishers_info_by_topic(name)
    latched = bool(publishers) and all(
        p.qos_profile.durability is DurabilityPolicy.TRANSIENT_LOCAL for p in publishers
    )
    if latched:
        return QoSProfile(
            depth=10, durability=DurabilityPolicy.TRANSIENT_LOCAL, reliability=ReliabilityPolicy.RELIABLE
        )
    return qos_profile_sensor_data


def topic_echo(arguments: Namespace) -> int:
    """Print messages of a topic."""
    with temporary_node() as node:
        kind = _topic_type(node, arguments.topic, arguments.type)
        seen: list[int] = []

        def show(message: Any) -> None:
            if arguments.once and seen:
                return
            seen.append(1)
            value = plain(message, 10**9 if arguments.full_length else 128)
            for part in (arguments.field or "").split("."):
                value = value[part] if part else value
            print(yaml.safe_dump(value, sort_keys=False, default_flow_style=None), end="---\n", flush=True)

        node.create_subscription(kind, arguments.topic, show, _qos(node, arguments.topic))
        deadline = time.monotonic() + arguments.timeout if arguments.timeout else float("inf")
        while not (arguments.once and seen):
            rclpy.spin_once(node, timeout_sec=0.1)
            if time.monotonic() > deadline:
                return 0 if seen else 1
    return 0


def topic_hz(arguments: Namespace) -> int:
    """Print the rate of a topic every second."""
    with temporary_node() as node:
        kind = _topic_type(node, arguments.topic, None)
        stamps: list[float] = []
        node.create_subscription(
            kind, arguments.topic, lambda _: stamps.append(time.monotonic()), _qos(node, arguments.topic), raw=True
        )
        start = last = time.monotonic()
        while arguments.duration is None or time.monotonic() - start < arguments.duration:
            rclpy.spin_once(node, timeout_sec=0.1)
            if time.monotonic() - last > 1.0:
                last = time.monotonic()
                recent = [s for s in stamps if s > last - 5.0]
                if len(recent) > 1:
                    print(f"average rate: {(len(recent) - 1) / (recent[-1] - recent[0]):.3f}", flush=True)
    return 0


def service_call(arguments: Namespace) -> int:
    """Call a service and print the response."""
    with temporary_node() as node:
        kind = load_interface(arguments.type, "srv")
        request = fill(kind.Request(), yaml.safe_load(arguments.values or "{}") or {})
        client = node.create_client(kind, arguments.service)
        if not client.wait_for_service(arguments.timeout):
            print(f"service {arguments.service} is not available after {arguments.timeout:.0f} s", file=sys.stderr)
            return 1
        future = client.call_async(request)
        rclpy.spin_until_future_complete(node, future, timeout_sec=600.0)
        if future.result() is None:
            print("no response", file=sys.stderr)
            return 1
        print("response:")
        print(yaml.safe_dump(plain(future.result()), sort_keys=False, default_flow_style=None), end="")
    return 0


def send_goal(arguments: Namespace) -> int:
    """Send a goal, print feedback on request, print the result; Ctrl-C cancels."""
    with temporary_node() as node:
        kind = load_interface(arguments.type, "action")
        goal = fill(kind.Goal(), yaml.safe_load(arguments.goal or "{}") or {})
        client = ActionClient(node, kind, arguments.action)
        if not client.wait_for_server(10.0):
            print(f"action {arguments.action} is not available after 10 s", file=sys.stderr)
            return 1

        def show(message: Any) -> None:
            print("feedback:\n" + yaml.safe_dump(plain(message.feedback), sort_keys=False), flush=True)

        future = client.send_goal_async(goal, feedback_callback=show if arguments.feedback else None)
        rclpy.spin_until_future_complete(node, future)
        handle = future.result()
        if handle is None or not handle.accepted:
            print("goal was rejected", file=sys.stderr)
            return 1
        print("goal accepted", flush=True)
        result = handle.get_result_async()
        try:
            rclpy.spin_until_future_complete(node, result)
        except KeyboardInterrupt:
            rclpy.spin_until_future_complete(node, handle.cancel_goal_async(), timeout_sec=5.0)
            print("goal cancelled", file=sys.stderr)
            return 130
        print("result:\n" + yaml.safe_dump(plain(result.result().result), sort_keys=False), end="")
        names = {4: "SUCCEEDED", 5: "CANCELED", 6: "ABORTED"}
        print(f"goal finished with status: {names.get(result.result().status, 'UNKNOWN')}")
        return 0 if result.result().status == 4 else 1


def _call(node: Node, kind: str, name: str, values: dict[str, Any] | None = None, **fields: Any) -> Any:
    interface = load_interface(kind, "srv")
    request = fill(interface.Request(), values or {})
    for field, value in fields.items():
        setattr(request, field, value)
    client = node.create_client(interface, name)
    if not client.wait_for_service(5.0):
        raise BadMessageError(f"service {name} is not available; is the node running? see `ros2 node list`")
    future = client.call_async(request)
    rclpy.spin_until_future_complete(node, future, timeout_sec=30.0)
    if future.result() is None:
        raise BadMessageError(f"service {name} did not answer")
    return future.result()


def param_get(arguments: Namespace) -> int:
    """Print a parameter."""
    with temporary_node() as node:
        values = _call(
            node, "rcl_interfaces/srv/GetParameters", f"{arguments.node}/get_parameters", {"names": [arguments.name]}
        ).values
        if not values or values[0].type == ParameterType.PARAMETER_NOT_SET:
            print("Parameter not set.", file=sys.stderr)
            return 1
        print(f"value is: {parameter_value_to_python(values[0])}")
    return 0


def param_set(arguments: Namespace) -> int:
    """Set a parameter."""
    python = yaml.safe_load(arguments.value)
    kinds: list[tuple[type, int, str]] = [
        (bool, ParameterType.PARAMETER_BOOL, "bool_value"), (int, ParameterType.PARAMETER_INTEGER, "integer_value"),
        (float, ParameterType.PARAMETER_DOUBLE, "double_value"), (str, ParameterType.PARAMETER_STRING, "string_value"),
    ]
    for kind, number, field in kinds:
        if isinstance(python, kind):
            value = ParameterValue(type=number, **{field: python})
            break
    else:
        raise BadMessageError(f"param set: {arguments.value!r} is not supported by the stand-in; scalars only")
    with temporary_node() as node:
        answer = _call(
            node, "rcl_interfaces/srv/SetParameters", f"{arguments.node}/set_parameters",
            parameters=[Parameter(name=arguments.name, value=value)],
        ).results[0]
        print("Set parameter successful" if answer.successful else f"Setting parameter failed: {answer.reason}")
        return 0 if answer.successful else 1


def lifecycle_get(arguments: Namespace) -> int:
    """Print a node's state."""
    with temporary_node() as node:
        state = _call(node, "lifecycle_msgs/srv/GetState", f"{arguments.node}/get_state").current_state
        print(f"{state.label} [{state.id}]")
    return 0


def lifecycle_set(arguments: Namespace) -> int:
    """Trigger a transition."""
    with temporary_node() as node:
        answer = _call(
            node, "lifecycle_msgs/srv/ChangeState", f"{arguments.node}/change_state",
            {"transition": {"label": arguments.transition}},
        )
        print("Transitioning successful" if answer.success else "Transitioning failed")
        return 0 if answer.success else 1
