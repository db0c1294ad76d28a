"""Whether an action runs."""

from __future__ import annotations

from .launch_context import LaunchContext
from .substitutions import SomeSubstitutionsType, describe, perform_substitutions
from .unsupported import refuse_names

__getattr__ = refuse_names("launch.conditions")


class InvalidConditionExpressionError(ValueError):
    """A condition's text is neither true nor false."""


class Condition:
    """Base of conditions."""

    def evaluate(self, context: LaunchContext) -> bool:
        """Whether the action is to run."""
        raise TypeError(f"{type(self).__name__} does not define evaluate()")


class IfCondition(Condition):
    """True for the text true or 1, false for false or 0, in any case of letters."""

    def __init__(self, predicate_expression: SomeSubstitutionsType) -> None:
        self.expression = predicate_expression

    def evaluate(self, context: LaunchContext) -> bool:
        """Raises InvalidConditionExpressionError for other text."""
        text = perform_substitutions(context, self.expression).strip().lower()
        if text in ("true", "1"):
            return True
        if text in ("false", "0"):
            return False
        raise InvalidConditionExpressionError(
            f"condition {describe(self.expression)} is '{text}'; use true, 1, false or 0"
        )

    def describe(self) -> str:
        """As written in the launch file."""
        return f"{type(self).__name__}({describe(self.expression)})"


class UnlessCondition(IfCondition):
    """The opposite of IfCondition."""

    def evaluate(self, context: LaunchContext) -> bool:
        """Raises InvalidConditionExpressionError for text that is neither true nor false."""
        return not super().evaluate(context)
