"""The report of a run: report.html and report.json out of the run folder."""

from drex_bringup.report.build import build_report
from drex_bringup.report.run_data import RunData, load_run
from drex_bringup.report.summary import summarise, summary_line

__all__ = ["RunData", "build_report", "load_run", "summarise", "summary_line"]
