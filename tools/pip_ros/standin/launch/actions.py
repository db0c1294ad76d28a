"""What a launch file can do."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from .action import Action, Entity
from .event_handlers import EventHandler
from .launch_context import LaunchContext
from .launch_description_sources import PythonLaunchDescriptionSource
from .process import ExecuteProcess
from .substitutions import (
    SomeSubstitutionsType,
    describe,
    normalize_to_list_of_substitutions,
    perform_substitutions,
)
from .unsupported import refuse_names, refuse_options

__all__ = [
    "DeclareLaunchArgument",
    "ExecuteProcess",
    "GroupAction",
    "IncludeLaunchDescription",
    "LogInfo",
    "OpaqueFunction",
    "RegisterEventHandler",
    "SetEnvironmentVariable",
    "Shutdown",
    "TimerAction",
]

__getattr__ = refuse_names("launch.actions")


class DeclareLaunchArgument(Action):
    """An argument of the launch file."""

    def __init__(
        self,
        name: str,
        *,
        default_value: SomeSubstitutionsType | None = None,
        description: str | None = None,
        choices: Sequence[str] | None = None,
        condition: Any = None,
        **options: Any,
    ) -> None:
        refuse_options("DeclareLaunchArgument", options)
        super().__init__(condition=condition)
        self.name = name
        self.default_value = None if default_value is None else normalize_to_list_of_substitutions(default_value)
        self.choices = None if choices is None else list(choices)
        if self.choices == []:
            raise RuntimeError(f"launch argument '{name}': choices is empty; leave it out to allow anything")
        if self.choices and isinstance(default_value, str) and default_value not in self.choices:
            raise RuntimeError(f"launch argument '{name}': default '{default_value}' is not one of {self.choices}")
        self.description = description or ("" if self.choices else "no description given")
        if self.choices:
            self.description = f"{self.description.rstrip('.')}. Valid choices are: {self.choices}".lstrip(". ")

    def execute(self, context: LaunchContext) -> None:
        """Set the default where no value was given; raises RuntimeError for a missing or disallowed value."""
        if self.name not in context.launch_configurations:
            if self.default_value is None:
                raise RuntimeError(f"required launch argument '{self.name}' ({self.description}) was not provided")
            context.launch_configurations[self.name] = perform_substitutions(context, self.default_value)
        value = context.launch_configurations[self.name]
        if self.choices is not None and value not in self.choices:
            raise RuntimeError(f"launch argument '{self.name}' is '{value}'; valid are {self.choices}")

    def describe(self) -> str:
        """As in the launch file."""
        default = "" if self.default_value is None else f", default {describe(self.default_value)}"
        return f"DeclareLaunchArgument('{self.name}'{default})"


class LogInfo(Action):
    """Print a line."""

    def __init__(self, *, msg: SomeSubstitutionsType, condition: Any = None) -> None:
        super().__init__(condition=condition)
        self.msg = normalize_to_list_of_substitutions(msg)

    def execute(self, context: LaunchContext) -> None:
        """Print it."""
        context.service.log.info("launch.user", perform_substitutions(context, self.msg))

    def describe(self) -> str:
        """As in the launch file."""
        return f"LogInfo({describe(self.msg)})"


class SetEnvironmentVariable(Action):
    """Set a variable for the processes that follow."""

    def __init__(self, name: SomeSubstitutionsType, value: SomeSubstitutionsType, *, condition: Any = None) -> None:
        super().__init__(condition=condition)
        self.name = name
        self.value = value

    def execute(self, context: LaunchContext) -> None:
        """Set it."""
        context.environment[perform_substitutions(context, self.name)] = perform_substitutions(context, self.value)

    def describe(self) -> str:
        """As in the launch file."""
        return f"SetEnvironmentVariable({describe(self.name)}, {describe(self.value)})"


class _Scope(Action):
    """Open or close a scope of arguments and environment."""

    def __init__(self, *, push: bool, forwarding: bool = True) -> None:
        super().__init__()
        self.push = push
        self.forwarding = forwarding

    def execute(self, context: LaunchContext) -> None:
        if self.push:
            context.push_scope(forwarding=self.forwarding)
        else:
            context.pop_scope()


class GroupAction(Action):
    """Actions with a scope of their own: namespace, arguments and environment set inside end with the group."""

    def __init__(
        self,
        actions: Iterable[Entity],
        *,
        scoped: bool = True,
        forwarding: bool = True,
        launch_configurations: Mapping[str, SomeSubstitutionsType] | None = None,
        condition: Any = None,
    ) -> None:
        super().__init__(condition=condition)
        self.actions = list(actions)
        self.scoped = scoped
        self.forwarding = forwarding
        self.launch_configurations = dict(launch_configurations or {})

    def execute(self, context: LaunchContext) -> Sequence[Entity]:
        """The group's actions, between the scope's opening and closing."""
        values = {name: perform_substitutions(context, value) for name, value in self.launch_configurations.items()}

        def set_arguments(inner: LaunchContext) -> None:
            inner.launch_configurations.update(values)

        inside = [OpaqueFunction(function=set_arguments), *self.actions]
        if not self.scoped:
            return inside
        return [_Scope(push=True, forwarding=self.forwarding), *inside, _Scope(push=False)]

    def sub_entities(self) -> Sequence[Entity]:
        """The group's actions."""
        return self.actions


