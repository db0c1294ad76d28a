"""report.html: one file, nothing fetched from anywhere."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from typing import Any

from drex_bringup.report import figures
from drex_bringup.report.run_data import RunData
from drex_bringup.report.summary import summary_line

STYLE = """
body{font:15px/1.5 system-ui,sans-serif;color:#1d2330;margin:0 auto;max-width:1180px;padding:1.5rem}
h1{font-size:1.5rem;margin:.2rem 0}h2{font-size:1.15rem;margin:2rem 0 .5rem;border-bottom:1px solid #d9dde3}
table{border-collapse:collapse;margin:.5rem 0}td,th{padding:.2rem .9rem .2rem 0;text-align:left;vertical-align:top}
th{font-weight:600;color:#55606f}.good{color:#2e8b57}.bad{color:#c0392b}.line{font:600 1rem ui-monospace,monospace;
background:#f3f5f8;padding:.6rem .8rem;border-radius:6px}svg{max-width:100%;height:auto}
img{border-radius:6px;max-width:100%}
.row{display:flex;gap:2rem;flex-wrap:wrap;align-items:flex-start}details{margin:.4rem 0}summary{cursor:pointer}
"""


def number(value: Any, unit: str = "", digits: int = 3, scale: float = 1.0) -> str:
    """A number with its unit, or a dash."""
    if value is None:
        return "-"
    return f"{scale * float(value):.{digits}f} {unit}".strip()


def table(rows: Iterable[Sequence[str]], head: Sequence[str] = ()) -> str:
    """An HTML table; the cells are escaped."""
    top = "<tr>" + "".join(f"<th>{escape(cell)}</th>" for cell in head) + "</tr>" if head else ""
    mark = "td" if head else "th"
    body = "".join(
        f"<tr><{mark}>{escape(row[0])}</{mark}>" + "".join(f"<td>{escape(cell)}</td>" for cell in row[1:]) + "</tr>"
        for row in rows
    )
    return f"<table>{top}{body}</table>"


def page(run: RunData, summary: dict[str, Any]) -> str:
    """The whole page."""
    parts = [
        f"<h1>{escape(run.object_id)}: identify and grasp</h1>",
        f'<p class="line {"good" if summary["success"] else "bad"}">{escape(summary_line(summary))}</p>',
        f'<div class="row"><div>{_result(summary)}</div>{_film(run)}</div>',
        _estimate(run),
        _grasp(run),
        _recorded(run),
        _files(run),
    ]
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>D-REX {escape(run.object_id)}</title>'
        f"<style>{STYLE}</style></head><body>{''.join(parts)}</body></html>\n"
    )


def _result(summary: dict[str, Any]) -> str:
    interval = summary["ci95"]
    rows = [
        ("outcome", "success" if summary["success"] else f"failed ({summary['error'] or 'not finished'})"),
        ("message", summary["message"] or "-"),
        ("verdict", summary["verdict"] or "-"),
        ("why", summary["reason"] or "-"),
        ("mass", f"{number(summary['mass'], 'kg')} ± {number(summary['mass_stddev'], 'kg')}"),
        ("95 % interval", f"{interval[0]:.3f} .. {interval[1]:.3f} kg" if interval else "-"),
        ("weighed in the hand", _weighed(summary)),
    ]
    if summary["next_action"]:
        rows.append(("what would help", summary["next_action"]))
    if summary["truth"] is not None:
        rows.append(("truth (simulator)", number(summary["truth"], "kg")))
        rows.append(("error", number(summary["error_pct"], "%", 1)))
        rows.append(("truth inside the interval", {True: "yes", False: "no"}.get(summary["covered_95"], "-")))
        rows.append(("realism, seed", f"{summary['realism']}, {summary['seed']}"))
    rows.append(("time of the rig", number(summary["elapsed"], "s", 1)))
    return table(rows)


def _weighed(summary: dict[str, Any]) -> str:
    if summary["weighed_mass"] is None:
        return "-"
    return f"{number(summary['weighed_mass'], 'kg')} ± {number(summary['weighed_mass_stddev'], 'kg')}"


def _film(run: RunData) -> str:
    film = figures.film(run.pictures)
    if film is None:
        return "<p>No pictures were recorded.</p>"
    return f'<img alt="the run, from the colour camera" src="{figures.data_url(film, "image/gif")}">'


def _estimate(run: RunData) -> str:
    estimate = run.estimate
    if estimate is None:
        return "<h2>Identification</h2><p>No estimate was made.</p>"
    truth = None if run.truth is None else float(run.truth["mass"])
    parts = ["<h2>Identification</h2>"]
    if estimate.get("profile", {}).get("mass_grid"):
        parts.append(figures.posterior(estimate, truth))
    residuals = [
        ("method", estimate.get("method") or "-"),
        ("pushes used, rejected", f"{estimate.get('trials_used')}, {estimate.get('trials_rejected')}"),
        ("residual of position", number(estimate.get("position_rms"), "mm", 2, 1e3)),
        ("residual of tilt", number(estimate.get("rotation_rms"), "deg", 3, 57.29578)),
        ("residual of force", number(estimate.get("force_rms"), "N")),
        ("time to estimate", number(estimate.get("elapsed"), "s", 2)),
        ("force calibration", estimate.get("calibration_id") or "none: the prior on the force scale entered"),
    ]
    parts.append(table(residuals))
    for rejected in estimate.get("rejected", []):
        parts.append(f"<p>rejected {escape(rejected['trial_id'])}: {escape(rejected['reason'])}</p>")
    if estimate.get("parameters"):
        rows = [
            (p["name"], p["unit"], number(p["value"], "", 5), number(p["stddev"], "", 5),
             number(p["prior_mean"], "", 5), number(p["prior_stddev"], "", 5))
            for p in estimate["parameters"]
        ]
        head = ("parameter", "unit", "value", "sigma", "prior", "prior sigma")
        parts.append(f"<details open><summary>fitted parameters</summary>{table(rows, head)}</details>")
    for fit in estimate.get("trials", []):
        title = f"push {fit['trial_id']}, side {fit['side']}, {fit['outcome']}"
        parts.append(f"<h2>Fit: {escape(title)}</h2>{figures.trial_fit(fit)}")
    return "".join(parts)


def _grasp(run: RunData) -> str:
    grasp = run.grasp
    if grasp is None:
        return "<h2>Grasp</h2><p>No grasp was tried.</p>"
    rows = [
        ("held", "yes" if grasp.get("held") else f"no: {grasp.get('message') or 'no reason given'}"),
        ("mass used", number(grasp.get("mass_used"), "kg")),
        ("force per side", number(grasp.get("force_per_side"), "N", 2)),
        ("allowed by hand and object", number(grasp.get("force_limit"), "N", 2)),
        ("fingers in contact", str(grasp.get("contacts", "-"))),
        ("slip", number(grasp.get("slip"), "mm", 1, 1e3)),
        ("weighed", f"{number(grasp.get('weighed_mass'), 'kg')} ± {number(grasp.get('weighed_mass_stddev'), 'kg')}"),
        ("lifted", number(grasp.get("lift_height"), "mm", 0, 1e3)),
    ]
    return "<h2>Grasp</h2>" + table(rows) + (figures.grasp_series(grasp) or "")


def _recorded(run: RunData) -> str:
    parts = ["<h2>Recorded pushes</h2>"]
    if not run.trials:
        parts.append("<p>No push was recorded.</p>")
    for trial in run.trials:
        title = f"{trial.trial_id}: {trial.push_type}, {trial.finger}, {trial.duration:.1f} s, {trial.outcome}"
        parts.append(f"<details><summary>{escape(title)}</summary>{figures.trial_signals(trial)}</details>")
    parts += [f"<p class=bad>{escape(name)}: {escape(why)}</p>" for name, why in run.damaged.items()]
    return "".join(parts)


def _files(run: RunData) -> str:
    names = ["result.json", "estimate.json", "grasp.json", "report.json", "bag", "pictures", "trials"]
    present = [name for name in names if (run.folder / name).exists()]
    links = " ".join(f'<a href="{name}">{name}</a>' for name in present)
    return f"<h2>Files</h2><p>{links}</p>"
