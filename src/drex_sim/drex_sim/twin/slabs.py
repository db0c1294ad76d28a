"""Hull-bounded repair: an object as a stack of convex slabs along its standing axis.

A scan with holes has no inside. Cut into thin horizontal slices, each replaced by its convex outline, it has one; as
many slices as possible are merged while the volume stays the same. Notches within a slice are filled.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import ConvexHull, QhullError

from drex_sim.errors import TwinError

Array = NDArray[np.float64]

SLICE = 0.008
"""Thickness of the slices before merging [m]."""
BAND = 0.0015
"""Points this near a cut make its outline [m]."""
DIRECTIONS = 64
"""Directions in which an outline is supported: corners per outline at most."""
MERGE_LOSS = 0.015
"""Slabs are merged while the volume grows by less than this share."""
RAY_DIRECTIONS = 16
RAY_WIDTH = 0.003
"""Width of the rays that look for notches [m]."""
NOTCH_DEPTH = 0.005
"""A surface this far behind the outline is a notch [m]."""
ROUND_SPREAD = 0.03
"""Relative spread of an outline's radius below which it is a circle."""
ROUND_CORNERS = 96
ROUND_SHARE = 0.9
"""Share of the outlines that must be circles."""
MAX_LEAN = 0.05
"""Lean of a round scan's axis that is taken for a rough base, as a slope."""
ROUND_OFFSET = 0.002
"""Circles whose centres are this near the axis make an object axisymmetric [m]."""


@dataclass(frozen=True, kw_only=True)
class Stack:
    """A repaired shape: convex pieces in a frame with z up and the table at z = 0 [m]."""

    pieces: list[Array]
    base: Array
    """Outline of the base, (K, 2)."""
    round_base: bool
    axisymmetric: bool


def stack_of(points: Array, base_band: float = BAND) -> Stack:
    """Repaired shape of surface points.

    Args:
      points: (N, 3), z up, lowest point near z = 0 [m].
      base_band: the outline of the points below this height is the base [m].

    Raises:
      TwinError: a slice holds too few points for an outline.
    """
    top = float(np.quantile(points[:, 2], 0.9999))
    cuts = np.linspace(0.0, top, max(3, round(top / SLICE) + 1))
    outlines = _outlines(points, cuts, top, base_band)
    circles = [_circle(outline) for outline in outlines]
    if sum(c is not None for c in circles) >= ROUND_SHARE * len(cuts):
        points = _upright(points, cuts, circles)
        outlines = _outlines(points, cuts, top, base_band)
        circles = [_circle(outline) for outline in outlines]
    base_round = circles[0] is not None
    known = [c for c in circles if c is not None]
    axisymmetric = base_round and len(known) >= ROUND_SHARE * len(cuts)
    if axisymmetric:
        centre = np.median([c[0] for c in known], axis=0)
        axisymmetric = all(np.linalg.norm(c[0] - centre) < ROUND_OFFSET for c in known)
        if axisymmetric:
            outlines = [
                _ring(centre, circle[1] if circle is not None else float(np.linalg.norm(o - centre, axis=1).mean()))
                for circle, o in zip(circles, outlines, strict=True)
            ]
    if base_round and not axisymmetric:
        outlines[0] = _ring(*circles[0])  # type: ignore[misc]
    levels = [np.column_stack([o, np.full(len(o), z)]) for o, z in zip(outlines, cuts, strict=True)]
    return Stack(pieces=_merge(levels), base=outlines[0], round_base=base_round, axisymmetric=axisymmetric)


def _upright(points: Array, cuts: Array, circles: list[tuple[Array, float] | None]) -> Array:
    """Points of a round object with its axis made vertical: the base of a scan is rough, its axis is not."""
    known = [(z, c[0]) for z, c in zip(cuts, circles, strict=True) if c is not None]
    slope = np.polyfit([z for z, _ in known], np.array([centre for _, centre in known]), 1)[0]
    if np.linalg.norm(slope) > MAX_LEAN:
        return points
    return np.column_stack([points[:, :2] - points[:, 2:] * slope, points[:, 2]])


