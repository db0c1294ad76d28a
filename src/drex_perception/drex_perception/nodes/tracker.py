"""Tracks the loaded object in the camera's aligned depth."""

from __future__ import annotations

import sys
import threading

import numpy as np
from geometry_msgs.msg import PoseStamped
from numpy.typing import NDArray
from rclpy.clock import Clock, ClockType
from rclpy.qos import DurabilityPolicy, QoSProfile
from sensor_msgs.msg import CameraInfo, Image
from std_msgs.msg import Header
from tf2_msgs.msg import TFMessage
from vision_msgs.msg import Detection3DArray

from drex_msgs.msg import LoadedObject, TrackedObject
from drex_perception.camera.depth import Intrinsics
from drex_perception.conversions import (
    depth_from,
    detections,
    intrinsics_from,
    matrix_from,
    pose_stamped,
    silent_message,
    tracked_message,
)
from drex_perception.tracking.tracker import ObjectTracker, TrackerConfig
from drex_sim.errors import DrexError
from drex_sim.nodes.support import LATCHED, SENSOR_PUBLISHER, DrexNode, run_node
from drex_sim.robot.protocols import TrackingState
from drex_sim.transforms import from_xyzw, inverse
from drex_sim.twin import Twin, load_twin

Array = NDArray[np.float64]


