"""The main job once, on the whole graph: `drex demo` as a user runs it (about two minutes on two idle cores)."""

from __future__ import annotations

import json
import os
import re
import stat
import subprocess

import pytest
from rosbags.highlevel import AnyReader


@pytest.mark.timeout(590)
def test_demo_identifies_grasps_and_reports(tmp_path):
    command = ["drex", "demo", "--object", "ketchup", "--seed", "1", "--runs", str(tmp_path), "--timeout", "540"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=570, check=False)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-1000:]
    line = done.stdout.strip().splitlines()[-1]
    assert re.fullmatch(
        r"ketchup: mass \d\.\d{3} kg \+- \d\.\d{3} \(truth \d\.\d{3}, error \d+\.\d %\), grasp held", line
    ), line
    (folder,) = tmp_path.iterdir()
    report = json.loads((folder / "report.json").read_text())
    assert report["error_pct"] < 10.0 and report["held"] and report["verdict"] == "IDENTIFIED"
    assert abs(report["weighed_mass"] - report["truth"]) < 0.1 * report["truth"]
    assert "<svg" in (folder / "report.html").read_text()
    assert len(list((folder / "trials").glob("*.npz"))) >= 2 and len(list((folder / "pictures").glob("*.jpg"))) > 20
    sealed = folder / ".sealed" / "truth.json"
    assert stat.S_IMODE(os.stat(sealed).st_mode) == 0o600
    truth = f"{json.loads(sealed.read_text())['mass']:.6f}"
    assert truth not in (folder / "launch.log").read_text() and truth not in (folder / "estimate.json").read_text()
    with AnyReader([folder / "bag"]) as bag:
        topics = {connection.topic: connection.msgcount for connection in bag.connections}
        assert topics["/joint_states"] > 5000 and topics["/push_trial"] >= 2 and topics["/mass_estimate"] >= 1
        connection = next(c for c in bag.connections if c.topic == "/mass_estimate")
        _, _, raw = list(bag.messages([connection]))[-1]
        assert bag.deserialize(raw, connection.msgtype).mass == pytest.approx(report["mass"])
