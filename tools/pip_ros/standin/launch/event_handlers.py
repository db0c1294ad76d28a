"""What is done when a process starts or ends, and when the launch comes down."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from .action import Action, Entity, LaunchDescription
from .events import ProcessExited, ProcessStarted, Shutdown
from .launch_context import LaunchContext
from .unsupported import refuse_names, refuse_options

__getattr__ = refuse_names("launch.event_handlers")

Reaction = Entity | Iterable[Entity] | Callable[[Any, LaunchContext], Entity | Iterable[Entity] | None]


def as_entities(reaction: Reaction | None, event: Any, context: LaunchContext) -> Sequence[Entity]:
    """The actions of a reaction: given as they are, or by a function of the event and the context."""
    if callable(reaction):
        reaction = reaction(event, context)
    if reaction is None:
        return ()
    return (reaction,) if isinstance(reaction, Action | LaunchDescription) else tuple(reaction)


class EventHandler:
    """Base: an event type, the action it must come from (None: any), and the reaction."""

    event_type: type = object

    def __init__(self, target: Action | None, reaction: Reaction | None) -> None:
        self.target = target
        self.reaction = reaction

    def matches(self, event: Any) -> bool:
        """Whether this handler is for the event."""
        return isinstance(event, self.event_type) and (self.target is None or event.action is self.target)

    def handle(self, event: Any, context: LaunchContext) -> Sequence[Entity]:
        """Actions to execute."""
        return as_entities(self.reaction, event, context)

    def sub_entities(self) -> Sequence[Entity]:
        """The actions of the reaction, where they are known beforehand."""
        return () if callable(self.reaction) else as_entities(self.reaction, None, LaunchContext())


class OnProcessStart(EventHandler):
    """When a process has started."""

    event_type = ProcessStarted

    def __init__(self, *, target_action: Action | None = None, on_start: Reaction, **options: Any) -> None:
        refuse_options("OnProcessStart", options)
        super().__init__(target_action, on_start)


class OnProcessExit(EventHandler):
    """When a process has ended."""

    event_type = ProcessExited

    def __init__(self, *, target_action: Action | None = None, on_exit: Reaction, **options: Any) -> None:
        refuse_options("OnProcessExit", options)
        super().__init__(target_action, on_exit)


class OnShutdown(EventHandler):
    """When the launch starts to come down."""

    event_type = Shutdown

    def __init__(self, *, on_shutdown: Reaction, **options: Any) -> None:
        refuse_options("OnShutdown", options)
        super().__init__(None, on_shutdown)
