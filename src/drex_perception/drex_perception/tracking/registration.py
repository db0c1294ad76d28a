"""Registration of scene points to the model, and what the picture says about the result."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import small_gicp
from numpy.typing import NDArray
from scipy.spatial import cKDTree

from drex_perception.camera import metres
from drex_perception.tracking.cloud import View
from drex_perception.tracking.config import TrackerConfig
from drex_perception.tracking.model import SurfaceModel
from drex_sim.transforms import apply, inverse

Array = NDArray[np.float64]

REFERENCE_DEPTH = 0.7
"""Distance at which the depth noise is stated [m]; it grows with the square of the distance."""


@dataclass(frozen=True, kw_only=True)
class Visibility:
    """What the picture says of the model's surface that faces the camera, as shares of it."""

    explained: float
    occluded: float
    """Something is in front."""
    seen_through: float
    """Something is behind: the object is not there."""

    @property
    def contradiction(self) -> float:
        """Share that is seen through, of what is not occluded."""
        free = self.explained + self.seen_through
        return self.seen_through / free if free > 0 else 0.0


@dataclass(frozen=True, kw_only=True)
class Fit:
    """A registered pose."""

    base_T_object: Array
    inliers: int
    residual: float
    """Root mean square point-to-surface distance [m]."""
    covariance: Array
    """(6, 6), translation then rotation, axes of base_link [m2, rad2]."""


def align(model: SurfaceModel, points_o: Array, reach: float, iterations: int, precision: float = 5e-5) -> Array:
    """predicted_T_object from scene points expressed in the predicted object frame (point to plane, small_gicp).

    Args:
      points_o: scene points (N, 3) [m].
      reach: points farther than this from the surface are left out [m].
      iterations: at most.
      precision: step below which it has converged [m]; ten times that in radians.
    """
    result = small_gicp.align(
        model.cloud, small_gicp.PointCloud(points_o), model.tree, registration_type="PLANE_ICP",
        max_correspondence_distance=reach, max_iterations=iterations, rotation_epsilon=10 * precision,
        translation_epsilon=precision,
        num_threads=1,
    )
    return inverse(np.asarray(result.T_target_source))


def register(
    model: SurfaceModel, predicted: Array, points_b: Array, config: TrackerConfig, sigma: float, reach: float
) -> Fit | None:
    """Pose of the object from scene points, starting at the predicted pose; None when too few points fit.

    Two passes: a wide one that follows the motion, then one without foreign bodies: points off the surface, and
    those of a fingertip that touches it, which lie near points off the surface.

    Args:
      predicted: base_T_object to start from, (4, 4).
      points_b: scene points without the table, base_link, (N, 3) [m].
      sigma: depth noise at the object [m].
      reach: greatest distance to the predicted surface in the first pass [m].
    """
    gate = float(np.clip(config.gate_sigmas * sigma, config.min_gate, config.max_gate))
    local = apply(inverse(predicted), points_b)
    near = np.all((local > model.lower - config.crop_margin) & (local < model.upper + config.crop_margin), axis=1)
    local = local[near]
    if len(local) < config.min_points:
        return None
    pose = predicted
    coarse = max(1, len(local) // 1000)
    passes = ((max(reach, gate), coarse, 400, 8, 2e-4), (gate, 1, config.points, 6, 5e-5))
    for distance, stride, count, iterations, precision in passes:
        points, _, _ = _own_points(model, local[::stride], config, distance)
        if len(points) < config.min_points // stride:
            return None
        thin = points[:: max(1, len(points) // count)]
        step = align(model, thin, distance, iterations, precision)
        pose = pose @ step
        local = apply(inverse(step), local)
    points, signed, normals = _own_points(model, local, config, gate)
    if len(points) < config.min_points:
        return None
    residual = float(np.sqrt(np.mean(signed**2)))
    rows = np.concatenate([normals, np.cross(points, normals)], axis=1)
    covariance = _covariance(rows, max(residual, 0.5 * sigma), pose[:3, :3], model, config)
    return Fit(base_T_object=pose, inliers=len(points), residual=residual, covariance=covariance)


def _own_points(
    model: SurfaceModel, local: Array, config: TrackerConfig, gate: float
) -> tuple[Array, Array, Array]:
    """Points within the gate and not near a foreign body: points, signed distances, normals."""
    signed, distance, normals = model.plane_distance(local)
    foreign = distance > gate + 0.002
    own = distance <= gate
    if foreign.sum() >= 8:
        bodies = local[foreign]
        # A lone stray point is noise; a body has neighbours.
        tree = cKDTree(bodies)
        crowd = tree.query(bodies, k=5, distance_upper_bound=0.008)[0][:, -1]
        bodies = bodies[np.isfinite(crowd)]
        if len(bodies):
            gap = cKDTree(bodies).query(local, distance_upper_bound=config.occluder_margin)[0]
            own &= ~np.isfinite(gap)
    return local[own], signed[own], normals[own]


def _covariance(rows: Array, sigma: float, rotation: Array, model: SurfaceModel, config: TrackerConfig) -> Array:
    """Covariance of a point-to-plane fit, base_link axes. Turns about symmetry axes are unknown: about 1 rad."""
    information = rows.T @ rows / (1.5 * sigma) ** 2
    information += np.diag([1 / 0.05**2] * 3 + [1.0] * 3)
    covariance = np.linalg.inv(information)
    covariance += np.diag([config.position_floor**2] * 3 + [config.rotation_floor**2] * 3)
    for axis in model.symmetry_axes:
        covariance[3:, 3:] += np.outer(axis, axis)
    turn = np.kron(np.eye(2), rotation)
    covariance = turn @ covariance @ turn.T
    return 0.5 * (covariance + covariance.T)


def visibility(
    model: SurfaceModel, base_T_object: Array, depth: NDArray[np.generic], view: View, gate: float
) -> Visibility:
    """Compare the surface that faces the camera with the picture."""
    camera_T_object = inverse(view.base_T_camera) @ base_T_object
    points = apply(camera_T_object, model.check_points)
    normals = model.check_normals @ camera_T_object[:3, :3].T
    facing = np.einsum("ij,ij->i", normals, points) < -0.25 * np.linalg.norm(points, axis=1)
    points = points[facing]
    pixels = np.round(view.intrinsics.project(points)).astype(int)
    inside = np.all((pixels >= 0) & (pixels < [view.intrinsics.width, view.intrinsics.height]), axis=1)
    if not inside.any():
        return Visibility(explained=0.0, occluded=0.0, seen_through=0.0)
    seen = metres(depth[pixels[inside, 1], pixels[inside, 0]])
    ahead = points[inside, 2] - seen
    valid = seen > 0
    # Pixels without depth say nothing; those out of the picture count as not explained.
    total = max(int(valid.sum() + (~inside).sum()), 1)
    tolerance = gate + 0.002
    return Visibility(
        explained=float(np.sum(valid & (np.abs(ahead) <= tolerance)) / total),
        occluded=float(np.sum(valid & (ahead > tolerance)) / total),
        seen_through=float(np.sum(valid & (ahead < -tolerance)) / total),
    )
