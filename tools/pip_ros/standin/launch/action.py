"""Base of all actions, and the list of them that a launch file returns."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from .conditions import IfCondition
from .launch_context import LaunchContext

if TYPE_CHECKING:
    from .actions import DeclareLaunchArgument


class Action:
    """Something a launch does."""

    def __init__(self, *, condition: IfCondition | None = None) -> None:
        self.condition = condition

    def visit(self, context: LaunchContext) -> Sequence[Entity] | None:
        """Execute unless the condition says no; returns what is to be executed next."""
        if self.condition is not None and not self.condition.evaluate(context):
            return None
        return self.execute(context)

    def execute(self, context: LaunchContext) -> Sequence[Entity] | None:
        """Do it; returns what is to be executed next."""
        raise TypeError(f"{type(self).__name__} does not define execute()")

    def describe(self) -> str:
        """One line for --print-description."""
        return f"{type(self).__name__}()"

    def sub_entities(self) -> Sequence[Entity]:
        """The actions inside, for --print-description and --show-args."""
        return ()


class LaunchDescription:
    """An ordered list of actions."""

    def __init__(self, initial_entities: Iterable[Entity] | None = None) -> None:
        self.entities: list[Entity] = list(initial_entities or ())

    def add_action(self, action: Action) -> None:
        """Append an action."""
        self.entities.append(action)

    def add_entity(self, entity: Entity) -> None:
        """Append an action or a description."""
        self.entities.append(entity)

    def visit(self, context: LaunchContext) -> Sequence[Entity]:
        """The actions, to be executed next."""
        return self.entities

    def describe(self) -> str:
        """One line for --print-description."""
        return "LaunchDescription"

    def sub_entities(self) -> Sequence[Entity]:
        """The actions inside."""
        return self.entities

    def get_launch_arguments(self) -> list[DeclareLaunchArgument]:
        """Declared arguments, those of groups and of files included without arguments of their own too."""
        from .introspection import declared_arguments

        return declared_arguments(self)


Entity = Action | LaunchDescription
