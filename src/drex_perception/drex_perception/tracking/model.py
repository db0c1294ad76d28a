"""The tracked object as a point cloud with normals, and its registration by small_gicp."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import small_gicp
import trimesh
from numpy.typing import NDArray
from scipy.spatial import cKDTree

from drex_sim.transforms import inverse
from drex_sim.twin import Twin

Array = NDArray[np.float64]

SPACING = 0.003
"""Mean distance between model points [m]."""
EDGE_BAND = 0.0035
"""Model points this near an edge are left out: estimated normals are blurred there [m]."""


@dataclass(frozen=True)
class Registration:
    """Outcome of one registration."""

    base_T_object: Array
    inliers: int
    residual: float
    """Root mean square point-to-plane distance of the inliers [m]."""
    covariance: Array
    """(6, 6): translation then rotation, base_link axes, about the object's origin [m2, rad2]."""


class TrackedModel:
    """Surface points of a twin, ready for registration."""

    def __init__(self, twin: Twin, seed: int = 0) -> None:
        mesh = trimesh.Trimesh(twin.vertices, twin.faces, process=False)
        mesh.merge_vertices()
        count = int(np.clip(mesh.area / SPACING**2, 2000, 12000))
        points, faces = trimesh.sample.sample_surface_even(mesh, count, seed=seed)
        points, normals = np.asarray(points), np.asarray(mesh.face_normals)[faces]
        # The underside is never seen, and its normals would draw in points of the table.
        keep = normals[:, 2] > -0.9
        points, normals = points[keep], normals[keep]
        tree = cKDTree(points)
        smooth = np.ones(len(points), bool)
        for i, near in enumerate(tree.query_ball_point(points, EDGE_BAND)):
            smooth[i] = (normals[near] @ normals[i]).min() > 0.8
        if smooth.sum() < 0.3 * len(points):  # rounded all over: there is nothing but edges
            smooth[:] = True
        self.twin = twin
        self.points, self.normals = points[smooth], normals[smooth]
        self._cloud = small_gicp.PointCloud(self.points)
        self._tree = small_gicp.KdTree(self._cloud)
        small_gicp.estimate_normals(self._cloud, self._tree, num_neighbors=10)
        self.radius = float(np.linalg.norm(twin.vertices, axis=1).max())
        """Radius of the sphere about the origin that holds the object [m]."""
        self._surface = cKDTree(points)

    def surface_distance(self, points_object: Array) -> Array:
        """Distance of points (object frame) to the model's sampled surface [m]."""
        return self._surface.query(points_object)[0]

    def visible(self, base_T_object: Array, camera: Array) -> NDArray[np.bool_]:
        """Which model points face a camera at a position (3,) in base_link."""
        eye = inverse(base_T_object) @ np.append(camera, 1.0)
        towards = eye[:3] - self.points
        return np.einsum("ij,ij->i", towards, self.normals) > 0.25 * np.linalg.norm(towards, axis=1)

    def register(self, points: Array, guess: Array, reach: float, iterations: int = 15) -> Registration | None:
        """Fit the model to points in base_link (N, 3); None when too few are near it.

        Args:
          points: observed points [m].
          guess: base_T_object to start from, (4, 4).
          reach: points farther than this from the model are ignored [m].
          iterations: at most.
        """
        if len(points) < 30:
            return None
        # Observed points are moved onto the model: T_target_source is object_T_base.
        result = small_gicp.align(
            self._cloud, small_gicp.PointCloud(np.ascontiguousarray(points)), self._tree,
            init_T_target_source=inverse(guess), registration_type="PLANE_ICP", max_correspondence_distance=reach,
            num_threads=1, max_iterations=iterations, rotation_epsilon=2e-4, translation_epsilon=5e-5,
        )
        inliers = int(result.num_inliers)
        transform = np.asarray(result.T_target_source)
        if inliers < 30 or not np.isfinite(transform).all():
            return None
        residual = float(np.sqrt(2.0 * result.error / inliers))
        pose = inverse(transform)
        return Registration(pose, inliers, residual, _covariance(np.asarray(result.H), residual, pose, points))


def _covariance(hessian: Array, residual: float, pose: Array, points: Array) -> Array:
    """Covariance from the normal equations.

    small_gicp's update is a right perturbation of object_T_base (rotation first): it moves the observed points about
    base_link's origin, so the rotation's lever is undone here.
    """
    information = hessian / max(residual, 5e-4) ** 2
    values, vectors = np.linalg.eigh(information)
    covariance = (vectors / np.maximum(values, 1e2)) @ vectors.T
    origin = pose[:3, 3]
    skew = np.array([[0, -origin[2], origin[1]], [origin[2], 0, -origin[0]], [-origin[1], origin[0], 0]])
    # Translation of the object's origin = translation + rotation x origin (signs drop out of a covariance).
    jacobian = np.block([[-skew, np.eye(3)], [np.eye(3), np.zeros((3, 3))]])
    return jacobian @ covariance @ jacobian.T
