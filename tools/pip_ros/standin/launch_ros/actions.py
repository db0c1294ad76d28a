"""Nodes and what applies to them."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping, Sequence
from typing import Any

import yaml
from ament_index_python.packages import get_package_prefix
from launch._missing import UnsupportedLaunchFeatureError, refuse
from launch.actions import Action, ExecuteProcess
from launch.context import LaunchContext
from launch.substitutions import Substitution, perform

from launch_ros.parameter_descriptions import ParameterValue


def join_namespace(outer: str, inner: str) -> str:
    """Absolute namespaces replace, relative ones extend."""
    if inner.startswith("/") or not outer:
        return inner
    return f"{outer.rstrip('/')}/{inner}" if inner else outer


class PushRosNamespace(Action):
    """Namespace of the nodes that follow in this scope."""

    def __init__(self, namespace: Any, *, condition: Any = None) -> None:
        super().__init__(condition=condition)
        self.namespace = namespace

    def execute(self, context: LaunchContext) -> None:
        """Apply it."""
        context.namespace = join_namespace(context.namespace, perform(context, self.namespace))


class SetParameter(Action):
    """A parameter of all nodes that follow in this scope."""

    def __init__(self, name: Any, value: Any, *, condition: Any = None) -> None:
        super().__init__(condition=condition)
        self.name, self.value = name, value

    def execute(self, context: LaunchContext) -> None:
        """Apply it."""
        context.ros_parameters.append((perform(context, self.name), resolve_value(context, self.value)))


class SetRemap(Action):
    """A remapping of all nodes that follow in this scope."""

    def __init__(self, src: Any, dst: Any, *, condition: Any = None) -> None:
        super().__init__(condition=condition)
        self.src, self.dst = src, dst

    def execute(self, context: LaunchContext) -> None:
        """Apply it."""
        context.ros_remaps.append((perform(context, self.src), perform(context, self.dst)))


def resolve_value(context: LaunchContext, value: Any) -> Any:
    """A parameter's value; text of substitutions is read as YAML unless its type is said."""
    if isinstance(value, ParameterValue):
        text = value.value
        if isinstance(text, Substitution) or (isinstance(text, list | tuple) and value.value_type is str):
            text = perform(context, text)
            return yaml.safe_load(text) if value.value_type is None else _typed(text, value.value_type)
        return text
    if isinstance(value, Substitution):
        return yaml.safe_load(perform(context, value))
    if isinstance(value, list | tuple) and any(isinstance(v, Substitution) for v in value):
        return yaml.safe_load(perform(context, value))
    return list(value) if isinstance(value, tuple) else value


def _typed(text: str, kind: Any) -> Any:
    if kind is str:
        return text
    value = yaml.safe_load(text)
    if kind is float and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    if not isinstance(value, kind):
        raise TypeError(f"parameter value {text!r} is no {kind.__name__}")
    return value


class Node(ExecuteProcess):
    """A ROS node in a process of its own."""

    def __init__(
        self, *, executable: Any, package: Any = None, name: Any = None, namespace: Any = None,
        parameters: Sequence[Any] | None = None, remappings: Sequence[tuple[Any, Any]] | None = None,
        arguments: Sequence[Any] | None = None, ros_arguments: Sequence[Any] | None = None, **options: Any,
    ) -> None:
        super().__init__(cmd=[executable], **options)
        self.package, self.executable, self.node_name, self.namespace = package, executable, name, namespace
        self.parameters, self.remappings = list(parameters or []), list(remappings or [])
        self.arguments, self.ros_arguments = list(arguments or []), list(ros_arguments or [])

    def describe(self) -> str:
        """One line for --print-description."""
        return f"Node {self.package}/{self.executable}"

    def label(self, context: LaunchContext) -> str:
        """Name that prefixes the output."""
        return perform(context, self.node_name or self.executable)

    def command(self, context: LaunchContext) -> list[str]:
        """The command line, with names, parameters and remappings."""
        executable = perform(context, self.executable)
        if self.package is not None:
            package = perform(context, self.package)
            path = os.path.join(get_package_prefix(package), "lib", package, executable)
            if not os.path.isfile(path):
                raise FileNotFoundError(f"package {package} has no executable {executable} ({path}); build it first")
            executable = path
        command = [executable, *[perform(context, a) for a in self.arguments], "--ros-args"]
        command += [perform(context, a) for a in self.ros_arguments]
        if self.node_name is not None:
            command += ["-r", f"__node:={perform(context, self.node_name)}"]
        inner = perform(context, self.namespace) if self.namespace is not None else ""
        namespace = join_namespace(context.namespace, inner)
        if namespace:
            command += ["-r", f"__ns:={namespace if namespace.startswith('/') else '/' + namespace}"]
        for src, dst in context.ros_remaps:
            command += ["-r", f"{src}:={dst}"]
        for src, dst in self.remappings:
            command += ["-r", f"{perform(context, src)}:={perform(context, dst)}"]
        if context.ros_parameters:
            command += ["--params-file", _parameter_file(dict(context.ros_parameters))]
        for entry in self.parameters:
            command += ["--params-file", self._file(context, entry)]
        return command

    def _file(self, context: LaunchContext, entry: Any) -> str:
        if isinstance(entry, Mapping):
            return _parameter_file({perform(context, k): resolve_value(context, v) for k, v in entry.items()})
        if isinstance(entry, ParameterValue):
            raise UnsupportedLaunchFeatureError("Node parameters: a bare ParameterValue has no name; use a dict")
        return perform(context, entry)


def _parameter_file(values: Mapping[str, Any]) -> str:
    handle, path = tempfile.mkstemp(prefix="launch_params_", suffix=".yaml")
    with os.fdopen(handle, "w") as stream:
        yaml.safe_dump({"/**": {"ros__parameters": dict(values)}}, stream)
    return path


__getattr__ = refuse("launch_ros.actions")
