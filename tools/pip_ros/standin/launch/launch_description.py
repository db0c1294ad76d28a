"""A list of actions."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any


class LaunchDescription:
    """What a launch file returns."""

    def __init__(self, initial_entities: Iterable[Any] | None = None) -> None:
        self.entities = list(initial_entities or [])

    def add_action(self, action: Any) -> None:
        """Append an action."""
        self.entities.append(action)