class IncludeLaunchDescription(Action):
    """Another launch file, with arguments."""

    def __init__(
        self,
        launch_description_source: PythonLaunchDescriptionSource | SomeSubstitutionsType,
        *,
        launch_arguments: Iterable[tuple[SomeSubstitutionsType, SomeSubstitutionsType]] | None = None,
        condition: Any = None,
    ) -> None:
        super().__init__(condition=condition)
        source = launch_description_source
        if not isinstance(source, PythonLaunchDescriptionSource):
            source = PythonLaunchDescriptionSource(source)
        self.source = source
        self.launch_arguments = list(launch_arguments or ())

    def given_names(self) -> frozenset[str]:
        """Names of the arguments that are given here as plain text."""
        return frozenset(name for name, _ in self.launch_arguments if isinstance(name, str))

    def execute(self, context: LaunchContext) -> Sequence[Entity]:
        """The description of the included file; its arguments stay set, as in the genuine launch."""
        description = self.source.get_launch_description(context)
        for name, value in self.launch_arguments:
            context.launch_configurations[perform_substitutions(context, name)] = perform_substitutions(context, value)
        return [description]

    def describe(self) -> str:
        """As in the launch file."""
        return f"IncludeLaunchDescription({self.source.describe()})"


class OpaqueFunction(Action):
    """Call a Python function of the context; it may return actions."""

    def __init__(
        self,
        *,
        function: Callable[..., Iterable[Entity] | None],
        args: Iterable[Any] | None = None,
        kwargs: Mapping[str, Any] | None = None,
        condition: Any = None,
    ) -> None:
        super().__init__(condition=condition)
        self.function = function
        self.args = tuple(args or ())
        self.kwargs = dict(kwargs or {})

    def execute(self, context: LaunchContext) -> Sequence[Entity] | None:
        """Call it."""
        result = self.function(context, *self.args, **self.kwargs)
        return None if result is None else list(result)

    def describe(self) -> str:
        """The function's name."""
        return f"OpaqueFunction({getattr(self.function, '__name__', self.function)!r})"


class TimerAction(Action):
    """Actions after a while (wall clock)."""

    def __init__(
        self, *, period: float | SomeSubstitutionsType, actions: Iterable[Entity], condition: Any = None, **options: Any
    ) -> None:
        refuse_options("TimerAction", options)
        super().__init__(condition=condition)
        self.period = period
        self.actions = list(actions)

    def execute(self, context: LaunchContext) -> None:
        """Start the clock; the actions are dropped if the launch comes down first."""
        period = self.period if isinstance(self.period, int | float) else perform_substitutions(context, self.period)
        service = context.service

        async def later() -> None:
            await service.sleep(float(period))
            if not service.is_shutdown:
                service.execute(self.actions)

        service.keep(asyncio.get_running_loop().create_task(later()))

    def describe(self) -> str:
        """The delay."""
        return f"TimerAction({describe(self.period)} s)"

    def sub_entities(self) -> Sequence[Entity]:
        """The delayed actions."""
        return self.actions


class RegisterEventHandler(Action):
    """React to events from now on."""

    def __init__(self, event_handler: EventHandler, *, condition: Any = None) -> None:
        super().__init__(condition=condition)
        self.event_handler = event_handler

    def execute(self, context: LaunchContext) -> None:
        """Register it."""
        context.event_handlers.append(self.event_handler)

    def describe(self) -> str:
        """The handler's kind."""
        return f"RegisterEventHandler({type(self.event_handler).__name__})"

    def sub_entities(self) -> Sequence[Entity]:
        """The actions of the reaction."""
        return self.event_handler.sub_entities()


class Shutdown(Action):
    """Bring the launch down."""

    def __init__(self, *, reason: SomeSubstitutionsType = "reason not given", condition: Any = None) -> None:
        super().__init__(condition=condition)
        self.reason = reason

    def execute(self, context: LaunchContext) -> None:
        """Ask for it."""
        context.service.shutdown(perform_substitutions(context, self.reason))

    def __call__(self, event: Any, context: LaunchContext) -> Action:
        """Usable as a reaction by itself, as in the genuine launch."""
        return self

    def describe(self) -> str:
        """The reason."""
        return f"Shutdown({describe(self.reason)})"
