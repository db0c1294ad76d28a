"""Scene points out of a depth picture."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from drex_perception.camera import Intrinsics, metres
from drex_sim.transforms import apply, inverse

Array = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class Plane:
    """The table top: points p with normal . p = offset, base_link."""

    normal: Array
    offset: float

    def above(self, points_b: Array) -> Array:
        """Height of points (..., 3) above the plane [m]."""
        return points_b @ self.normal - self.offset


@dataclass(frozen=True, kw_only=True)
class View:
    """A camera at a known place."""

    intrinsics: Intrinsics
    base_T_camera: Array

    def points(self, depth: NDArray[np.generic], rows: slice, columns: slice) -> Array:
        """Points of a part of the picture, base_link, (N, 3) [m]; pixels without depth are left out."""
        part = metres(depth[rows, columns])
        v, u = np.nonzero(part > 0)
        z = part[v, u].astype(float)
        step_v, step_u = rows.step or 1, columns.step or 1
        seen = self.intrinsics.back_project(columns.start + u * step_u, rows.start + v * step_v, z)
        return apply(self.base_T_camera, seen)

    def window(self, corners_b: Array, margin: float, grid: int) -> tuple[slice, slice] | None:
        """Rows and columns that hold a box, thinned to about `grid` pixels; None when it is out of the picture.

        Args:
          corners_b: corners of the box, base_link, (8, 3) [m].
          margin: widening of the window at the box's distance [m].
          grid: most pixels.
        """
        corners = apply(inverse(self.base_T_camera), corners_b)
        if corners[:, 2].min() < 0.05:
            return None
        pixels = self.intrinsics.project(corners)
        border = margin * self.intrinsics.fx / corners[:, 2].mean()
        low = np.maximum(np.floor(pixels.min(axis=0) - border), 0).astype(int)
        high = np.minimum(np.ceil(pixels.max(axis=0) + border), [self.intrinsics.width, self.intrinsics.height])
        high = high.astype(int)
        if np.any(high - low < 4):
            return None
        stride = max(1, int(np.ceil(np.sqrt(np.prod(high - low) / grid))))
        return slice(low[1], high[1], stride), slice(low[0], high[0], stride)

    def camera_position(self) -> Array:
        """Optical centre, base_link, (3,) [m]."""
        return self.base_T_camera[:3, 3]


def box_corners(lower: Array, upper: Array) -> Array:
    """The eight corners of a box, (8, 3) [m]."""
    return np.array([[(lower, upper)[i][0], (lower, upper)[j][1], (lower, upper)[k][2]]
                     for i in (0, 1) for j in (0, 1) for k in (0, 1)])
