"""Model-based tracking of one object in depth pictures (CPU back end)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

from drex_perception.camera.depth import Intrinsics, points_in_base, project
from drex_perception.tracking.model import Registration, TrackedModel
from drex_sim.robot.protocols import TrackingState
from drex_sim.transforms import from_matrix, rotation_angle
from drex_sim.twin import Twin

Array = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class TrackerConfig:
    """Settings of the tracker."""

    search_lower: tuple[float, float] = (0.25, -0.30)
    """Lower corner of the table region searched for the object, base_link x and y [m]."""
    search_upper: tuple[float, float] = (0.75, 0.30)
    """Upper corner of that region [m]."""
    table_clearance: float = 0.006
    """Points lower than this above z = 0 belong to the table [m]."""
    max_points: int = 1500
    """Observed points given to the registration."""
    reach: float = 0.010
    """Points farther than this from the predicted model are not the object [m]."""
    fine_reach: float = 0.005
    """The same in the last step, which keeps a touching finger out [m]."""
    min_confidence: float = 0.35
    """Below this share of explained visible points the pose is not trusted."""
    max_residual: float = 0.004
    """Above this the pose is not trusted [m]."""
    max_step: float = 0.03
    """Largest motion between two pictures [m]."""
    max_turn: float = 0.35
    """Largest rotation between two pictures [rad]."""
    patience: int = 6
    """Bad pictures in a row after which the object is lost."""
    position_floor: float = 0.0004
    """Smallest standard deviation claimed for the position [m]."""
    rotation_floor: float = 0.003
    """Smallest standard deviation claimed for the rotation [rad]."""


@dataclass(frozen=True, kw_only=True)
class TrackingResult:
    """What one picture tells."""

    state: TrackingState
    base_T_object: Array
    """(4, 4); the last good pose unless TRACKING."""
    covariance: Array
    """(6, 6) translation then rotation [m2, rad2]."""
    confidence: float
    residual: float
    """[m]"""
    reason: str = ""
    """Why it is not TRACKING."""


class ObjectTracker:
    """Finds the object standing on the table and follows it. Feed pictures in order of time."""

    def __init__(self, twin: Twin, intrinsics: Intrinsics, base_T_camera: Array, config: TrackerConfig | None = None):
        self._model = TrackedModel(twin)
        self._twin = twin
        self._intrinsics = intrinsics
        self._base_T_camera = np.asarray(base_T_camera, float)
        self._config = config or TrackerConfig()
        self._pose: Array | None = None
        self._bad = 0
        self._last: Array | None = None
        self._reason = "not seen yet"

    def reset(self) -> None:
        """Forget the pose; the next picture starts a search."""
        self._pose, self._last, self._bad = None, None, 0

    def update(self, depth: NDArray[np.float32]) -> TrackingResult:
        """Use the next depth picture (height, width) [m]."""
        found = None if self._pose is None else self._follow(depth, self._pose)
        if self._pose is not None and found is None:
            self._bad += 1
            if self._bad > self._config.patience:
                self._pose = None
        if self._pose is None:
            found = self._search(depth)
        if found is None:
            return self._nothing(TrackingState.INITIALIZING if self._last is None else TrackingState.LOST)
        registration, confidence = found
        self._bad, self._pose = 0, registration.base_T_object
        self._last = self._pose
        return TrackingResult(
            state=TrackingState.TRACKING, base_T_object=registration.base_T_object,
            covariance=self._claimed(registration), confidence=confidence, residual=registration.residual,
        )

    def _nothing(self, state: TrackingState) -> TrackingResult:
        return TrackingResult(
            state=state, base_T_object=np.eye(4) if self._last is None else self._last, covariance=np.eye(6), confidence=0.0,
            residual=0.0, reason=self._reason,
        )

    def _claimed(self, registration: Registration) -> Array:
        c = self._config
        floor = np.diag([c.position_floor**2] * 3 + [c.rotation_floor**2] * 3)
        covariance = registration.covariance + floor
        for axis in self._twin.symmetry_axes:  # turning about it cannot be seen
            direction = np.concatenate([np.zeros(3), registration.base_T_object[:3, :3] @ np.asarray(axis)])
            covariance = covariance + np.outer(direction, direction)
        return covariance

    # Following ----------------------------------------------------------------------------------------------
    def _follow(self, depth: NDArray[np.float32], pose: Array) -> tuple[Registration, float] | None:
        points = self._points_near(depth, pose)
        c = self._config
        local = (points - pose[:3, 3]) @ pose[:3, :3]
        points = points[self._model.surface_distance(local) < c.reach + 0.004]
        points = _thin(points, c.max_points)
        coarse = self._model.register(points, pose, c.reach)
        fine = None if coarse is None else self._model.register(points, coarse.base_T_object, c.fine_reach, 8)
        if fine is None:
            self._reason = "too few points of the object in the picture"
            return None
        fine = self._without_spin(fine, pose)
        moved = float(np.linalg.norm(fine.base_T_object[:3, 3] - pose[:3, 3]))
        turned = rotation_angle(pose[:3, :3].T @ fine.base_T_object[:3, :3])
        if moved > c.max_step or turned > c.max_turn:
            self._reason = f"the pose jumped by {1e3 * moved:.0f} mm, {np.degrees(turned):.0f} deg"
            return None
        return self._judged(depth, fine)

    def _without_spin(self, found: Registration, previous: Array) -> Registration:
        """Keep the rotation about a symmetry axis as it was: noise makes it wander."""
        if not self._twin.symmetry_axes:
            return found
        axis = np.asarray(self._twin.symmetry_axes[0])
        before, after = previous[:3, :3], found.base_T_object[:3, :3]
        a, b = before @ axis, after @ axis
        v, cosine = np.cross(a, b), float(a @ b)
        k = np.array([[0, -v[2], v[1]], [v[2], 0, -v[0]], [-v[1], v[0], 0]])
        least = np.eye(3) + k + k @ k / max(1.0 + cosine, 1e-9)
        return Registration(
            from_matrix(found.base_T_object[:3, 3], least @ before), found.inliers, found.residual, found.covariance
        )

    def _judged(self, depth: NDArray[np.float32], found: Registration) -> tuple[Registration, float] | None:
        confidence = self._confidence(depth, found.base_T_object)
        c = self._config
        if found.residual > c.max_residual:
            self._reason = f"residual {1e3 * found.residual:.1f} mm (allowed {1e3 * c.max_residual:.1f} mm)"
            return None
        if confidence < c.min_confidence:
            self._reason = f"confidence {confidence:.2f} (allowed {c.min_confidence:.2f}): occluded or gone"
            return None
        return found, confidence

    def _confidence(self, depth: NDArray[np.float32], pose: Array) -> float:
        """Share of the visible model points where the picture shows the model's surface, or something nearer.

        Something nearer (a hand) neither speaks for nor against the pose and is not counted, unless it hides all.
        """
        camera = self._base_T_camera
        visible = self._model.visible(pose, camera[:3, 3])
        points = self._model.points[visible] @ pose[:3, :3].T + pose[:3, 3]
        pixels = project(points, self._intrinsics, camera)
        column, row = np.rint(pixels[:, 0]).astype(int), np.rint(pixels[:, 1]).astype(int)
        inside = (column >= 0) & (column < self._intrinsics.width) & (row >= 0) & (row < self._intrinsics.height)
        if inside.sum() < 20:
            return 0.0
        seen = depth[row[inside], column[inside]]
        gap = seen - pixels[inside, 2]
        fits = (seen > 0) & (np.abs(gap) < 0.010)
        hidden = (seen > 0) & (gap <= -0.010)
        if hidden.mean() > 0.75:
            return 0.0
        return float(fits.sum() / max(1, (~hidden).sum()))

    def _points_near(self, depth: NDArray[np.float32], pose: Array) -> Array:
        """Points in the window of the picture that the object can cover, without the table."""
        centre = project(pose[None, :3, 3], self._intrinsics, self._base_T_camera)[0]
        reach = (self._model.radius + 0.02) * self._intrinsics.fx / max(centre[2] - self._model.radius, 0.1)
        r0, r1 = int(max(0, centre[1] - reach)), int(min(self._intrinsics.height, centre[1] + reach))
        c0, c1 = int(max(0, centre[0] - reach)), int(min(self._intrinsics.width, centre[0] + reach))
        if r1 - r0 < 4 or c1 - c0 < 4:
            return np.zeros((0, 3))
        stride = max(1, int(np.sqrt((r1 - r0) * (c1 - c0) / 25000)))
        points = points_in_base(depth, self._intrinsics, self._base_T_camera, stride, (r0, r1, c0, c1))
        return points[points[:, 2] > self._config.table_clearance]

    # Finding ------------------------------------------------------------------------------------------------
    def _search(self, depth: NDArray[np.float32]) -> tuple[Registration, float] | None:
        """Cluster of points on the table whose shape fits the standing twin best."""
        c = self._config
        points = points_in_base(depth, self._intrinsics, self._base_T_camera, stride=2)
        lower, upper = np.asarray(c.search_lower), np.asarray(c.search_upper)
        inside = ((points[:, :2] > lower) & (points[:, :2] < upper)).all(axis=1)
        inside &= (points[:, 2] > c.table_clearance) & (points[:, 2] < self._twin.height + 0.05)
        points = points[inside]
        best: tuple[float, Registration] | None = None
        for cluster in _clusters(points, lower, upper):
            for guess in self._guesses(cluster):
                found = self._fit(cluster, guess)
                if found is not None and (best is None or found[0] < best[0]):
                    best = found
        if best is None:
            self._reason = "nothing on the table has the object's height"
            return None
        return self._judged(depth, best[1])

    def _guesses(self, cluster: Array) -> list[Array]:
        """Upright poses over all yaws, the model's front pushed behind the points the camera sees."""
        if abs(cluster[:, 2].max() - self._twin.height) > 0.15 * self._twin.height + 0.012:
            return []
        middle = (cluster[:, :2].min(axis=0) + cluster[:, :2].max(axis=0)) / 2
        away = middle - self._base_T_camera[:2, 3]
        away /= np.linalg.norm(away)
        yaws = [0.0] if self._twin.symmetry_axes else np.arange(0.0, 2 * np.pi, np.radians(22.5))
        poses = []
        for yaw in yaws:
            cosine, sine = np.cos(yaw), np.sin(yaw)
            rotation = np.array([[cosine, -sine, 0], [sine, cosine, 0], [0, 0, 1.0]])
            depth_along = (self._twin.vertices @ rotation.T)[:, :2] @ away
            front = np.quantile(cluster[:, :2] @ away, 0.02)
            centre = middle + away * (front - depth_along.min() - middle @ away)
            poses.append(from_matrix([*centre, self._twin.com_height], rotation))
        return poses

    def _fit(self, cluster: Array, guess: Array) -> tuple[float, Registration] | None:
        points = _thin(cluster, 600)
        c = self._config
        found = self._model.register(points, guess, 0.03, 25)
        if found is None or found.base_T_object[2, 2] < 0.97:
            return None
        found = self._model.register(points, found.base_T_object, c.reach, 15)
        if found is None or found.base_T_object[2, 2] < 0.98:
            return None
        local = (points - found.base_T_object[:3, 3]) @ found.base_T_object[:3, :3]
        distance = np.minimum(self._model.surface_distance(local), 0.02)
        lift = abs(found.base_T_object[2, 3] - self._twin.com_height)
        return float(np.sqrt(np.mean(distance**2)) + lift), found


def _thin(points: Array, count: int) -> Array:
    return points if len(points) <= count else points[:: int(np.ceil(len(points) / count))]


def _clusters(points: Array, lower: Array, upper: Array, cell: float = 0.008) -> list[Array]:
    """Points grouped by connected cells of the table, largest group first."""
    if len(points) < 60:
        return []
    index = ((points[:, :2] - lower) / cell).astype(int)
    grid = np.zeros((np.ceil((upper - lower) / cell).astype(int) + 1), bool)
    grid[index[:, 0], index[:, 1]] = True
    labels, count = ndimage.label(grid, structure=np.ones((3, 3)))
    of_point = labels[index[:, 0], index[:, 1]]
    groups = [points[of_point == k] for k in range(1, count + 1)]
    return sorted((g for g in groups if len(g) >= 60), key=len, reverse=True)[:4]
