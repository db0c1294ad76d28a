"""What a launch description can hold."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from launch._missing import refuse, refuse_options
from launch.context import LaunchContext
from launch.substitutions import perform


class Action:
    """Base of all actions; a condition decides whether it is carried out."""

    def __init__(self, *, condition: Any = None) -> None:
        self.condition = condition

    def describe(self) -> str:
        """One line for --print-description."""
        return type(self).__name__

    def visit(self, context: LaunchContext) -> Iterable[Action] | None:
        """Carry out if the condition holds; returns actions to carry out next."""
        if self.condition is not None and not self.condition.evaluate(context):
            return None
        return self.execute(context)

    def execute(self, context: LaunchContext) -> Iterable[Action] | None:
        """Carry out."""
        raise TypeError(f"{type(self).__name__} has no execute()")


class LaunchArgumentError(RuntimeError):
    """A launch argument is missing or not allowed."""


class DeclareLaunchArgument(Action):
    """An argument the user may give on the command line."""

    def __init__(
        self, name: str, *, default_value: Any = None, description: str = "", choices: Iterable[str] | None = None,
        **options: Any,
    ) -> None:
        condition = options.pop("condition", None)
        refuse_options("DeclareLaunchArgument", options)
        super().__init__(condition=condition)
        self.name, self.default_value, self.description = name, default_value, description
        self.choices = list(choices) if choices is not None else None

    def describe(self) -> str:
        """One line for --print-description."""
        return f"DeclareLaunchArgument {self.name}"

    def execute(self, context: LaunchContext) -> None:
        """Set the default when the user gave nothing, and check the choices."""
        configurations = context.launch_configurations
        if self.name not in configurations:
            if self.default_value is None:
                raise LaunchArgumentError(f"launch argument {self.name!r} is needed: add {self.name}:=VALUE")
            configurations[self.name] = perform(context, self.default_value)
        if self.choices is not None and configurations[self.name] not in self.choices:
            raise LaunchArgumentError(
                f"launch argument {self.name}:={configurations[self.name]} is not allowed; choose one of:"
                f" {', '.join(self.choices)}"
            )


class SetLaunchConfiguration(Action):
    """Set a configuration."""

    def __init__(self, name: Any, value: Any, *, condition: Any = None) -> None:
        super().__init__(condition=condition)
        self.name, self.value = name, value

    def execute(self, context: LaunchContext) -> None:
        """Set it."""
        context.launch_configurations[perform(context, self.name)] = perform(context, self.value)


class SetEnvironmentVariable(Action):
    """Set an environment variable for processes started later."""

    def __init__(self, name: Any, value: Any, *, condition: Any = None) -> None:
        super().__init__(condition=condition)
        self.name, self.value = name, value

    def execute(self, context: LaunchContext) -> None:
        """Set it."""
        context.environment[perform(context, self.name)] = perform(context, self.value)


class GroupAction(Action):
    """Actions in a scope of their own."""

    def __init__(
        self, actions: Iterable[Action], *, scoped: bool = True, forwarding: bool = True,
        launch_configurations: Mapping[Any, Any] | None = None, condition: Any = None,
    ) -> None:
        super().__init__(condition=condition)
        if not forwarding:
            refuse_options("GroupAction", {"forwarding": forwarding})
        self.actions, self.scoped = list(actions), scoped
        self.launch_configurations = dict(launch_configurations or {})

    def execute(self, context: LaunchContext) -> None:
        """Carry out the actions inside."""
        assert context.engine is not None
        inner = context.scope() if self.scoped else context
        for name, value in self.launch_configurations.items():
            inner.launch_configurations[perform(context, name)] = perform(context, value)
        context.engine.visit_all(self.actions, inner)


class IncludeLaunchDescription(Action):
    """Another launch file."""

    def __init__(self, launch_description_source: Any, *, launch_arguments: Any = None, condition: Any = None) -> None:
        super().__init__(condition=condition)
        self.source = launch_description_source
        pairs = launch_arguments.items() if isinstance(launch_arguments, Mapping) else (launch_arguments or ())
        self.launch_arguments = list(pairs)

    def execute(self, context: LaunchContext) -> None:
        """Load and carry out; its arguments become configurations, as in the original."""
        assert context.engine is not None
        for name, value in self.launch_arguments:
            context.launch_configurations[perform(context, name)] = perform(context, value)
        context.engine.visit_all(self.source.load(context).entities, context)


class OpaqueFunction(Action):
    """A function of the context; may return actions."""

    def __init__(
        self, *, function: Callable[..., Any], args: Sequence[Any] = (), kwargs: Mapping[str, Any] | None = None,
        condition: Any = None,
    ) -> None:
        super().__init__(condition=condition)
        self.function, self.args, self.kwargs = function, args, dict(kwargs or {})

    def execute(self, context: LaunchContext) -> Iterable[Action] | None:
        """Call it."""
        return self.function(context, *self.args, **self.kwargs)


class LogInfo(Action):
    """Print a line."""

    def __init__(self, *, msg: Any, condition: Any = None) -> None:
        super().__init__(condition=condition)
        self.msg = msg

    def execute(self, context: LaunchContext) -> None:
        """Print it."""
        print(f"[INFO] [launch.user]: {perform(context, self.msg)}", flush=True)


class TimerAction(Action):
    """Actions after a period [s]."""

    def __init__(self, *, period: Any, actions: Iterable[Action], condition: Any = None) -> None:
        super().__init__(condition=condition)
        self.period, self.actions = period, list(actions)

    def execute(self, context: LaunchContext) -> None:
        """Schedule them."""
        assert context.engine is not None
        context.engine.schedule(float(perform(context, self.period)), self.actions, context.scope())


class RegisterEventHandler(Action):
    """React to an event."""

    def __init__(self, event_handler: Any, *, condition: Any = None) -> None:
        super().__init__(condition=condition)
        self.event_handler = event_handler

    def execute(self, context: LaunchContext) -> None:
        """Register it."""
        assert context.engine is not None
        context.engine.register(self.event_handler, context.scope())


class Shutdown(Action):
    """End the launch."""

    def __init__(self, *, reason: Any = "", condition: Any = None) -> None:
        super().__init__(condition=condition)
        self.reason = reason

    def execute(self, context: LaunchContext) -> None:
        """Ask every process to end."""
        assert context.engine is not None
        context.engine.shutdown(perform(context, self.reason) or "Shutdown action")


class ExecuteProcess(Action):
    """A process."""

    def __init__(
        self, *, cmd: Sequence[Any], name: Any = None, cwd: Any = None, env: Mapping[Any, Any] | None = None,
        additional_env: Mapping[Any, Any] | None = None, output: Any = "log", respawn: Any = False,
        respawn_delay: float = 0.0, on_exit: Any = None, shell: bool = False, condition: Any = None,
        sigterm_timeout: Any = None, sigkill_timeout: Any = None, emulate_tty: Any = None, **options: Any,
    ) -> None:
        refuse_options(type(self).__name__, options)
        super().__init__(condition=condition)
        self.cmd, self.name, self.cwd, self.env = list(cmd), name, cwd, env
        self.additional_env, self.output, self.shell = dict(additional_env or {}), output, shell
        self.respawn, self.respawn_delay, self.on_exit = respawn, respawn_delay, on_exit

    def command(self, context: LaunchContext) -> list[str]:
        """The command line."""
        return [perform(context, part) for part in self.cmd]

    def label(self, context: LaunchContext) -> str:
        """Name that prefixes the output."""
        return perform(context, self.name) if self.name else self.command(context)[0].rsplit("/", 1)[-1]

    def execute(self, context: LaunchContext) -> None:
        """Start it."""
        assert context.engine is not None
        context.engine.start(self, context.scope())


__getattr__ = refuse("launch.actions")
