"""The tracker node over DDS: a rendered camera in, poses out; a silent and a faulty camera."""

from __future__ import annotations

import os

os.environ.setdefault("MUJOCO_GL", "egl")

import threading
import time
from types import SimpleNamespace

import numpy as np
import pytest
import rclpy
from geometry_msgs.msg import TransformStamped
from rclpy.executors import MultiThreadedExecutor
from rclpy.node import Node
from rclpy.qos import DurabilityPolicy, QoSProfile
from sensor_msgs.msg import CameraInfo, Image
from std_msgs.msg import Header
from tf2_msgs.msg import TFMessage
from vision_msgs.msg import Detection3DArray

from drex_msgs.msg import LoadedObject, TrackedObject
from drex_perception.camera.synthetic import DepthNoise, DepthScene
from drex_perception.conversions import tracked_message
from drex_perception.nodes.tracker import TrackerNode
from drex_perception.tracking import Observation
from drex_sim.nodes.support import LATCHED, SENSOR_PUBLISHER, wait_for
from drex_sim.rig.model import base_T_camera
from drex_sim.robot.protocols import TrackingState
from drex_sim.transforms import from_matrix, to_xyzw
from drex_sim.twin import load_twin

DEPTH = "/camera/camera/aligned_depth_to_color/image_raw"
INFO = "/camera/camera/aligned_depth_to_color/camera_info"


class Camera:
    """Publishes one picture again and again at 15 Hz until told to stop."""

    def __init__(self, peer: Node) -> None:
        self.twin = load_twin("ketchup")
        scene = DepthScene(self.twin, base_T_camera())
        self.pose = from_matrix([0.5, 0.01, self.twin.com_height], np.eye(3))
        depth = DepthNoise().apply(scene.depth(self.pose), np.random.default_rng(0))
        scene.close()
        camera = scene.intrinsics
        k = [camera.fx, 0.0, camera.cx, 0.0, camera.fy, camera.cy, 0.0, 0.0, 1.0]
        self.info = CameraInfo(width=640, height=480, k=k)
        self.image = Image(width=640, height=480, step=1280, encoding="16UC1", data=depth.tobytes())
        self._depth = peer.create_publisher(Image, DEPTH, SENSOR_PUBLISHER)
        self._info = peer.create_publisher(CameraInfo, INFO, SENSOR_PUBLISHER)
        static = QoSProfile(depth=10, durability=DurabilityPolicy.TRANSIENT_LOCAL)
        self._tf = peer.create_publisher(TFMessage, "/tf_static", static)
        self._clock, self.running = peer.get_clock(), True
        self._thread = threading.Thread(target=self._run, daemon=True)

    def tell_frames(self) -> None:
        position, xyzw = to_xyzw(base_T_camera())
        link = TransformStamped(header=Header(frame_id="base_link"), child_frame_id="camera_color_optical_frame")
        t, r = link.transform.translation, link.transform.rotation
        t.x, t.y, t.z = map(float, position)
        r.x, r.y, r.z, r.w = map(float, xyzw)
        self._tf.publish(TFMessage(transforms=[link]))

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self.running = False
        self._thread.join(timeout=2.0)

    def _run(self) -> None:
        while self.running:
            stamp = self._clock.now().to_msg()
            self.image.header.stamp = self.info.header.stamp = stamp
            self._info.publish(self.info)
            self._depth.publish(self.image)
            time.sleep(1 / 15)


