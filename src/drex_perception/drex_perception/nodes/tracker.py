"""Tracks the loaded object in the camera's aligned depth."""

from __future__ import annotations

import sys
import threading

import numpy as np
from geometry_msgs.msg import PoseStamped
from numpy.typing import NDArray
from rclpy.clock import Clock, ClockType
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy
from sensor_msgs.msg import CameraInfo, Image
from std_msgs.msg import Header
from tf2_msgs.msg import TFMessage
from vision_msgs.msg import Detection3DArray

from drex_msgs.msg import LoadedObject, TrackedObject
from drex_perception.camera import Intrinsics
from drex_perception.conversions import (
    depth_from,
    detections,
    intrinsics_from,
    matrix_from,
    pose_stamped,
    silent_message,
    stamp_seconds,
    tracked_message,
)
from drex_perception.tracking import Tracker, TrackerConfig
from drex_perception.tracking.frames import StaticFrames
from drex_sim.errors import ConfigError, DrexError, InvalidDataError
from drex_sim.nodes.support import LATCHED, SENSOR_PUBLISHER, DrexNode, run_node
from drex_sim.robot.protocols import TrackingState
from drex_sim.transforms import from_xyzw
from drex_sim.twin import Twin, load_twin

Array = NDArray[np.float64]
WATCH_PERIOD = 0.25
"""Seconds of steady time between looks at the camera's silence."""
PICTURES = QoSProfile(depth=2, reliability=ReliabilityPolicy.BEST_EFFORT)
STATIC = QoSProfile(depth=100, durability=DurabilityPolicy.TRANSIENT_LOCAL)


