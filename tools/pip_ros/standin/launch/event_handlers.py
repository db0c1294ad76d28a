"""Reactions to processes and to the end of the launch."""

from __future__ import annotations

from typing import Any

from launch._missing import refuse


class _Handler:
    def __init__(self, target_action: Any, reaction: Any) -> None:
        self.target_action, self.reaction = target_action, reaction


class OnProcessStart(_Handler):
    """When a process has started."""

    def __init__(self, *, target_action: Any = None, on_start: Any) -> None:
        super().__init__(target_action, on_start)


class OnProcessExit(_Handler):
    """When a process has ended."""

    def __init__(self, *, target_action: Any = None, on_exit: Any) -> None:
        super().__init__(target_action, on_exit)


class OnShutdown(_Handler):
    """When the launch ends."""

    def __init__(self, *, on_shutdown: Any) -> None:
        super().__init__(None, on_shutdown)


__getattr__ = refuse("launch.event_handlers")
