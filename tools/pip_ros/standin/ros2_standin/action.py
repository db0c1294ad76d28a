"""Actions."""

from __future__ import annotations

import argparse

import rclpy
from action_msgs.msg import GoalStatus
from rclpy.action import ActionClient, get_action_names_and_types

from . import graph, messages
from .errors import CommandError

STATUS = {GoalStatus.STATUS_SUCCEEDED: "SUCCEEDED", GoalStatus.STATUS_CANCELED: "CANCELED"}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The verbs."""
    verbs = parser.add_subparsers(required=True, metavar="verb")
    verb = verbs.add_parser("list", help="names of the actions")
    verb.add_argument("-t", "--show-types", action="store_true")
    verb.set_defaults(run=list_actions)
    verb = verbs.add_parser("send_goal", help="send a goal and wait for its result; Ctrl-C cancels it")
    verb.add_argument("action")
    verb.add_argument("type", help="e.g. control_msgs/action/FollowJointTrajectory")
    verb.add_argument("goal", nargs="?", default="", help="YAML of the goal")
    verb.add_argument("-f", "--feedback", action="store_true", help="print feedback")
    verb.set_defaults(run=send_goal)


def list_actions(arguments: argparse.Namespace) -> int:
    """Print the names."""
    with graph.node() as node:
        actions = graph.settle(node, lambda: get_action_names_and_types(node))
    for name, types in sorted(actions):
        print(f"{name} [{', '.join(types)}]" if arguments.show_types else name)
    return 0


def send_goal(arguments: argparse.Namespace) -> int:
    """Send it; 0 only where the goal succeeded."""
    kind = messages.load_type(arguments.type, "action")
    goal = messages.fill(kind.Goal(), arguments.goal)
    name = graph.absolute(arguments.action)
    with graph.node() as node:
        client = ActionClient(node, kind, name)
        if not client.wait_for_server(graph.DISCOVERY_TIME):
            raise CommandError(f"no action server {name} (waited {graph.DISCOVERY_TIME:g} s); is its node running?")
        print(f"Sending goal:\n{messages.to_yaml(goal)}", flush=True)
        sent = client.send_goal_async(goal, feedback_callback=_show_feedback if arguments.feedback else None)
        rclpy.spin_until_future_complete(node, sent)
        handle = sent.result()
        if not handle.accepted:
            raise CommandError("Goal was rejected")
        print(f"Goal accepted with ID: {bytes(handle.goal_id.uuid).hex()}\n", flush=True)
        result = handle.get_result_async()
        try:
            rclpy.spin_until_future_complete(node, result)
        except KeyboardInterrupt:
            print("Cancelling the goal", flush=True)
            rclpy.spin_until_future_complete(node, handle.cancel_goal_async(), timeout_sec=5.0)
            rclpy.spin_until_future_complete(node, result, timeout_sec=5.0)
            if not result.done():
                raise CommandError("the server did not end the cancelled goal within 5 s") from None
        answer = result.result()
        status = STATUS.get(answer.status, "ABORTED")
        print(f"Result:\n{messages.to_yaml(answer.result, full=True)}\nGoal finished with status: {status}")
        client.destroy()
    return 0 if status == "SUCCEEDED" else 1


def _show_feedback(message: object) -> None:
    print(f"Feedback:\n{messages.to_yaml(message.feedback)}", flush=True)
