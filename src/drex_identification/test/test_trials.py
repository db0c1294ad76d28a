"""Trials: validation, disk, store."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from drex_identification.trials import PushTrial, TrialStore, load_trial, save_trial
from drex_sim.errors import TrialError


def with_block(trial: PushTrial, **blocks) -> PushTrial:
    return replace(trial, blocks=replace(trial.blocks, **blocks))


def test_round_trip_on_disk(pushed, tmp_path):
    trial = pushed[0][0]
    loaded = load_trial(save_trial(trial, tmp_path))
    assert loaded.phases == trial.phases
    assert loaded.outcome == trial.outcome
    np.testing.assert_array_equal(loaded.blocks.wrenches, trial.blocks.wrenches)
    np.testing.assert_array_equal(loaded.contact_point, trial.contact_point)
    assert [p.name for p in tmp_path.iterdir()] == [f"{trial.trial_id}.npz"]


@pytest.mark.parametrize("keep", [0.0, 0.3, 0.95])
def test_truncated_file(pushed, tmp_path, keep):
    path = save_trial(pushed[0][0], tmp_path)
    data = path.read_bytes()
    path.write_bytes(data[: int(keep * len(data))])
    with pytest.raises(TrialError, match="truncated"):
        load_trial(path)
    store = TrialStore(tmp_path)
    assert store.list() == []
    assert path.stem in store.damaged


def test_invalid_data_names_the_field(pushed):
    trial = pushed[0][0]
    wrenches = trial.blocks.wrenches.copy()
    wrenches[7, 1] = np.nan
    with pytest.raises(TrialError, match="wrenches holds 1 NaN"):
        with_block(trial, wrenches=wrenches).validate()
    with pytest.raises(TrialError, match=r"arm_positions has shape .*\(.*, 6\) is needed"):
        with_block(trial, arm_positions=trial.blocks.arm_positions[:, :5]).validate()
    with pytest.raises(TrialError, match="pose_stamps run backwards"):
        with_block(trial, pose_stamps=trial.blocks.pose_stamps[::-1]).validate()
    with pytest.raises(TrialError, match="no baseline"):
        replace(trial, phases=tuple(p for p in trial.phases if p.name != "baseline")).validate()
    with pytest.raises(TrialError, match="contact_normal has length"):
        replace(trial, contact_normal=2 * trial.contact_normal).validate()
    with pytest.raises(TrialError, match="object_id is 'letter_a'; 'lego'"):
        trial.validate("lego")
    with pytest.raises(TrialError, match="twin_hash"):
        trial.validate("letter_a", "0123")


def test_store_select_delete(pushed, tmp_path):
    trials = pushed[0]
    store = TrialStore(tmp_path)
    assert [store.add(trial) for trial in (*trials, trials[0])] == [True, True, False]
    assert TrialStore(tmp_path).list("letter_a")[0].trial_id == trials[0].trial_id
    with pytest.raises(TrialError, match="not known"):
        store.select("letter_a", ["nope"])
    with pytest.raises(TrialError, match="nope"):
        store.delete([trials[0].trial_id, "nope"])
    assert len(store.list()) == 2
    with pytest.raises(TrialError, match="object_id"):
        store.select("lego", [trials[0].trial_id])
    assert store.delete([trials[0].trial_id]) == 1
    assert [t.trial_id for t in store.list()] == [trials[1].trial_id]
    assert (tmp_path / "deleted" / f"{trials[0].trial_id}.npz").is_file()


def test_unsafe_id_is_refused(pushed, tmp_path):
    with pytest.raises(TrialError, match="file name"):
        save_trial(replace(pushed[0][0], trial_id="../evil"), tmp_path)
