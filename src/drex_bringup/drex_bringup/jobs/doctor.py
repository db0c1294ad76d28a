"""`drex doctor`: what is there, what is missing, and what to do about it."""

from __future__ import annotations

import importlib
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from drex_sim.errors import DrexError

PACKAGES = ("drex_msgs", "drex_sim", "drex_identification", "drex_perception", "drex_policy", "drex_bringup")
INTERFACES = ("control_msgs", "controller_manager_msgs", "ur_msgs", "ur_dashboard_msgs", "vision_msgs", "tf2_msgs")
LIBRARIES = (
    "numpy", "scipy", "mujoco", "mink", "trimesh", "small_gicp", "yaml", "rosbags", "mcap", "matplotlib", "PIL",
)
RIG_TOPICS = {
    "/joint_states": "ur_robot_driver (ur_control.launch.py)",
    "/force_torque_sensor_broadcaster/wrench": "the driver's force_torque_sensor_broadcaster",
    "/io_and_status_controller/robot_mode": "the driver's io_and_status_controller",
    "/camera/camera/color/image_raw": "realsense2_camera (rs_launch.py)",
    "/camera/camera/aligned_depth_to_color/image_raw": "realsense2_camera with align_depth.enable:=true",
}


class Missing(DrexError):
    """A check failed; the text says what to do."""


@dataclass(frozen=True)
class Finding:
    """Outcome of one check."""

    name: str
    good: bool
    text: str
    needed: bool = True
    """False: only a hint."""


def _check(name: str, probe: Callable[[], str], needed: bool = True) -> Finding:
    try:
        return Finding(name, True, probe(), needed)
    except DrexError as error:
        return Finding(name, False, str(error), needed)
    except Exception as error:
        return Finding(name, False, f"{type(error).__name__}: {error}", needed)


def examine(rig: bool = False, hand_driver: str = "ros2_control", twin_path: str | None = None) -> list[Finding]:
    """Run every check; with `rig`, also look for the drivers' topics and controllers."""
    found = [
        _check("python", _python),
        _check("ros2", _ros),
        _check("packages", _packages),
        _check("interfaces", _interfaces),
        _check("libraries", _libraries),
        _check("robot models", _models),
        _check("twins", lambda: _twins(twin_path)),
        _check("rendering", _render),
        _check("DDS", _dds),
        _check("run folder", _runs),
        _check("cores", _cores, needed=False),
    ]
    if rig:
        found += _examine_rig(hand_driver)
    return found


def _python() -> str:
    version = ".".join(map(str, sys.version_info[:3]))
    if sys.version_info[:2] not in ((3, 11), (3, 12)):
        raise Missing(f"Python {version}; 3.11 or 3.12 is needed: make setup PYTHON=python3.11")
    return f"Python {version}"


def _ros() -> str:
    distribution = os.environ.get("ROS_DISTRO", "")
    if shutil.which("ros2") is None:
        raise Missing("command ros2 not found; `make setup`, then `source env.sh`")
    importlib.import_module("rclpy")
    if distribution != "jazzy":
        raise Missing(f"ROS_DISTRO is {distribution or 'not set'}; jazzy is needed: source env.sh in a fresh shell")
    kind = "from wheels" if os.environ.get("_DREX_WHEELS") else "installed"
    return f"ROS 2 {distribution} ({kind}), domain {os.environ.get('ROS_DOMAIN_ID', '0')}"


def _import_all(names: tuple[str, ...], remedy: str) -> str:
    missing = []
    for name in names:
        try:
            importlib.import_module(name)
        except ImportError as error:
            missing.append(f"{name} ({error})")
    if missing:
        raise Missing(f"missing: {'; '.join(missing)}: {remedy}")
    return f"{len(names)} found"


def _packages() -> str:
    return _import_all(PACKAGES, "run `make setup` and `source env.sh`")


def _interfaces() -> str:
    return _import_all(INTERFACES, "run `make setup`; it builds those that your ROS 2 lacks")


def _libraries() -> str:
    return _import_all(LIBRARIES, "run `make setup`")


def _models() -> str:
    from drex_sim.robot.models import models_folder

    return str(models_folder())


def _twins(twin_path: str | None) -> str:
    from drex_sim.twin import list_twins, load_twin

    ids, bad = list_twins(twin_path), []
    for object_id in ids:
        try:
            load_twin(object_id, twin_path)
        except DrexError as error:
            bad.append(str(error))
    if bad:
        raise Missing("; ".join(bad))
    return f"{len(ids)}: {', '.join(ids)}"


def _render() -> str:
    backend = os.environ.setdefault("MUJOCO_GL", "egl")
    import mujoco

    model = mujoco.MjModel.from_xml_string(
        '<mujoco><worldbody><light pos="0 0 3"/><geom type="plane" size="1 1 .1" rgba="1 0 0 1"/></worldbody></mujoco>'
    )
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    try:
        started = time.monotonic()
        with mujoco.Renderer(model, 48, 64) as renderer:
            renderer.update_scene(data)
            picture = renderer.render()
    except Exception as error:
        raise Missing(
            f"MUJOCO_GL={backend} cannot render ({error}); install libegl1 libegl-mesa0 libgl1-mesa-dri, or set"
            " MUJOCO_GL=osmesa"
        ) from error
    if not picture.any():
        raise Missing(f"MUJOCO_GL={backend} renders black pictures; check the graphics driver or set MUJOCO_GL=osmesa")
    return f"{backend}, {1e3 * (time.monotonic() - started):.0f} ms for the first picture"


