"""What a running launch knows: arguments, environment, event handlers."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .event_handlers import EventHandler
    from .launch_service import LaunchService


class LaunchContext:
    """State shared by the actions of one launch."""

    def __init__(self, service: LaunchService | None = None) -> None:
        self.launch_configurations: dict[str, Any] = {}
        """Arguments by name; launch_ros keeps its namespace, parameters and remappings here too."""
        self.environment: dict[str, str] = dict(os.environ)
        """Environment given to the processes started from now on."""
        self.event_handlers: list[EventHandler] = []
        self.service = service
        """The service that runs this launch; None while a description is only being read."""
        self._process_count = 0
        self._scopes: list[tuple[dict[str, Any], dict[str, str]]] = []

    @property
    def is_shutdown(self) -> bool:
        """Whether the launch is coming down."""
        return self.service is not None and self.service.is_shutdown

    def next_process_number(self) -> int:
        """Count a process; the number makes its name unique."""
        self._process_count += 1
        return self._process_count

    def push_scope(self, *, forwarding: bool) -> None:
        """Remember arguments and environment; without forwarding the new scope starts without arguments."""
        self._scopes.append((dict(self.launch_configurations), dict(self.environment)))
        if not forwarding:
            self.launch_configurations.clear()

    def pop_scope(self) -> None:
        """Back to the arguments and environment before the last push."""
        self.launch_configurations, self.environment = self._scopes.pop()