@pytest.fixture
def graph(monkeypatch):
    monkeypatch.setenv("ROS_DOMAIN_ID", "43")
    rclpy.init()
    tracker, peer = TrackerNode(), Node("peer")
    seen = SimpleNamespace(tracked=[], detections=[])
    peer.create_subscription(TrackedObject, "tracked_object", seen.tracked.append, 10)
    peer.create_subscription(Detection3DArray, "detections", seen.detections.append, 10)
    loaded = peer.create_publisher(LoadedObject, "loaded_object", LATCHED)
    camera = Camera(peer)
    executor = MultiThreadedExecutor(num_threads=4)
    executor.add_node(tracker)
    executor.add_node(peer)
    thread = threading.Thread(target=executor.spin)
    thread.start()
    assert tracker.trigger_configure().name == "SUCCESS"
    assert tracker.trigger_activate().name == "SUCCESS"
    yield SimpleNamespace(tracker=tracker, seen=seen, loaded=loaded, camera=camera)
    camera.running = False
    executor.shutdown(timeout_sec=2.0)
    thread.join(timeout=3.0)
    tracker.destroy_node()
    peer.destroy_node()
    rclpy.shutdown()


def last_state(graph) -> int | None:
    return graph.seen.tracked[-1].state if graph.seen.tracked else None


def test_follows_the_loaded_object_and_says_when_the_camera_falls_silent(graph):
    graph.camera.start()
    assert wait_for(lambda: last_state(graph) == TrackedObject.UNKNOWN, 5.0)
    graph.camera.tell_frames()
    graph.loaded.publish(LoadedObject(object_id="ketchup", twin_hash=graph.camera.twin.hash))
    assert wait_for(lambda: last_state(graph) == TrackedObject.TRACKING, 10.0)
    message = graph.seen.tracked[-1]
    p = message.pose.pose.position
    assert np.allclose([p.x, p.y, p.z], graph.camera.pose[:3, 3], atol=0.002)
    assert message.header.frame_id == "base_link" and message.object_id == "ketchup" and message.confidence > 0.5
    covariance = np.reshape(message.pose.covariance, (6, 6))
    assert np.linalg.eigvalsh(covariance).min() > 0
    assert wait_for(lambda: any(m.detections for m in graph.seen.detections), 2.0)
    found = next(m for m in graph.seen.detections if m.detections).detections[0]
    assert found.results[0].hypothesis.class_id == "ketchup" and found.bbox.size.z == pytest.approx(0.2517, abs=0.001)
    graph.camera.stop()
    begin = time.monotonic()
    assert wait_for(lambda: last_state(graph) == TrackedObject.LOST, 3.0)
    assert 0.5 < time.monotonic() - begin < 2.0


def test_a_colour_picture_on_the_depth_topic_moves_nothing(graph):
    graph.camera.image.encoding = "rgb8"
    graph.camera.start()
    graph.camera.tell_frames()
    graph.loaded.publish(LoadedObject(object_id="ketchup", twin_hash=graph.camera.twin.hash))
    time.sleep(1.5)
    assert TrackedObject.TRACKING not in {m.state for m in graph.seen.tracked}
    graph.camera.image.encoding = "16UC1"
    assert wait_for(lambda: last_state(graph) == TrackedObject.TRACKING, 10.0)


def test_a_pose_with_nan_is_never_published():
    broken = Observation(
        stamp=0.0, state=TrackingState.TRACKING, base_T_object=np.full((4, 4), np.nan), covariance=np.eye(6),
        confidence=1.0, residual=0.0, message="",
    )
    message = tracked_message(broken, "ketchup", Header(frame_id="base_link"))
    assert message.state == TrackedObject.LOST
    pose = message.pose.pose
    assert np.isfinite([pose.position.x, pose.position.y, pose.position.z, pose.orientation.w]).all()


@pytest.mark.parametrize("name, value", [
    ("base_T_camera", [0.0, 0.0, 1.0]),
    ("base_T_camera", [0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 2.0]),
    ("region", [0.5, 0.2, -0.1, 0.1]),
])
def test_bad_parameters_fail_configuration(monkeypatch, name, value):
    monkeypatch.setenv("ROS_DOMAIN_ID", "43")
    rclpy.init()
    node = TrackerNode(parameter_overrides=[rclpy.parameter.Parameter(name, value=value)])
    assert node.trigger_configure().name == "FAILURE"
    node.destroy_node()
    rclpy.shutdown()
