"""ROS nodes, and the namespace, parameters and remappings they share."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import yaml
from launch.action import Action
from launch.launch_context import LaunchContext
from launch.process import ExecuteProcess
from launch.substitutions import SomeSubstitutionsType, SubstitutionFailure, describe, perform_substitutions
from launch.unsupported import refuse_names

from .parameter_descriptions import ParameterFile, evaluate, flatten
from .substitutions import package_prefix

__getattr__ = refuse_names("launch_ros.actions")


def join_namespace(base: str, namespace: str) -> str:
    """An absolute namespace stays, a relative one goes below the base; '' where both are empty."""
    if not namespace.startswith("/"):
        namespace = f"{base}/{namespace}"
    parts = [part for part in namespace.split("/") if part]
    return "/" + "/".join(parts) if parts else ""


class PushRosNamespace(Action):
    """Put the nodes that follow (in this group) into a namespace."""

    def __init__(self, namespace: SomeSubstitutionsType, *, condition: Any = None) -> None:
        super().__init__(condition=condition)
        self.namespace = namespace

    def execute(self, context: LaunchContext) -> None:
        """Append it to the namespace so far."""
        configurations = context.launch_configurations
        base = configurations.get("ros_namespace", "")
        configurations["ros_namespace"] = join_namespace(base, perform_substitutions(context, self.namespace))

    def describe(self) -> str:
        """As in the launch file."""
        return f"PushRosNamespace({describe(self.namespace)})"


class SetParameter(Action):
    """Set a parameter of the nodes that follow (in this group)."""

    def __init__(self, name: SomeSubstitutionsType, value: Any, *, condition: Any = None) -> None:
        super().__init__(condition=condition)
        self.name = name
        self.value = value

    def execute(self, context: LaunchContext) -> None:
        """Add it; a node's own parameters win."""
        pair = (perform_substitutions(context, self.name), evaluate(context, self.value))
        before = context.launch_configurations.get("global_params", [])
        context.launch_configurations["global_params"] = [*before, pair]

    def describe(self) -> str:
        """As in the launch file."""
        return f"SetParameter({describe(self.name)})"


class SetRemap(Action):
    """Remap a name in the nodes that follow (in this group)."""

    def __init__(self, src: SomeSubstitutionsType, dst: SomeSubstitutionsType, *, condition: Any = None) -> None:
        super().__init__(condition=condition)
        self.src = src
        self.dst = dst

    def execute(self, context: LaunchContext) -> None:
        """Add it."""
        pair = (perform_substitutions(context, self.src), perform_substitutions(context, self.dst))
        before = context.launch_configurations.get("ros_remaps", [])
        context.launch_configurations["ros_remaps"] = [*before, pair]

    def describe(self) -> str:
        """As in the launch file."""
        return f"SetRemap({describe(self.src)}, {describe(self.dst)})"


class Node(ExecuteProcess):
    """Run a node of a package."""

    def __init__(
        self,
        *,
        executable: SomeSubstitutionsType,
        package: SomeSubstitutionsType | None = None,
        name: SomeSubstitutionsType | None = None,
        namespace: SomeSubstitutionsType | None = None,
        exec_name: SomeSubstitutionsType | None = None,
        parameters: Iterable[Any] | None = None,
        remappings: Iterable[tuple[SomeSubstitutionsType, SomeSubstitutionsType]] | None = None,
        ros_arguments: Iterable[SomeSubstitutionsType] | None = None,
        arguments: Iterable[SomeSubstitutionsType] | None = None,
        **options: Any,
    ) -> None:
        super().__init__(cmd=[executable, *(arguments or ())], name=exec_name, **options)
        self.package = package
        self.node_name = name
        self.namespace = namespace
        self.parameters = list(parameters or ())
        self.remappings = list(remappings or ())
        self.ros_arguments = list(ros_arguments or ())

    def command(self, context: LaunchContext) -> list[str]:
        """Program, its arguments, then names, parameters (shared ones first) and remappings as --ros-args."""
        program, *arguments = super().command(context)
        if self.package is not None:
            program = self._program(perform_substitutions(context, self.package), program)
        rules = [perform_substitutions(context, argument) for argument in self.ros_arguments]
        name = None if self.node_name is None else perform_substitutions(context, self.node_name)
        if name is not None:
            rules += ["-r", f"__node:={name}"]
        own = "" if self.namespace is None else perform_substitutions(context, self.namespace)
        namespace = join_namespace(context.launch_configurations.get("ros_namespace", ""), own)
        if namespace:
            rules += ["-r", f"__ns:={namespace}"]
        for parameter, value in context.launch_configurations.get("global_params", []):
            text = yaml.safe_dump(value, default_flow_style=True).removesuffix("...\n").strip()
            rules += ["-p", f"{parameter}:={text}"]
        for number, parameters in enumerate(self.parameters):
            rules += ["--params-file", str(self._parameter_file(context, parameters, number, namespace, name))]
        for pair in [*context.launch_configurations.get("ros_remaps", []), *self.remappings]:
            src, dst = (perform_substitutions(context, part) for part in pair)
            rules += ["-r", f"{src}:={dst}"]
        return [program, *arguments, "--ros-args", *rules]

    @staticmethod
    def _program(package: str, executable: str) -> str:
        path = package_prefix(package) / "lib" / package / executable
        if not os.access(path, os.X_OK):
            raise SubstitutionFailure(f"package '{package}' has no executable '{executable}' ({path})")
        return str(path)

    def _parameter_file(
        self, context: LaunchContext, parameters: Any, number: int, namespace: str, name: str | None
    ) -> Path:
        """A file as it is, or one written to the launch's log folder from a dictionary."""
        if not isinstance(parameters, Mapping):
            file = parameters if isinstance(parameters, ParameterFile) else ParameterFile(parameters)
            return file.evaluate(context)
        who = "/**" if name is None else f"{namespace}/{name}"
        label = who.strip("/*").replace("/", "_") or "node"
        path = context.service.log.folder / f"{label}_{id(self):x}_{number}.yaml"
        path.write_text(yaml.safe_dump({who: {"ros__parameters": flatten(context, parameters)}}))
        return path

    def describe(self) -> str:
        """Package, program, name."""
        parts = [describe(self.package)] if self.package is not None else []
        parts += [" ".join(describe(part) for part in self.cmd)]
        parts += [f"name={describe(self.node_name)}"] if self.node_name is not None else []
        return f"Node({', '.join(parts)})"
