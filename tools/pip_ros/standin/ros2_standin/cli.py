"""The `ros2` command."""

from __future__ import annotations

import argparse
import os
import sys


def _package_file(package: str, name: str, kind: str) -> str:
    from ament_index_python.packages import (
        PackageNotFoundError,
        get_package_prefix,
        get_package_share_directory,
    )

    try:
        if kind == "executable":
            path = os.path.join(get_package_prefix(package), "lib", package, name)
        else:
            path = os.path.join(get_package_share_directory(package), "launch", name)
    except PackageNotFoundError:
        sys.exit(f"ros2: package {package!r} not found; source the workspace (env.sh) first")
    if not os.path.isfile(path):
        there = sorted(os.listdir(os.path.dirname(path))) if os.path.isdir(os.path.dirname(path)) else []
        sys.exit(f"ros2: package {package!r} has no {kind} {name!r}; it has: {', '.join(there) or 'none'}")
    return path


def run_launch(arguments: argparse.Namespace) -> int:
    """`ros2 launch PACKAGE FILE name:=value ...` or `ros2 launch PATH ...`."""
    from launch.actions import DeclareLaunchArgument, GroupAction
    from launch.context import LaunchContext
    from launch.engine import Engine
    from launch.launch_description_sources import load_python_launch_file

    rest = list(arguments.rest)
    if os.path.isfile(arguments.package):
        path = arguments.package
    elif rest and ":=" not in rest[0]:
        path = _package_file(arguments.package, rest.pop(0), "launch file")
    else:
        sys.exit(f"ros2 launch: {arguments.package!r} is no file; give PACKAGE and FILE")
    context = LaunchContext()
    for entry in rest:
        name, separator, value = entry.partition(":=")
        if not separator:
            sys.exit(f"ros2 launch: argument {entry!r} is not of the form name:=value")
        context.launch_configurations[name] = value
    description = load_python_launch_file(path)
    entities = description.entities
    if arguments.show_args:
        print("Arguments (pass arguments as '<name>:=<value>'):")
        for entity in entities:
            if isinstance(entity, DeclareLaunchArgument):
                choices = f" one of {entity.choices}" if entity.choices else ""
                default = "" if entity.default_value is None else f"\n        (default: {entity.default_value!r})"
                print(f"\n    '{entity.name}':\n        {entity.description}{choices}{default}")
        return 0
    if arguments.print_description:
        def show(actions: list, indent: int) -> None:
            for action in actions:
                print("  " * indent + action.describe())
                if isinstance(action, GroupAction):
                    show(action.actions, indent + 1)

        show(entities, 0)
        return 0
    try:
        return Engine().run(entities, context)
    except (RuntimeError, ValueError, TypeError, OSError, ImportError) as error:
        print(f"ros2 launch: {path}: {error}", file=sys.stderr)
        return 1


def run_executable(arguments: argparse.Namespace) -> int:
    """`ros2 run PACKAGE EXECUTABLE ...`."""
    path = _package_file(arguments.package, arguments.executable, "executable")
    os.execv(path, [path, *arguments.rest])


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="ros2", description="Stand-in for the ros2 command (docs/setup.md).")
    commands = parser.add_subparsers(dest="command", required=True)
    launch = commands.add_parser("launch", help="run a launch file")
    launch.add_argument("-s", "--show-args", "--show-arguments", action="store_true", dest="show_args")
    launch.add_argument("-p", "--print", "--print-description", action="store_true", dest="print_description")
    launch.add_argument("package")
    launch.add_argument("rest", nargs="*")
    run = commands.add_parser("run", help="run an executable")
    run.add_argument("package")
    run.add_argument("executable")
    run.add_argument("rest", nargs=argparse.REMAINDER)

    def group(name: str) -> argparse._SubParsersAction:
        return commands.add_parser(name).add_subparsers(dest="verb", required=True)

    group("node").add_parser("list")
    topic = group("topic")
    topic.add_parser("list").add_argument("-t", "--show-types", action="store_true")
    echo = topic.add_parser("echo")
    echo.add_argument("topic")
    echo.add_argument("type", nargs="?")
    echo.add_argument("--once", action="store_true")
    echo.add_argument("--field")
    echo.add_argument("-f", "--full-length", action="store_true")
    echo.add_argument("--timeout", type=float)
    hz = topic.add_parser("hz")
    hz.add_argument("topic")
    hz.add_argument("--duration", type=float, help="seconds (stand-in only)")
    service = group("service")
    service.add_parser("list").add_argument("-t", "--show-types", action="store_true")
    call = service.add_parser("call")
    call.add_argument("service")
    call.add_argument("type")
    call.add_argument("values", nargs="?", default="{}")
    call.add_argument("--timeout", type=float, default=10.0, help="seconds to wait for the service (stand-in only)")
    action = group("action")
    action.add_parser("list").add_argument("-t", "--show-types", action="store_true")
    goal = action.add_parser("send_goal")
    goal.add_argument("action")
    goal.add_argument("type")
    goal.add_argument("goal", nargs="?", default="{}")
    goal.add_argument("-f", "--feedback", action="store_true")
    for name in ("param", "lifecycle"):
        verbs = group(name)
        for verb in ("get", "set"):
            sub = verbs.add_parser(verb)
            sub.add_argument("node")
            if name == "param":
                sub.add_argument("name")
            if verb == "set":
                sub.add_argument("value" if name == "param" else "transition")
    return parser


def main() -> int:
    """Entry point."""
    arguments = _parser().parse_args()
    if arguments.command == "launch":
        return run_launch(arguments)
    if arguments.command == "run":
        return run_executable(arguments)
    from ros2_standin import graph
    from ros2_standin.messages import BadMessageError

    name = "send_goal" if arguments.verb == "send_goal" else f"{arguments.command}_{arguments.verb}"
    try:
        return getattr(graph, name)(arguments)
    except BadMessageError as error:
        print(f"ros2: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130


if __name__ == "__main__":
    sys.exit(main())
