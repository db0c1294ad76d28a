"""The run in numbers: report.json and the one line that ends `drex demo`."""

from __future__ import annotations

from typing import Any

from drex_bringup.report.run_data import RunData


def summarise(run: RunData) -> dict[str, Any]:
    """The content of report.json (SI units; what does not exist is null)."""
    estimate, result, grasp = run.estimate or {}, run.result or {}, run.grasp or {}
    mass, sigma, interval = estimate.get("mass"), estimate.get("mass_stddev"), estimate.get("ci95")
    truth = None if run.truth is None else float(run.truth["mass"])
    known = mass is not None and truth is not None
    held = bool(result.get("held", grasp.get("held", False)))
    return {
        "schema": 1,
        "object_id": run.object_id,
        "success": bool(result.get("success", False)),
        "error": result.get("error"),
        "message": result.get("message"),
        "verdict": estimate.get("verdict"),
        "reason": estimate.get("reason"),
        "next_action": estimate.get("next_action"),
        "mass": mass,
        "mass_stddev": sigma,
        "ci95": interval,
        "truth": truth,
        "error_pct": 100.0 * abs(mass - truth) / truth if known else None,
        "covered_95": interval[0] <= truth <= interval[1] if known and interval else None,
        "half_width": (interval[1] - interval[0]) / 2.0 if interval else None,
        "trials_used": estimate.get("trials_used"),
        "trials_rejected": estimate.get("trials_rejected"),
        "trials_recorded": len(run.trials),
        "held": held,
        "grasp_tried": run.grasp is not None or bool(result.get("force_per_side")),
        "force_per_side": _first("force_per_side", grasp, result),
        "force_limit": grasp.get("force_limit"),
        "contacts": grasp.get("contacts"),
        "slip": _first("slip", grasp, result),
        "weighed_mass": _first("weighed_mass", grasp, result),
        "weighed_mass_stddev": _first("weighed_mass_stddev", grasp, result),
        "elapsed": result.get("elapsed"),
        "seed": None if run.truth is None else run.truth.get("seed"),
        "realism": None if run.truth is None else run.truth.get("realism"),
        "damaged_trials": run.damaged,
    }


def _first(key: str, *records: dict[str, Any]) -> Any:
    return next((record[key] for record in records if record.get(key) is not None), None)


def summary_line(summary: dict[str, Any]) -> str:
    """E.g. "ketchup: mass 0.713 kg +- 0.018 (truth 0.702, error 1.6 %), grasp held"."""
    name = summary["object_id"]
    if summary["mass"] is None:
        reason = summary["message"] or summary["reason"] or "no estimate was made"
        return f"{name}: no mass, {reason}"
    text = f"{name}: mass {summary['mass']:.3f} kg +- {summary['mass_stddev']:.3f}"
    if summary["truth"] is not None:
        text += f" (truth {summary['truth']:.3f}, error {summary['error_pct']:.1f} %)"
    if summary["verdict"] != "IDENTIFIED":
        return f"{text}, {summary['verdict']}: {summary['reason']}"
    if summary["held"] and (summary["success"] or summary["error"] == "NONE"):
        return f"{text}, grasp held"
    if summary["success"]:
        return f"{text}, grasp not asked for"
    return f"{text}, failed: {summary['message'] or 'no reason given'}"
