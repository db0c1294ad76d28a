"""The `ros2` stand-in's verbs against a node in another process, over DDS."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

import launch
import pytest

pytestmark = pytest.mark.skipif(
    not getattr(launch, "STAND_IN", False), reason="the genuine ros2 command is installed: the stand-in is not used"
)

NODE = """
import rclpy
from rclpy.action import ActionServer
from rclpy.executors import ExternalShutdownException
from rclpy.lifecycle import LifecycleNode
from rclpy.qos import DurabilityPolicy, QoSProfile
from std_msgs.msg import Float64MultiArray, String
from std_srvs.srv import SetBool
from control_msgs.action import FollowJointTrajectory

rclpy.init()
node = LifecycleNode("helper")
node.declare_parameter("speed", 2.5)
numbers = node.create_publisher(Float64MultiArray, "numbers", 5)
node.create_timer(0.02, lambda: numbers.publish(Float64MultiArray(data=[1.0, 2.0])))
latched = node.create_publisher(String, "latched", QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL))
latched.publish(String(data="said once"))

def flip(request, response):
    response.success, response.message = request.data, "flipped"
    return response

def follow(goal):
    result = FollowJointTrajectory.Result()
    result.error_string = ",".join(goal.request.trajectory.joint_names)
    if result.error_string:
        goal.succeed()
    else:
        goal.abort()
    return result

node.create_service(SetBool, "flip", flip)
server = ActionServer(node, FollowJointTrajectory, "follow", follow)
print("ready", flush=True)
try:
    rclpy.spin(node)
except (KeyboardInterrupt, ExternalShutdownException):
    pass
"""


def ros2(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "ros2_standin.main", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=30)


@pytest.fixture(scope="module", autouse=True)
def helper_node():
    before = os.environ.get("ROS_DOMAIN_ID")
    os.environ["ROS_DOMAIN_ID"] = "41"
    process = subprocess.Popen([sys.executable, "-c", NODE], stdout=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "ready\n"
    yield process
    process.send_signal(signal.SIGINT)
    process.wait(timeout=10)
    if before is None:
        del os.environ["ROS_DOMAIN_ID"]
    else:
        os.environ["ROS_DOMAIN_ID"] = before


def test_lists():
    assert "/helper" in ros2("node", "list").stdout.split()
    assert "/numbers [std_msgs/msg/Float64MultiArray]" in ros2("topic", "list", "-t").stdout
    assert "/flip" in ros2("service", "list").stdout.split()
    assert ros2("action", "list", "-t").stdout == "/follow [control_msgs/action/FollowJointTrajectory]\n"


def test_topic_echo():
    result = ros2("topic", "echo", "--once", "/numbers", "--field", "data")
    assert result.returncode == 0 and result.stdout == "- 1.0\n- 2.0\n---\n"
    assert "said once" in ros2("topic", "echo", "--once", "latched").stdout
    absent = ros2("topic", "echo", "--once", "/nothing_here")
    assert absent.returncode == 1 and "/nothing_here does not appear to be published" in absent.stderr


def test_topic_hz():
    process = subprocess.Popen(
        [sys.executable, "-m", "ros2_standin.main", "topic", "hz", "/numbers"], stdout=subprocess.PIPE, text=True
    )
    rates = [float(line.split(":")[1]) for line in (process.stdout.readline() for _ in range(6)) if "average" in line]
    process.send_signal(signal.SIGINT)
    process.wait(timeout=5)
    assert rates and 30.0 < rates[-1] < 60.0


def test_service_call():
    result = ros2("service", "call", "/flip", "std_srvs/srv/SetBool", "{data: true}")
    assert result.returncode == 0 and "message: flipped" in result.stdout
    wrong = ros2("service", "call", "/flip", "std_srvs/srv/SetBool", "{dat: true}")
    assert wrong.returncode == 1 and "has no field 'dat'; it has: data" in wrong.stderr
    started = time.monotonic()
    absent = ros2("service", "call", "/flop", "std_srvs/srv/SetBool", "{data: true}")
    assert absent.returncode == 1 and "no service /flop" in absent.stderr and time.monotonic() - started < 10.0


def test_action_send_goal():
    kind = "control_msgs/action/FollowJointTrajectory"
    goal = "{trajectory: {joint_names: [a, b], points: [{positions: [0, 1.5], time_from_start: {sec: 1}}]}}"
    result = ros2("action", "send_goal", "/follow", kind, goal)
    assert result.returncode == 0 and "error_string: a,b" in result.stdout and "SUCCEEDED" in result.stdout
    aborted = ros2("action", "send_goal", "/follow", kind)
    assert aborted.returncode == 1 and "ABORTED" in aborted.stdout


def test_parameters():
    assert ros2("param", "get", "/helper", "speed").stdout == "Double value is: 2.5\n"
    assert ros2("param", "set", "/helper", "speed", "3.0").returncode == 0
    assert "3.0" in ros2("param", "get", "helper", "speed").stdout
    refused = ros2("param", "set", "/helper", "speed", "fast")
    assert refused.returncode == 1 and "failed" in refused.stderr
    assert ros2("param", "get", "/helper", "colour").returncode == 1


def test_lifecycle():
    assert ros2("lifecycle", "get", "/helper").stdout == "unconfigured [1]\n"
    wrong = ros2("lifecycle", "set", "/helper", "activate")
    assert wrong.returncode == 1 and "it can: configure" in wrong.stderr
    assert ros2("lifecycle", "set", "/helper", "configure").returncode == 0
    assert ros2("lifecycle", "get", "/helper").stdout == "inactive [2]\n"
