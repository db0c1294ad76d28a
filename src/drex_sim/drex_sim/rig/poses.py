"""Poses of the object where no camera is in the loop: truth with the noise of a tracker."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from drex_sim.rig.rig import SimulatedRig
from drex_sim.robot.protocols import TrackedPose, TrackingState

Array = NDArray[np.float64]

CAMERA_RATE = 15.0
"""Poses per second [Hz]."""
NOISE_RATE = 30.0
"""Rate at which the profile states the white tilt noise [Hz]."""
MIN_POSITION, MIN_ROTATION = 2e-4, 1e-3
"""Floors of the standard deviations reported with a pose [m, rad]."""


class NoisyPoses:
    """Takes a pose of the object at the camera's rate; hands it out after the camera's latency."""

    def __init__(self, rig: SimulatedRig, rate: float = CAMERA_RATE) -> None:
        self._rig = rig
        self._rng = np.random.default_rng([rig.config.seed, 104729])
        self._period = 1.0 / rate
        self._next = rig.time
        self._waiting: list[tuple[float, TrackedPose]] = []
        self._push = -1
        self._tilt = np.zeros(3)

    def step(self) -> list[TrackedPose]:
        """Call after each step of the rig; the poses that arrive now."""
        now = self._rig.sample.time
        if now >= self._next - 1e-9:
            self._next += self._period
            profile = self._rig.profile
            if self._rng.random() >= profile.drop_out:
                delay = profile.camera_latency + profile.camera_jitter * self._rng.standard_normal()
                self._waiting.append((now + max(0.0, delay), self._measure(now)))
        if not self._waiting:
            return []
        due = [pose for at, pose in self._waiting if at <= now + 1e-9]
        self._waiting = [(at, pose) for at, pose in self._waiting if at > now + 1e-9]
        return due

    def _measure(self, now: float) -> TrackedPose:
        profile, rng = self._rig.profile, self._rng
        if self._rig.pushes != self._push:
            self._push = self._rig.pushes
            self._tilt = np.radians(profile.tilt_offset) * rng.standard_normal(3)
        # White noise at another rate with the same density.
        tilt = np.radians(profile.tilt_noise) * np.sqrt(min(1.0, 1.0 / self._period / NOISE_RATE))
        pose = self._rig.object_pose()
        rotation = Rotation.from_rotvec(self._tilt + tilt * rng.standard_normal(3)).as_matrix()
        pose[:3, :3] = rotation @ pose[:3, :3]
        pose[:3, 3] += profile.pose_noise * rng.standard_normal(3)
        position = max(profile.pose_noise, MIN_POSITION)
        angle = max(np.hypot(tilt, np.radians(profile.tilt_offset)), MIN_ROTATION)
        return TrackedPose(
            stamp=now + self._rig.sealed_truth.clock_offset,
            object_id=self._rig.twin.id,
            base_T_object=pose,
            covariance=np.diag([position**2] * 3 + [angle**2] * 3),
            confidence=1.0,
            state=TrackingState.TRACKING,
        )
