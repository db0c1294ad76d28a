"""Between ROS messages and the core's types."""

from __future__ import annotations

import numpy as np
from geometry_msgs.msg import Pose, PoseStamped, TransformStamped
from numpy.typing import NDArray
from sensor_msgs.msg import CameraInfo, Image
from std_msgs.msg import Header
from vision_msgs.msg import Detection3D, Detection3DArray, ObjectHypothesisWithPose

from drex_msgs.msg import TrackedObject
from drex_perception.camera import Intrinsics, decode_depth
from drex_perception.tracking import Observation
from drex_sim.robot.protocols import TrackingState
from drex_sim.transforms import from_xyzw, to_xyzw
from drex_sim.twin import Twin

Array = NDArray[np.float64]


def depth_from(image: Image) -> NDArray[np.generic]:
    """Depth of an aligned depth picture: uint16 [mm] or float32 [m], not copied. Raises InvalidDataError."""
    return decode_depth(
        memoryview(image.data), image.encoding, image.width, image.height, image.step, bool(image.is_bigendian)
    )


def intrinsics_from(info: CameraInfo) -> Intrinsics:
    """Intrinsics of a camera_info. Raises InvalidDataError."""
    return Intrinsics.from_k(info.k, info.width, info.height)


def stamp_seconds(header: Header) -> float:
    """Stamp of a header [s]."""
    return header.stamp.sec + 1e-9 * header.stamp.nanosec


def matrix_from(transform: TransformStamped) -> Array:
    """4x4 of a transform message: parent_T_child."""
    t, r = transform.transform.translation, transform.transform.rotation
    return from_xyzw([t.x, t.y, t.z], [r.x, r.y, r.z, r.w])


def pose_message(base_T_object: Array) -> Pose:
    """Pose message of a 4x4 transform."""
    position, xyzw = to_xyzw(base_T_object)
    pose = Pose()
    pose.position.x, pose.position.y, pose.position.z = map(float, position)
    pose.orientation.x, pose.orientation.y, pose.orientation.z, pose.orientation.w = map(float, xyzw)
    return pose


def tracked_message(seen: Observation, object_id: str, header: Header) -> TrackedObject:
    """TrackedObject of an observation; LOST, without a pose, where its numbers are not finite."""
    pose = seen.base_T_object
    if pose is None:
        return silent_message(object_id, header, seen.state)
    if not (np.isfinite(pose).all() and np.isfinite(seen.covariance).all()):
        return silent_message(object_id, header, TrackingState.LOST)
    message = TrackedObject(header=header, object_id=object_id, state=seen.state.value)
    message.confidence, message.residual = float(seen.confidence), float(seen.residual)
    message.pose.pose = pose_message(pose)
    message.pose.covariance = seen.covariance.ravel().tolist()
    return message


def silent_message(object_id: str, header: Header, state: TrackingState) -> TrackedObject:
    """TrackedObject that says there is no usable pose."""
    message = TrackedObject(header=header, object_id=object_id, state=state.value)
    message.pose.pose.orientation.w = 1.0
    message.pose.covariance = np.eye(6).ravel().tolist()
    return message


def pose_stamped(tracked: TrackedObject) -> PoseStamped:
    """PoseStamped of a TrackedObject."""
    return PoseStamped(header=tracked.header, pose=tracked.pose.pose)


def detections(tracked: TrackedObject, twin: Twin) -> Detection3DArray:
    """Detection3DArray as FoundationPose's nodes publish it; empty unless tracking."""
    array = Detection3DArray(header=tracked.header)
    if tracked.state == TrackedObject.TRACKING:
        hypothesis = ObjectHypothesisWithPose(pose=tracked.pose)
        hypothesis.hypothesis.class_id, hypothesis.hypothesis.score = twin.id, float(tracked.confidence)
        detection = Detection3D(header=tracked.header, results=[hypothesis], id=twin.id)
        detection.bbox.center = tracked.pose.pose
        size = detection.bbox.size
        size.x, size.y, size.z = map(float, twin.extents)
        array.detections = [detection]
    return array
