"""Records the run: an MCAP bag of every topic but the video, and a few pictures a second of the colour camera."""

from __future__ import annotations

import time
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from geometry_msgs.msg import WrenchStamped
from numpy.typing import NDArray
from PIL import Image as Picture
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy
from sensor_msgs.msg import CameraInfo, Image, JointState
from std_msgs.msg import Bool, Float64MultiArray, String
from tf2_msgs.msg import TFMessage
from ur_dashboard_msgs.msg import RobotMode, SafetyMode

from drex_bringup.bag import BagWriter
from drex_bringup.run_folder import new_run_folder
from drex_msgs.msg import HandCommand, LoadedObject, MassEstimate, PushTrial, SafetyStatus, TrackedObject
from drex_sim.errors import ConfigError
from drex_sim.nodes.robot_streams import ARM_TOPIC, HAND_TOPICS, TRACKED_TOPIC, WRENCH_TOPIC
from drex_sim.nodes.support import LATCHED, STREAM, TRIALS, DrexNode, run_node
from drex_sim.nodes.support.streams import StreamReader
from drex_sim.robot.names import driver_joint_names

COLOR_TOPIC = "/camera/camera/color/image_raw"
HAND_COMMANDS = {
    "ros2_control": ("/allegro/allegro_hand_position_controller/commands", Float64MultiArray),
    "v5": ("/allegroHand/joint_cmd", JointState),
    "v5_sense": ("/allegroHand_0/joint_cmd", JointState),
    "v5_torque": ("/allegroHand_0/torque_cmd", JointState),
}
TF_STATIC = QoSProfile(
    depth=100, reliability=ReliabilityPolicy.RELIABLE, durability=DurabilityPolicy.TRANSIENT_LOCAL
)
NEWEST = QoSProfile(depth=1, reliability=ReliabilityPolicy.BEST_EFFORT)


def recorded_topics(hand_driver: str) -> list[tuple[str, type, QoSProfile]]:
    """Topic, message type and subscription QoS of all that is recorded."""
    io = "/io_and_status_controller/"
    return [
        (ARM_TOPIC, JointState, STREAM),
        (HAND_TOPICS[hand_driver], JointState, STREAM),
        (WRENCH_TOPIC, WrenchStamped, STREAM),
        (*HAND_COMMANDS[hand_driver], STREAM),
        (TRACKED_TOPIC, TrackedObject, STREAM),
        ("hand_command", HandCommand, STREAM),
        ("mass_estimate", MassEstimate, LATCHED),
        ("loaded_object", LoadedObject, LATCHED),
        ("push_trial", PushTrial, TRIALS),
        ("safety/status", SafetyStatus, LATCHED),
        ("/tf", TFMessage, STREAM),
        ("/tf_static", TFMessage, TF_STATIC),
        ("/robot_description", String, LATCHED),
        ("/camera/camera/color/camera_info", CameraInfo, STREAM),
        (f"{io}robot_mode", RobotMode, LATCHED),
        (f"{io}safety_mode", SafetyMode, LATCHED),
        (f"{io}robot_program_running", Bool, LATCHED),
    ]


def type_name(message_type: Any) -> str:
    """E.g. "sensor_msgs/msg/JointState"."""
    module = message_type.__module__.split(".")
    return f"{module[0]}/{module[1]}/{message_type.__name__}"


def picture(message: Image) -> NDArray[np.uint8]:
    """Pixels (H, W, 3) of an rgb8 or bgr8 image.

    Raises:
      ConfigError: another encoding.
    """
    if message.encoding not in ("rgb8", "bgr8"):
        raise ConfigError(f"{COLOR_TOPIC}: encoding {message.encoding!r}; rgb8 or bgr8 is needed")
    flat = np.frombuffer(message.data, np.uint8).reshape(message.height, message.step)
    pixels = flat[:, : 3 * message.width].reshape(message.height, message.width, 3)
    return pixels if message.encoding == "rgb8" else pixels[:, :, ::-1]


class Recorder(DrexNode):
    """Takes raw bytes of the topics and writes them as they are."""

    def __init__(self) -> None:
        super().__init__("recorder", stream_rate=25.0)
        self._bag: BagWriter | None = None
        self._eyes: StreamReader | None = None

    def setup(self) -> None:
        """See DrexNode."""
        folder = self.declare("run_folder", "", "where the run's data go; empty: a new folder under runs/")
        self._folder = Path(folder) if folder else new_run_folder("recording")
        driver = self.declare("hand_driver", "ros2_control", "driver of the hand, see docs/interfaces.md")
        driver_joint_names(driver)
        self._bag_wanted = self.declare("bag", True, "record the MCAP bag")
        self._picture_rate = self.declare("picture_rate", 2.0, "pictures a second of the colour camera; 0: none [Hz]")
        self._picture_limit = self.declare("picture_limit", 1200, "no more pictures than this")
        self._plan = recorded_topics(driver)
        if self._picture_rate < 0:
            raise ConfigError(f"parameter picture_rate is {self._picture_rate}; 0 or more is needed")

    def start(self) -> None:
        """See DrexNode."""
        if self._bag_wanted and self._bag is None:
            target, number = self._folder / "bag", 2
            while target.exists():
                target, number = self._folder / f"bag_{number}", number + 1
            names = {self.resolve_topic_name(topic): type_name(kind) for topic, kind, _ in self._plan}
            try:
                target.parent.mkdir(parents=True, exist_ok=True)
                self._bag = BagWriter(target, names)
            except OSError as error:
                raise ConfigError(f"bag {target}: {error}; set run_folder to a place that can be written") from error
            for topic, kind, qos in self._plan:
                name = self.resolve_topic_name(topic)
                self.streams.add(topic, kind, partial(self._on_bytes, self._bag, name), qos=qos, raw=True)
        if self._picture_rate > 0 and self._eyes is None:
            self._pictures = self._folder / "pictures"
            self._pictures.mkdir(parents=True, exist_ok=True)
            self._count = len(list(self._pictures.glob("*.jpg")))
            # A reader of its own, as slow as the pictures are wanted: it takes only the newest.
            self._eyes = StreamReader(
                f"{self.get_name()}_pictures", self.get_namespace(), self.context, rate=self._picture_rate
            )
            self._eyes.add(COLOR_TOPIC, Image, self._on_picture, qos=NEWEST)

    def stop(self) -> None:
        """See DrexNode."""
        for topic, _, _ in self._plan:
            self.streams.remove(topic)
        if self._eyes is not None:
            self._eyes.close()
            self._eyes = None
        if self._bag is not None:
            self._bag.close()
            self._bag = None

    def _on_bytes(self, bag: BagWriter, topic: str, data: bytes) -> None:
        stamp = self.get_clock().now().nanoseconds
        bag.write(topic, stamp or time.time_ns(), data)

    def _on_picture(self, message: Image) -> None:
        if self._count >= self._picture_limit:
            return
        stamp = message.header.stamp
        file = self._pictures / f"{stamp.sec:06d}.{stamp.nanosec // 1_000_000:03d}.jpg"
        scratch = file.with_suffix(".part")
        Picture.fromarray(np.ascontiguousarray(picture(message))).save(scratch, format="JPEG", quality=80)
        scratch.rename(file)
        self._count += 1


def main() -> int:
    """Run the node."""
    return run_node(Recorder)
