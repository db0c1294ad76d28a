"""Whether an action is carried out."""

from __future__ import annotations

from typing import Any

from launch._missing import refuse
from launch.context import LaunchContext
from launch.substitutions import perform


def _truth(text: str) -> bool:
    lowered = text.strip().lower()
    if lowered in ("true", "1"):
        return True
    if lowered in ("false", "0"):
        return False
    raise ValueError(f"condition evaluates to {text!r}; true, false, 1 or 0 is needed")


class IfCondition:
    """True when the expression says so."""

    def __init__(self, predicate_expression: Any) -> None:
        self.predicate_expression = predicate_expression

    def evaluate(self, context: LaunchContext) -> bool:
        """Whether the action is carried out."""
        return _truth(perform(context, self.predicate_expression))


class UnlessCondition(IfCondition):
    """True when the expression says false."""

    def evaluate(self, context: LaunchContext) -> bool:
        """Whether the action is carried out."""
        return not super().evaluate(context)


__getattr__ = refuse("launch.conditions")