class TrackerNode(DrexNode):
    """Node `tracker`: depth pictures in, `tracked_object` out. The newest picture wins; older ones are dropped."""

    def __init__(self, **kwargs: object) -> None:
        super().__init__("tracker", **kwargs)

    def setup(self) -> None:
        """Parameters, publishers, subscriptions."""
        self._twin_path = self.declare("twin_path", "", "folders of twins, separated like PATH")
        camera = self.declare("camera", "/camera/camera", "namespace of the camera's topics")
        self._base = self.declare("base_frame", "base_link", "frame of the poses")
        self._optical = self.declare("camera_frame", "camera_color_optical_frame", "frame of the aligned depth")
        given = self.declare(
            "base_T_camera", [0.0] * 7, "x y z qx qy qz qw of the camera; all zero: taken from /tf_static"
        )
        self._silence = self.declare("camera_timeout", 1.0, "silence after which the object counts as lost [s]")
        region = self.declare(
            "region", [0.25, 0.80, -0.35, 0.35], "x and y limits of the table region searched, base_frame [m]"
        )
        self._config = _config(region, self.declare("table_height", 0.0, "height of the table top, base_frame [m]"))
        self._base_T_camera = _given_camera(given)
        self._frames = StaticFrames()
        self._twin: Twin | None = None
        self._intrinsics: Intrinsics | None = None
        self._tracker: Tracker | None = None
        self._newest: Image | None = None
        self._changed = threading.Condition()
        self._closing = False
        self._tracked = self.create_publisher(TrackedObject, "tracked_object", SENSOR_PUBLISHER)
        self._pose = self.create_publisher(PoseStamped, "object_pose", SENSOR_PUBLISHER)
        self._detections = self.create_publisher(Detection3DArray, "detections", SENSOR_PUBLISHER)
        depth = f"{camera}/aligned_depth_to_color"
        self._depth_topic, self._info_topic = f"{depth}/image_raw", f"{depth}/camera_info"
        self.streams.add("/tf_static", TFMessage, self._on_tf, qos=STATIC)
        self.streams.add("loaded_object", LoadedObject, self._on_loaded, qos=LATCHED)
        self.streams.add(self._info_topic, CameraInfo, self._on_info, qos=PICTURES)
        self.streams.add(self._depth_topic, Image, self._on_depth, qos=PICTURES)

    def start(self) -> None:
        """Begin tracking."""
        self._closing, self._started = False, self._steady()
        self._worker = threading.Thread(target=self._work, name="tracker", daemon=True)
        self._worker.start()
        self._watch = self.create_timer(
            WATCH_PERIOD, self._check_camera, clock=Clock(clock_type=ClockType.STEADY_TIME), callback_group=self.group
        )

    def stop(self) -> None:
        """End tracking."""
        self.destroy_timer(self._watch)
        with self._changed:
            self._closing = True
            self._changed.notify()
        self._worker.join(timeout=2.0)

    def teardown(self) -> None:
        """Give up the interfaces."""
        for topic in ("/tf_static", "loaded_object", self._info_topic, self._depth_topic):
            self.streams.remove(topic)
        for publisher in (self._tracked, self._pose, self._detections):
            self.destroy_publisher(publisher)

    @staticmethod
    def _steady() -> float:
        return Clock(clock_type=ClockType.STEADY_TIME).now().nanoseconds * 1e-9

    def _on_loaded(self, message: LoadedObject) -> None:
        twin = None
        if message.object_id:
            try:
                twin = load_twin(message.object_id, self._twin_path or None)
            except DrexError as error:
                self.get_logger().error(f"cannot track {message.object_id}: {error}")
            if twin is not None and message.twin_hash and twin.hash != message.twin_hash:
                self.get_logger().warning(
                    f"twin {twin.id} here has hash {twin.hash}, the twin server's {message.twin_hash}: give both the"
                    " same twin_path"
                )
        with self._changed:
            self._twin, self._tracker = twin, None
        self.get_logger().info(f"tracking {twin.id if twin else 'nothing'}")

    def _on_info(self, message: CameraInfo) -> None:
        intrinsics = intrinsics_from(message)
        if intrinsics != self._intrinsics:
            with self._changed:
                self._intrinsics, self._tracker = intrinsics, None

    def _on_tf(self, message: TFMessage) -> None:
        for transform in message.transforms:
            self._frames.add(transform.header.frame_id, transform.child_frame_id, matrix_from(transform))
        if self._base_T_camera is None:
            self._base_T_camera = self._frames.find(self._base, self._optical)

    def _on_depth(self, message: Image) -> None:
        with self._changed:
            self._newest = message
            self._changed.notify()

    def _check_camera(self) -> None:
        """Say LOST while no picture arrives: the last pose must not be taken for a present one."""
        age = min(self.streams.age(self._depth_topic), self._steady() - self._started)
        if age <= self._silence or self._closing:
            return
        count = self.streams.publishers(self._depth_topic)
        self.get_logger().error(
            f"{self._depth_topic}: no picture for {age:.1f} s, {count} publishers;"
            + (" is it stuck?" if count else " start the camera with align_depth.enable:=true"),
            throttle_duration_sec=5.0,
        )
        header = Header(stamp=self.get_clock().now().to_msg(), frame_id=self._base)
        object_id = self._twin.id if self._twin is not None else ""
        state = TrackingState.LOST if self._twin is not None else TrackingState.UNKNOWN
        self._tracked.publish(silent_message(object_id, header, state))

    def _work(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._newest is not None or self._closing)
                if self._closing:
                    return
                image, self._newest = self._newest, None
            assert image is not None
            try:
                self._use(image)
            except InvalidDataError as error:
                self.get_logger().error(f"picture dropped: {error}", throttle_duration_sec=2.0)
            except Exception as error:
                self.report_exception("tracking failed", error)

    def _use(self, image: Image) -> None:
        header = Header(stamp=image.header.stamp, frame_id=self._base)
        with self._changed:
            twin, tracker = self._twin, self._tracker
            intrinsics, camera = self._intrinsics, self._base_T_camera
        if twin is None or intrinsics is None or camera is None:
            missing = (
                "an object (service load_object)" if twin is None
                else self._info_topic if intrinsics is None
                else f"{self._base} to {self._optical} on /tf_static (or parameter base_T_camera)"
            )
            self.get_logger().warning(f"waiting for {missing}", throttle_duration_sec=5.0)
            self._tracked.publish(silent_message(twin.id if twin else "", header, TrackingState.UNKNOWN))
            return
        if tracker is None:
            tracker = Tracker(twin, intrinsics, camera, self._config)
            with self._changed:
                if self._twin is not twin or self._intrinsics != intrinsics:
                    return
                self._tracker = tracker
        seen = tracker.track(depth_from(image), stamp_seconds(image.header))
        if seen.state is not TrackingState.TRACKING:
            self.get_logger().warning(f"{twin.id} {seen.state.name}: {seen.message}", throttle_duration_sec=3.0)
        message = tracked_message(seen, twin.id, header)
        self._tracked.publish(message)
        if message.state == TrackedObject.TRACKING:
            self._pose.publish(pose_stamped(message))
        self._detections.publish(detections(message, twin))


def _given_camera(given: list[float]) -> Array | None:
    """base_T_camera of the parameter, or None when it is to come from /tf_static.

    Raises:
      ConfigError: not seven finite numbers with a unit quaternion.
    """
    if len(given) != 7 or not np.isfinite(given).all():
        raise ConfigError(f"parameter base_T_camera is {list(given)}; 7 finite numbers are needed (x y z qx qy qz qw)")
    if not any(given):
        return None
    norm = float(np.linalg.norm(given[3:]))
    if abs(norm - 1.0) > 1e-3:
        raise ConfigError(f"parameter base_T_camera: quaternion of norm {norm:.3f}; 1 is needed (order qx qy qz qw)")
    return from_xyzw(given[:3], given[3:])


def _config(region: list[float], table_height: float) -> TrackerConfig:
    if len(region) != 4 or not (region[0] < region[1] and region[2] < region[3]):
        raise ConfigError(f"parameter region is {list(region)}; x_min x_max y_min y_max in increasing pairs are needed")
    return TrackerConfig(
        region_min=(region[0], region[2]), region_max=(region[1], region[3]), table_height=float(table_height)
    )


def main() -> None:
    """Entry point."""
    sys.exit(run_node(TrackerNode))
