"""Run folders, and the report on whole and partial runs."""

from __future__ import annotations

import json
import math
import os

import numpy as np
import pytest
from PIL import Image

from drex_bringup.jobs.demo import DemoOptions, check_options, launch_arguments, prepare, seal_mass
from drex_bringup.report import build_report, load_run, summarise
from drex_bringup.run_folder import new_run_folder, read_json, set_aside, write_json
from drex_identification.trials.push_trial import Phase, PushTrial
from drex_identification.trials.storage import save_trial
from drex_sim.errors import ConfigError, DrexError
from drex_sim.robot.protocols import RecordedBlocks

N = 120


def trial(trial_id: str = "t1") -> PushTrial:
    t = np.linspace(0.0, 2.0, N)
    poses = np.tile([0.5, 0.0, 0.08, 0.0, 0.0, 0.0, 1.0, 0.9], (N, 1))
    poses[:, 4] = 0.05 * np.sin(t)
    blocks = RecordedBlocks(
        pose_stamps=t, pose_receive_stamps=t, poses=poses, pose_covariances=np.zeros((N, 36)),
        arm_stamps=t, arm_receive_stamps=t, arm_positions=np.zeros((N, 6)), arm_velocities=np.zeros((N, 6)),
        hand_stamps=t, hand_receive_stamps=t, hand_positions=np.zeros((N, 16)), hand_efforts=np.zeros((N, 16)),
        wrench_stamps=t, wrench_receive_stamps=t, wrenches=np.zeros((N, 6)),
    )
    return PushTrial(
        trial_id=trial_id, object_id="ketchup", twin_hash="abc", blocks=blocks,
        phases=(Phase("baseline", 0.0, 0.5), Phase("lean", 0.5, 2.0)),
        contact_point=np.array([0.0, 0.02, 0.05]), contact_normal=np.array([0.0, 1.0, 0.0]),
        push_direction=np.array([0.0, -1.0, 0.0]),
    )


def estimate_record(mass: float | None = 0.71) -> dict:
    grid = np.geomspace(0.05, 5.0, 40)
    loss = 0.5 * (np.log(grid / 0.71) / 0.03) ** 2
    density = np.exp(-loss)
    t = list(np.linspace(0.0, 2.0, N))
    fit = {
        "trial_id": "t1", "outcome": "complete", "side": "+y", "times": t, "phase": ["lean"] * N, "fitted": [True] * N,
        "tilt_observed": [None, *[0.01] * (N - 1)], "tilt_fitted": [0.01] * N, "moment_observed": [0.1] * N,
        "moment_fitted": [None, *[0.1] * (N - 1)], "force_observed": [[0.5, 0.1]] * N, "force_fitted": [0.5] * N,
        "contact_height": 0.12, "balance_angle": 0.3,
    }
    known = mass is not None
    return {
        "schema": 1, "object_id": "ketchup", "twin_hash": "abc", "method": "tip", "calibration_id": "", "stamp": 3.0,
        "elapsed": 0.4, "verdict": "IDENTIFIED" if known else "UNIDENTIFIABLE", "reason": "why", "next_action": "",
        "mass": mass, "mass_stddev": 0.02 if known else None, "ci95": [0.67, 0.75] if known else None,
        "mass_prior": {"low": 0.03, "high": 3.0, "stddev": 0.8}, "position_rms": 0.001, "rotation_rms": 0.002,
        "force_rms": None, "trials_used": 1, "trials_rejected": 1,
        "rejected": [{"trial_id": "t2", "reason": "slid <fast>"}],
        "parameters": [{"name": "log_mass", "unit": "1", "value": -0.3, "stddev": 0.03, "prior_mean": 0.0,
                        "prior_stddev": None}],
        "profile": {"mass_grid": list(grid), "neg_log_posterior": list(loss), "density": list(density)},
        "trials": [fit], "config": {},
    }


def result_record(success: bool = True, **changes: object) -> dict:
    record = {"schema": 1, "success": success, "error": "NONE" if success else "GRASP_FAILED", "message": "it slipped",
              "object_id": "ketchup", "held": success, "force_per_side": 8.0, "slip": 0.001, "weighed_mass": math.nan,
              "weighed_mass_stddev": math.nan, "elapsed": 90.0}
    return record | changes


