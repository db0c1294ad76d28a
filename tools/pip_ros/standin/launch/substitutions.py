"""Text that is known only when the launch runs."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from .launch_context import LaunchContext
from .unsupported import refuse_names

__getattr__ = refuse_names("launch.substitutions")


class SubstitutionFailure(RuntimeError):
    """A substitution cannot be performed."""


class Substitution:
    """Base of everything that becomes text at launch time."""

    def perform(self, context: LaunchContext) -> str:
        """The text, in this context."""
        raise TypeError(f"{type(self).__name__} does not define perform()")

    def describe(self) -> str:
        """How the substitution reads in --print-description and --show-args."""
        return f"{type(self).__name__}()"


SomeSubstitutionsType = str | Path | Substitution | Iterable[str | Path | Substitution]


def normalize_to_list_of_substitutions(value: SomeSubstitutionsType) -> list[Substitution]:
    """A list of substitutions from text, a path, a substitution or a list of these; raises TypeError."""
    if isinstance(value, str | Path):
        return [TextSubstitution(text=str(value))]
    if isinstance(value, Substitution):
        return [value]
    if isinstance(value, Iterable):
        return [part for item in value for part in normalize_to_list_of_substitutions(item)]
    raise TypeError(f"expected text, a substitution or a list of these, got {type(value).__name__}: {value!r}")


def perform_substitutions(context: LaunchContext, value: SomeSubstitutionsType) -> str:
    """The joined text of one or several substitutions."""
    return "".join(part.perform(context) for part in normalize_to_list_of_substitutions(value))


def describe(value: Any) -> str:
    """Text for --print-description of anything that may hold substitutions."""
    if value is None or isinstance(value, bool | int | float):
        return str(value)
    return " + ".join(part.describe() for part in normalize_to_list_of_substitutions(value)) or "''"


class TextSubstitution(Substitution):
    """Plain text."""

    def __init__(self, *, text: str) -> None:
        self.text = text

    def perform(self, context: LaunchContext) -> str:
        """The text itself."""
        return self.text

    def describe(self) -> str:
        """The text in quotes."""
        return f"'{self.text}'"


class LaunchConfiguration(Substitution):
    """The value of a launch argument."""

    def __init__(self, variable_name: SomeSubstitutionsType, *, default: SomeSubstitutionsType | None = None) -> None:
        self.variable_name = normalize_to_list_of_substitutions(variable_name)
        self.default = default

    def perform(self, context: LaunchContext) -> str:
        """The argument's value; raises SubstitutionFailure where it is neither set nor has a default."""
        name = perform_substitutions(context, self.variable_name)
        if name in context.launch_configurations:
            return str(context.launch_configurations[name])
        if self.default is None:
            raise SubstitutionFailure(f"launch configuration '{name}' does not exist")
        return perform_substitutions(context, self.default)

    def describe(self) -> str:
        """As written in the launch file."""
        return f"LaunchConfiguration({describe(self.variable_name)})"


class EnvironmentVariable(Substitution):
    """The value of an environment variable."""

    def __init__(self, name: SomeSubstitutionsType, *, default_value: SomeSubstitutionsType | None = None) -> None:
        self.name = normalize_to_list_of_substitutions(name)
        self.default_value = default_value

    def perform(self, context: LaunchContext) -> str:
        """The variable's value; raises SubstitutionFailure where it is neither set nor has a default."""
        name = perform_substitutions(context, self.name)
        if name in context.environment:
            return context.environment[name]
        if self.default_value is None:
            raise SubstitutionFailure(f"environment variable '{name}' does not exist")
        return perform_substitutions(context, self.default_value)

    def describe(self) -> str:
        """As written in the launch file."""
        return f"EnvVar({describe(self.name)})"


class PathJoinSubstitution(Substitution):
    """A path from parts, each of them text, a substitution or a list of these to be joined first."""

    def __init__(self, substitutions: Iterable[SomeSubstitutionsType]) -> None:
        self.substitutions = [normalize_to_list_of_substitutions(part) for part in substitutions]

    def perform(self, context: LaunchContext) -> str:
        """The joined path."""
        return os.path.join(*(perform_substitutions(context, part) for part in self.substitutions))

    def describe(self) -> str:
        """As written in the launch file."""
        return f"PathJoin({', '.join(describe(part) for part in self.substitutions)})"
