"""`python -m drex_bringup.report RUN_FOLDER`: write the report of a run."""

from __future__ import annotations

import sys
from pathlib import Path

from drex_bringup.report.build import build_report
from drex_sim.errors import DrexError


def main(arguments: list[str]) -> int:
    """Write the report; 1 with the reason on stderr when that fails."""
    if len(arguments) != 1:
        print("usage: python -m drex_bringup.report RUN_FOLDER", file=sys.stderr)
        return 2
    try:
        print(build_report(Path(arguments[0])))
    except (DrexError, OSError) as error:
        print(f"report: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
