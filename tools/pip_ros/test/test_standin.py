"""The launch and `ros2` stand-in: features, exit codes, clean ends, and the ros2 verbs over DDS."""

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
from launch import LaunchDescription
from launch.actions import *
from launch.actions import (DeclareLaunchArgument, ExecuteProcess, GroupAction, IncludeLaunchDescription, LogInfo,
    OpaqueFunction, RegisterEventHandler, SetEnvironmentVariable, Shutdown, TimerAction)
from launch.conditions import IfCondition, UnlessCondition
from launch.event_handlers import OnProcessExit, OnProcessStart, OnShutdown
from launch.substitutions import EnvironmentVariable, LaunchConfiguration, PathJoinSubstitution
from launch_ros.actions import Node, PushRosNamespace, SetParameter, SetRemap
def generate_launch_description():
    return LaunchDescription([
"""


def ros2(*arguments: str, domain: str = "41", **options) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "ros2_standin.cli", *arguments]
    environment = os.environ | {"ROS_DOMAIN_ID": domain}
    return subprocess.run(command, capture_output=True, text=True, timeout=60, env=environment, **options)


def launch_file(folder: Path, body: str) -> str:
    path = folder / "x.launch.py"
    path.write_text(HEADER + body + "\n    ])\n")
    return str(path)


def test_arguments_conditions_and_scopes(tmp_path):
    path = launch_file(tmp_path, """
        DeclareLaunchArgument("who", default_value="world", description="whom to greet", choices=["world", "rig"]),
        GroupAction([SetEnvironmentVariable("WHO", LaunchConfiguration("who")),
            ExecuteProcess(cmd=["sh", "-c", "echo hello $WHO"], name="greeter")]),
        ExecuteProcess(cmd=["sh", "-c", "echo outside [$WHO]"]),
        LogInfo(msg=["joined ", PathJoinSubstitution(["a", LaunchConfiguration("who")])]),
        LogInfo(msg="shown", condition=IfCondition("true")),
        LogInfo(msg="hidden", condition=UnlessCondition("1")),
        LogInfo(msg=EnvironmentVariable("NOT_SET_ANYWHERE", default_value="fallback")),
        OpaqueFunction(function=lambda context: [LogInfo(msg="from a function")]),""")
    result = ros2("launch", path, "who:=rig")
    assert result.returncode == 0, result.stderr
    assert "[greeter-1] hello rig" in result.stdout
    assert "outside []" in result.stdout and "joined a/rig" in result.stdout
    assert "shown" in result.stdout and "hidden" not in result.stdout
    assert "fallback" in result.stdout and "from a function" in result.stdout
    refused = ros2("launch", path, "who:=nobody")
    assert refused.returncode == 1 and "choose one of: world, rig" in refused.stderr
    shown = ros2("launch", path, "--show-args")
    assert "'who'" in shown.stdout and "whom to greet" in shown.stdout
    assert "GroupAction" in ros2("launch", path, "--print-description").stdout


def test_exit_code_events_timer_and_shutdown(tmp_path):
    path = launch_file(tmp_path, """
        *(lambda first: [first,
            RegisterEventHandler(OnProcessExit(target_action=first, on_exit=[LogInfo(msg="first is over"), Shutdown()])),
            RegisterEventHandler(OnProcessStart(target_action=first, on_start=[LogInfo(msg="first runs")])),
            RegisterEventHandler(OnShutdown(on_shutdown=[LogInfo(msg="good bye")])),
        ])(ExecuteProcess(cmd=["sh", "-c", "sleep 0.5; exit 7"])),
        TimerAction(period=0.1, actions=[LogInfo(msg="tick")]),
        ExecuteProcess(cmd=["sleep", "60"]),""")
    started = time.monotonic()
    result = ros2("launch", path)
    assert result.returncode == 7
    assert time.monotonic() - started < 8.0
    for text in ("first runs", "tick", "first is over", "good bye"):
        assert text in result.stdout


def test_respawn(tmp_path):
    counter = tmp_path / "count"
    path = launch_file(tmp_path, f"""
        ExecuteProcess(cmd=["sh", "-c", "echo x >> {counter}; exit 1"], respawn=True, respawn_delay=0.1),
        TimerAction(period=1.0, actions=[Shutdown()]),""")
    ros2("launch", path)
    assert len(counter.read_text().split()) >= 3


@pytest.mark.parametrize("body, named", [
    ("ExecuteProcess(cmd=['true'], prefix='gdb'),", "prefix"),
    ("__import__('launch.actions', fromlist=['x']).EmitEvent(),", "EmitEvent"),
    ("__import__('launch_ros.actions', fromlist=['x']).ComposableNodeContainer(),", "ComposableNodeContainer"),
])
def test_unsupported_features_are_named(tmp_path, body, named):
    result = ros2("launch", launch_file(tmp_path, body))
    assert result.returncode != 0 and named in result.stderr and "stand-in" in result.stderr


def test_ctrl_c_leaves_nothing_behind(tmp_path):
    marker = f"drexmarker{os.getpid()}"
    stubborn = f"trap '' INT TERM; echo {marker}; sleep 1000 & wait; sleep 1000"
    path = launch_file(tmp_path, f"""
        ExecuteProcess(cmd=["bash", "-c", {stubborn!r}]),
        ExecuteProcess(cmd=["bash", "-c", "sleep 1000 # {marker}; true"]),""")
    process = subprocess.Popen([sys.executable, "-m", "ros2_standin.cli", "launch", path], stdout=subprocess.PIPE)
    time.sleep(1.5)
    process.send_signal(signal.SIGINT)
    started = time.monotonic()
    process.wait(timeout=10)
    assert time.monotonic() - started < 5.5
    left = subprocess.run(["pgrep", "-f", marker], capture_output=True, text=True).stdout
    assert left.strip() == ""


def test_launcher_killed_takes_children_along(tmp_path):
    marker = f"drexkilled{os.getpid()}"
    path = launch_file(tmp_path, f"""ExecuteProcess(cmd=["python3", "-c", "import time; time.sleep(1000) # {marker}"]),""")
    process = subprocess.Popen([sys.executable, "-m", "ros2_standin.cli", "launch", path], stdout=subprocess.PIPE)
    time.sleep(1.5)
    process.kill()
    process.wait()
    time.sleep(0.5)
    assert subprocess.run(["pgrep", "-f", marker], capture_output=True, text=True).stdout.strip() == ""


def test_node_parameters_namespace_and_ros2_verbs(tmp_path):
    script = tmp_path / "node.py"
    script.write_text("""
import rclpy
from rclpy.node import Node
from std_msgs.msg import String
from std_srvs.srv import SetBool
rclpy.init()
node = Node("x")
node.declare_parameter("speed", 0.0)
publisher = node.create_publisher(String, "chat", 5)
node.create_timer(0.1, lambda: publisher.publish(String(data=f"speed {node.get_parameter('speed').value}")))
def answer(request, response):
    response.success, response.message = request.data, "flipped"
    return response
node.create_service(SetBool, "flip", answer)
try:
    rclpy.spin(node)
except BaseException:
    pass
""")
    path = launch_file(tmp_path, f"""
        PushRosNamespace("cell"),
        SetParameter("speed", 2.5),
        SetRemap("chat", "talk"),
        Node(executable={sys.executable!r}, arguments=[{str(script)!r}], name="talker"),""")
    environment = os.environ | {"ROS_DOMAIN_ID": "47"}
    process = subprocess.Popen(
        [sys.executable, "-m", "ros2_standin.cli", "launch", path], stdout=subprocess.PIPE, env=environment
    )
    try:
        echo = ros2("topic", "echo", "--once", "/cell/talk", domain="47")
        assert "speed 2.5" in echo.stdout, echo.stderr
        assert "/cell/talker" in ros2("node", "list", domain="47").stdout
        assert "/cell/talk [std_msgs/msg/String]" in ros2("topic", "list", "-t", domain="47").stdout
        call = ros2("service", "call", "/cell/flip", "std_srvs/srv/SetBool", "{data: true}", domain="47")
        assert "flipped" in call.stdout
        bad = ros2("service", "call", "/cell/flip", "std_srvs/srv/SetBool", "{dat: true}", domain="47")
        assert bad.returncode == 1 and "has no field 'dat'" in bad.stderr
        assert "2.5" in ros2("param", "get", "/cell/talker", "speed", domain="47").stdout
        assert ros2("param", "set", "/cell/talker", "speed", "3.0", domain="47").returncode == 0
        assert "average rate" in ros2("topic", "hz", "/cell/talk", "--duration", "2.5", domain="47").stdout
    finally:
        process.send_signal(signal.SIGINT)
        process.wait(timeout=10)


def test_launch_of_unknown_things_says_what_there_is():
    assert "not found" in ros2("launch", "no_such_package", "x.launch.py").stderr
    assert "has no executable" in ros2("run", "drex_sim", "nothing").stderr