def _dds() -> str:
    import rclpy
    from rclpy.context import Context
    from rclpy.executors import SingleThreadedExecutor
    from std_msgs.msg import Float64

    context = Context()
    rclpy.init(context=context)
    try:
        node = rclpy.create_node("drex_doctor", context=context)
        got: list[float] = []
        topic = f"drex_doctor_{os.getpid()}"
        node.create_subscription(Float64, topic, lambda m: got.append(m.data), 10)
        publisher = node.create_publisher(Float64, topic, 10)
        executor = SingleThreadedExecutor(context=context)
        executor.add_node(node)
        deadline = time.monotonic() + 5.0
        while not got and time.monotonic() < deadline:
            publisher.publish(Float64(data=1.0))
            executor.spin_once(timeout_sec=0.05)
        executor.shutdown()
        node.destroy_node()
    finally:
        rclpy.try_shutdown(context=context)
    if not got:
        raise Missing("a message to ourselves did not arrive in 5 s; does a firewall block multicast on the loopback?")
    return f"{os.environ.get('RMW_IMPLEMENTATION', 'rmw_fastrtps_cpp')} delivers"


def _runs() -> str:
    root = Path(os.environ.get("DREX_RUNS", "runs"))
    parent = next(p for p in (root, *root.resolve().parents) if p.exists())
    try:
        with tempfile.NamedTemporaryFile(dir=parent):
            pass
    except OSError as error:
        raise Missing(f"{parent} cannot be written ({error}); set DREX_RUNS to another place") from error
    free = shutil.disk_usage(parent).free / 1e9
    if free < 1.0:
        raise Missing(f"{parent} has {free:.1f} GB left; a run needs up to 0.2 GB, keep 1 GB free")
    return f"{root.resolve()}, {free:.0f} GB free"


def _cores() -> str:
    cores = len(os.sched_getaffinity(0))
    if cores < 2:
        raise Missing("one core: the simulated rig will run slower than real time (its clock slows with it)")
    return f"{cores}"


def _examine_rig(hand_driver: str) -> list[Finding]:
    import rclpy
    from controller_manager_msgs.srv import ListControllers
    from rclpy.context import Context
    from rclpy.executors import SingleThreadedExecutor

    from drex_sim.nodes.robot_streams import HAND_TOPICS

    context = Context()
    rclpy.init(context=context)
    node = rclpy.create_node("drex_doctor", context=context)
    executor = SingleThreadedExecutor(context=context)
    executor.add_node(node)
    try:
        topics = {**RIG_TOPICS, HAND_TOPICS[hand_driver]: f"the Allegro driver ({hand_driver})"}
        _spin(executor, lambda: all(node.count_publishers(t) for t in topics), 4.0)

        def publishes(topic: str, origin: str) -> str:
            count = node.count_publishers(topic)
            if count == 0:
                raise Missing(f"nobody publishes it; start {origin}")
            return f"{count} publisher"

        found = [_check(topic, lambda t=topic, o=origin: publishes(t, o)) for topic, origin in topics.items()]
        client = node.create_client(ListControllers, "/controller_manager/list_controllers")

        def controllers() -> str:
            if not _spin(executor, client.service_is_ready, 3.0):
                raise Missing("/controller_manager is absent; start ur_robot_driver")
            future = client.call_async(ListControllers.Request())
            if not _spin(executor, future.done, 3.0):
                raise Missing("/controller_manager/list_controllers does not answer; restart the driver")
            states = {c.name: c.state for c in future.result().controller}
            active = [n for n, s in states.items() if s == "active" and n.endswith("joint_trajectory_controller")]
            if not active:
                raise Missing(
                    f"no joint trajectory controller is active (there are: {', '.join(states) or 'none'}); activate"
                    " scaled_joint_trajectory_controller, or set arm_controller:=... to the one you have"
                )
            return f"active: {', '.join(active)}"

        found.append(_check("arm controller", controllers))
        return found
    finally:
        executor.shutdown()
        node.destroy_node()
        rclpy.try_shutdown(context=context)


def _spin(executor: object, condition: Callable[[], bool], timeout: float) -> bool:
    deadline = time.monotonic() + timeout
    while not condition():
        if time.monotonic() > deadline:
            return False
        executor.spin_once(timeout_sec=0.05)  # type: ignore[attr-defined]
    return True


def show(findings: list[Finding], say: Callable[[str], None] = print) -> int:
    """Print the findings; 0 when nothing that is needed is missing."""
    width = max(len(f.name) for f in findings)
    for finding in findings:
        mark = "ok  " if finding.good else ("FAIL" if finding.needed else "note")
        say(f"{mark}  {finding.name:<{width}}  {finding.text}")
    return 0 if all(f.good or not f.needed for f in findings) else 1
