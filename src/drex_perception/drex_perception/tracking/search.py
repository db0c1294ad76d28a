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
LOWER_PART = 0.6
"""Share of the object's height below which a cluster's points start the search."""
REFINED = 5
"""How many settled starts are registered freely."""
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
    reach_xy = np.mean([config.region_min, config.region_max], axis=0) - view.camera_position()[:2]
    distance = float(np.hypot(np.linalg.norm(reach_xy), view.camera_position()[2]))
    floor = max(0.006, 3.5 * noise * (distance / REFERENCE_DEPTH) ** 2)
    groups = clusters(points, heights, model, config, floor)
    above = points[heights > floor]
    scene = _Scene(model=model, depth=depth, view=view, config=config, noise=noise, plane=plane, above=above)
    coarse: list[tuple[float, Array, Array]] = []
    for group in groups:
        # A hand comes from above and may touch the object: the lower part of a cluster is the object's own.
        low = group[plane.above(group) < LOWER_PART * model.height]
        low = low if len(low) >= MIN_CLUSTER else group
        thin = low[:: max(1, len(low) // 300)]
        for start in _start_poses(scene, low):
            coarse.append((*_settle(scene, thin, start), thin))
    coarse.sort(key=lambda entry: entry[0], reverse=True)
    if hint is not None:
        coarse.insert(0, (1.0, hint, np.zeros((0, 3))))
    best = [entry for share, pose, thin in coarse[:REFINED] if (entry := _refine(scene, pose, thin)) is not None]
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


@dataclass(frozen=True, kw_only=True)
class _Scene:
    """One picture under search."""

    model: SurfaceModel
    depth: NDArray[np.generic]
    view: View
    config: TrackerConfig
    noise: float
    plane: Plane
    above: Array
    """Points above the table, base_link, (N, 3) [m]."""


def _standing(scene: _Scene, pose: Array) -> Array:
    """The standing pose nearest to a pose: place and yaw kept, lean and height from the table plane."""
    upright = _upright(scene.plane)
    level = upright.T @ pose[:3, :3]
    yaw = np.arctan2(level[1, 0] - level[0, 1], level[0, 0] + level[1, 1])
    place = pose[:3, 3] + scene.plane.normal * (scene.model.com_height - float(scene.plane.above(pose[:3, 3])))
    return from_matrix(place, upright @ Rotation.from_euler("z", yaw).as_matrix())


def _start_poses(scene: _Scene, group: Array) -> list[Array]:
    """Standing poses at a cluster: only its front is seen, so the middle lies behind the mean of the points."""
    model, normal = scene.model, scene.plane.normal
    centre = group.mean(axis=0)
    away = centre - scene.view.camera_position()
    away -= normal * (away @ normal)
    away /= np.linalg.norm(away)
    middle = centre + 0.25 * float(np.min((model.upper - model.lower)[:2])) * away
    about_z = any(abs(axis[2]) > 0.99 for axis in model.symmetry_axes)
    count = 1 if about_z else scene.config.yaw_candidates
    turns = Rotation.from_euler("z", np.arange(count)[:, None] * 2 * np.pi / count).as_matrix()
    return [_standing(scene, from_matrix(middle, turn)) for turn in turns]


def _settle(scene: _Scene, thin: Array, start: Array) -> tuple[float, Array]:
    """Slide a standing start onto the points; share of the points explained, and the pose."""
    pose = start
    for reach in (0.030, 0.020, 0.012):
        step = align(scene.model, apply(inverse(pose), thin), reach, 6)
        pose = _standing(scene, pose @ step)
    _, off, _ = scene.model.plane_distance(apply(inverse(pose), thin))
    return float(np.mean(off < 0.006)), pose


def _refine(scene: _Scene, pose: Array, thin: Array) -> tuple[float, float, Fit] | None:
    """Free registration of a standing pose; score, angle of the yaw and fit.

    The score is the share of the surface explained times the share of the cluster's lower part explained.
    """
    away = float(np.dot(pose[:3, 3] - scene.view.camera_position(), scene.view.base_T_camera[:3, 2]))
    sigma = scene.noise * (away / REFERENCE_DEPTH) ** 2
    fit = None
    for _ in range(2):
        fit = register(scene.model, pose, scene.above, scene.config, sigma, scene.config.capture)
        if fit is None:
            return None
        pose = fit.base_T_object
    assert fit is not None
    lean = np.degrees(np.arccos(np.clip(pose[:3, 2] @ scene.plane.normal, -1, 1)))
    if len(thin) and lean > scene.config.max_standing_tilt:
        return None
    gate = max(scene.config.gate_sigmas * sigma, scene.config.min_gate)
    shares = visibility(scene.model, pose, scene.depth, scene.view, gate)
    score = shares.explained * (1.0 - shares.contradiction)
    if len(thin):
        _, off, _ = scene.model.plane_distance(apply(inverse(pose), thin))
        score *= float(np.mean(off < gate + 0.002))
    return score, abs(float(np.arctan2(pose[1, 0], pose[0, 0]))), fit
