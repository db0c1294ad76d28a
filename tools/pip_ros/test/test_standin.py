"""The launch stand-in: features, refusals, exit codes and clean ends."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import launch
import pytest

pytestmark = pytest.mark.skipif(
    not getattr(launch, "STAND_IN", False), reason="the genuine launch is installed: nothing of the stand-in is used"
)

HEADER = """
import sys
from launch import LaunchDescription
from launch.actions import (DeclareLaunchArgument, ExecuteProcess, GroupAction, IncludeLaunchDescription, LogInfo,
    OpaqueFunction, RegisterEventHandler, SetEnvironmentVariable, Shutdown, TimerAction)
from launch.conditions import IfCondition, UnlessCondition
from launch.event_handlers import OnProcessExit, OnProcessStart, OnShutdown
from launch.launch_description_sources import PythonLaunchDescriptionSource
from launch.substitutions import EnvironmentVariable, LaunchConfiguration, PathJoinSubstitution
from launch_ros.actions import Node, PushRosNamespace, SetParameter, SetRemap
from launch_ros.parameter_descriptions import ParameterValue
from launch_ros.substitutions import FindPackageShare
def generate_launch_description():
    return LaunchDescription([
"""
SHELL = "ExecuteProcess(output='screen', cmd=['sh', '-c', {!r}])"


def command(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "ros2_standin.main", *arguments]


def ros2(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command(*arguments), capture_output=True, text=True, timeout=60)


@pytest.fixture(autouse=True)
def log_folder(tmp_path, monkeypatch):
    monkeypatch.setenv("ROS_LOG_DIR", str(tmp_path / "log"))


def launch_file(folder: Path, body: str, name: str = "x.launch.py") -> str:
    path = folder / name
    path.write_text(HEADER + body + "\n    ])\n")
    return str(path)


def processes_with(marker: str) -> list[str]:
    found = subprocess.run(["pgrep", "-f", marker], capture_output=True, text=True).stdout.split()
    return [pid for pid in found if int(pid) != os.getpid()]


def start_until(path: str, text: str) -> subprocess.Popen[str]:
    """Start a launch and return once it has printed the text."""
    process = subprocess.Popen(command("launch", path), stdout=subprocess.PIPE, text=True)
    for line in process.stdout:
        if text in line:
            return process
    raise AssertionError(f"the launch ended without printing {text}")


def test_arguments_conditions_and_scopes(tmp_path):
    path = launch_file(
        tmp_path,
        f"""
        DeclareLaunchArgument("who", default_value="world", description="whom to greet", choices=["world", "rig"]),
        GroupAction([SetEnvironmentVariable("WHO", LaunchConfiguration("who")),
            ExecuteProcess(cmd=["sh", "-c", "echo hello $WHO"], name="greeter", output="screen")]),
        {SHELL.format("echo outside [$WHO]")},
        LogInfo(msg=["joined ", PathJoinSubstitution(["a", LaunchConfiguration("who")])]),
        LogInfo(msg="shown", condition=IfCondition("true")),
        LogInfo(msg="hidden", condition=UnlessCondition("1")),
        LogInfo(msg=EnvironmentVariable("NOT_SET_ANYWHERE", default_value="fallback")),
        OpaqueFunction(function=lambda context: [LogInfo(msg="from a function")]),""",
    )
    result = ros2("launch", path, "who:=rig")
    assert result.returncode == 0, result.stdout
    assert "[greeter-1] hello rig" in result.stdout
    for text in ("outside []", "joined a/rig", "shown", "fallback", "from a function"):
        assert text in result.stdout
    assert "hidden" not in result.stdout
    refused = ros2("launch", path, "who:=nobody")
    assert refused.returncode == 1 and "valid are ['world', 'rig']" in refused.stdout
    shown = ros2("launch", path, "--show-args").stdout
    assert "'who'" in shown and "whom to greet. Valid choices are" in shown and "default: 'world'" in shown
    assert "GroupAction" in ros2("launch", path, "--print-description").stdout


def test_included_file_gets_arguments(tmp_path):
    launch_file(
        tmp_path,
        """
        DeclareLaunchArgument("needed", description="from outside"),
        DeclareLaunchArgument("kept", default_value="inner"),
        LogInfo(msg=[LaunchConfiguration("needed"), "+", LaunchConfiguration("kept")]),""",
        "inner.launch.py",
    )
    path = launch_file(
        tmp_path,
        f"""
        IncludeLaunchDescription(
            PythonLaunchDescriptionSource(PathJoinSubstitution([{str(tmp_path)!r}, "inner.launch.py"])),
            launch_arguments={{"needed": "given"}}.items()),""",
    )
    assert "given+inner" in ros2("launch", path).stdout
    shown = ros2("launch", path, "--show-args").stdout
    assert "'kept'" in shown and "'needed'" not in shown
    missing = ros2("launch", str(tmp_path / "inner.launch.py"))
    assert missing.returncode == 1 and "'needed' (from outside) was not provided" in missing.stdout


def test_exit_code_events_timer_and_shutdown(tmp_path):
    path = launch_file(
        tmp_path,
        f"""
        *(lambda first: [
            RegisterEventHandler(OnProcessExit(target_action=first, on_exit=[LogInfo(msg="it ended"), Shutdown()])),
            RegisterEventHandler(OnProcessStart(target_action=first, on_start=[LogInfo(msg="it runs")])),
            RegisterEventHandler(OnShutdown(on_shutdown=[LogInfo(msg="good bye")])),
            first,
        ])({SHELL.format("sleep 0.5; exit 7")}),
        TimerAction(period=0.1, actions=[LogInfo(msg="tick")]),
        TimerAction(period=30.0, actions=[LogInfo(msg="too late")]),
        {SHELL.format("sleep 60")},""",
    )
    started = time.monotonic()
    result = ros2("launch", path)
    assert result.returncode == 7
    assert time.monotonic() - started < 8.0
    for text in ("it runs", "tick", "it ended", "good bye"):
        assert text in result.stdout
    assert "too late" not in result.stdout


def test_respawn_until_shutdown(tmp_path):
    counter = tmp_path / "count"
    path = launch_file(
        tmp_path,
        f"""
        ExecuteProcess(cmd=["sh", "-c", "echo x >> {counter}; exit 1"], respawn=True, respawn_delay=0.1),
        TimerAction(period=1.0, actions=[Shutdown(reason="enough")]),""",
    )
    result = ros2("launch", path)
    assert "shutting down: enough" in result.stdout
    assert len(counter.read_text().split()) >= 3


@pytest.mark.parametrize(
    ("body", "named"),
    [
        ("ExecuteProcess(cmd=['true'], prefix='gdb'),", "ExecuteProcess(prefix=...)"),
        ("__import__('launch.actions', fromlist=['x']).EmitEvent(),", "launch.actions.EmitEvent"),
        ("__import__('launch_ros.actions', fromlist=['x']).LifecycleNode(),", "launch_ros.actions.LifecycleNode"),
    ],
)
def test_unsupported_features_are_named(tmp_path, body, named):
    result = ros2("launch", launch_file(tmp_path, body))
    assert result.returncode == 1 and named in result.stderr and "stand-in" in result.stderr


def test_program_that_is_absent_fails_the_launch(tmp_path):
    result = ros2("launch", launch_file(tmp_path, "ExecuteProcess(cmd=['no_such_program']),"))
    assert result.returncode == 1 and "cannot start no_such_program" in result.stdout


def test_ctrl_c_leaves_nothing_behind(tmp_path):
    marker = f"drexmarker{os.getpid()}"
    stubborn = f"trap '' INT TERM; : {marker}; (trap '' INT TERM; sleep 1000; : {marker}) & echo deaf; sleep 1000; wait"
    # A grandchild in a session of its own outlives its parent unless the launch adopts and ends it.
    stray = f"setsid sh -c 'trap \"\" INT TERM; sleep 1000; : {marker}' & sleep 0.3"
    path = launch_file(
        tmp_path,
        f"""
        {SHELL.format(stray)},
        TimerAction(period=1.0, actions=[
            ExecuteProcess(output="screen", cmd=["bash", "-c", {stubborn!r}])]),""",
    )
    process = start_until(path, "deaf")
    assert len(processes_with(marker)) >= 3
    started = time.monotonic()
    process.send_signal(signal.SIGINT)
    assert process.wait(timeout=10) == 0
    assert time.monotonic() - started < 5.0
    assert processes_with(marker) == []


def test_killed_launch_takes_its_children_along(tmp_path):
    marker = f"drexkilled{os.getpid()}"
    program = f"import time; print('up', flush=True); time.sleep(1000)  # {marker}"
    process = start_until(
        launch_file(tmp_path, f"ExecuteProcess(cmd=['python3', '-c', {program!r}], output='screen'),"), "up"
    )
    process.kill()
    process.wait(timeout=5)
    end = time.monotonic() + 3.0
    while processes_with(marker) and time.monotonic() < end:
        time.sleep(0.05)
    assert processes_with(marker) == []


def test_node_command_line(tmp_path):
    path = launch_file(
        tmp_path,
        """
        DeclareLaunchArgument("sim", default_value="true"),
        DeclareLaunchArgument("id", default_value="7"),
        PushRosNamespace("cell"),
        SetParameter("use_sim_time", LaunchConfiguration("sim")),
        SetRemap("chat", "talk"),
        Node(executable="echo", name="talker", output="screen", arguments=["--plain"], remappings=[("a", "b")],
            ros_arguments=["--log-level", "warn"],
            parameters=[{"object_id": ParameterValue(LaunchConfiguration("id"), value_type=str),
                         "nested": {"gain": [1, 2.5]}}]),""",
    )
    output = ros2("launch", path).stdout
    line = next(line for line in output.splitlines() if "[echo-1] --plain" in line)
    for part in (
        "--ros-args --log-level warn -r __node:=talker -r __ns:=/cell -p use_sim_time:=true",
        "-r chat:=talk -r a:=b",
    ):
        assert part in line
    written = Path(line.partition("--params-file ")[2].split()[0]).read_text()
    assert "/cell/talker" in written and "object_id: '7'" in written and "nested.gain:\n    - 1.0\n    - 2.5" in written


def test_unknown_names_say_what_there_is():
    assert "package 'no_such_package' not found" in ros2("launch", "no_such_package", "x.launch.py").stderr
    absent = ros2("run", "drex_sim", "nothing")
    assert absent.returncode == 1 and "no executable 'nothing'" in absent.stderr
    malformed = ros2("launch", __file__, "sim=true")
    assert malformed.returncode == 1 and "write name:=value" in malformed.stderr
