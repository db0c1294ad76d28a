"""The stacked likelihood of several tips of one object, with the priors of what is not known exactly."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_triangular

from drex_identification.estimators.config import TipConfig
from drex_identification.estimators.observation import TipObservation
from drex_identification.estimators.tip_model import LOCAL, TipModel, TipPrediction
from drex_sim.twin import Twin

Array = NDArray[np.float64]

SHARED = ("log_mass/1", "com_x/m", "com_y/m", "com_z/m", "table_slope_x/1", "table_slope_y/1", "log_force_scale/1",
          "cross_talk/1", "twin_scale/1", "edge_radius/m")
"""Parameters common to all pushes; those of edges and pushes follow."""
PER_PUSH = ("log_push_scale", "face_offset", "contact_height", "tilt_offset", "x_offset", "z_offset")
_PUSH_UNITS = ("1", "m", "m", "rad", "m", "m")


class TipProblem:
    """Whitened residuals and Jacobian over the global parameters."""

    def __init__(self, observations: Sequence[TipObservation], twin: Twin, config: TipConfig) -> None:
        self.observations = list(observations)
        self.models = [TipModel(o, twin.com_height) for o in observations]
        self.twin, self._config = twin, config
        self.edges = list(dict.fromkeys(o.edge_key for o in observations))
        self._lay_out()
        self.selected: list[NDArray[np.bool_]] = []
        self.pose_selected: list[NDArray[np.bool_]] = []
        self._white: list[Array] = []
        self.noise_factor = np.ones(len(self.observations))
        self._maps = [self._map(i) for i in range(len(self.observations))]

    def _lay_out(self) -> None:
        twin, config = self.twin, self._config
        slope = np.radians(config.table_tilt_sigma)
        scale = np.hypot(config.force_scale_sigma, config.axis_scale_sigma)
        names = list(SHARED)
        mean = [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0, twin.edge_radius]
        sigma = [np.inf, *twin.com_sigma, slope, slope, scale, config.cross_talk_sigma, twin.scale_sigma,
                 twin.edge_radius_sigma]
        for key in self.edges:
            names.append(f"edge_offset_{key}/m")
            mean.append(0.0)
            sigma.append(twin.base_edge_sigma)
        push_sigma = (config.push_scale_sigma, config.face_sigma, config.contact_height_sigma,
                      np.radians(config.tilt_offset_sigma), config.position_offset_sigma, config.position_offset_sigma)
        for number in range(len(self.observations)):
            for name, unit, s in zip(PER_PUSH, _PUSH_UNITS, push_sigma, strict=True):
                names.append(f"{name}_{number + 1}/{unit}")
                mean.append(0.0)
                sigma.append(s)
        self.names = tuple(names)
        self.prior_mean = np.asarray(mean, float)
        # A prior of zero width stands for "known": a tiny width keeps the algebra regular.
        self.prior_sigma = np.maximum(np.asarray(sigma, float), 1e-9)

    def _map(self, number: int) -> Array:
        """Local parameters of a push as a linear map of the global ones, (L, P)."""
        o = self.observations[number]
        matrix = np.zeros((len(LOCAL), len(self.names)))

        def put(local: str, name: str, weight: float = 1.0) -> None:
            matrix[LOCAL.index(local), self.names.index(name)] = weight

        put("log_mass", "log_mass/1")
        put("com_along", "com_x/m", o.direction_object[0])
        put("com_along", "com_y/m", o.direction_object[1])
        put("com_up", "com_z/m")
        put("table_slope", "table_slope_x/1", o.direction[0])
        put("table_slope", "table_slope_y/1", o.direction[1])
        put("log_scale", "log_force_scale/1")
        put("cross_talk", "cross_talk/1")
        put("twin_scale", "twin_scale/1")
        put("edge_radius", "edge_radius/m")
        put("edge_offset", f"edge_offset_{o.edge_key}/m")
        for name, unit in zip(PER_PUSH, _PUSH_UNITS, strict=True):
            put(name, f"{name}_{number + 1}/{unit}")
        return matrix

    def local(self, number: int, theta: Array) -> Array:
        """Parameters of one push (L,)."""
        return self._maps[number] @ theta

    def predict(self, number: int, theta: Array, selection: NDArray[np.bool_] | slice) -> TipPrediction:
        """Model of one push at the selected samples."""
        o = self.observations[number]
        return self.models[number].moments(
            o.pad[selection], o.recess[selection], o.force[selection], self.local(number, theta)
        )

    def face_residuals(self, number: int, theta: Array) -> tuple[Array, Array]:
        """Tracked tilts alone (for the start values), whitened, while the finger may touch."""
        o = self.observations[number]
        use = o.pose_usable & (o.tilt > np.radians(self._config.min_tilt))
        prediction = self.models[number].poses(o.pose_pad[use], o.pose_recess[use], self.local(number, theta))
        residual = (prediction.values[:, 0] - o.tilt[use]) / o.tilt_noise
        jacobian = prediction.jacobian[:, 0] @ self._maps[number] / o.tilt_noise
        return self._with_prior(theta, [residual], [jacobian])

    def select(self, theta: Array) -> None:
        """Choose the samples of the tilted part and prepare their weights, at the present parameters."""
        self.selected, self.pose_selected, self._white = [], [], []
        threshold = np.radians(self._config.min_tilt)
        for number, o in enumerate(self.observations):
            prediction = self.predict(number, theta, slice(None))
            chosen = o.steady & (prediction.tilt > threshold)
            times = o.times[chosen]
            if len(times):
                inside = (o.pose_times >= times[0]) & (o.pose_times <= times[-1])
            else:
                inside = np.zeros(len(o.pose_times), bool)
            self.selected.append(chosen)
            self.pose_selected.append(o.pose_usable & inside)
            self._white.append(self._whitener(number, prediction, chosen))

    def _whitener(self, number: int, prediction: TipPrediction, chosen: NDArray[np.bool_]) -> Array:
        """Cholesky factor of the covariance of the force residuals, (n, n) [N]."""
        o = self.observations[number]
        lever = prediction.lever_along[chosen] / prediction.lever_up[chosen]
        walk = o.bias.covariance[np.ix_(chosen, chosen)]
        covariance = walk * (1.0 + np.outer(lever, lever))
        white = o.bias.white[0] ** 2 + (o.bias.white[1] * lever) ** 2
        return np.linalg.cholesky(covariance + np.diag(self.noise_factor[number] * white))

    def residuals(self, theta: Array) -> tuple[Array, Array]:
        """All whitened residuals and their Jacobian over the global parameters."""
        parts: list[Array] = []
        jacobians: list[Array] = []
        for number, o in enumerate(self.observations):
            local, matrix = self.local(number, theta), self._maps[number]
            chosen, poses = self.selected[number], self.pose_selected[number]
            forces = self.predict(number, theta, chosen)
            both = np.column_stack([forces.force_residual, forces.force_jacobian @ matrix])
            white = solve_triangular(self._white[number], both, lower=True, check_finite=False)
            parts.append(white[:, 0])
            jacobians.append(white[:, 1:])
            tracked = self.models[number].poses(o.pose_pad[poses], o.pose_recess[poses], local)
            noise = np.array([o.tilt_noise, o.position_noise, o.position_noise])
            observed = np.column_stack([o.tilt, o.displacement])[poses]
            parts.append(((tracked.values - observed) / noise).ravel())
            jacobians.append((tracked.jacobian / noise[:, None] @ matrix).reshape(-1, len(theta)))
        return self._with_prior(theta, parts, jacobians)

    def _with_prior(self, theta: Array, parts: list[Array], jacobians: list[Array]) -> tuple[Array, Array]:
        weight = np.where(np.isfinite(self.prior_sigma), 1.0 / self.prior_sigma, 0.0)
        return (np.concatenate([*parts, (theta - self.prior_mean) * weight]),
                np.concatenate([*jacobians, np.diag(weight)]))

    def misfit(self, number: int, theta: Array) -> tuple[float, float]:
        """Mean squared whitened force residual, and rms residual relative to the mean expected force."""
        prediction = self.predict(number, theta, self.selected[number])
        raw = prediction.force_residual
        white = solve_triangular(self._white[number], raw, lower=True, check_finite=False)
        level = float(np.abs(prediction.push_moment / prediction.lever_up).mean())
        return float((white**2).mean()), float(np.sqrt((raw**2).mean())) / max(level, 1e-12)
