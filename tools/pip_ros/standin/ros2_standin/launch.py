"""Run a launch file of a package, or one given by its path."""

from __future__ import annotations

import argparse
from pathlib import Path

from .errors import CommandError


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """As in the genuine command."""
    parser.add_argument("-n", "--noninteractive", action="store_true", help="no effect: never interactive")
    parser.add_argument("-d", "--debug", action="store_true", help="show tracebacks")
    only = parser.add_mutually_exclusive_group()
    only.add_argument("-p", "--print", "--print-description", action="store_true", help="print the description only")
    only.add_argument("-s", "--show-args", "--show-arguments", action="store_true", help="print the arguments only")
    parser.add_argument("package", help="name of a package, or path of a launch file")
    parser.add_argument("rest", nargs="*", metavar="file name:=value", help="launch file in the package; arguments")
    parser.set_defaults(run=run)


def find_file(package: str, rest: list[str]) -> tuple[Path, list[str]]:
    """Path of the launch file, and the arguments that are left; raises CommandError."""
    if Path(package).is_file():
        return Path(package), rest
    if not rest:
        raise CommandError(f"'{package}' is no file; give a launch file, or a package and a launch file in it")
    from launch_ros.substitutions import SubstitutionFailure, package_prefix

    try:
        share = package_prefix(package) / "share" / package
    except SubstitutionFailure as error:
        raise CommandError(str(error)) from None
    found = sorted(path for path in share.rglob(rest[0]) if path.is_file())
    if len(found) != 1:
        known = sorted(path.name for path in share.rglob("*launch.py"))
        what = f"{len(found)} files" if found else "no file"
        raise CommandError(f"{what} '{rest[0]}' in {share}; launch files there: {', '.join(known) or 'none'}")
    return found[0], rest[1:]


def run(arguments: argparse.Namespace) -> int:
    """Launch, or print what would be launched."""
    path, rest = find_file(arguments.package, arguments.rest)
    values = dict(_pair(text) for text in rest)

    from launch import LaunchContext, LaunchDescription, LaunchService
    from launch.actions import IncludeLaunchDescription
    from launch.introspection import format_arguments, format_description
    from launch.launch_description_sources import InvalidLaunchFileError, PythonLaunchDescriptionSource
    from launch.unsupported import UnsupportedLaunchFeatureError

    source = PythonLaunchDescriptionSource(path)
    try:
        description = source.get_launch_description(LaunchContext())
    except (InvalidLaunchFileError, UnsupportedLaunchFeatureError) as error:
        raise CommandError(f"{path}: {error}") from None
    if arguments.show_args or arguments.print:
        print((format_arguments if arguments.show_args else format_description)(description))
        return 0
    service = LaunchService(debug=arguments.debug)
    include = IncludeLaunchDescription(source, launch_arguments=values.items())
    service.include_launch_description(LaunchDescription([include]))
    return service.run()


def _pair(text: str) -> tuple[str, str]:
    name, separator, value = text.partition(":=")
    if not separator or not name:
        raise CommandError(f"malformed launch argument '{text}'; write name:=value")
    return name, value
