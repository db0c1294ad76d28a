"""The true shape of an object: its twin scaled, its base displaced, its bottom edge rounded."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import ConvexHull

from drex_sim.rig.truth import Truth
from drex_sim.twin import Twin

Array = NDArray[np.float64]

BASE_BAND = 1e-4
"""Vertices this near the lowest one belong to the base [m]."""
MIN_RADIUS = 5e-5
"""Radius of the supporting spheres of a sharp edge [m]."""
CLEARANCE = 1e-4
"""The hull's underside lies this much above the supporting spheres' [m]."""
ROUND_SUPPORTS, OTHER_SUPPORTS = 48, 20
"""Most supporting spheres of a round base (its rim is 0.2 % nearer in the worst direction) and of others."""
ROUND_STEPS = 3
"""Rings of vertices that round the hull's bottom edge."""


@dataclass(frozen=True)
class TrueShape:
    """What MuJoCo collides with, in the object frame [m]."""

    pieces: tuple[Array, ...]
    """Convex hulls that robot and table meet, each (N, 3)."""
    supports: Array
    """Centres of the spheres it stands on, (K, 3)."""
    support_radius: float
    com_height: float
    """Height of the object frame above the table when standing."""


def true_shape(twin: Twin, truth: Truth) -> TrueShape:
    """The real object's shape. It stands on spheres along the (rounded) edge of its base."""
    pieces = [np.asarray(piece) * truth.scale for piece in twin.pieces]
    bottom = min(piece[:, 2].min() for piece in pieces)
    if not twin.stands:
        return TrueShape(tuple(pieces), np.zeros((0, 3)), MIN_RADIUS, -bottom)
    base = np.concatenate([piece[piece[:, 2] < bottom + BASE_BAND, :2] for piece in pieces])
    lower, upper = base.min(axis=0), base.max(axis=0)
    shifted = [_shift_base(piece, bottom, lower, upper, truth.base_shift) for piece in pieces]
    radius = max(truth.edge_radius, MIN_RADIUS)
    outline = np.concatenate([piece[piece[:, 2] < bottom + BASE_BAND, :2] for piece in shifted])
    outline = outline[ConvexHull(outline).vertices]
    # Decimating before the inset keeps the inset's corners sharp where the outline's are.
    supports = inset(_decimate(outline, ROUND_SUPPORTS if twin.round_base else OTHER_SUPPORTS), radius)
    return TrueShape(
        tuple(_round_bottom(piece, bottom, radius) for piece in shifted),
        np.column_stack([supports, np.full(len(supports), bottom + radius)]),
        radius,
        -bottom,
    )


def _shift_base(piece: Array, bottom: float, lower: Array, upper: Array, shift: tuple[float, ...]) -> Array:
    """Move the sides of the base outwards by shift (+x, -x, +y, -y), the vertices between in proportion."""
    moved = piece.copy()
    base = piece[:, 2] < bottom + BASE_BAND
    middle = (lower + upper) / 2
    for axis in (0, 1):
        relative = (piece[base, axis] - middle[axis]) / (upper[axis] - middle[axis])
        out, back = shift[2 * axis], shift[2 * axis + 1]
        moved[base, axis] += np.where(relative > 0, relative * out, relative * back)
    return moved


def _round_bottom(piece: Array, bottom: float, radius: float) -> Array:
    base = piece[:, 2] < bottom + BASE_BAND
    if base.sum() < 3:
        return piece
    outline = piece[base, :2]
    outline = outline[ConvexHull(outline).vertices]
    rings = []
    for angle in np.linspace(0.0, np.pi / 2, ROUND_STEPS + 1):
        ring = inset(outline, radius * (1 - np.sin(angle)))
        rings.append(
            np.column_stack([ring, np.full(len(ring), bottom + CLEARANCE + radius * (1 - np.cos(angle)))])
        )
    return np.concatenate([piece[~base], *rings])


def inset(outline: Array, distance: float) -> Array:
    """Convex outline (N, 2), counter-clockwise, with every side moved inwards by a distance [m]."""
    edges = np.roll(outline, -1, axis=0) - outline
    normals = np.stack([-edges[:, 1], edges[:, 0]], 1) / np.linalg.norm(edges, axis=1, keepdims=True)
    before = np.roll(normals, 1, axis=0)
    mitre = (normals + before) / (1.0 + np.sum(normals * before, axis=1, keepdims=True))
    return outline + distance * mitre


def _decimate(outline: Array, limit: int) -> Array:
    """Drop the flattest corners of a convex outline, one by one, until at most `limit` are left."""
    while len(outline) > limit:
        before, after = outline - np.roll(outline, 1, axis=0), np.roll(outline, -1, axis=0) - outline
        cut = before[:, 0] * after[:, 1] - before[:, 1] * after[:, 0]
        outline = np.delete(outline, int(np.argmin(cut)), axis=0)
    return outline
