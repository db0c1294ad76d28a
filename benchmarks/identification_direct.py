"""Mass identification on the simulated rig, stepped in this process: pairs of tips until sigma
is below 5 % or four were made; error, interval, time.

Bounds of the issue "The workspace, and the main job end to end": mass error <= max(10 %, 6 g), half-width of the 95 %
interval <= max(15 %, 9 g) in each run, truth inside the interval in at least 13 of 15. Exit code 1 when missed.

  python benchmarks/identification_direct.py            five objects x three seeds, profile lab, force calibrated
  python benchmarks/identification_direct.py --quick    one seed
"""

from __future__ import annotations

import argparse
import json
import math
import sys
import time
from pathlib import Path

from drex_identification.estimators import TipConfig, get_estimator
from drex_identification.push.goal import PushGoal
from drex_identification.push.procedure import PushProcedure
from drex_identification.trials import PushTrial, save_trial
from drex_sim.errors import DrexError
from drex_sim.rig.config import RigConfig
from drex_sim.rig.direct import DirectRobot
from drex_sim.rig.rig import SimulatedRig
from drex_sim.robot.kinematics import RobotKinematics

OBJECTS = ("ketchup", "cookie", "lego", "domino", "letter_a")


def run(object_id: str, seed: int, args: argparse.Namespace, kinematics: RobotKinematics) -> dict[str, object]:
    """One run; the truth is read only after the estimate."""
    started = time.perf_counter()
    rig = SimulatedRig(RigConfig(
        object_id=object_id, realism=args.realism, seed=seed, force_calibrated=not args.uncalibrated
    ))
    config = TipConfig(force_scale_sigma=0.03) if args.uncalibrated else TipConfig(calibration_id="declared 1 %")
    trials: list[PushTrial] = []
    problem = ""
    procedure = PushProcedure(DirectRobot(rig), kinematics, rig.twin)
    result = None
    # As IdentifyObject does: pairs of tips until the sigma target or the budget is reached.
    while len(trials) < args.max_pushes and not problem:
        try:
            procedure.run(PushGoal(repetitions=2), on_trial=trials.append)
        except DrexError as error:
            problem = str(error)
        result = get_estimator().estimate(trials, rig.twin, config)
        if result.mass_stddev <= args.relative_sigma * result.mass:
            break
    assert result is not None
    if args.save is not None:
        for trial in trials:
            save_trial(trial, args.save / f"{object_id}_{args.realism}_{seed}")
    mass = rig.sealed_truth.mass
    error, half = abs(result.mass - mass), result.half_width
    return {
        "object": object_id, "seed": seed, "true": mass, "estimate": result.mass, "sigma": result.mass_stddev,
        "error_pct": 100 * (result.mass / mass - 1), "covered": result.ci95[0] <= mass <= result.ci95[1],
        "half_width_pct": 100 * half / mass, "error_ok": error <= max(0.10 * mass, 0.006),
        "width_ok": half <= max(0.15 * mass, 0.009), "verdict": result.verdict.name,
        "z": (math.log(result.mass / mass) / (result.mass_stddev / result.mass)) if result.mass > 0 else math.nan,
        "outcomes": [trial.outcome for trial in trials], "rig_seconds": rig.time, "problem": problem,
        "wall_seconds": time.perf_counter() - started, "reason": result.reason,
    }


def main() -> int:
    """Run the benchmark; the exit code tells whether the bounds hold."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--objects", nargs="+", default=list(OBJECTS))
    parser.add_argument("--seeds", nargs="+", type=int, default=[1, 2, 3])
    parser.add_argument("--realism", default="lab", choices=["ideal", "lab", "harsh"])
    parser.add_argument("--uncalibrated", action="store_true", help="3 %% force scale error, and the prior for it")
    parser.add_argument("--max-pushes", type=int, default=4, help="budget of IdentifyObject")
    parser.add_argument("--relative-sigma", type=float, default=0.05, help="target of IdentifyObject")
    parser.add_argument("--quick", action="store_true", help="one seed")
    parser.add_argument("--json", type=Path, help="write all rows here")
    parser.add_argument("--save", type=Path, help="keep the trials in this folder")
    args = parser.parse_args()
    kinematics = RobotKinematics()
    rows = []
    for object_id in args.objects:
        for seed in args.seeds[:1] if args.quick else args.seeds:
            row = run(object_id, seed, args, kinematics)
            rows.append(row)
            print(
                f"{object_id:9s} seed {seed} true {row['true']:.4f} est {row['estimate']:.4f} sigma {row['sigma']:.4f}"
                f" err {row['error_pct']:+5.1f} % in95 {'yes' if row['covered'] else 'NO '}"
                f" half {row['half_width_pct']:4.1f} %"
                f" z {row['z']:+.2f} rig {row['rig_seconds']:.0f} s wall {row['wall_seconds']:.1f} s"
                f" {row['verdict']} {','.join(row['outcomes'])} {row['problem']}"
                f"{'' if row['verdict'] == 'IDENTIFIED' else row['reason']}",
                flush=True,
            )
    good = all(row["error_ok"] and row["width_ok"] for row in rows)
    covered = sum(bool(row["covered"]) for row in rows)
    errors = [abs(row["error_pct"]) if math.isfinite(row["error_pct"]) else None for row in rows]
    summary = {
        "max_error_pct": None if None in errors else max(errors), "covered_95": covered, "runs": len(rows),
        "errors_ok": sum(row["error_ok"] for row in rows), "widths_ok": sum(row["width_ok"] for row in rows),
        "rms_z": math.sqrt(sum(row["z"] ** 2 for row in rows) / len(rows)),
        "seconds_per_run": sum(row["wall_seconds"] for row in rows) / len(rows),
        "max_rig_seconds": max(row["rig_seconds"] for row in rows),
    }
    if args.json is not None:
        args.json.write_text(json.dumps({"rows": rows, "summary": summary}, indent=1))
    print(json.dumps({k: round(v, 3) if isinstance(v, float) and math.isfinite(v) else v for k, v in summary.items()}))
    return 0 if good and covered >= math.floor(13 / 15 * len(rows)) else 1


if __name__ == "__main__":
    sys.exit(main())
