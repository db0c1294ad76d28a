"""Weighing by the wrist, and grasp.json."""

from __future__ import annotations

import json

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from drex_policy.control.result import GraspResult, write_result
from drex_policy.control.weighing import ForceMean, WeighingConfig, mean_force, weigh
from drex_sim.errors import DrexError


def _mean(time: float, force: list[float]) -> ForceMean:
    return ForceMean(time=time, force=np.array(force), sigma=0.002)


def test_weight_is_found_in_any_wrist_orientation() -> None:
    rotation = Rotation.from_euler("xyz", [0.3, 1.2, -0.5]).as_matrix()
    held = np.array([1.0, 2.0, 3.0]) + rotation.T @ [0, 0, -0.5 * 9.81]
    found = weigh(_mean(0.0, [1, 2, 3]), ForceMean(time=9.0, force=held, sigma=0.002), rotation, WeighingConfig())
    assert found.mass == pytest.approx(0.5)
    assert 0.005 < found.sigma < 0.01


def test_second_baseline_takes_the_drift_out_unless_something_touched_the_hand() -> None:
    before, held = _mean(0.0, [0, 0, 0]), _mean(10.0, [0, 0, -4.805])
    after = _mean(20.0, [0, 0, 0.2])
    found = weigh(before, held, np.eye(3), WeighingConfig(), after)
    assert found.mass == pytest.approx(4.905 / 9.81)
    touched = weigh(before, held, np.eye(3), WeighingConfig(), _mean(20.0, [0, 0, 2.0]))
    assert touched.mass == pytest.approx(4.805 / 9.81)
    drift_only = WeighingConfig(scale_sigma=0.0, cross_talk=0.0)
    one, two = (weigh(before, held, np.eye(3), drift_only, a).sigma for a in (None, after))
    assert two < 0.8 * one


def test_mean_force_knows_its_error() -> None:
    wrenches = np.random.default_rng(0).normal(0.0, 0.05, (1000, 6)) + 1.0
    mean = mean_force(np.arange(1000) * 0.002, wrenches)
    assert mean.force == pytest.approx(np.ones(3), abs=0.006)
    assert 0.0008 < mean.sigma < 0.004


def test_grasp_json_is_written_whole_and_without_nan(tmp_path) -> None:
    result = GraspResult(object_id="lego", mass_used=0.04, mass_sigma=0.001, fingers=["index", "thumb"])
    result.forces, result.weights = [1.0, 2.0], [float("nan"), 0.4]
    file = write_result(result, tmp_path / "run")
    record = json.loads(file.read_text())
    assert record["object_id"] == "lego" and record["slip"] is None and record["weights"] == [None, 0.4]
    assert [p.name for p in file.parent.iterdir()] == ["grasp.json"]


def test_unwritable_folder_is_a_clear_error(tmp_path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(DrexError, match="cannot be written"):
        write_result(GraspResult(object_id="lego", mass_used=0.04, mass_sigma=0.001), tmp_path / "file")
