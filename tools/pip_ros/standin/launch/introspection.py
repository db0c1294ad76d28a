"""What `ros2 launch --show-args` and `--print-description` print."""

from __future__ import annotations

from .action import Entity, LaunchDescription
from .actions import DeclareLaunchArgument, IncludeLaunchDescription
from .launch_context import LaunchContext
from .substitutions import SubstitutionFailure, describe


def declared_arguments(description: LaunchDescription) -> list[DeclareLaunchArgument]:
    """Declared arguments of a description, its groups and its includes, each name once."""
    found: dict[str, DeclareLaunchArgument] = {}

    def walk(entity: Entity, given: frozenset[str]) -> None:
        if isinstance(entity, DeclareLaunchArgument) and entity.name not in given:
            found.setdefault(entity.name, entity)
        if isinstance(entity, IncludeLaunchDescription):
            given = given | entity.given_names()
            try:
                walk(entity.source.get_launch_description(LaunchContext()), given)
            except SubstitutionFailure:
                return  # which file it is depends on an argument
        for inner in entity.sub_entities():
            walk(inner, given)

    walk(description, frozenset())
    return list(found.values())


def format_arguments(description: LaunchDescription) -> str:
    """Names, descriptions, choices and defaults of the declared arguments."""
    arguments = declared_arguments(description)
    lines = ["Arguments (pass arguments as '<name>:=<value>'):"]
    for argument in arguments:
        default = "required" if argument.default_value is None else f"default: {describe(argument.default_value)}"
        lines += ["", f"    '{argument.name}':", f"        {argument.description}", f"        ({default})"]
    if not arguments:
        lines += ["", "  No arguments."]
    return "\n".join(lines)


def format_description(entity: Entity, depth: int = 0) -> str:
    """The tree of actions, one a line, not executed."""
    condition = getattr(entity, "condition", None)
    lines = ["    " * depth + entity.describe() + (f" if {condition.describe()}" if condition else "")]
    lines += [format_description(inner, depth + 1) for inner in entity.sub_entities()]
    return "\n".join(lines)
