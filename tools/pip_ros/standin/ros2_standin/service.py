"""Services."""

from __future__ import annotations

import argparse

from . import graph, messages


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The verbs."""
    verbs = parser.add_subparsers(required=True, metavar="verb")
    verb = verbs.add_parser("list", help="names of the services")
    verb.add_argument("-t", "--show-types", action="store_true")
    verb.set_defaults(run=list_services)
    verb = verbs.add_parser("call", help="call a service")
    verb.add_argument("service")
    verb.add_argument("type", help="e.g. std_srvs/srv/Trigger")
    verb.add_argument("values", nargs="?", default="", help='YAML of the request, e.g. "{data: true}"')
    verb.set_defaults(run=call)


def list_services(arguments: argparse.Namespace) -> int:
    """Print the names."""
    with graph.node() as node:
        services = graph.settle(node, lambda: graph.visible(node.get_service_names_and_types()))
    for name, types in services:
        print(f"{name} [{', '.join(types)}]" if arguments.show_types else name)
    return 0


def call(arguments: argparse.Namespace) -> int:
    """Call it and print the response."""
    kind = messages.load_type(arguments.type, "srv")
    request = messages.fill(kind.Request(), arguments.values)
    with graph.node() as node:
        print(f"requester: making request: {request!r}\n", flush=True)
        response = graph.call(node, kind, graph.absolute(arguments.service), request)
    print(f"response:\n{messages.to_yaml(response, full=True)}")
    return 0
