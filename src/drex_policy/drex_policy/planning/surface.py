"""Where a finger meets the twin: rays against its convex pieces."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import ConvexHull

from drex_sim.twin import Twin

Array = NDArray[np.float64]

_FAR = 1.0
"""Rays start this far from their point [m]."""


@dataclass(frozen=True)
class SurfacePoint:
    """A point of the surface, object frame."""

    point: Array
    """(3,) [m]."""
    normal: Array
    """(3,), outward, unit."""


class TwinSurface:
    """Outside surface of a twin as the union of its convex pieces."""

    def __init__(self, twin: Twin) -> None:
        # Triangles of one flat face share their equation: once is enough.
        self._equations = [np.unique(np.round(ConvexHull(piece).equations, 9), axis=0) for piece in twin.pieces]

    def first_hit(self, point: Array, direction: Array) -> SurfacePoint | None:
        """Where a ray along `direction` (unit) that goes through `point` first enters the object; None: it misses."""
        origin = point - _FAR * direction
        nearest, normal = np.inf, None
        for equations in self._equations:
            speed = equations[:, :3] @ direction
            gap = equations[:, :3] @ origin + equations[:, 3]
            if (gap[np.abs(speed) < 1e-12] > 0).any():
                continue
            with np.errstate(divide="ignore", invalid="ignore"):
                times = -gap / speed
            entering, leaving = speed < -1e-12, speed > 1e-12
            enter_at = np.where(entering, times, -np.inf)
            face = int(enter_at.argmax())
            if enter_at[face] < times[leaving].min() and enter_at[face] < nearest:
                nearest, normal = float(enter_at[face]), equations[face, :3]
        return None if normal is None else SurfacePoint(origin + nearest * direction, normal)

    def pad_rest(
        self, point: Array, direction: Array, patch: float, across: tuple[Array, Array]
    ) -> SurfacePoint | None:
        """Like first_hit, but None too where a pad would hang over an edge.

        Args:
          point: (3,), object frame [m].
          direction: of the finger, unit.
          patch: half width of the patch that must be solid [m].
          across: two unit directions of the patch.
        """
        centre = self.first_hit(point, direction)
        if centre is None:
            return None
        for axis in across:
            for sign in (-1.0, 1.0):
                beside = self.first_hit(point + sign * patch * axis, direction)
                # A patch inclined by up to 50 degrees is still a surface, a larger step is an edge.
                if beside is None or abs((beside.point - centre.point) @ direction) > 1.2 * patch:
                    return None
        return centre
