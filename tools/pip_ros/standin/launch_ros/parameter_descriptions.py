"""Node parameters as launch files give them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import yaml
from launch.launch_context import LaunchContext
from launch.substitutions import SomeSubstitutionsType, Substitution, perform_substitutions
from launch.unsupported import UnsupportedLaunchFeatureError, refuse_names

__getattr__ = refuse_names("launch_ros.parameter_descriptions")

SCALARS = (bool, int, float, str)


class ParameterValue:
    """A parameter with a type that is not to be guessed from its text."""

    def __init__(self, value: Any, *, value_type: type | None = None) -> None:
        if value_type not in (None, *SCALARS):
            raise UnsupportedLaunchFeatureError(f"ParameterValue(value_type={value_type}): use bool, int, float or str")
        self.value = value
        self.value_type = value_type

    def evaluate(self, context: LaunchContext) -> Any:
        """The value; raises TypeError where the text is not of the type."""
        if self.value_type is None or isinstance(self.value, bool | int | float):
            return evaluate(context, self.value)
        text = perform_substitutions(context, self.value)
        if self.value_type is str:
            return text
        value = yaml.safe_load(text)
        if self.value_type is float and type(value) is int:
            value = float(value)
        if type(value) is not self.value_type:
            raise TypeError(f"'{text}' is not of type {self.value_type.__name__}")
        return value


class ParameterFile:
    """A YAML file of parameters."""

    def __init__(self, param_file: SomeSubstitutionsType, *, allow_substs: bool = False) -> None:
        if allow_substs:
            raise UnsupportedLaunchFeatureError("ParameterFile(allow_substs=True) is not in the stand-in")
        self.param_file = param_file

    def evaluate(self, context: LaunchContext) -> Path:
        """The file; raises FileNotFoundError."""
        path = Path(perform_substitutions(context, self.param_file))
        if not path.is_file():
            raise FileNotFoundError(f"parameter file '{path}' does not exist")
        return path


def evaluate(context: LaunchContext, value: Any) -> Any:
    """A parameter's value: substitutions are read as YAML, plain text stays text, arrays are of one type."""
    if isinstance(value, ParameterValue):
        return value.evaluate(context)
    if isinstance(value, SCALARS):
        return value
    if isinstance(value, Path):
        return str(value)
    if isinstance(value, Substitution):
        return _from_yaml(perform_substitutions(context, value))
    if isinstance(value, Iterable) and not isinstance(value, Mapping):
        items = list(value)
        if any(isinstance(item, Substitution) for item in items):  # parts of one text
            return _from_yaml(perform_substitutions(context, items))
        return _uniform(
            [item if isinstance(item, SCALARS) else _from_yaml(perform_substitutions(context, item)) for item in items]
        )
    raise TypeError(f"a parameter cannot be a {type(value).__name__}: {value!r}")


def flatten(context: LaunchContext, parameters: Mapping[Any, Any], prefix: str = "") -> dict[str, Any]:
    """Names joined by dots and values, of nested dictionaries."""
    flat: dict[str, Any] = {}
    for key, value in parameters.items():
        name = prefix + perform_substitutions(context, key)
        if isinstance(value, Mapping):
            flat.update(flatten(context, value, name + "."))
        else:
            flat[name] = evaluate(context, value)
    return flat


def _from_yaml(text: str) -> Any:
    value = yaml.safe_load(text) if text else ""
    if isinstance(value, list):
        return _uniform(value)
    if not isinstance(value, SCALARS):
        raise TypeError(
            f"'{text}' is not a parameter value; if it is meant as text, use ParameterValue(..., value_type=str)"
        )
    return value


def _uniform(values: list[Any]) -> list[Any]:
    kinds = {type(value) for value in values}
    if kinds == {int, float}:
        return [float(value) for value in values]
    if len(kinds) != 1 or not kinds <= set(SCALARS):
        raise TypeError(f"an array parameter needs at least one value and one type, got {values}")
    return values
