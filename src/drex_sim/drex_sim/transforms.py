"""Rigid transforms as 4x4 matrices, and the one place where quaternion orders meet.

`a_T_b` is the pose of frame b in frame a. Quaternions are xyzw at ROS borders and wxyz inside MuJoCo code.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.spatial.transform import Rotation

Array = NDArray[np.float64]


def wxyz_from_xyzw(xyzw: ArrayLike) -> Array:
    """Reorder a ROS quaternion (x, y, z, w), shape (..., 4), to MuJoCo's (w, x, y, z)."""
    return np.roll(np.asarray(xyzw, float), 1, axis=-1)


def xyzw_from_wxyz(wxyz: ArrayLike) -> Array:
    """Reorder a MuJoCo quaternion (w, x, y, z), shape (..., 4), to ROS's (x, y, z, w)."""
    return np.roll(np.asarray(wxyz, float), -1, axis=-1)


def from_xyzw(position: ArrayLike, xyzw: ArrayLike) -> Array:
    """4x4 transform from a position (3,) [m] and a quaternion xyzw (4,)."""
    return from_matrix(position, Rotation.from_quat(np.asarray(xyzw, float)).as_matrix())


def from_wxyz(position: ArrayLike, wxyz: ArrayLike) -> Array:
    """4x4 transform from a position (3,) [m] and a quaternion wxyz (4,)."""
    return from_xyzw(position, xyzw_from_wxyz(wxyz))


def from_matrix(position: ArrayLike, rotation: ArrayLike) -> Array:
    """4x4 transform from a position (3,) [m] and a rotation matrix (3, 3)."""
    transform = np.eye(4)
    transform[:3, :3] = rotation
    transform[:3, 3] = position
    return transform


def to_xyzw(transform: ArrayLike) -> tuple[Array, Array]:
    """Position (3,) [m] and quaternion xyzw (4,) with w >= 0 of a 4x4 transform."""
    matrix = np.asarray(transform, float)
    quaternion = Rotation.from_matrix(matrix[:3, :3]).as_quat()
    return matrix[:3, 3].copy(), quaternion if quaternion[3] >= 0 else -quaternion


def to_wxyz(transform: ArrayLike) -> tuple[Array, Array]:
    """Position (3,) [m] and quaternion wxyz (4,) with w >= 0 of a 4x4 transform."""
    position, xyzw = to_xyzw(transform)
    return position, wxyz_from_xyzw(xyzw)


def inverse(transform: ArrayLike) -> Array:
    """Inverse of a 4x4 rigid transform."""
    matrix = np.asarray(transform, float)
    rotation = matrix[:3, :3].T
    return from_matrix(-rotation @ matrix[:3, 3], rotation)


def apply(a_T_b: ArrayLike, points_b: ArrayLike) -> Array:
    """Points (..., 3) of frame b expressed in frame a [m]."""
    matrix = np.asarray(a_T_b, float)
    return np.asarray(points_b, float) @ matrix[:3, :3].T + matrix[:3, 3]


def rotation_angle(rotation: ArrayLike) -> float:
    """Angle of a rotation matrix (3, 3) [rad], 0..pi."""
    return float(Rotation.from_matrix(np.asarray(rotation, float)).magnitude())


def tilt_angle(a_T_b: ArrayLike) -> float:
    """Angle between the z axes of frames a and b [rad], 0..pi."""
    return float(np.arccos(np.clip(np.asarray(a_T_b, float)[2, 2], -1.0, 1.0)))
