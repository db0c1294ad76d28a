"""Recording of the rig's signals in this process."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from drex_sim.rig.rig import RigSample
from drex_sim.robot.protocols import RecordedBlocks, TrackedPose
from drex_sim.transforms import to_xyzw

Array = NDArray[np.float64]


class RigRecording:
    """Rows collected while a recording is open."""

    def __init__(self) -> None:
        self._samples: list[RigSample] = []
        self._hand: list[RigSample] = []
        self._poses: list[tuple[float, TrackedPose]] = []
        self._commands: list[tuple[float, Array]] = []

    def add_sample(self, sample: RigSample, hand: bool) -> None:
        """Add a step; `hand`: the hand's driver publishes in it too."""
        self._samples.append(sample)
        if hand:
            self._hand.append(sample)

    def add_pose(self, received: float, pose: TrackedPose) -> None:
        """Add a pose with its receive stamp [s]."""
        self._poses.append((received, pose))

    def add_command(self, time: float, positions: Array) -> None:
        """Add a hand command (16,) [rad]."""
        self._commands.append((time, positions.copy()))

    def blocks(self) -> RecordedBlocks:
        """The rows as flat blocks."""

        def table(rows: list[Array], width: int) -> Array:
            return np.asarray(rows, float).reshape(-1, width)

        arm_stamps = np.array([s.time for s in self._samples])
        hand_stamps = np.array([s.time for s in self._hand])
        return RecordedBlocks(
            pose_stamps=np.array([p.stamp for _, p in self._poses]),
            pose_receive_stamps=np.array([t for t, _ in self._poses]),
            poses=table([np.r_[*to_xyzw(p.base_T_object), p.confidence] for _, p in self._poses], 8),
            pose_covariances=table([p.covariance.ravel() for _, p in self._poses], 36),
            arm_stamps=arm_stamps,
            arm_receive_stamps=arm_stamps.copy(),
            arm_positions=table([s.arm_position for s in self._samples], 6),
            arm_velocities=table([s.arm_velocity for s in self._samples], 6),
            hand_stamps=hand_stamps,
            hand_receive_stamps=hand_stamps.copy(),
            hand_positions=table([s.hand_position for s in self._hand], 16),
            hand_efforts=table([s.hand_effort for s in self._hand], 16),
            hand_command_stamps=np.array([t for t, _ in self._commands]),
            hand_commands=table([c for _, c in self._commands], 16),
            wrench_stamps=arm_stamps.copy(),
            wrench_receive_stamps=arm_stamps.copy(),
            wrenches=table([s.wrench for s in self._samples], 6),
        )
