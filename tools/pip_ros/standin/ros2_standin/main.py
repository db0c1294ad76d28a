"""Entry point: `ros2 <command> ...`. Each command's module is imported only when it is used."""

from __future__ import annotations

import argparse
import importlib
import sys

from .errors import CommandError

COMMANDS = {
    "action": "list | send_goal",
    "launch": "run a launch file",
    "lifecycle": "get | set",
    "node": "list",
    "param": "get | set",
    "run": "run a program of a package",
    "service": "list | call",
    "topic": "list | echo | hz",
}


def main(argv: list[str] | None = None) -> int:
    """Run the command; returns the exit code."""
    argv = sys.argv[1:] if argv is None else argv
    parser = argparse.ArgumentParser(
        prog="ros2",
        description="Stand-in for the ros2 command (docs/setup.md says what it has).",
        epilog="\n".join(f"  {name:10} {text}" for name, text in COMMANDS.items()),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("command", choices=sorted(COMMANDS), metavar="command")
    if not argv or argv[0].startswith("-"):
        parser.parse_args(argv)
        return 0
    parser.parse_args(argv[:1])
    module = importlib.import_module(f".{argv[0]}", __package__)
    parser = argparse.ArgumentParser(prog=f"ros2 {argv[0]}", description=module.__doc__)
    module.add_arguments(parser)
    arguments = parser.parse_args(argv[1:])
    try:
        return int(arguments.run(arguments) or 0)
    except CommandError as error:
        print(error, file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:  # the reader of our output left
        sys.stderr.close()
        return 0


if __name__ == "__main__":
    sys.exit(main())
