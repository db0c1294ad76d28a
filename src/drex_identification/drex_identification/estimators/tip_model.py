"""Closed-form model of a slow tip over a rounded support edge, with exact derivatives.

Plane coordinates of `TipObservation`. The edge is a cylinder of radius r that rolls on the table; its axis sits at
D = k X + e - r from the object's origin (X: support edge of the twin, k: scale of the twin, e: offset of the edge).
With the axis as body reference the pad centre p, at tilt phi, satisfies

  G = N(phi).(p - C(phi)) - n.A - R = 0,   C = (xf + D + r phi, r),   A = (k a - D, k (h + a_z) - r)

(the pad touches the face): the measured fingertip prescribes phi. Moments about the contact line with the table:

  M_push = Fx P_z - Fz (P_x - C_x),  P = p - R N
  M_weight = m g [d cos phi - Z sin phi - tau (r + d sin phi + Z cos phi)],  d = D - c_u,  Z = k h + c_z - r

with tau the slope of the table along the push. The residual is that of the horizontal force,

  f_x - (M_weight / S + f_z (P_x - C_x)) / P_z

with f_x freed of the part c f_z that leaks into it (the friction of the pad reverses between leaning and lowering,
which tells c), and the force scale S on the model's side: on the side of the data, a smaller scale would shrink data
and residual together and pull the mass down.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from drex_identification.estimators.observation import TipObservation

Array = NDArray[np.float64]

LOCAL = (
    "log_mass", "com_along", "com_up", "table_slope", "log_scale", "log_push_scale", "twin_scale", "edge_offset",
    "edge_radius", "cross_talk", "face_offset", "contact_height", "tilt_offset", "x_offset", "z_offset",
)
"""Parameters of one push, in this order."""
(_M, _CU, _CZ, _TAU, _S, _SP, _K, _E, _R, _X, _XF, _DZ, _PHI0, _X0, _Z0) = range(len(LOCAL))


@dataclass(frozen=True)
class TipPrediction:
    """Values of the model and their derivatives by the local parameters."""

    tilt: Array
    """(N,) [rad]."""
    tilt_jacobian: Array
    """(N, L)."""
    push_moment: Array
    """Moment of the measured force times the force scale, (N,) [N m]."""
    weight_moment: Array
    """(N,) [N m]."""
    force_residual: Array
    """Measured horizontal force minus the expected one, (N,) [N]."""
    force_jacobian: Array
    """Of the force residual, (N, L)."""
    lever_up: Array
    """Height of the contact point above the table, (N,) [m]."""
    lever_along: Array
    """Contact point ahead of the contact line (negative), (N,) [m]."""


@dataclass(frozen=True)
class PosePrediction:
    """Tracked quantities relative to rest and their derivatives."""

    values: Array
    """Tilt [rad], x and z of the origin [m], (P, 3)."""
    jacobian: Array
    """(P, 3, L)."""


class TipModel:
    """The closed forms for one push."""

    def __init__(self, observation: TipObservation, com_height: float) -> None:
        """Args: observation; com_height: height of the twin's origin above the table [m]."""
        self._o = observation
        self._h = com_height

    def _solve_tilt(self, p: Array, recess: Array, theta: Array) -> tuple[Array, Array]:
        """Tilt (N,) and its derivatives (N, L) for pad centres (N, 2) and recesses of the face (N,) [m]."""
        o, h = self._o, self._h
        k, e, r, xf, dz = (theta[i] for i in (_K, _E, _R, _XF, _DZ))
        nu, nz = o.face_normal
        a, az = o.face_point
        D = k * o.edge + e - r
        px, pz = p[:, 0], p[:, 1] + dz
        constant = nu * (k * a - D) + nz * (k * (h + az) - r) + o.pad_radius - recess
        phi = np.zeros(len(p))
        for _ in range(30):
            c, s = np.cos(phi), np.sin(phi)
            nx, n_z = nu * c + nz * s, -nu * s + nz * c
            qx, qz = px - xf - D - r * phi, pz - r
            slope = n_z * qx - nx * qz - nx * r  # dN/dphi = (N_z, -N_x)
            step = (nx * qx + n_z * qz - constant) / slope
            phi = np.clip(phi - np.clip(step, -0.3, 0.3), -1.0, 1.2)
            if np.abs(step).max(initial=0.0) < 1e-13:
                break
        partial = np.zeros((len(p), len(LOCAL)))
        partial[:, _XF] = -nx
        partial[:, _E] = nu - nx
        partial[:, _K] = -nx * o.edge - nu * (a - o.edge) - nz * (h + az)
        partial[:, _R] = nx * (1.0 - phi) - n_z - nu + nz
        partial[:, _DZ] = n_z
        return phi, -partial / slope[:, None]

    def moments(self, pad: Array, recess: Array, force: Array, theta: Array) -> TipPrediction:
        """Moments for pad centres (N, 2), recesses of the face (N,) and measured forces on the object (N, 2)."""
        o, h = self._o, self._h
        phi, phi_j = self._solve_tilt(pad, recess, theta)
        c, s = np.cos(phi), np.sin(phi)
        nu, nz = o.face_normal
        nx, n_z = nu * c + nz * s, -nu * s + nz * c
        k, e, r, xf, tau = (theta[i] for i in (_K, _E, _R, _XF, _TAU))
        R = o.pad_radius
        D = k * o.edge + e - r
        fz = force[:, 1]
        fx = force[:, 0] - theta[_X] * fz
        up = pad[:, 1] + theta[_DZ] - R * n_z
        ahead = pad[:, 0] - R * nx - (xf + D + r * phi)
        push = fx * up - fz * ahead
        jacobian = (fx * R * nx + fz * (R * n_z + r))[:, None] * phi_j
        jacobian[:, _X] -= fz * up
        jacobian[:, _DZ] += fx
        jacobian[:, _XF] += fz
        jacobian[:, _E] += fz
        jacobian[:, _K] += fz * o.edge
        jacobian[:, _R] += fz * (phi - 1.0)
        up_j = (R * nx)[:, None] * phi_j
        up_j[:, _DZ] += 1.0

        mg = np.exp(theta[_M]) * o.gravity
        d, Z = D - theta[_CU], k * h + theta[_CZ] - r
        height = r + d * s + Z * c
        weight = mg * (d * c - Z * s - tau * height)
        by_d, by_z = mg * (c - tau * s), mg * (-s - tau * c)
        weight_j = (mg * (-d * s - Z * c - tau * (d * c - Z * s)))[:, None] * phi_j
        weight_j[:, _M] += weight
        weight_j[:, _CU] -= by_d
        weight_j[:, _CZ] += by_z
        weight_j[:, _TAU] -= mg * height
        weight_j[:, _E] += by_d
        weight_j[:, _K] += by_d * o.edge + by_z * h
        weight_j[:, _R] -= by_d + by_z + mg * tau
        scale = np.exp(theta[_S] + theta[_SP])
        weight_j[:, _S] -= weight
        weight_j[:, _SP] -= weight
        residual = (push - weight / scale) / up
        residual_j = (jacobian - weight_j / scale - residual[:, None] * up_j) / up[:, None]
        return TipPrediction(phi, phi_j, push * scale, weight, residual, residual_j, up, ahead)

    def poses(self, pad: Array, recess: Array, theta: Array) -> PosePrediction:
        """Tracked tilt and displacement relative to rest for pad centres (P, 2) and recesses of the face (P,)."""
        h = self._h
        phi, phi_j = self._solve_tilt(pad, recess, theta)
        c, s = np.cos(phi), np.sin(phi)
        k, r = theta[_K], theta[_R]
        D = k * self._o.edge + theta[_E] - r
        Z = k * h - r
        values = np.stack([
            phi + theta[_PHI0],
            D * (1.0 - c) + r * phi + Z * s + theta[_X0],
            D * s + Z * (c - 1.0) + theta[_Z0],
        ], axis=1)
        jacobian = np.empty((len(phi), 3, len(LOCAL)))
        jacobian[:, 0] = phi_j
        jacobian[:, 1] = (D * s + r + Z * c)[:, None] * phi_j
        jacobian[:, 2] = (D * c - Z * s)[:, None] * phi_j
        jacobian[:, 0, _PHI0] += 1.0
        jacobian[:, 1, _X0] += 1.0
        jacobian[:, 2, _Z0] += 1.0
        by_d = np.stack([1.0 - c, s], axis=1)
        by_z = np.stack([s, c - 1.0], axis=1)
        jacobian[:, 1:, _E] += by_d
        jacobian[:, 1:, _K] += by_d * self._o.edge + by_z * h
        jacobian[:, 1:, _R] -= by_d + by_z
        jacobian[:, 1, _R] += phi
        return PosePrediction(values, jacobian)
