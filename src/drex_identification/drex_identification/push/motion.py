"""Paths of the fingertip and their timing."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.interpolate import CubicSpline

from drex_sim.robot.trajectory import JointTrajectory, timed_path

Array = NDArray[np.float64]

SAMPLE = 0.04
"""Spacing of trajectory points [s]."""


def arc(pad: Array, direction: Array, to_pivot: float, tilts: Array) -> Array:
    """Pad centres (N, 3) that turn with the object about its support edge.

    Args:
      pad: pad centre at contact, base_link (3,) [m].
      direction: horizontal unit direction of the push, base_link (2,).
      to_pivot: horizontal distance from the pad centre to the edge [m].
      tilts: (N,) [rad].
    """
    along = -to_pivot * np.cos(tilts) + pad[2] * np.sin(tilts)
    up = to_pivot * np.sin(tilts) + pad[2] * np.cos(tilts)
    pivot = pad[:2] + to_pivot * direction
    return np.column_stack([pivot + along[:, None] * direction, up])


def line(start: Array, end: Array, step: float = 0.02) -> Array:
    """Points (N, 3) on a straight line."""
    n = max(2, int(np.ceil(np.linalg.norm(end - start) / step)) + 1)
    return start + np.linspace(0.0, 1.0, n)[:, None] * (end - start)


def constant_speed(path: Array, lengths: Array, speed: float, ramp: float) -> JointTrajectory:
    """Trajectory along joint knots with constant speed between two linear ramps of speed.

    Args:
      path: joint knots (N, 6) [rad].
      lengths: distance of the fingertip at each knot from the first, rising (N,) [m].
      speed: of the fingertip [m/s].
      ramp: time to reach it, and to stop [s].
    """
    total = float(lengths[-1])
    ramp = min(ramp, total / speed)
    duration = total / speed + ramp
    times = np.linspace(0.0, duration, max(6, int(np.ceil(duration / SAMPLE)) + 1))
    early, late = np.minimum(times, ramp), np.minimum(duration - times, ramp)
    travelled = np.where(
        times <= ramp, 0.5 * speed * early**2 / ramp,
        np.where(duration - times <= ramp, total - 0.5 * speed * late**2 / ramp, speed * (times - 0.5 * ramp)),
    )
    curve = CubicSpline(lengths, path, axis=0) if len(path) > 2 else None
    if curve is None:
        share = travelled / total
        positions = path[0] + share[:, None] * (path[1] - path[0])
    else:
        positions = curve(travelled)
    return timed_path(times, positions)


def path_lengths(points: Array) -> Array:
    """Distance of each point (N, 3) from the first along the path, (N,) [m]."""
    return np.concatenate([[0.0], np.cumsum(np.linalg.norm(np.diff(points, axis=0), axis=1))])
