"""Finding an object that stands on the table: table plane, clusters above it, yaw search."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage
from scipy.spatial.transform import Rotation

from drex_perception.tracking.cloud import Plane, View
from drex_perception.tracking.config import TrackerConfig
from drex_perception.tracking.model import SurfaceModel
from drex_perception.tracking.registration import REFERENCE_DEPTH, Fit, align, register, visibility
from drex_sim.transforms import apply, from_matrix, inverse

Array = NDArray[np.float64]

CELL = 0.006
"""Cell of the map in which clusters are found [m]."""
MIN_CLUSTER = 25
"""Fewest points of a cluster."""
TIE = 0.04
"""Scores this near are equal: the yaw nearest to the declared one is taken."""


@dataclass(frozen=True, kw_only=True)
class Found:
    """Outcome of a search."""

    fit: Fit | None
    score: float
    plane: Plane
    noise: float
    """Depth noise at 0.7 m, from the table's roughness [m]."""
    message: str


def fit_table(points_b: Array, view: View, config: TrackerConfig) -> tuple[Plane, float]:
    """Table plane and depth noise at 0.7 m [m]; the nominal plane when too little of it is seen."""
    low, high = np.array(config.region_min), np.array(config.region_max)
    flat = points_b[np.all((points_b[:, :2] > low) & (points_b[:, :2] < high), axis=1)]
    flat = flat[np.abs(flat[:, 2] - config.table_height) < config.table_search]
    nominal = Plane(normal=np.array([0.0, 0.0, 1.0]), offset=config.table_height)
    if len(flat) < 200:
        return nominal, 0.0015
    keep = np.ones(len(flat), bool)
    for _ in range(4):
        centre = flat[keep].mean(axis=0)
        slope, *_ = np.linalg.lstsq(np.c_[flat[keep, :2] - centre[:2], np.ones(keep.sum())], flat[keep, 2], rcond=None)
        error = flat[:, 2] - np.c_[flat[:, :2] - centre[:2], np.ones(len(flat))] @ slope
        spread = 1.4826 * np.median(np.abs(error[keep] - np.median(error[keep])))
        keep = np.abs(error) < max(2.5 * spread, 0.0005)
    normal = np.array([-slope[0], -slope[1], 1.0])
    normal /= np.linalg.norm(normal)
    if np.degrees(np.arccos(normal[2])) > config.max_table_tilt:
        return nominal, 0.0015
    plane = Plane(normal=normal, offset=float(normal @ [*centre[:2], centre[2] + slope[2]]))
    sight = flat[keep] - view.camera_position()
    distance = np.linalg.norm(sight, axis=1)
    slant = np.abs(sight @ normal) / distance
    depth = sight @ view.base_T_camera[:3, 2]
    noise = spread / np.mean(slant * (depth / REFERENCE_DEPTH) ** 2)
    return plane, float(np.clip(noise, 0.0002, 0.01))


def clusters(points_b: Array, heights: Array, model: SurfaceModel, config: TrackerConfig, floor: float) -> list[Array]:
    """Groups of points that rise from the table within the region, largest first."""
    low, high = np.array(config.region_min), np.array(config.region_max)
    inside = np.all((points_b[:, :2] > low) & (points_b[:, :2] < high), axis=1)
    inside &= (heights > floor) & (heights < model.height + 0.04)
    points, heights = points_b[inside], heights[inside]
    if len(points) < MIN_CLUSTER:
        return []
    cells = ((points[:, :2] - low) / CELL).astype(int)
    grid = np.zeros(cells.max(axis=0) + 2, bool)
    grid[cells[:, 0], cells[:, 1]] = True
    label = ndimage.label(ndimage.binary_dilation(grid, np.ones((3, 3))))[0][cells[:, 0], cells[:, 1]]
    groups = [points[label == k] for k in np.unique(label)]
    # What stands on the table is seen near it; a hand above the table is not.
    lowest = [heights[label == k].min() for k in np.unique(label)]
    good = [g for g, h in zip(groups, lowest, strict=True) if len(g) >= MIN_CLUSTER and h < floor + 0.03]
    return sorted(good, key=len, reverse=True)[:4]


