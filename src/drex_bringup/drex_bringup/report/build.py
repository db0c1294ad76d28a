"""Writes the report of a run."""

from __future__ import annotations

from pathlib import Path

from drex_bringup.report.page import page
from drex_bringup.report.run_data import load_run
from drex_bringup.report.summary import summarise, summary_line
from drex_bringup.run_folder import write_atomic, write_json


def build_report(folder: Path) -> str:
    """Write report.json and report.html into a run folder and return the summary line.

    Works on partial runs (identification refused, grasp failed) and without the truth (real rig).

    Raises:
      ConfigError: the folder is no run folder, or a file in it is damaged.
      OSError: it cannot be written.
    """
    run = load_run(folder)
    summary = summarise(run)
    write_json(folder / "report.json", summary)
    write_atomic(folder / "report.html", page(run, summary))
    return summary_line(summary)
