"""Where a fingertip meets an object: rays against the convex pieces of a twin."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import ConvexHull

from drex_sim.twin import Twin

Array = NDArray[np.float64]

FAR = 2.0
"""Rays start this far outside [m]."""


class TwinSurface:
    """The outer surface of a twin, object frame."""

    def __init__(self, twin: Twin) -> None:
        self._planes = [ConvexHull(piece).equations for piece in twin.pieces]

    def first_hit(self, through: Array, direction: Array) -> tuple[Array, Array] | None:
        """First surface point on a line and the outward unit normal there; None when the line misses.

        Args:
          through: a point of the line (3,) [m].
          direction: unit direction of travel (3,).
        """
        best, normal = np.inf, None
        origin = through - FAR * direction
        for planes in self._planes:
            slope = planes[:, :3] @ direction
            distance = -(planes[:, :3] @ origin + planes[:, 3])
            parallel = np.abs(slope) < 1e-12
            if (distance[parallel] < 0).any():
                continue
            ratio = distance / np.where(parallel, 1.0, slope)
            entering = ~parallel & (slope < 0)
            leaving = ~parallel & (slope > 0)
            first = int(np.argmax(np.where(entering, ratio, -np.inf)))
            if ratio[first] <= ratio[leaving].min() and ratio[first] < best:
                best, normal = float(ratio[first]), planes[first, :3]
        return None if normal is None else (origin + best * direction, normal / np.linalg.norm(normal))




MIN_PAD_ROOM = 0.010
"""The surface must be flat this far around the contact [m]."""
MAX_SLOPE = 0.15
"""Largest vertical part of the outward normal at the contact."""
FLATNESS = 0.0015
"""Largest departure from flat within that room, for plane faces [m]."""


def highest_contact(
    twin: Twin, surface: TwinSurface, direction: Array, top_share: float = 0.85
) -> tuple[Array, Array] | None:
    """Highest good contact for a push along a direction through the object's axis; None when there is none.

    Args:
      twin: the object.
      surface: its surface.
      direction: horizontal unit direction of the push, object frame (2,).
      top_share: contacts stay below this share of the height.

    Returns:
      contact point (3,) [m] and outward unit normal (3,), object frame.
    """
    ahead = np.append(direction, 0.0)
    aside = np.array([-direction[1], direction[0], 0.0])
    highest = top_share * twin.height - twin.com_height
    lowest = 0.35 * twin.height - twin.com_height
    for z in np.arange(highest, lowest, -0.002):
        centre = np.array([0.0, 0.0, z])
        hit = surface.first_hit(centre, ahead)
        if hit is None or abs(hit[1][2]) > MAX_SLOPE or hit[1] @ ahead > -0.95:
            continue
        point, normal = hit
        around = [surface.first_hit(centre + offset, ahead)
                  for offset in (MIN_PAD_ROOM * np.array([0, 0, 1.0]), -MIN_PAD_ROOM * np.array([0, 0, 1.0]),
                                 0.6 * MIN_PAD_ROOM * aside, -0.6 * MIN_PAD_ROOM * aside)]
        if any(other is None for other in around):
            continue
        gaps = [abs((other[0] - point) @ normal) for other in around if other is not None]
        if max(gaps[:2]) <= FLATNESS and (twin.round_base or max(gaps[2:]) <= FLATNESS):
            return point, normal
    return None
