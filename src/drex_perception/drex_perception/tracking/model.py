"""The surface that scene points are registered to: points with outward normals, from the twin's visual mesh."""

from __future__ import annotations

import numpy as np
import small_gicp
import trimesh
from numpy.typing import NDArray
from scipy.spatial import ConvexHull

from drex_sim.errors import TwinError
from drex_sim.twin import Twin

Array = NDArray[np.float64]

SPACING = 0.0016
"""Mean distance of surface samples [m]; on flat faces point-to-plane distances do not depend on it."""
MAX_SAMPLES, MIN_SAMPLES = 24000, 2000
EDGE_COSINE = 0.99
"""Samples whose estimated and true normals agree less than this are dropped."""
CHECK_POINTS = 400
"""Surface points projected into the picture to see how much of the object is explained."""


class SurfaceModel:
    """Samples of a twin's surface, object frame [m]."""

    def __init__(self, twin: Twin) -> None:
        self.object_id = twin.id
        self.com_height = float(twin.com_height)
        self.height = float(twin.height)
        self.lower, self.upper = twin.vertices.min(axis=0), twin.vertices.max(axis=0)
        self.symmetry_axes = np.asarray(twin.symmetry_axes, float).reshape(-1, 3)
        mesh = trimesh.Trimesh(twin.vertices, twin.faces, process=False)
        count = int(np.clip(mesh.area / SPACING**2, MIN_SAMPLES, MAX_SAMPLES))
        points, face = trimesh.sample.sample_surface(mesh, count, seed=0)
        points, normals = np.asarray(points, float), np.asarray(mesh.face_normals, float)[face]
        if mesh.body_count > 1:
            outer = ~_inside(points + 5e-4 * normals, twin.pieces)
            points, normals = points[outer], normals[outer]
        if len(points) < CHECK_POINTS or not np.isfinite(normals).all():
            raise TwinError(
                f"twin {twin.id}: its visual mesh gives {len(points)} usable surface points; at least {CHECK_POINTS}"
                " and finite normals are needed. Are the triangles degenerate?"
            )
        self.cloud, kept = _cloud(points, normals)
        self.points, self.normals = points[kept], normals[kept]
        self.tree = small_gicp.KdTree(self.cloud)
        step = max(1, len(points) // CHECK_POINTS)
        self.check_points, self.check_normals = points[::step], normals[::step]

    def plane_distance(self, points_o: Array) -> tuple[Array, Array, Array]:
        """Nearest surface of each point (N, 3): signed distance along the normal, distance [m], normals (N, 3)."""
        index, squared = self.tree.batch_knn_search(points_o, 1)
        nearest = np.asarray(index)[:, 0].astype(np.int64)
        normals = self.normals[nearest]
        signed = np.einsum("ij,ij->i", points_o - self.points[nearest], normals)
        return signed, np.sqrt(np.asarray(squared)[:, 0]), normals


def _cloud(points: Array, normals: Array) -> tuple[small_gicp.PointCloud, NDArray[np.bool_]]:
    """Cloud with the normals small_gicp estimates, without the samples where these are wrong: along sharp edges.

    The library takes no normals from outside. A scene point near an edge then meets the inner part of its face, whose
    plane is the right one.
    """
    trial = small_gicp.PointCloud(points)
    small_gicp.estimate_normals(trial, num_neighbors=8)
    kept = np.abs(np.einsum("ij,ij->i", np.asarray(trial.normals())[:, :3], normals)) > EDGE_COSINE
    if kept.sum() < MIN_SAMPLES // 4:
        kept[:] = True
    cloud = small_gicp.PointCloud(points[kept])
    small_gicp.estimate_normals(cloud, num_neighbors=8)
    return cloud, kept


def _inside(points: Array, pieces: tuple[Array, ...]) -> NDArray[np.bool_]:
    inside = np.zeros(len(points), bool)
    for piece in pieces:
        equations = ConvexHull(piece).equations
        inside |= (points @ equations[:, :3].T + equations[:, 3]).max(axis=1) < -1e-4
    return inside
