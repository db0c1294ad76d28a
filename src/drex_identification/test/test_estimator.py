"""The estimator on recorded pushes of the simulated rig: answer, refusals, estimate.json."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

from drex_identification.estimators import (
    TipConfig,
    TipEstimator,
    Verdict,
    estimate_record,
    get_estimator,
    write_estimate,
)
from drex_sim.errors import ConfigError, TrialError
from drex_sim.twin import load_twin, write_twin


@pytest.fixture(scope="module")
def result(pushed):
    trials, twin, _, _ = pushed
    return TipEstimator().estimate(trials, twin, TipConfig())


def test_mass_of_a_real_run(pushed, result):
    _, _, mass, rig_time = pushed
    assert result.verdict is Verdict.IDENTIFIED
    assert abs(result.mass - mass) < max(0.1 * mass, 0.006)
    assert result.ci95[0] < mass < result.ci95[1]
    assert result.half_width < max(0.15 * mass, 0.009)
    assert {fit.side for fit in result.trials} == {"+x", "-x"}
    assert rig_time < 45.0


def test_estimate_json_follows_its_schema(pushed, result, tmp_path):
    write_estimate(result, tmp_path / "estimate.json", 12.5)
    record = json.loads((tmp_path / "estimate.json").read_text())
    assert record["schema"] == 1 and record["stamp"] == 12.5 and record["verdict"] == "IDENTIFIED"
    profile = record["profile"]
    assert len(profile["mass_grid"]) == len(profile["neg_log_posterior"]) == len(profile["density"])
    assert min(profile["neg_log_posterior"]) == 0.0
    assert profile["mass_grid"] == sorted(profile["mass_grid"])
    trial = record["trials"][0]
    lengths = {len(trial[key]) for key in ("times", "phase", "fitted", "tilt_observed", "tilt_fitted",
                                           "moment_observed", "moment_fitted", "force_observed", "force_fitted")}
    assert len(lengths) == 1
    fitted = np.array(trial["fitted"])
    observed = np.array([np.nan if v is None else v for v in trial["moment_observed"]])
    assert np.isfinite(observed[fitted]).all() and np.isnan(observed[~fitted]).all()
    assert [p.name for p in tmp_path.iterdir()] == ["estimate.json"]


def test_mass_in_object_yaml_changes_nothing(pushed, result, tmp_path):
    trials, twin, _, _ = pushed
    answers = []
    for mass in (0.01, 1.9):
        write_twin(twin, tmp_path, mass=mass)
        again = load_twin(twin.id, str(tmp_path))
        own = [replace(trial, twin_hash=again.hash) for trial in trials]
        answers.append(TipEstimator().estimate(own, again, TipConfig()).mass)
    assert answers[0] == answers[1] == pytest.approx(result.mass, rel=1e-3)


def test_wrong_object_or_twin_is_refused(pushed):
    trials, twin, _, _ = pushed
    with pytest.raises(TrialError, match="object_id"):
        TipEstimator().estimate(trials, load_twin("lego"), TipConfig())
    with pytest.raises(TrialError, match="the twin changed"):
        TipEstimator().estimate(trials, replace(twin, base_edge_sigma=0.002), TipConfig())


def test_force_withheld_or_shuffled_is_unidentifiable(pushed):
    trials, twin, _, _ = pushed
    rng = np.random.default_rng(1)
    for change in (np.zeros_like, rng.permutation):
        fake = [replace(t, blocks=replace(t.blocks, wrenches=change(t.blocks.wrenches))) for t in trials]
        answer = TipEstimator().estimate(fake, twin, TipConfig())
        assert answer.verdict is Verdict.UNIDENTIFIABLE and np.isnan(answer.mass) and answer.reason


def test_push_without_motion_is_rejected(pushed):
    trials, twin, _, _ = pushed
    still = []
    for trial in trials:
        poses = trial.blocks.poses.copy()
        poses[:] = poses[0]
        still.append(replace(trial, blocks=replace(trial.blocks, poses=poses)))
    answer = TipEstimator().estimate(still, twin, TipConfig())
    assert answer.verdict is Verdict.UNIDENTIFIABLE
    assert "tilt never exceeded" in answer.reason
    assert len(answer.rejected) == 2
    assert estimate_record(answer)["mass"] is None


def test_slid_push_is_rejected(pushed):
    trials, twin, _, _ = pushed
    trial = trials[0]
    poses = trial.blocks.poses.copy()
    poses[trial.blocks.pose_stamps > trial.phase("lower").start, 0] += 0.01
    answer = TipEstimator().estimate([replace(trial, blocks=replace(trial.blocks, poses=poses)), trials[1]], twin,
                                     TipConfig())
    assert len(answer.rejected) == 1 and "slid" in answer.rejected[0][1]
    assert len(answer.trials) == 1


def test_unknown_names_list_what_there_is():
    with pytest.raises(ConfigError, match="available: auto, tip"):
        get_estimator("magic")
    with pytest.raises(ConfigError, match="force_scale_sigma"):
        TipConfig().override(["scale"], [1.0])
    with pytest.raises(ConfigError, match="force_drift"):
        TipConfig().override(["force_drift"], [-1.0])
    assert TipConfig().override(["force_drift"], [0.01]).force_drift == 0.01
