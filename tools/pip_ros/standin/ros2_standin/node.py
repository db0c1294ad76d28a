"""Nodes."""

from __future__ import annotations

import argparse

from . import graph


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The verbs."""
    verbs = parser.add_subparsers(required=True, metavar="verb")
    verb = verbs.add_parser("list", help="names of the running nodes")
    verb.add_argument("-a", "--all", action="store_true", help="hidden nodes too")
    verb.set_defaults(run=list_nodes)


def list_nodes(arguments: argparse.Namespace) -> int:
    """Print the names."""
    with graph.node() as node:
        for name in graph.settle(node, lambda: sorted(_names(node, hidden=arguments.all))):
            print(name)
    return 0


def _names(node: graph.Node, *, hidden: bool) -> list[str]:
    names = [f"{namespace.rstrip('/')}/{name}" for name, namespace in node.get_node_names_and_namespaces()]
    return [name for name in names if hidden or not graph.is_hidden(name)]
