"""Pinhole intrinsics of a rectified camera."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from drex_sim.errors import InvalidDataError

Array = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class Intrinsics:
    """Pinhole camera, optical frame: x right, y down, z forward. No distortion (aligned depth is rectified)."""

    width: int
    height: int
    fx: float
    """Focal length [pixels]."""
    fy: float
    cx: float
    """Principal point [pixels], centre of the first pixel is 0."""
    cy: float

    def __post_init__(self) -> None:
        if self.width < 8 or self.height < 8:
            raise InvalidDataError(f"camera_info: picture of {self.width} x {self.height}; at least 8 x 8 is needed")
        values = np.array([self.fx, self.fy, self.cx, self.cy])
        if not np.isfinite(values).all() or self.fx <= 0 or self.fy <= 0:
            raise InvalidDataError(
                f"camera_info: fx {self.fx}, fy {self.fy}, cx {self.cx}, cy {self.cy}; finite numbers and positive"
                " focal lengths are needed. Is the camera calibrated?"
            )

    @classmethod
    def from_k(cls, k: ArrayLike, width: int, height: int) -> Intrinsics:
        """From the row-major camera matrix of CameraInfo, (9,) or (3, 3) [pixels].

        Raises:
          InvalidDataError: wrong shape, NaN or a focal length of zero (an uncalibrated camera).
        """
        matrix = np.asarray(k, float)
        if matrix.size != 9:
            raise InvalidDataError(f"camera_info: k has {matrix.size} numbers; 9 are needed")
        matrix = matrix.reshape(3, 3)
        return cls(
            width=int(width), height=int(height), fx=float(matrix[0, 0]), fy=float(matrix[1, 1]),
            cx=float(matrix[0, 2]), cy=float(matrix[1, 2]),
        )

    @classmethod
    def from_fovy(cls, fovy: float, width: int, height: int) -> Intrinsics:
        """Of an ideal camera with a vertical field of view [deg], as MuJoCo has it."""
        focal = 0.5 * height / np.tan(np.radians(fovy) / 2)
        return cls(width=width, height=height, fx=focal, fy=focal, cx=(width - 1) / 2, cy=(height - 1) / 2)

    def project(self, points_c: ArrayLike) -> Array:
        """Pixel coordinates (u, v) of points in front of the camera, camera frame (N, 3) -> (N, 2)."""
        points = np.asarray(points_c, float)
        depth = np.maximum(points[:, 2], 1e-6)
        return np.stack([self.fx * points[:, 0] / depth + self.cx, self.fy * points[:, 1] / depth + self.cy], 1)

    def back_project(self, u: ArrayLike, v: ArrayLike, depth: ArrayLike) -> Array:
        """Points in the camera frame (..., 3) of pixels with a depth along the optical axis [m]."""
        z = np.asarray(depth, float)
        return np.stack([(np.asarray(u) - self.cx) / self.fx * z, (np.asarray(v) - self.cy) / self.fy * z, z], -1)
