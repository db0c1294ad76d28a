"""Parameters of nodes."""

from __future__ import annotations

import argparse

from rcl_interfaces.msg import Parameter, ParameterType
from rcl_interfaces.srv import GetParameters, SetParameters
from rclpy.parameter import get_parameter_value, parameter_value_to_python

from . import graph
from .errors import CommandError

KINDS = {
    ParameterType.PARAMETER_BOOL: "Boolean value is:",
    ParameterType.PARAMETER_INTEGER: "Integer value is:",
    ParameterType.PARAMETER_DOUBLE: "Double value is:",
    ParameterType.PARAMETER_STRING: "String value is:",
    ParameterType.PARAMETER_BYTE_ARRAY: "Byte values are:",
    ParameterType.PARAMETER_BOOL_ARRAY: "Boolean values are:",
    ParameterType.PARAMETER_INTEGER_ARRAY: "Integer values are:",
    ParameterType.PARAMETER_DOUBLE_ARRAY: "Double values are:",
    ParameterType.PARAMETER_STRING_ARRAY: "String values are:",
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The verbs."""
    verbs = parser.add_subparsers(required=True, metavar="verb")
    verb = verbs.add_parser("get", help="print a parameter")
    verb.add_argument("node")
    verb.add_argument("name")
    verb.set_defaults(run=get)
    verb = verbs.add_parser("set", help="set a parameter")
    verb.add_argument("node")
    verb.add_argument("name")
    verb.add_argument("value", help="read as YAML, so 1 is an integer and '\"1\"' a string")
    verb.set_defaults(run=set_value)


def get(arguments: argparse.Namespace) -> int:
    """Print it."""
    target = graph.absolute(arguments.node)
    with graph.node() as node:
        request = GetParameters.Request(names=[arguments.name])
        values = graph.call(node, GetParameters, f"{target}/get_parameters", request).values
    if not values or values[0].type == ParameterType.PARAMETER_NOT_SET:
        raise CommandError(f"node {target} has no parameter '{arguments.name}'")
    value = parameter_value_to_python(values[0])
    print(f"{KINDS[values[0].type]} {list(value) if not isinstance(value, str | bool | int | float) else value}")
    return 0


def set_value(arguments: argparse.Namespace) -> int:
    """Set it; raises CommandError with the node's reason where it refuses."""
    target = graph.absolute(arguments.node)
    with graph.node() as node:
        parameter = Parameter(name=arguments.name, value=get_parameter_value(arguments.value))
        request = SetParameters.Request(parameters=[parameter])
        result = graph.call(node, SetParameters, f"{target}/set_parameters", request).results[0]
    if not result.successful:
        raise CommandError(f"setting parameter failed: {result.reason}")
    print("Set parameter successful")
    return 0
