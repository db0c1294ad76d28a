"""What the push and grasp procedures need of a robot: the Arm and Hand protocols.

`drex_sim.rig.direct.DirectRobot` implements them by stepping the simulated rig in this process,
`drex_sim.nodes.ros_robot.RosRobot` over the drivers' ROS interfaces. Procedures are written once.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from enum import Enum
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from drex_sim.robot.trajectory import JointTrajectory

Array = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class RobotState:
    """Newest signals of arm, hand and wrist sensor."""

    stamp: float
    """Time of the newest arm sample, rig (ROS) time [s]."""
    arm_position: Array
    """(6,) in ARM_JOINTS order [rad]."""
    arm_velocity: Array
    """(6,) [rad/s]."""
    hand_position: Array
    """(16,) in HAND_JOINTS order [rad]."""
    hand_velocity: Array
    """(16,) [rad/s]."""
    force: Array
    """(3,) of the environment on the hand, axes of tool0_controller [N]."""
    torque: Array
    """(3,) about the origin of tool0_controller [N m]."""


class TrackingState(Enum):
    """States of the tracker, numbered as in drex_msgs/TrackedObject."""

    UNKNOWN = 0
    INITIALIZING = 1
    TRACKING = 2
    LOST = 3


@dataclass(frozen=True, kw_only=True)
class TrackedPose:
    """Newest pose of the object."""

    stamp: float
    """Exposure time, rig (ROS) time [s]."""
    object_id: str
    base_T_object: Array
    """(4, 4)."""
    covariance: Array
    """(6, 6): translation then rotation, axes of base_link [m2, rad2]."""
    confidence: float
    state: TrackingState


@dataclass(frozen=True, kw_only=True)
class RecordedBlocks:
    """Signals recorded during a trial, as drex_msgs/PushTrial lays them out. All stamps in rig time [s]."""

    pose_stamps: Array = field(default_factory=lambda: np.zeros(0))
    pose_receive_stamps: Array = field(default_factory=lambda: np.zeros(0))
    poses: Array = field(default_factory=lambda: np.zeros((0, 8)))
    """(P, 8): x y z [m], qx qy qz qw, confidence. Only poses in state TRACKING."""
    pose_covariances: Array = field(default_factory=lambda: np.zeros((0, 36)))
    arm_stamps: Array = field(default_factory=lambda: np.zeros(0))
    arm_receive_stamps: Array = field(default_factory=lambda: np.zeros(0))
    arm_positions: Array = field(default_factory=lambda: np.zeros((0, 6)))
    arm_velocities: Array = field(default_factory=lambda: np.zeros((0, 6)))
    hand_stamps: Array = field(default_factory=lambda: np.zeros(0))
    hand_receive_stamps: Array = field(default_factory=lambda: np.zeros(0))
    hand_positions: Array = field(default_factory=lambda: np.zeros((0, 16)))
    hand_efforts: Array = field(default_factory=lambda: np.zeros((0, 16)))
    hand_command_stamps: Array = field(default_factory=lambda: np.zeros(0))
    hand_commands: Array = field(default_factory=lambda: np.zeros((0, 16)))
    wrench_stamps: Array = field(default_factory=lambda: np.zeros(0))
    wrench_receive_stamps: Array = field(default_factory=lambda: np.zeros(0))
    wrenches: Array = field(default_factory=lambda: np.zeros((0, 6)))
    """(W, 6): force [N] and torque [N m] of the environment on the hand, in tool0_controller."""


class MotionResult(Enum):
    """How a motion ended when nothing went wrong."""

    REACHED = "reached"
    GUARDED = "guarded"
    """The guard said stop; the arm has come to rest where it was."""


Guard = Callable[[RobotState], bool]
"""Called at 50 Hz or faster during a motion; True stops it."""


class Arm(Protocol):
    """The arm, driven by joint trajectories."""

    def execute(self, trajectory: JointTrajectory, guard: Guard | None = None) -> MotionResult:
        """Run a trajectory to its end, or until the guard says stop.

        The trajectory starts at the present position (within 0.05 rad).

        Raises:
          LimitError: outside the configured limits; nothing moved.
          MotionStoppedError: the supervisor or the robot's safety stopped it.
          MotionError: controller absent, goal rejected or failed.
          StaleDataError: joint states or wrench went silent; the motion was stopped.
          CancelledError: the user cancelled; the motion was stopped.
        """
        ...


class Hand(Protocol):
    """The hand. A command stays in force until the next one."""

    def command(self, positions: Array, efforts: Array | None = None, grasp_force: float = 0.0) -> None:
        """Command all 16 joints (HAND_JOINTS order).

        Args:
          positions: joint targets (16,) [rad], clamped to the limits.
          efforts: feed-forward torques J^T f (16,) [N m], clamped; None: zero.
          grasp_force: force per side the efforts stand for [N].
        """
        ...


class StateRecorder(Protocol):
    """Collects signals while it is open."""

    def blocks(self) -> RecordedBlocks:
        """What was recorded so far."""
        ...


class Robot(Protocol):
    """Arm, hand, wrist sensor and tracked object behind one object."""

    @property
    def arm(self) -> Arm: ...

    @property
    def hand(self) -> Hand: ...

    def state(self) -> RobotState:
        """Newest signals.

        Raises:
          StaleDataError: a stream is silent.
        """
        ...

    def tracked(self) -> TrackedPose:
        """Newest pose of the loaded object in state TRACKING.

        Raises:
          NotTrackedError: none, too old, or not in state TRACKING.
        """
        ...

    def time(self) -> float:
        """Rig (ROS) time [s]."""
        ...

    def sleep(self, duration: float) -> None:
        """Let rig time pass [s].

        Raises:
          CancelledError: the user cancelled meanwhile.
          MotionStoppedError: the supervisor stopped the rig meanwhile.
        """
        ...

    def zero_force(self) -> None:
        """Zero the wrist sensor. Raises MotionError when the service refuses or is absent."""
        ...

    def set_payload(self, mass: float, center_of_gravity: Array) -> None:
        """Tell the arm the weight it carries beyond the hand: mass [kg], COM (3,) in tool0 [m]."""
        ...

    def record(self) -> AbstractContextManager[StateRecorder]:
        """Record signals while the context is open."""
        ...
