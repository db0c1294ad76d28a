"""Run a program of a package in place of this command."""

from __future__ import annotations

import argparse
import os

from .errors import CommandError


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """As in the genuine command."""
    parser.add_argument("package")
    parser.add_argument("executable")
    parser.add_argument("arguments", nargs=argparse.REMAINDER, help="passed on, e.g. --ros-args -p name:=value")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Become the program, so that its exit code and signals are its own."""
    from launch_ros.substitutions import SubstitutionFailure, package_prefix

    try:
        folder = package_prefix(arguments.package) / "lib" / arguments.package
    except SubstitutionFailure as error:
        raise CommandError(str(error)) from None
    path = folder / arguments.executable
    if not os.access(path, os.X_OK):
        known = ", ".join(sorted(item.name for item in folder.glob("*"))) or "none"
        raise CommandError(f"package '{arguments.package}' has no executable '{arguments.executable}'; it has: {known}")
    rest = arguments.arguments[1:] if arguments.arguments[:1] == ["--"] else arguments.arguments
    os.execv(path, [str(path), *rest])
