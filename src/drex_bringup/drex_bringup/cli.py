"""The `drex` command."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from drex_sim.errors import DrexError

EXIT_BAD_INPUT = 2
EXIT_INTERRUPTED = 130


def main(arguments: Sequence[str] | None = None) -> int:
    """Entry point: 0 done, 1 the job failed, 2 bad input, 130 Ctrl-C."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    if given[:1] == ["bench"] and len(given) > 1 and not given[1].startswith("-"):
        # The benchmark has options of its own.
        return _guarded(lambda: _bench(given[1], given[2:]))
    options = build_parser().parse_args(given)
    return _guarded(lambda: options.run(options))


def _guarded(run) -> int:  # type: ignore[no-untyped-def]
    try:
        return int(run())
    except DrexError as error:
        from drex_bringup.jobs.demo import DemoFailed

        print(error if isinstance(error, DemoFailed) else f"drex: {error}", file=sys.stderr)
        return 1 if isinstance(error, DemoFailed) else EXIT_BAD_INPUT
    except KeyboardInterrupt:
        print("drex: interrupted; everything it started has been stopped", file=sys.stderr)
        return EXIT_INTERRUPTED


def build_parser() -> argparse.ArgumentParser:
    """The command line."""
    parser = argparse.ArgumentParser(prog="drex", description="Identify an object's mass by pushing, then grasp it.")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    demo = commands.add_parser("demo", help="the main job on the simulated rig")
    _add_run_options(demo)
    demo.add_argument("--skip-grasp", action="store_true", help="identify only")
    demo.set_defaults(run=_demo)
    identify = commands.add_parser("identify", help="identify only, or estimate again from the trials of a run")
    identify.add_argument("run_folder", nargs="?", type=Path, help="run folder, trials folder or one trial; none: push")
    identify.add_argument("--method", default="auto", help="estimator (default auto)")
    identify.add_argument("--set", action="append", default=[], metavar="NAME=NUMBER", help="setting of the estimator")
    identify.add_argument("--twin-path", default=None, help="folders of twins, separated like PATH")
    _add_run_options(identify)
    identify.set_defaults(run=_identify)
    doctor = commands.add_parser("doctor", help="check the installation, and the rig's drivers with --rig")
    doctor.add_argument("--rig", action="store_true", help="also look for the drivers' topics and controllers")
    doctor.add_argument("--hand-driver", default="ros2_control", help="driver of the hand")
    doctor.add_argument("--twin-path", default=None, help="folders of twins, separated like PATH")
    doctor.set_defaults(run=_doctor)
    report = commands.add_parser("report", help="write the report of a run again")
    report.add_argument("run_folder", type=Path)
    report.set_defaults(run=_report)
    bench = commands.add_parser("bench", help="run a benchmark: main-job, rig, tracking, identification, grasp")
    bench.add_argument("name")
    bench.set_defaults(run=lambda options: _bench(options.name, []))
    return parser


def _add_run_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--object", default=None, help="twin id (default ketchup); with --mesh: name of the new twin")
    parser.add_argument("--mesh", type=Path, default=None, help="scanned mesh in metres to make a twin of")
    parser.add_argument("--up", default=None, metavar="AXIS", help="axis of the mesh that points up, e.g. -y")
    parser.add_argument("--mass", type=float, default=None, help="true mass for the simulator [kg]")
    parser.add_argument("--realism", default="lab", help="ideal, lab or harsh (default lab)")
    parser.add_argument("--seed", type=int, default=1, help="of the simulated rig (default 1)")
    parser.add_argument("--headless", action=argparse.BooleanOptionalAction, default=True, help="without a window")
    parser.add_argument("--calibrated", action="store_true", help="force-scale error of a calibrated rig (1 %%)")
    parser.add_argument("--pace", default="realtime", choices=("realtime", "max"), help="of the simulated rig")
    parser.add_argument("--hand-driver", default="ros2_control", help="driver of the hand")
    parser.add_argument("--runs", type=Path, default=None, help="folder of runs (default $DREX_RUNS or ./runs)")
    parser.add_argument("--timeout", type=float, default=900.0, help="for the whole run [s]")
    parser.add_argument("--verbose", action="store_true", help="show every line of every node")


def _run(options: argparse.Namespace, skip_grasp: bool) -> int:
    from drex_bringup.jobs.demo import DemoOptions, run_demo
    from drex_bringup.report.summary import summary_line

    mesh = options.mesh
    outcome = run_demo(DemoOptions(
        object_id=options.object or (mesh.stem.lower() if mesh is not None else "ketchup"), mesh=mesh,
        up=options.up, mass=options.mass, realism=options.realism, seed=options.seed, headless=options.headless,
        skip_grasp=skip_grasp, calibrated=options.calibrated, pace=options.pace, hand_driver=options.hand_driver,
        runs=options.runs, timeout=options.timeout, verbose=options.verbose,
    ), say=lambda text: print(text, flush=True))
    print(f"report {outcome.folder / 'report.html'} ({outcome.seconds:.0f} s)")
    print(summary_line(outcome.summary))
    return outcome.exit_code


def _demo(options: argparse.Namespace) -> int:
    return _run(options, options.skip_grasp)


def _identify(options: argparse.Namespace) -> int:
    if options.run_folder is None:
        return _run(options, skip_grasp=True)
    from drex_bringup.jobs.identify import describe, reidentify

    result = reidentify(options.run_folder, options.method, options.set, options.twin_path)
    print(describe(result))
    return 0 if result.verdict.name == "IDENTIFIED" else 1


def _doctor(options: argparse.Namespace) -> int:
    from drex_bringup.jobs.doctor import examine, show
    from drex_sim.robot.names import driver_joint_names

    driver_joint_names(options.hand_driver)
    return show(examine(options.rig, options.hand_driver, options.twin_path or os.environ.get("DREX_TWIN_PATH")))


def _report(options: argparse.Namespace) -> int:
    from drex_bringup.report import build_report

    print(build_report(options.run_folder))
    return 0


def _bench(name: str, arguments: Sequence[str]) -> int:
    from drex_bringup.jobs.bench import run_benchmark

    return run_benchmark(name, arguments)


if __name__ == "__main__":
    sys.exit(main())
