"""Robot signals from the drivers' topics: newest values and recordings."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
from geometry_msgs.msg import WrenchStamped
from numpy.typing import NDArray
from sensor_msgs.msg import JointState

from drex_msgs.msg import TrackedObject
from drex_sim.errors import InvalidDataError, StaleDataError
from drex_sim.nodes.support import DrexNode
from drex_sim.robot.names import ARM_JOINTS, driver_joint_names, select_by_name
from drex_sim.robot.protocols import RecordedBlocks, RobotState, TrackedPose, TrackingState
from drex_sim.transforms import from_xyzw

Array = NDArray[np.float64]

ARM_TOPIC = "/joint_states"
WRENCH_TOPIC = "/force_torque_sensor_broadcaster/wrench"
HAND_TOPICS = {
    "ros2_control": "/allegro/joint_states",
    "v5": "/allegroHand_0/joint_states",
    "v5_sense": "/allegroHand_0/joint_states",
    "v5_torque": "/allegroHand_0/joint_states",
}
TRACKED_TOPIC = "tracked_object"


def stamp_seconds(stamp: Any) -> float:
    """Seconds of a builtin_interfaces/Time."""
    return stamp.sec + stamp.nanosec * 1e-9


class _Recording:
    """Rows collected while a recording is open."""

    def __init__(self) -> None:
        self.rows: dict[str, list[tuple[float, ...]]] = {
            name: [] for name in ("pose", "arm", "hand", "wrench", "command")
        }

    def blocks(self) -> RecordedBlocks:
        """The rows as flat blocks."""

        def table(name: str, width: int) -> Array:
            return np.asarray(self.rows[name], float).reshape(-1, width)

        pose, arm, hand = table("pose", 46), table("arm", 14), table("hand", 34)
        wrench, command = table("wrench", 8), table("command", 17)
        return RecordedBlocks(
            pose_stamps=pose[:, 0],
            pose_receive_stamps=pose[:, 1],
            poses=pose[:, 2:10],
            pose_covariances=pose[:, 10:],
            arm_stamps=arm[:, 0],
            arm_receive_stamps=arm[:, 1],
            arm_positions=arm[:, 2:8],
            arm_velocities=arm[:, 8:],
            hand_stamps=hand[:, 0],
            hand_receive_stamps=hand[:, 1],
            hand_positions=hand[:, 2:18],
            hand_efforts=hand[:, 18:],
            hand_command_stamps=command[:, 0],
            hand_commands=command[:, 1:],
            wrench_stamps=wrench[:, 0],
            wrench_receive_stamps=wrench[:, 1],
            wrenches=wrench[:, 2:],
        )


class _NamePicker:
    """Maps joint values by name; the index is kept while the names stay the same."""

    def __init__(self, wanted: Sequence[str], source: str) -> None:
        self._wanted = wanted
        self._source = source
        self._names: list[str] | None = None
        self._index: list[int] = []

    def __call__(self, names: list[str], values: Sequence[float]) -> Array:
        if names != self._names or len(values) != len(names):
            order = select_by_name(names, range(len(values)), self._wanted, self._source)
            self._index, self._names = [int(i) for i in order], list(names)
        return np.asarray(values, float)[self._index]


class RobotStreams:
    """Subscribes to the robot's signals and keeps the newest of each."""

    def __init__(self, node: DrexNode, hand_driver: str, stale_after: float = 0.5) -> None:
        """Subscribe.

        Args:
          node: owner; its stream reader is used.
          hand_driver: see `drex_sim.robot.names.HandDriver`.
          stale_after: seconds of steady time after which a stream counts as silent.
        """
        self._node = node
        self._stale_after = stale_after
        self._lock = threading.Lock()
        self._recordings: list[_Recording] = []
        self._arm: tuple[float, Array, Array] | None = None
        self._hand: tuple[float, Array, Array] | None = None
        self._wrench: tuple[float, Array] | None = None
        self._tracked: TrackedPose | None = None
        hand_names = driver_joint_names(hand_driver)
        self.hand_topic = HAND_TOPICS[hand_driver]
        self._pick_arm = _NamePicker(ARM_JOINTS, ARM_TOPIC)
        self._pick_hand = _NamePicker(hand_names, self.hand_topic)
        self._topics: list[str] = []
        self._add(ARM_TOPIC, JointState, self._on_arm)
        self._add(self.hand_topic, JointState, self._on_hand)
        self._add(WRENCH_TOPIC, WrenchStamped, self._on_wrench)
        self._add(TRACKED_TOPIC, TrackedObject, self._on_tracked)

    def _add(self, topic: str, kind: type, callback: Callable[[Any], None]) -> None:
        self._node.streams.add(topic, kind, callback)
        self._topics.append(topic)

    def close(self) -> None:
        """Unsubscribe."""
        for topic in self._topics:
            self._node.streams.remove(topic)

    def silent(self) -> str | None:
        """Text naming the first silent robot stream, or None when all are alive."""
        for topic in (ARM_TOPIC, WRENCH_TOPIC, self.hand_topic):
            age = self._node.streams.age(topic)
            if age > self._stale_after:
                heard = "nothing ever arrived" if age == float("inf") else f"silent for {age:.1f} s"
                return (
                    f"{topic}: {heard} (allowed {self._stale_after:.1f} s,"
                    f" {self._node.streams.publishers(topic)} publishers); check that its driver runs and that"
                    " the topic's name is right (`drex doctor`)"
                )
        return None

    def state(self) -> RobotState:
        """Newest signals.

        Raises:
          StaleDataError: a stream is silent; the text names it.
        """
        if (problem := self.silent()) is not None:
            raise StaleDataError(problem)
        with self._lock:
            assert self._arm is not None and self._hand is not None and self._wrench is not None
            stamp, arm_position, arm_velocity = self._arm
            _, hand_position, hand_velocity = self._hand
            wrench = self._wrench[1]
        return RobotState(
            stamp=stamp,
            arm_position=arm_position,
            arm_velocity=arm_velocity,
            hand_position=hand_position,
            hand_velocity=hand_velocity,
            force=wrench[:3],
            torque=wrench[3:],
        )

    def tracked(self) -> TrackedPose | None:
        """Newest message of the tracker, in whatever state; None before the first."""
        with self._lock:
            return self._tracked

    def note_hand_command(self, positions: Array) -> None:
        """Add a hand command (16,) [rad] to the open recordings."""
        self._append("command", (self._node.now(), *positions))

    @contextmanager
    def record(self) -> Iterator[_Recording]:
        """Record while open."""
        recording = _Recording()
        with self._lock:
            self._recordings.append(recording)
        try:
            yield recording
        finally:
            with self._lock:
                self._recordings.remove(recording)

    def _append(self, name: str, row: tuple[float, ...]) -> None:
        with self._lock:
            for recording in self._recordings:
                recording.rows[name].append(row)

    def _on_arm(self, message: JointState) -> None:
        stamp = stamp_seconds(message.header.stamp)
        position = self._pick_arm(message.name, message.position)
        velocity = self._pick_arm(message.name, message.velocity) if message.velocity else np.zeros(6)
        _require_finite(position, ARM_TOPIC)
        with self._lock:
            self._arm = (stamp, position, velocity)
        if self._recordings:
            self._append("arm", (stamp, self._node.now(), *position, *velocity))

    def _on_hand(self, message: JointState) -> None:
        stamp = stamp_seconds(message.header.stamp)
        position = self._pick_hand(message.name, message.position)
        velocity = self._pick_hand(message.name, message.velocity) if message.velocity else np.zeros(16)
        effort = self._pick_hand(message.name, message.effort) if message.effort else np.full(16, np.nan)
        _require_finite(position, self.hand_topic)
        with self._lock:
            self._hand = (stamp, position, velocity)
        if self._recordings:
            self._append("hand", (stamp, self._node.now(), *position, *effort))

    def _on_wrench(self, message: WrenchStamped) -> None:
        stamp = stamp_seconds(message.header.stamp)
        force, torque = message.wrench.force, message.wrench.torque
        values = np.array([force.x, force.y, force.z, torque.x, torque.y, torque.z])
        _require_finite(values, WRENCH_TOPIC)
        with self._lock:
            self._wrench = (stamp, values)
        if self._recordings:
            self._append("wrench", (stamp, self._node.now(), *values))

    def _on_tracked(self, message: TrackedObject) -> None:
        position, q = message.pose.pose.position, message.pose.pose.orientation
        row = np.array([position.x, position.y, position.z, q.x, q.y, q.z, q.w, message.confidence])
        covariance = np.asarray(message.pose.covariance, float)
        state = TrackingState(message.state)
        if state is TrackingState.TRACKING:
            _require_finite(row, TRACKED_TOPIC)
            _require_finite(covariance, f"{TRACKED_TOPIC} covariance")
        usable = state is TrackingState.TRACKING
        tracked = TrackedPose(
            stamp=stamp_seconds(message.header.stamp),
            object_id=message.object_id,
            base_T_object=from_xyzw(row[:3], row[3:7]) if usable else np.full((4, 4), np.nan),
            covariance=covariance.reshape(6, 6),
            confidence=float(message.confidence),
            state=state,
        )
        with self._lock:
            self._tracked = tracked
        if usable and self._recordings:
            self._append("pose", (tracked.stamp, self._node.now(), *row, *covariance))


def _require_finite(values: Array, source: str) -> None:
    if not np.isfinite(values).all():
        raise InvalidDataError(f"{source}: NaN or infinity received; the message was dropped")
