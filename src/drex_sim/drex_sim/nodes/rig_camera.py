"""The simulated RGB-D camera: renders in a thread of its own and publishes like realsense-ros."""

from __future__ import annotations

import queue
import threading
import time
from array import array
from collections.abc import Callable
from dataclasses import dataclass

import mujoco
import numpy as np
from numpy.typing import NDArray
from rclpy.node import Node
from sensor_msgs.msg import CameraInfo, Image

from drex_sim.nodes.rig_signals import CAMERA_FRAME, set_stamp
from drex_sim.nodes.support import SENSOR_PUBLISHER
from drex_sim.rendering.depth_noise import degrade, to_millimetres
from drex_sim.rendering.rgbd import Intrinsics, RgbdRenderer, intrinsics
from drex_sim.rig import SimulatedRig
from drex_sim.rig.model import CAMERA, CAMERA_FOVY, TIMESTEP

COLOR = "/camera/camera/color"
DEPTH = "/camera/camera/aligned_depth_to_color"
_POLL = 0.002


@dataclass(frozen=True)
class _Exposure:
    model: mujoco.MjModel
    qpos: NDArray[np.float64]
    stamp: float
    due: float


class RigCamera:
    """Takes exposures in the rig's thread, renders and publishes them in its own."""

    def __init__(
        self, node: Node, rig: SimulatedRig, rate: float, failed: Callable[[BaseException], None]
    ) -> None:
        """Create the topics; `start` starts the thread.

        Args:
          node: owner of the publishers.
          rig: built with visuals.
          rate: pictures per rig second [Hz].
          failed: called when the thread ends by an error.
        """
        self._rig, self._failed = rig, failed
        self._every = max(1, round(1.0 / (rate * TIMESTEP)))
        self._publishers = [
            node.create_publisher(kind, topic, SENSOR_PUBLISHER)
            for kind, topic in (
                (Image, f"{COLOR}/image_raw"),
                (CameraInfo, f"{COLOR}/camera_info"),
                (Image, f"{DEPTH}/image_raw"),
                (CameraInfo, f"{DEPTH}/camera_info"),
            )
        ]
        self._color_message, self._depth_message, self._info = _messages(intrinsics(CAMERA_FOVY))
        # Two deep: when rendering cannot keep up the rig waits, so that /clock slows and no picture is lost.
        self._exposures: queue.Queue[_Exposure] = queue.Queue(maxsize=2)
        self._stopping = threading.Event()
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Start the thread."""
        self._stopping.clear()
        self._thread = threading.Thread(target=self._run, name="rig-camera", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Stop the thread and wait for it."""
        self._stopping.set()
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join(timeout=5.0)
        self._thread = None

    def expose(self) -> None:
        """Take a picture when one is due; called in the rig's thread after each step."""
        rig = self._rig
        if rig.steps % self._every:
            return
        profile, rng = rig.profile, rig.camera_rng
        lost = rng.random() < profile.drop_out
        delay = max(0.0, profile.camera_latency + profile.camera_jitter * rng.standard_normal())
        if lost:
            return
        stamp = rig.sample.time + TIMESTEP + rig.sealed_truth.clock_offset
        exposure = _Exposure(rig.model, rig.data.qpos.copy(), stamp, rig.time + delay)
        while not self._stopping.is_set():
            try:
                return self._exposures.put(exposure, timeout=0.1)
            except queue.Full:
                continue

    def _run(self) -> None:
        renderer, model = None, None
        data: mujoco.MjData | None = None
        rng = np.random.default_rng(self._rig.config.seed)
        try:
            while not self._stopping.is_set():
                try:
                    exposure = self._exposures.get(timeout=0.1)
                except queue.Empty:
                    continue
                if exposure.model is not model:
                    if renderer is not None:
                        renderer.close()
                    model = exposure.model
                    renderer, data = RgbdRenderer(model, CAMERA), mujoco.MjData(model)
                assert renderer is not None and data is not None
                data.qpos[:] = exposure.qpos
                mujoco.mj_kinematics(model, data)
                mujoco.mj_camlight(model, data)
                color, depth = renderer.render(data)
                profile = self._rig.profile
                depth = degrade(depth, profile.depth_noise, profile.edge_holes, rng)
                self._publish(exposure, color, depth)
        except BaseException as error:
            self._failed(error)
        finally:
            if renderer is not None:
                renderer.close()

    def _publish(self, exposure: _Exposure, color: NDArray[np.uint8], depth: NDArray[np.float32]) -> None:
        self._color_message.data = array("B", color.tobytes())
        self._depth_message.data = array("B", to_millimetres(depth).tobytes())
        while self._rig.time < exposure.due and not self._stopping.is_set():
            time.sleep(_POLL)
        stamp = self._color_message.header.stamp
        # A camera clock behind the robot's may say less than zero in the first milliseconds.
        set_stamp(stamp, max(0.0, exposure.stamp))
        self._depth_message.header.stamp = self._info.header.stamp = stamp
        messages = (self._color_message, self._info, self._depth_message, self._info)
        for publisher, message in zip(self._publishers, messages, strict=True):
            publisher.publish(message)


def _messages(k: Intrinsics) -> tuple[Image, Image, CameraInfo]:
    color = Image(height=k.height, width=k.width, encoding="rgb8", step=3 * k.width)
    depth = Image(height=k.height, width=k.width, encoding="16UC1", step=2 * k.width)
    info = CameraInfo(height=k.height, width=k.width, distortion_model="plumb_bob", d=[0.0] * 5)
    info.k = k.matrix.ravel().tolist()
    info.r = np.eye(3).ravel().tolist()
    info.p = np.column_stack([k.matrix, np.zeros(3)]).ravel().tolist()
    for message in (color, depth, info):
        message.header.frame_id = CAMERA_FRAME
    return color, depth, info