def notch_share(points: Array) -> float:
    """Share of the convex outlines, seen horizontally from outside, behind which the surface lies deep or is missing.

    Only what rays from outside meet first counts: scans have walls and debris inside.
    """
    lost = rays = 0
    top = float(points[:, 2].max())
    for low in np.arange(SLICE, top - 2 * SLICE, SLICE):
        slab = points[(points[:, 2] >= low) & (points[:, 2] < low + SLICE)][:, :2]
        if len(slab) < 50:
            continue
        edges = ConvexHull(slab).equations
        for angle in np.arange(RAY_DIRECTIONS) * 2 * np.pi / RAY_DIRECTIONS:
            along = np.array([np.cos(angle), np.sin(angle)])
            across = slab @ [-along[1], along[0]]
            edge_bins = np.arange(across.min() + RAY_WIDTH, across.max() - RAY_WIDTH, RAY_WIDTH)
            if len(edge_bins) < 2:
                continue
            place = np.digitize(across, edge_bins) - 1
            first = np.full(len(edge_bins), np.inf)
            inside = place >= 0
            np.minimum.at(first, place[inside], (slab @ along)[inside])
            middle = (edge_bins[:-1] + edge_bins[1:])[:, None] / 2 * [-along[1], along[0]]
            facing = edges[:, :2] @ along
            entry = np.where(
                facing < -1e-9, -(middle @ edges[:, :2].T + edges[:, 2]) / np.where(facing < -1e-9, facing, -1), -np.inf
            ).max(axis=1)
            lost += int(np.sum(first[:-1] - entry > NOTCH_DEPTH))
            rays += len(entry)
    return lost / max(rays, 1)


def _outlines(points: Array, cuts: Array, top: float, base_band: float) -> list[Array]:
    """Outlines at the cuts; what lies within the rough underside has the base's."""
    base = _outline(points, 0.5 * base_band, top, 0.5 * base_band)
    return [base if z <= base_band else _outline(points, z, top) for z in cuts]


def _outline(points: Array, z: float, top: float, least: float = BAND) -> Array:
    """Convex outline of the points near a height, thinned to the support in DIRECTIONS directions, (K, 2)."""
    for band in (least, 2 * least, 4 * least):
        near = points[np.abs(points[:, 2] - np.clip(z, 0.5 * band, top - 0.5 * band)) < band][:, :2]
        if len(near) >= 12:
            break
    else:
        raise TwinError(f"scan: only {len(near)} points at height {1e3 * z:.0f} mm; the surface has a gap there")
    angle = np.arange(DIRECTIONS) * 2 * np.pi / DIRECTIONS
    directions = np.stack([np.cos(angle), np.sin(angle)], 1)
    # The third farthest point, not the farthest, so that a stray one does not count.
    reach = near @ directions.T
    rank = min(3, len(near) // 6 + 1)
    chosen = near[np.unique(np.argpartition(reach, -rank, axis=0)[-rank])]
    try:
        return chosen[ConvexHull(chosen).vertices]
    except QhullError as error:
        raise TwinError(f"scan: no outline at height {1e3 * z:.0f} mm: its points lie on a line") from error


def _circle(outline: Array) -> tuple[Array, float] | None:
    """Centre and radius when an outline is a circle."""
    system = np.column_stack([2 * outline, np.ones(len(outline))])
    solution = np.linalg.lstsq(system, np.sum(outline**2, axis=1), rcond=None)[0]
    radii = np.linalg.norm(outline - solution[:2], axis=1)
    if len(outline) < 12 or radii.std() > ROUND_SPREAD * radii.mean():
        return None
    return solution[:2], float(radii.mean())


def _ring(centre: Array, radius: float) -> Array:
    angle = np.arange(ROUND_CORNERS) * 2 * np.pi / ROUND_CORNERS
    return centre + radius * np.stack([np.cos(angle), np.sin(angle)], 1)


def _merge(levels: list[Array]) -> list[Array]:
    """Greedy merge of slabs between neighbouring outlines into few convex pieces, bottom up."""
    pieces: list[Array] = []
    start = 0
    own = [ConvexHull(np.concatenate(pair)).volume for pair in pairwise(levels)]
    while start < len(levels) - 1:
        end = start + 1
        while end < len(levels) - 1:
            hull = ConvexHull(np.concatenate(levels[start : end + 2]))
            if hull.volume > (1 + MERGE_LOSS) * sum(own[start : end + 1]):
                break
            end += 1
        corners = np.concatenate(levels[start : end + 1])
        # A piece ends at its own cuts exactly, so that neighbours touch and do not overlap.
        pieces.append(corners[ConvexHull(corners).vertices])
        start = end
    return pieces