@pytest.fixture
def run(tmp_path):
    save_trial(trial(), tmp_path / "trials")
    write_json(tmp_path / "estimate.json", estimate_record())
    write_json(tmp_path / "result.json", result_record())
    write_json(tmp_path / "grasp.json", {"held": True, "force_per_side": 8.0, "weighed_mass": 0.705,
                                         "weighed_mass_stddev": 0.01, "times": [0, 1, 2], "forces": [0, 4, 8]})
    (tmp_path / ".sealed").mkdir()
    write_json(tmp_path / ".sealed" / "truth.json", {"mass": 0.7, "seed": 1, "realism": "lab"})
    (tmp_path / "pictures").mkdir()
    Image.new("RGB", (64, 48)).save(tmp_path / "pictures" / "000.jpg")
    (tmp_path / "pictures" / "001.jpg").write_bytes(b"cut off")
    return tmp_path


def test_whole_run(run):
    line = build_report(run)
    assert line == "ketchup: mass 0.710 kg +- 0.020 (truth 0.700, error 1.4 %), grasp held"
    record = read_json(run / "report.json")
    assert record["covered_95"] is True and record["weighed_mass"] == 0.705
    text = (run / "report.html").read_text()
    assert text.count("<svg") >= 4 and "data:image/gif" in text and "slid &lt;fast&gt;" in text
    assert "http://" not in text.replace("http://www.w3.org", "").replace("http://purl.org", "").replace(
        "http://creativecommons.org", "")
    assert "src=\"http" not in text


def test_real_rig_has_no_truth(run):
    (run / ".sealed" / "truth.json").unlink()
    assert build_report(run) == "ketchup: mass 0.710 kg +- 0.020, grasp held"


def test_truth_is_not_opened_before_the_estimate_is_on_disk(run):
    (run / "estimate.json").unlink()
    (run / ".sealed" / "truth.json").write_text("this would raise if it were read")
    assert load_run(run).truth is None
    assert build_report(run).startswith("ketchup: no mass")


def test_refused_identification_and_failed_grasp(run):
    write_json(run / "estimate.json", estimate_record(None))
    write_json(run / "result.json", result_record(False, error="IDENTIFY_FAILED", message="it rolls", held=False))
    (run / "grasp.json").unlink()
    assert build_report(run) == "ketchup: no mass, it rolls"
    write_json(run / "estimate.json", estimate_record())
    write_json(run / "result.json", result_record(False, held=False))
    assert build_report(run).endswith("failed: it slipped")
    assert summarise(load_run(run))["success"] is False


def test_damaged_trial_is_listed_and_empty_folder_refused(run, tmp_path):
    (run / "trials" / "t9.npz").write_bytes(b"PK")
    build_report(run)
    assert "t9.npz" in (run / "report.html").read_text()
    empty = tmp_path / "empty"
    empty.mkdir()
    with pytest.raises(ConfigError, match="no run folder"):
        build_report(empty)
    with pytest.raises(ConfigError, match="no such run folder"):
        build_report(tmp_path / "nowhere")
    (run / "result.json").write_text("{")
    with pytest.raises(ConfigError, match=r"result\.json: cannot be read"):
        build_report(run)


def test_run_folders_are_new_and_old_jobs_set_aside(tmp_path):
    first, second = (new_run_folder("a/b", tmp_path, now=0.0) for _ in range(2))
    assert first != second and first.name.endswith("_a_b")
    write_json(first / "result.json", {"x": math.nan})
    assert json.loads((first / "result.json").read_text()) == {"x": None}
    assert set_aside(first) == first / "earlier" / "1" and set_aside(first) is None


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"object_id": "teapot"}, "unknown; available"),
        ({"mass": 0.0}, "kilograms"),
        ({"mass": math.nan}, "kilograms"),
        ({"mass": -1.0}, "kilograms"),
        ({"realism": "perfect"}, "ideal, lab, harsh"),
        ({"seed": -1}, "--seed"),
    ],
)
def test_bad_options_start_nothing(options, text, tmp_path):
    given = DemoOptions(runs=tmp_path, **options)
    with pytest.raises(DrexError, match=text):
        check_options(given)
        prepare(given, lambda _: None)
    assert list(tmp_path.iterdir()) == []


def test_mesh_needs_mass_and_a_file(tmp_path):
    with pytest.raises(ConfigError, match="--mass"):
        check_options(DemoOptions(mesh=tmp_path / "a.ply"))
    with pytest.raises(ConfigError, match="no such file"):
        check_options(DemoOptions(mesh=tmp_path / "a.ply", mass=0.5))


def test_the_users_mass_stays_private(tmp_path):
    file = seal_mass(tmp_path, 0.4321)
    assert os.stat(file).st_mode & 0o777 == 0o600 and float(file.read_text()) == 0.4321
    arguments = launch_arguments(DemoOptions(mass=0.4321), tmp_path, "ketchup", "")
    assert not any("0.4321" in argument for argument in arguments)
    assert f"sealed_mass_file:={file}" in arguments
