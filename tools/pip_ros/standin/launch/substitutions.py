"""Values that are known only at launch time."""

from __future__ import annotations

import os
from typing import Any

from launch._missing import refuse
from launch.context import LaunchContext


class SubstitutionFailureError(RuntimeError):
    """A substitution has no value."""


class Substitution:
    """Base of all substitutions."""

    def perform(self, context: LaunchContext) -> str:
        """The text."""
        raise TypeError(f"{type(self).__name__} has no perform()")


def perform(context: LaunchContext, value: Any) -> str:
    """Text of a str, a substitution, or a list of both joined."""
    if isinstance(value, Substitution):
        return value.perform(context)
    if isinstance(value, list | tuple):
        return "".join(perform(context, part) for part in value)
    return str(value)


class TextSubstitution(Substitution):
    """Plain text."""

    def __init__(self, *, text: str) -> None:
        self.text = text

    def perform(self, context: LaunchContext) -> str:
        """The text."""
        return self.text


class LaunchConfiguration(Substitution):
    """Value of a launch argument or configuration."""

    def __init__(self, variable_name: Any, *, default: Any = None) -> None:
        self.variable_name = variable_name
        self.default = default

    def perform(self, context: LaunchContext) -> str:
        """The value now in force."""
        name = perform(context, self.variable_name)
        if name in context.launch_configurations:
            return context.launch_configurations[name]
        if self.default is not None:
            return perform(context, self.default)
        raise SubstitutionFailureError(
            f"launch configuration {name!r} is not set; known: {', '.join(sorted(context.launch_configurations))}"
        )


class PathJoinSubstitution(Substitution):
    """Path of joined parts."""

    def __init__(self, substitutions: Any) -> None:
        self.substitutions = substitutions

    def perform(self, context: LaunchContext) -> str:
        """The path."""
        return os.path.join(*[perform(context, part) for part in self.substitutions])


class EnvironmentVariable(Substitution):
    """Value of an environment variable."""

    def __init__(self, name: Any, *, default_value: Any = None) -> None:
        self.name = name
        self.default_value = default_value

    def perform(self, context: LaunchContext) -> str:
        """The value now in force."""
        name = perform(context, self.name)
        if name in context.environment:
            return context.environment[name]
        if self.default_value is None:
            raise SubstitutionFailureError(f"environment variable {name!r} is not set and has no default")
        return perform(context, self.default_value)


__getattr__ = refuse("launch.substitutions")