def search(
    model: SurfaceModel, depth: NDArray[np.generic], view: View, config: TrackerConfig, hint: Array | None = None
) -> Found:
    """Find the object standing on the table.

    Args:
      hint: a pose to try as well, e.g. the last one before tracking was lost, (4, 4).
    """
    grid = slice(0, depth.shape[0], 3), slice(0, depth.shape[1], 3)
    points = view.points(depth, *grid)
    plane, noise = fit_table(points, view, config)
    heights = plane.above(points)
    upright = _upright(plane)
    reach_xy = np.mean([config.region_min, config.region_max], axis=0) - view.camera_position()[:2]
    distance = float(np.hypot(np.linalg.norm(reach_xy), view.camera_position()[2]))
    floor = max(0.006, 3.5 * noise * (distance / REFERENCE_DEPTH) ** 2)
    groups = clusters(points, heights, model, config, floor)
    starts: list[tuple[Array, Array]] = []
    for group in groups:
        starts += [(group, pose) for pose in _start_poses(model, group, plane, upright, view, config)]
    above = points[heights > floor]
    if hint is not None:
        starts.append((above, hint))
    best: list[tuple[float, float, Fit]] = []
    for group, start in starts:
        candidate = _try(model, group, above, start, depth, view, config, noise)
        if candidate is None:
            continue
        score, fit = candidate
        lean = np.degrees(np.arccos(np.clip(fit.base_T_object[:3, 2] @ plane.normal, -1, 1)))
        if start is hint or lean < config.max_standing_tilt:
            yaw = abs(np.arctan2(fit.base_T_object[1, 0], fit.base_T_object[0, 0]))
            best.append((score, yaw, fit))
    if not best:
        what = f"{len(groups)} things stand in the region but none fits" if groups else "nothing stands in the region"
        return Found(fit=None, score=0.0, plane=plane, noise=noise, message=f"{what} {_region(config)}")
    top = max(score for score, _, _ in best)
    score, _, fit = min((entry for entry in best if entry[0] >= top - TIE), key=lambda entry: entry[1])
    if score < config.min_search_score:
        return Found(
            fit=None, score=score, plane=plane, noise=noise,
            message=f"the best fit explains too little (score {score:.2f}, {config.min_search_score} is needed): is it"
            f" {model.object_id} and does it stand as declared?",
        )
    return Found(fit=fit, score=score, plane=plane, noise=noise, message="found")


def _region(config: TrackerConfig) -> str:
    return f"x {config.region_min[0]}..{config.region_max[0]}, y {config.region_min[1]}..{config.region_max[1]} m"


def _upright(plane: Plane) -> Array:
    """Rotation that takes z onto the table's normal, (3, 3)."""
    return Rotation.align_vectors(plane.normal[None], [[0.0, 0.0, 1.0]])[0].as_matrix()


def _start_poses(
    model: SurfaceModel, group: Array, plane: Plane, upright: Array, view: View, config: TrackerConfig
) -> list[Array]:
    """Standing poses at a cluster: only its front is seen, so the middle lies behind the mean of the points."""
    centre = group.mean(axis=0)
    away = centre - view.camera_position()
    away -= plane.normal * (away @ plane.normal)
    away /= np.linalg.norm(away)
    middle = centre + 0.25 * float(np.min((model.upper - model.lower)[:2])) * away
    middle += plane.normal * (model.com_height - float(plane.above(middle)))
    about_z = any(abs(axis[2]) > 0.99 for axis in model.symmetry_axes)
    count = 1 if about_z else config.yaw_candidates
    yaws = np.arange(count) * 2 * np.pi / count
    return [from_matrix(middle, upright @ Rotation.from_euler("z", yaw).as_matrix()) for yaw in yaws]


def _try(
    model: SurfaceModel, group: Array, above: Array, start: Array, depth: NDArray[np.generic], view: View,
    config: TrackerConfig, noise: float,
) -> tuple[float, Fit] | None:
    """Register from a start; the score is the share of surface explained times the share of the cluster explained."""
    thin = group[:: max(1, len(group) // 400)]
    pose = start @ align(model, apply(inverse(start), thin), 0.030, 15)
    away = float(np.dot(pose[:3, 3] - view.camera_position(), view.base_T_camera[:3, 2]))
    sigma = noise * (away / REFERENCE_DEPTH) ** 2
    fit = register(model, pose, above, config, sigma, config.capture)
    if fit is None:
        return None
    gate = max(config.gate_sigmas * sigma, config.min_gate)
    shares = visibility(model, fit.base_T_object, depth, view, gate)
    _, off, _ = model.plane_distance(apply(inverse(fit.base_T_object), thin))
    return shares.explained * (1.0 - shares.contradiction) * float(np.mean(off < gate + 0.002)), fit
