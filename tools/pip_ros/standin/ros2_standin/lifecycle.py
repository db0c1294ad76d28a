"""States of lifecycle nodes."""

from __future__ import annotations

import argparse

from lifecycle_msgs.srv import ChangeState, GetAvailableTransitions, GetState

from . import graph
from .errors import CommandError


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The verbs."""
    verbs = parser.add_subparsers(required=True, metavar="verb")
    verb = verbs.add_parser("get", help="print a node's state")
    verb.add_argument("node")
    verb.set_defaults(run=get)
    verb = verbs.add_parser("set", help="trigger a transition, e.g. activate")
    verb.add_argument("node")
    verb.add_argument("transition", help="label or number")
    verb.set_defaults(run=set_state)


def get(arguments: argparse.Namespace) -> int:
    """Print it."""
    with graph.node() as node:
        state = graph.call(node, GetState, f"{graph.absolute(arguments.node)}/get_state", GetState.Request())
    print(f"{state.current_state.label} [{state.current_state.id}]")
    return 0


def set_state(arguments: argparse.Namespace) -> int:
    """Trigger it; raises CommandError where it is not possible now or fails."""
    target = graph.absolute(arguments.node)
    with graph.node() as node:
        request = GetAvailableTransitions.Request()
        answer = graph.call(node, GetAvailableTransitions, f"{target}/get_available_transitions", request)
        known = {item.transition.label: item.transition for item in answer.available_transitions}
        known |= {str(item.id): item for item in known.values()}
        if arguments.transition not in known:
            labels = ", ".join(label for label in known if not label.isdigit()) or "none"
            raise CommandError(f"node {target} cannot '{arguments.transition}' now; it can: {labels}")
        change = ChangeState.Request(transition=known[arguments.transition])
        if not graph.call(node, ChangeState, f"{target}/change_state", change).success:
            raise CommandError(f"transition '{arguments.transition}' of {target} failed")
    print("Transitioning successful")
    return 0
