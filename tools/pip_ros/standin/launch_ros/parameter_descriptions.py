"""Values of parameters."""

from __future__ import annotations

from typing import Any

from launch._missing import refuse


class ParameterValue:
    """A parameter value with its type: `str` keeps text as text."""

    def __init__(self, value: Any, *, value_type: Any = None) -> None:
        self.value, self.value_type = value, value_type


__getattr__ = refuse("launch_ros.parameter_descriptions")
