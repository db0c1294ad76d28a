"""Least squares with Gaussian priors: Levenberg-Marquardt and the profile over one parameter."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Residuals = Callable[[Array], tuple[Array, Array]]
"""theta (P,) -> whitened residuals (N,) and their Jacobian (N, P)."""


@dataclass(frozen=True)
class Fit:
    """A minimum of 0.5 |r|^2."""

    theta: Array
    cost: float
    """0.5 |r|^2 at the minimum."""
    information: Array
    """J^T J there, (P, P)."""


def levenberg_marquardt(
    residuals: Residuals, start: Array, fixed: NDArray[np.bool_] | None = None, iterations: int = 60,
    tolerance: float = 1e-8,
) -> Fit:
    """Minimise 0.5 |r(theta)|^2 from a start.

    Args:
      residuals: whitened residuals and exact Jacobian.
      start: (P,).
      fixed: parameters held at their start (P,).
      iterations: upper limit.
      tolerance: ends when a step lowers the cost by less than this share of 1 + cost.
    """
    theta = np.array(start, float)
    free = np.ones(len(theta), bool) if fixed is None else ~fixed
    r, jacobian = residuals(theta)
    cost, damping = 0.5 * float(r @ r), 1e-4
    for _ in range(iterations):
        j = jacobian[:, free]
        information, gradient = j.T @ j, j.T @ r
        step = np.linalg.solve(information + damping * np.diag(np.diag(information) + 1e-12), -gradient)
        trial = theta.copy()
        trial[free] += step
        r_new, j_new = residuals(trial)
        cost_new = 0.5 * float(r_new @ r_new)
        if np.isfinite(cost_new) and cost_new <= cost:
            gain = cost - cost_new
            theta, r, jacobian, cost = trial, r_new, j_new, cost_new
            damping = max(damping * 0.2, 1e-10)
            if gain < tolerance * (1.0 + cost):
                break
        else:
            damping *= 8.0
            if damping > 1e10:
                break
    return Fit(theta, cost, jacobian.T @ jacobian)


def profile(residuals: Residuals, best: Fit, index: int, grid: Array) -> Array:
    """Smallest cost for each value of one parameter, relative to the best fit, shape of the grid.

    Walks outwards from the best value, each fit starting from its neighbour.
    """
    costs = np.empty(len(grid))
    fixed = np.zeros(len(best.theta), bool)
    fixed[index] = True
    centre = int(np.searchsorted(grid, best.theta[index]))
    for order in (range(centre, len(grid)), range(centre - 1, -1, -1)):
        theta = best.theta
        for i in order:
            start = theta.copy()
            start[index] = grid[i]
            fit = levenberg_marquardt(residuals, start, fixed, iterations=12, tolerance=1e-4)
            costs[i], theta = fit.cost - best.cost, fit.theta
    return np.maximum(costs, 0.0)


def interval(grid: Array, costs: Array, threshold: float) -> tuple[float, float, bool]:
    """Where the profile stays below a threshold: low, high, and whether it touches the end of the grid."""
    below = np.flatnonzero(costs <= threshold)
    if len(below) == 0:
        nearest = float(grid[int(np.argmin(costs))])
        return nearest, nearest, False
    first, last = int(below[0]), int(below[-1])
    touches = first == 0 or last == len(grid) - 1

    def crossing(inside: int, outside: int) -> float:
        share = (threshold - costs[inside]) / (costs[outside] - costs[inside])
        return float(grid[inside] + share * (grid[outside] - grid[inside]))

    low = float(grid[0]) if first == 0 else crossing(first, first - 1)
    high = float(grid[-1]) if last == len(grid) - 1 else crossing(last, last + 1)
    return low, high, touches
