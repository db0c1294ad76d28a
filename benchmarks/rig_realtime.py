"""How fast the simulated rig is, and what its node costs: real-time factor, delivered rates, CPU.

    python benchmarks/rig_realtime.py [--quick] [--json] [--camera-rate 15]

The node runs in a process of its own, another one (this) drains every topic. Last line: one JSON object.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time

import rclpy
from lifecycle_msgs.srv import ChangeState
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import Image, JointState
from std_msgs.msg import Float64

from drex_sim.nodes.support import STREAM, StreamReader
from drex_sim.rig import DirectRobot, RigConfig, SimulatedRig

TOPICS = {
    "/joint_states": JointState,
    "/allegro/joint_states": JointState,
    "/clock": Clock,
    "/camera/camera/color/image_raw": Image,
    "/camera/camera/aligned_depth_to_color/image_raw": Image,
}


def direct(object_id: str, duration: float) -> float:
    """Rig seconds per second of DirectRobot with the object standing on the table."""
    robot = DirectRobot(SimulatedRig(RigConfig(object_id=object_id)))
    robot.sleep(0.5)
    started = time.perf_counter()
    robot.sleep(duration)
    return duration / (time.perf_counter() - started)


def cpu_seconds(pid: int) -> float:
    """User and system time of a process."""
    with open(f"/proc/{pid}/stat") as stat:
        fields = stat.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def change_state(node: Node, executor: SingleThreadedExecutor, transition: int) -> None:
    """Ask the rig for a lifecycle transition."""
    client = node.create_client(ChangeState, "/rig/change_state")
    if not client.wait_for_service(15.0):
        sys.exit("rig_realtime: the rig node did not start")
    request = ChangeState.Request()
    request.transition.id = transition
    future = client.call_async(request)
    executor.spin_until_future_complete(future, timeout_sec=30.0)
    if future.result() is None or not future.result().success:
        sys.exit(f"rig_realtime: the rig refused transition {transition}; see its log")


def node_figures(camera_rate: float, duration: float) -> dict[str, float]:
    """Real-time factor, CPU and delivered rates of the rig node."""
    command = [
        sys.executable,
        "-m",
        "drex_sim.nodes.rig_node",
        "--ros-args",
        "-p",
        f"camera_rate:={camera_rate}",
    ]
    process = subprocess.Popen(command)
    node = Node("rig_realtime")
    executor = SingleThreadedExecutor()
    executor.add_node(node)
    counts, factors = dict.fromkeys(TOPICS, 0), []
    reader = StreamReader("rig_realtime", "", node.context)
    try:
        for transition in (1, 3):  # configure, activate
            change_state(node, executor, transition)

        def counter(topic: str):
            def count(_data: bytes) -> None:
                counts[topic] += 1

            return count

        for topic, kind in TOPICS.items():
            reader.add(topic, kind, counter(topic), qos=STREAM, raw=True)
        reader.add("rig/real_time_factor", Float64, lambda message: factors.append(message.data))
        time.sleep(3.0)
        before, cpu, started = dict(counts), cpu_seconds(process.pid), time.perf_counter()
        factors.clear()
        time.sleep(duration)
        elapsed = time.perf_counter() - started
        figures = {f"hz {topic}": round((counts[topic] - before[topic]) / elapsed, 1) for topic in TOPICS}
        figures["cpu_pct"] = round(100 * (cpu_seconds(process.pid) - cpu) / elapsed, 1)
        figures["real_time_factor"] = round(sum(factors) / max(1, len(factors)), 3)
    finally:
        reader.close()
        process.terminate()
        process.wait(timeout=10)
        node.destroy_node()
    return figures


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="one object, 5 s")
    parser.add_argument("--json", action="store_true", help="the JSON line only")
    parser.add_argument("--camera-rate", type=float, default=15.0, help="[Hz]")
    options = parser.parse_args()
    os.environ.setdefault("MUJOCO_GL", "egl")
    objects = ["ketchup"] if options.quick else ["ketchup", "cookie", "lego", "domino", "letter_a"]
    figures: dict[str, object] = {
        "direct_realtime": {name: round(direct(name, 2.0 if options.quick else 5.0), 1) for name in objects}
    }
    rclpy.init()
    try:
        for rate in {0.0, options.camera_rate}:
            figures[f"node_camera_{rate:g}"] = node_figures(rate, 5.0 if options.quick else 15.0)
    finally:
        rclpy.try_shutdown()
    if not options.json:
        for name, value in figures.items():
            print(f"{name}: {value}")
    print(json.dumps(figures))


if __name__ == "__main__":
    main()
