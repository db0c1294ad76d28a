"""State of one launch: configurations, environment, namespace, and what runs."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from launch.engine import Engine


@dataclass
class LaunchContext:
    """What substitutions and actions see. A scope is a copy of it."""

    launch_configurations: dict[str, str] = field(default_factory=dict)
    environment: dict[str, str] = field(default_factory=lambda: dict(os.environ))
    namespace: str = ""
    ros_parameters: list[tuple[str, Any]] = field(default_factory=list)
    ros_remaps: list[tuple[str, str]] = field(default_factory=list)
    locals: dict[str, Any] = field(default_factory=dict)
    engine: Engine | None = None

    def scope(self) -> LaunchContext:
        """A copy whose changes stay inside."""
        return LaunchContext(
            dict(self.launch_configurations),
            dict(self.environment),
            self.namespace,
            list(self.ros_parameters),
            list(self.ros_remaps),
            dict(self.locals),
            self.engine,
        )

    def perform_substitution(self, value: Any) -> str:
        """Text of a substitution or a list of them."""
        from launch.substitutions import perform

        return perform(self, value)
