"""The launch file's description and the command's errors, as a user meets them."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from drex_bringup import cli
from drex_bringup.jobs import graph
from drex_bringup.jobs.bench import run_benchmark
from drex_bringup.jobs.doctor import Finding, examine, show
from drex_bringup.jobs.identify import configure, load_trials
from drex_sim.errors import ConfigError

LAUNCH = ["ros2", "launch", "drex_bringup", graph.LAUNCH_FILE]


def ros2(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*LAUNCH, *arguments], capture_output=True, text=True, timeout=60, check=False)


def test_launch_arguments():
    shown = ros2("--show-args").stdout
    for name in ("sim", "run", "object", "realism", "seed", "headless", "namespace", "use_sim_time", "params_file",
                 "log_level", "run_folder", "twin_path", "hand_driver"):
        assert f"'{name}':" in shown
    assert "start the simulated rig; false" in shown and "(default: 'false')" in shown


def test_bad_launch_value_starts_nothing():
    done = ros2("realism:=perfect", "sim:=true")
    assert done.returncode != 0 and "perfect" in done.stdout + done.stderr
    assert "process started" not in done.stdout + done.stderr


def test_the_simulator_is_conditional():
    description = ros2("--print-description").stdout
    rig = next(line for line in description.splitlines() if "rig_node" in line)
    group = description[: description.index(rig)].splitlines()
    assert any("IfCondition(LaunchConfiguration('sim'))" in line for line in group[-3:])


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["demo", "--object", "teapot"], "teapot"),
        (["demo", "--mass", "-1"], "kilograms"),
        (["demo", "--mesh", "nowhere.ply", "--mass", "1"], "no such file"),
        (["identify", "nowhere"], "trials"),
        (["report", "nowhere"], "no such run folder"),
        (["bench", "speed"], "available: main-job"),
        (["doctor", "--hand-driver", "claw"], "allowed: ros2_control"),
    ],
)
def test_bad_input_is_named_and_exits_2(arguments, text, capsys, tmp_path, monkeypatch):
    monkeypatch.setenv("DREX_RUNS", str(tmp_path))
    assert cli.main(arguments) == 2
    assert text in capsys.readouterr().err


def test_bad_mesh_says_why(capsys, tmp_path, monkeypatch):
    monkeypatch.setenv("DREX_RUNS", str(tmp_path / "runs"))
    mesh = tmp_path / "scan.obj"
    mesh.write_text("not a mesh\n")
    assert cli.main(["demo", "--mesh", str(mesh), "--mass", "0.5"]) == 2
    assert "scan.obj" in capsys.readouterr().err


def test_settings_and_trials_of_identify(tmp_path):
    assert configure(["force_scale_sigma=0.02"]).force_scale_sigma == 0.02
    assert configure([], {"force_scale_sigma": 0.03}).force_scale_sigma == 0.03
    with pytest.raises(ConfigError, match=r"allowed: .*force_scale_sigma"):
        configure(["speed=1"])
    with pytest.raises(ConfigError, match="is no number"):
        configure(["force_scale_sigma=much"])
    with pytest.raises(ConfigError, match="no trials"):
        load_trials(tmp_path)


def test_unknown_benchmark():
    with pytest.raises(ConfigError, match="main-job"):
        run_benchmark("speed", [])


def test_doctor_reports_what_is_missing(monkeypatch, tmp_path):
    monkeypatch.setenv("DREX_MODELS", str(tmp_path))
    monkeypatch.setenv("ROS_DISTRO", "humble")
    found = {finding.name: finding for finding in examine()}
    assert not found["ros2"].good and "jazzy" in found["ros2"].text
    assert found["packages"].good and found["twins"].good and "ketchup" in found["twins"].text
    lines: list[str] = []
    assert show([Finding("a", False, "start it")], lines.append) == 1 and "FAIL" in lines[0]
    assert show([Finding("a", False, "hint", needed=False)], lines.append) == 0


def test_output_lines_are_split_by_node():
    assert graph.split_line("[tracker-3] hello") == ("tracker", "hello")
    assert graph.split_line("plain") == ("", "plain")
    assert graph.free_domain() in graph.DOMAINS


def test_everything_is_taken_down(tmp_path):
    child = f"subprocess.Popen([{sys.executable!r}, '-c', 'import time; time.sleep(60)'])"
    script = f"import subprocess, time\n{child}\ntime.sleep(60)"
    process = subprocess.Popen([sys.executable, "-c", script], start_new_session=True, text=True)
    graph.take_down(process)
    with pytest.raises(ProcessLookupError):
        os.killpg(process.pid, 0)