class TrackerNode(DrexNode):
    """Node `tracker`: depth pictures in, `tracked_object` out. The newest picture wins; older ones are dropped."""

    def __init__(self) -> None:
        super().__init__("tracker")

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
        if len(given) != 7:
            raise DrexError(f"parameter base_T_camera has {len(given)} numbers; 7 are needed (x y z qx qy qz qw)")
        self._base_T_camera: Array | None = from_xyzw(given[:3], given[3:]) if any(given) else None
        self._frames: dict[str, tuple[str, Array]] = {}
        self._twin: Twin | None = None
        self._intrinsics: Intrinsics | None = None
        self._tracker: ObjectTracker | None = None
        self._newest: Image | None = None
        self._lock = threading.Condition()
        self._closing = False
        self._tracked = self.create_publisher(TrackedObject, "tracked_object", SENSOR_PUBLISHER)
        self._pose = self.create_publisher(PoseStamped, "object_pose", SENSOR_PUBLISHER)
        self._detections = self.create_publisher(Detection3DArray, "detections", SENSOR_PUBLISHER)
        depth = f"{camera}/aligned_depth_to_color"
        self._depth_topic = f"{depth}/image_raw"
        static = QoSProfile(depth=100, durability=DurabilityPolicy.TRANSIENT_LOCAL)
        self.streams.add("/tf_static", TFMessage, self._on_tf, qos=static)
        self.streams.add("loaded_object", LoadedObject, self._on_loaded, qos=LATCHED)
        self.streams.add(f"{depth}/camera_info", CameraInfo, self._on_info)
        self.streams.add(self._depth_topic, Image, self._on_depth)
        self._topics = ["/tf_static", "loaded_object", f"{depth}/camera_info", self._depth_topic]

    def start(self) -> None:
        """Begin tracking."""
        self._closing = False
        self._worker = threading.Thread(target=self._work, name="tracker", daemon=True)
        self._worker.start()
        self._watch = self.create_timer(
            0.25, self._check_camera, clock=Clock(clock_type=ClockType.STEADY_TIME), callback_group=self.group
        )

    def stop(self) -> None:
        """End tracking."""
        self.destroy_timer(self._watch)
        with self._lock:
            self._closing = True
            self._lock.notify()
        self._worker.join(timeout=2.0)

    def teardown(self) -> None:
        """Give up the interfaces."""
        for topic in self._topics:
            self.streams.remove(topic)
        for publisher in (self._tracked, self._pose, self._detections):
            self.destroy_publisher(publisher)

    def _on_loaded(self, message: LoadedObject) -> None:
        with self._lock:
            if not message.object_id:
                self._twin = self._tracker = None
            else:
                self._twin, self._tracker = load_twin(message.object_id, self._twin_path or None), None
        self.get_logger().info(f"tracking {message.object_id or 'nothing'}")

    def _on_info(self, message: CameraInfo) -> None:
        if self._intrinsics is None:
            self._intrinsics = intrinsics_from(message)

    def _on_tf(self, message: TFMessage) -> None:
        for transform in message.transforms:
            self._frames[transform.child_frame_id] = (transform.header.frame_id, matrix_from(transform))
        if self._base_T_camera is None:
            self._base_T_camera = self._chain(self._optical)

    def _chain(self, frame: str) -> Array | None:
        """base_T_frame along /tf_static, or None while a link is missing."""
        base = self._climb(self._base)
        path = self._climb(frame)
        root = next((f for f in path if f in base), None)
        return None if root is None else inverse(base[root]) @ path[root]

    def _climb(self, frame: str) -> dict[str, Array]:
        """ancestor_T_frame for the frame and each of its ancestors."""
        pose, path = np.eye(4), {frame: np.eye(4)}
        while frame in self._frames and len(path) < 50:
            frame, step = self._frames[frame]
            pose = step @ pose
            path[frame] = pose
        return path

    def _on_depth(self, message: Image) -> None:
        with self._lock:
            self._newest = message
            self._lock.notify()

    def _check_camera(self) -> None:
        age = self.streams.age(self._depth_topic)
        if age > self._silence and self._twin is not None:
            self.get_logger().warning(
                f"{self._depth_topic}: no picture for {min(age, 9999):.1f} s; is the camera running, with"
                " align_depth.enable:=true?", throttle_duration_sec=5.0,
            )
            state = TrackingState.UNKNOWN if age == float("inf") else TrackingState.LOST
            header = Header(stamp=self.get_clock().now().to_msg(), frame_id=self._base)
            self._tracked.publish(silent_message(self._twin.id, header, state))

    def _work(self) -> None:
        while True:
            with self._lock:
                while self._newest is None and not self._closing:
                    self._lock.wait()
                if self._closing:
                    return
                image, self._newest = self._newest, None
                twin, tracker = self._twin, self._tracker
            if image is not None and twin is not None:
                try:
                    self._track(image, twin, tracker)
                except DrexError as error:
                    self.get_logger().error(f"picture dropped: {error}", throttle_duration_sec=2.0)
                except Exception as error:  # noqa: BLE001  one bad picture must not end the tracking
                    self.report_exception("tracking failed", error)

    def _track(self, image: Image, twin: Twin, tracker: ObjectTracker | None) -> None:
        header = Header(stamp=image.header.stamp, frame_id=self._base)
        if self._intrinsics is None or self._base_T_camera is None:
            missing = "camera_info" if self._intrinsics is None else f"/tf_static to {self._optical}"
            self.get_logger().warning(f"waiting for {missing}", throttle_duration_sec=5.0)
            self._tracked.publish(silent_message(twin.id, header, TrackingState.UNKNOWN))
            return
        if tracker is None:
            tracker = ObjectTracker(twin, self._intrinsics, self._base_T_camera, TrackerConfig())
            with self._lock:
                if self._twin is not twin:
                    return
                self._tracker = tracker
        result = tracker.update(depth_from(image))
        if result.state is not TrackingState.TRACKING:
            self.get_logger().warning(f"{twin.id} {result.state.name}: {result.reason}", throttle_duration_sec=3.0)
        if not (np.isfinite(result.base_T_object).all() and np.isfinite(result.covariance).all()):
            self._tracked.publish(silent_message(twin.id, header, TrackingState.LOST))
            return
        message = tracked_message(result, twin.id, header)
        self._tracked.publish(message)
        if result.state is TrackingState.TRACKING:
            self._pose.publish(pose_stamped(message))
        self._detections.publish(detections(message, twin))


def main() -> None:
    """Entry point."""
    sys.exit(run_node(TrackerNode))
