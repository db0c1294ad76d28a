"""Tracking one object in depth pictures: search, frame-to-frame registration, states."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from drex_perception.camera import Intrinsics, check_depth
from drex_perception.tracking.cloud import Plane, View, box_corners
from drex_perception.tracking.config import TrackerConfig
from drex_perception.tracking.model import SurfaceModel
from drex_perception.tracking.registration import REFERENCE_DEPTH, Fit, register, visibility
from drex_perception.tracking.search import search
from drex_sim.errors import InvalidDataError
from drex_sim.robot.protocols import TrackingState
from drex_sim.transforms import apply, from_matrix, inverse
from drex_sim.twin import Twin

Array = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class Observation:
    """What the tracker says after a picture."""

    stamp: float
    """Exposure time [s]."""
    state: TrackingState
    base_T_object: Array | None
    """(4, 4); the last good pose when LOST, None before the object was ever found."""
    covariance: Array
    """(6, 6): translation then rotation, axes of base_link [m2, rad2]."""
    confidence: float
    """Share of the visible surface that the picture explains, 0..1."""
    residual: float
    """Root mean square point-to-surface distance [m]."""
    message: str
    """Why, when not TRACKING."""


class Tracker:
    """Follows one object; call `track` with each depth picture in the order of exposure."""

    def __init__(
        self, twin: Twin, intrinsics: Intrinsics, base_T_camera: Array, config: TrackerConfig | None = None
    ) -> None:
        """base_T_camera: pose of the optical frame (x right, y down, z forward) in base_link, (4, 4).

        Raises:
          InvalidDataError: base_T_camera is no rigid transform.
          TwinError: the twin's mesh cannot be used.
        """
        camera = np.asarray(base_T_camera, float)
        if camera.shape != (4, 4) or not np.isfinite(camera).all() or not np.allclose(
            camera[:3, :3] @ camera[:3, :3].T, np.eye(3), atol=1e-6
        ):
            raise InvalidDataError(
                "base_T_camera is no rigid transform: a finite (4, 4) matrix with a rotation is needed"
            )
        self.config = config or TrackerConfig()
        self.model = SurfaceModel(twin)
        self._view = View(intrinsics=intrinsics, base_T_camera=camera)
        self.reset()

    def reset(self) -> None:
        """Forget the pose: the next picture starts a search."""
        self._plane: Plane | None = None
        self._noise = 0.0015
        self._fit: Fit | None = None
        self._stamp = -np.inf
        self._misses = 0
        self._ever = False
        self._searched, self._search_message = -np.inf, ""
        self._velocity, self._turn = np.zeros(3), np.zeros(3)

    def track(self, depth: NDArray[np.generic], stamp: float) -> Observation:
        """Use one picture.

        Args:
          depth: (height, width), uint16 [mm] or float32 [m]; 0 or NaN where there is none.
          stamp: exposure time [s].

        Raises:
          InvalidDataError: size, type or unit cannot be right; the state is unchanged.
        """
        check_depth(depth, self._view.intrinsics.width, self._view.intrinsics.height)
        if not np.any(depth[::8, ::8] > 0):
            return self._lost(stamp, "the picture holds no depth at all; is the camera covered?")
        if self._fit is None or self._misses > self.config.patience:
            if 0.0 <= stamp - self._searched < self.config.search_period:
                return self._lost(stamp, self._search_message)
            return self._search(depth, stamp)
        return self._follow(depth, stamp)

    def _search(self, depth: NDArray[np.generic], stamp: float) -> Observation:
        hint = self._fit.base_T_object if self._fit is not None else None
        found = search(self.model, depth, self._view, self.config, hint)
        self._plane, self._noise = found.plane, found.noise
        self._searched, self._search_message = stamp, found.message
        if found.fit is None:
            if self._ever:
                return self._lost(stamp, found.message)
            return self._say(stamp, TrackingState.INITIALIZING, None, 0.0, found.message)
        pose = found.fit.base_T_object
        if self._fit is not None:
            pose = self._keep_turn(self._fit.base_T_object, pose)
        self._velocity, self._turn = np.zeros(3), np.zeros(3)
        self._accept(_with_pose(found.fit, pose), stamp)
        shares = visibility(self.model, pose, depth, self._view, self._gate(pose))
        return self._say(stamp, TrackingState.TRACKING, self._fit, shares.explained, "")

    def _follow(self, depth: NDArray[np.generic], stamp: float) -> Observation:
        assert self._fit is not None and self._plane is not None
        config, last = self.config, self._fit.base_T_object
        gap = float(np.clip(stamp - self._stamp, 0.0, 0.2))
        predicted = from_matrix(
            last[:3, 3] + gap * self._velocity, Rotation.from_rotvec(gap * self._turn).as_matrix() @ last[:3, :3]
        )
        window = self._view.window(
            apply(predicted, box_corners(self.model.lower, self.model.upper)), config.crop_margin, config.grid
        )
        if window is None:
            return self._miss(stamp, f"{self.model.object_id} left the picture")
        points = self._view.points(depth, *window)
        sigma = self._sigma(predicted)
        points = points[self._plane.above(points) > max(0.003, 3.0 * sigma)]
        fit = register(self.model, predicted, points, config, sigma, config.capture)
        if fit is None:
            return self._miss(stamp, f"fewer than {config.min_points} points fit {self.model.object_id}")
        shares = visibility(self.model, fit.base_T_object, depth, self._view, self._gate(fit.base_T_object))
        if shares.contradiction > config.max_seen_through:
            return self._miss(stamp, f"{shares.contradiction:.0%} of the surface is seen through")
        if shares.explained < config.min_confidence:
            return self._miss(
                stamp, f"only {shares.explained:.0%} of the surface is explained ({shares.occluded:.0%} is hidden)"
            )
        if fit.residual > max(config.max_residual_sigmas * sigma, config.min_gate):
            return self._miss(stamp, f"residual {1e3 * fit.residual:.1f} mm is above the noise")
        fit = _with_pose(fit, self._keep_turn(last, fit.base_T_object))
        self._learn_velocity(last, fit.base_T_object, stamp - self._stamp)
        self._accept(fit, stamp)
        return self._say(stamp, TrackingState.TRACKING, fit, shares.explained, "")

    def _accept(self, fit: Fit, stamp: float) -> None:
        self._fit, self._stamp, self._misses, self._ever = fit, stamp, 0, True

    def _learn_velocity(self, last: Array, pose: Array, gap: float) -> None:
        if gap <= 1e-4:
            return
        velocity = (pose[:3, 3] - last[:3, 3]) / gap
        turn = Rotation.from_matrix(pose[:3, :3] @ last[:3, :3].T).as_rotvec() / gap
        self._velocity = _bounded(0.5 * self._velocity + 0.5 * velocity, self.config.max_speed)
        self._turn = _bounded(0.5 * self._turn + 0.5 * turn, self.config.max_turn)

    def _keep_turn(self, last: Array, pose: Array) -> Array:
        """Freeze the turn about a symmetry axis: the least rotation from the last pose that gives the same axis."""
        if len(self.model.symmetry_axes) == 0:
            return pose
        axis = self.model.symmetry_axes[0]
        before, after = last[:3, :3] @ axis, pose[:3, :3] @ axis
        swing = np.cross(before, after)
        sine, cosine = np.linalg.norm(swing), float(before @ after)
        vector = swing / sine * np.arctan2(sine, cosine) if sine > 1e-12 else np.zeros(3)
        return from_matrix(pose[:3, 3], Rotation.from_rotvec(vector).as_matrix() @ last[:3, :3])

    def _sigma(self, base_T_object: Array) -> float:
        """Depth noise at a pose [m]."""
        away = apply(inverse(self._view.base_T_camera), base_T_object[:3, 3])[2]
        return self._noise * float(away / REFERENCE_DEPTH) ** 2

    def _gate(self, base_T_object: Array) -> float:
        return max(self.config.gate_sigmas * self._sigma(base_T_object), self.config.min_gate)

    def _miss(self, stamp: float, why: str) -> Observation:
        self._misses += 1
        self._velocity, self._turn = 0.5 * self._velocity, 0.5 * self._turn
        return self._lost(stamp, why)

    def _lost(self, stamp: float, why: str) -> Observation:
        state = TrackingState.LOST if self._ever else TrackingState.INITIALIZING
        return self._say(stamp, state, self._fit, 0.0, why)

    def _say(self, stamp: float, state: TrackingState, fit: Fit | None, confidence: float, message: str) -> Observation:
        return Observation(
            stamp=stamp, state=state, base_T_object=None if fit is None else fit.base_T_object.copy(),
            covariance=np.eye(6) if fit is None else fit.covariance, confidence=float(confidence),
            residual=0.0 if fit is None else fit.residual, message=message,
        )


def _with_pose(fit: Fit, pose: Array) -> Fit:
    return Fit(base_T_object=pose, inliers=fit.inliers, residual=fit.residual, covariance=fit.covariance)


def _bounded(vector: Array, limit: float) -> Array:
    length = float(np.linalg.norm(vector))
    return vector if length <= limit else vector * (limit / length)
