"""Joint trajectories of the arm."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from drex_sim.errors import InvalidDataError

Array = NDArray[np.float64]


@dataclass(frozen=True)
class JointTrajectory:
    """Positions of the six arm joints over time, joined by cubic Hermite splines."""

    times: Array
    """Seconds from the start, strictly rising, first 0, shape (N,)."""
    positions: Array
    """Joint positions in ARM_JOINTS order, shape (N, 6) [rad]."""
    velocities: Array
    """Joint velocities, shape (N, 6) [rad/s]."""

    def __post_init__(self) -> None:
        n = len(self.times)
        if n < 2 or self.positions.shape != (n, 6) or self.velocities.shape != (n, 6):
            raise InvalidDataError(
                f"trajectory: times {self.times.shape}, positions {self.positions.shape}, velocities"
                f" {self.velocities.shape}; needed (N,), (N, 6), (N, 6) with N >= 2"
            )
        if not (np.isfinite(self.positions).all() and np.isfinite(self.velocities).all()):
            raise InvalidDataError("trajectory: positions or velocities hold NaN or infinity")
        if self.times[0] != 0.0 or not (np.diff(self.times) > 0).all():
            raise InvalidDataError("trajectory: times must start at 0 and rise strictly")

    @property
    def duration(self) -> float:
        """Length [s]."""
        return float(self.times[-1])

    def sample(self, t: float) -> tuple[Array, Array]:
        """Position and velocity (6,) at time t [s]; held at both ends."""
        if t <= 0.0:
            return self.positions[0].copy(), np.zeros(6)
        if t >= self.times[-1]:
            return self.positions[-1].copy(), np.zeros(6)
        i = int(np.searchsorted(self.times, t, side="right")) - 1
        h = self.times[i + 1] - self.times[i]
        s = (t - self.times[i]) / h
        p0, p1, v0, v1 = self.positions[i], self.positions[i + 1], self.velocities[i] * h, self.velocities[i + 1] * h
        a, b = 2 * (p0 - p1) + v0 + v1, 3 * (p1 - p0) - 2 * v0 - v1
        return p0 + s * (v0 + s * (b + s * a)), (v0 + s * (2 * b + s * 3 * a)) / h


def minimum_jerk(s: ArrayLike) -> Array:
    """Minimum-jerk time scaling of s in 0..1 (clipped)."""
    s = np.clip(np.asarray(s, float), 0.0, 1.0)
    return s * s * s * (10 - 15 * s + 6 * s * s)


def timed_path(times: ArrayLike, positions: ArrayLike) -> JointTrajectory:
    """Trajectory through joint positions (N, 6) at the given times (N,), at rest at both ends.

    Velocities inside are central differences.
    """
    times, positions = np.asarray(times, float), np.asarray(positions, float)
    velocities = np.gradient(positions, times, axis=0) if len(times) > 2 else np.zeros_like(positions)
    velocities[0] = velocities[-1] = 0.0
    return JointTrajectory(times, positions, velocities)


def along_path(path: ArrayLike, max_velocity: float, min_duration: float = 0.3, samples: int = 0) -> JointTrajectory:
    """Minimum-jerk motion along a joint path (N, 6), no joint faster than max_velocity [rad/s]."""
    path = np.asarray(path, float)
    steps = np.abs(np.diff(path, axis=0)).max(axis=1)
    length = np.concatenate([[0.0], np.cumsum(steps + 1e-9)])
    # The peak speed of a minimum-jerk profile is 1.875 times its mean.
    duration = max(min_duration, 1.875 * length[-1] / max_velocity)
    n = samples or max(12, int(duration / 0.08))
    times = np.linspace(0.0, duration, n)
    along = minimum_jerk(times / duration) * length[-1]
    positions = np.stack([np.interp(along, length, path[:, j]) for j in range(path.shape[1])], axis=1)
    return timed_path(times, positions)


def point_to_point(start: ArrayLike, goal: ArrayLike, max_velocity: float) -> JointTrajectory:
    """Minimum-jerk motion straight in joint space between two positions (6,)."""
    return along_path(np.stack([np.asarray(start, float), np.asarray(goal, float)]), max_velocity)
