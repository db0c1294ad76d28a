"""The twin: a digital copy of an object, with what is known of its geometry and how well. It holds no mass."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import ConvexHull

from drex_sim.errors import TwinError

Array = NDArray[np.float64]

MAX_EXTENT = 1.0
"""An object above this is not a table-top object: most likely its mesh is in millimetres [m]."""
MIN_EXTENT = 0.005
"""Below this a mesh is most likely in the wrong unit, or empty [m]."""


@dataclass(frozen=True, kw_only=True)
class Twin:
    """A twin in its standing pose. Object frame: origin at the COM of the uniform solid, z up.

    An estimator gets this object, so the mass is not in it (see `mass_record`).
    """

    id: str
    """Identifier, also the folder's name."""
    name: str
    """Name for people."""
    pieces: tuple[Array, ...]
    """Convex collision pieces, each (N, 3) vertices [m]."""
    vertices: Array
    """Visual mesh, (V, 3) [m]."""
    faces: NDArray[np.int64]
    """Visual mesh triangles, (F, 3)."""
    com_height: float
    """Height of the origin above the table when standing [m]."""
    support_polygon: Array
    """Corners of the base, (K, 2), counter-clockwise, object frame [m]."""
    volume: float
    """Volume of the solid [m3]."""
    inertia_per_kg: Array
    """Inertia about the origin per kilogram of the uniform solid, (3, 3) [m2]."""
    round_base: bool = False
    """Whether the base is a circle, so that a tip may roll on its rim."""
    stands: bool = True
    """False: it lies or rolls in its declared pose and cannot be tipped."""
    edge_radius: float = 0.0015
    """Expected radius of the bottom edge [m]."""
    edge_radius_sigma: float = 0.0009
    """Standard deviation of the edge radius [m]."""
    base_edge_sigma: float = 0.001
    """Standard deviation of the position of each base edge [m]."""
    com_sigma: tuple[float, float, float] = (0.0, 0.0, 0.0)
    """Standard deviation of the COM along each object axis [m]."""
    scale_sigma: float = 0.005
    """Relative standard deviation of the size."""
    friction_table: tuple[float, float] = (0.5, 0.12)
    """Mean and standard deviation of the friction with the table."""
    friction_tip: tuple[float, float] = (0.7, 0.17)
    """Mean and standard deviation of the friction with a fingertip."""
    fragile_limit: float = 30.0
    """Contact force that may harm the object [N]."""
    fragile_reason: str = "rigid body; the hand's own limit comes first"
    """Why the limit is what it is."""
    symmetry_axes: tuple[tuple[float, float, float], ...] = ()
    """Axes of continuous rotational symmetry, object frame."""

    def __post_init__(self) -> None:
        check_points(self.vertices, f"twin {self.id}: visual mesh")
        for i, piece in enumerate(self.pieces):
            check_points(piece, f"twin {self.id}: collision piece {i}")
        if len(self.support_polygon) < 3:
            raise TwinError(f"twin {self.id}: support_polygon has {len(self.support_polygon)} corners; 3 are needed")
        for field in ("com_height", "volume", "fragile_limit"):
            value = getattr(self, field)
            if not (np.isfinite(value) and value > 0):
                raise TwinError(f"twin {self.id}: {field} is {value}; a positive number is needed")

    @property
    def height(self) -> float:
        """Height of the standing object [m]."""
        return float(np.ptp(self.vertices[:, 2]))

    @property
    def extents(self) -> Array:
        """Size along the object axes, (3,) [m]."""
        return np.ptp(self.vertices, axis=0)

    @property
    def hash(self) -> str:
        """Hash of geometry and physical knowledge, mass excluded: what an estimate depends on."""
        digest = hashlib.sha256(self.id.encode())
        for array in (*self.pieces, self.support_polygon, self.inertia_per_kg):
            digest.update(np.round(array, 7).tobytes())
        digest.update(
            repr((
                round(self.com_height, 7), round(self.volume, 10), self.edge_radius, self.edge_radius_sigma,
                self.base_edge_sigma, self.com_sigma, self.scale_sigma, self.friction_table, self.friction_tip,
            )).encode()
        )
        return digest.hexdigest()[:16]


def check_points(points: Array, what: str) -> None:
    """Refuse NaN, empty and wrongly scaled point sets.

    Raises:
      TwinError: with what was found and what is allowed.
    """
    if points.ndim != 2 or points.shape[1] != 3 or len(points) < 4:
        raise TwinError(f"{what}: shape {points.shape}; (N, 3) with N >= 4 is needed")
    if not np.isfinite(points).all():
        raise TwinError(f"{what}: {int((~np.isfinite(points)).sum())} coordinates are NaN or infinite")
    extent = float(np.ptp(points, axis=0).max())
    if extent > MAX_EXTENT:
        raise TwinError(
            f"{what}: {extent:.1f} long; at most {MAX_EXTENT} m is allowed. Is it in millimetres? Twins are in metres:"
            " scale it by 0.001"
        )
    if extent < MIN_EXTENT:
        raise TwinError(f"{what}: {extent:.2g} m long; at least {MIN_EXTENT} m is needed. Twins are in metres")


def solid_of_pieces(pieces: list[Array]) -> tuple[float, Array, Array]:
    """Volume [m3], centroid (3,) [m] and inertia per kg about it (3, 3) [m2] of disjoint convex pieces."""
    volume, first, second = 0.0, np.zeros(3), np.zeros((3, 3))
    for points in pieces:
        hull = ConvexHull(points)
        inside = points[hull.vertices].mean(axis=0)
        for simplex in hull.simplices:
            a, b, c = points[simplex] - inside
            v = abs(np.dot(a, np.cross(b, c))) / 6.0
            corners = np.stack([inside, *(points[simplex])])
            s = corners.sum(axis=0)
            volume += v
            first += v * s / 4.0
            second += v * (corners.T @ corners + np.outer(s, s)) / 20.0
    centre = first / volume
    covariance = second / volume - np.outer(centre, centre)
    return volume, centre, np.trace(covariance) * np.eye(3) - covariance
