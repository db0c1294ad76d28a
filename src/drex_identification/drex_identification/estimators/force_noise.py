"""Noise of the wrist force: white, plus a bias that walks. The baselines before and after the contact pin the bias."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

BIAS_PRIOR = 20.0
"""Standard deviation of the bias at the first sample: practically unknown [N]."""


@dataclass(frozen=True)
class BiasEstimate:
    """What is known of the force bias at every sample, per axis."""

    mean: Array
    """(N, 3) [N]."""
    covariance: Array
    """(N, N), the same for each axis up to the white part [N2]."""
    white: Array
    """Standard deviation of the noise of one sample, per axis, (3,) [N]."""


def estimate_bias(times: Array, force: Array, free: NDArray[np.bool_], drift: float, floor: float) -> BiasEstimate:
    """Bias of the force at all samples, from the samples where nothing touches the hand.

    The bias is a random walk (Gaussian process with covariance drift^2 min(t, t')), observed in white noise at the
    free samples. The white noise is measured there; noise that stays correlated over four samples (vibration) makes
    it larger.

    Args:
      times: sample times (N,) [s].
      force: (N, 3) [N].
      free: samples without contact (N,).
      drift: random walk [N/sqrt(s)].
      floor: smallest white noise [N].
    """
    white = np.maximum(_white_noise(force[free], np.flatnonzero(free)), floor)
    elapsed = times - times[0]
    walk = drift**2 * np.minimum.outer(elapsed, elapsed) + BIAS_PRIOR**2
    observed = walk[np.ix_(free, free)]
    across = walk[:, free]
    mean = np.empty_like(force)
    # One covariance serves all axes: the mean of their white noises; the difference only shifts weights a little.
    gain = np.linalg.solve(observed + np.mean(white**2) * np.eye(int(free.sum())), across.T).T
    for axis in range(3):
        mean[:, axis] = gain @ force[free, axis]
    return BiasEstimate(mean, walk - gain @ across.T, white)


def _white_noise(force: Array, index: NDArray[np.int64]) -> Array:
    """Standard deviation per axis from differences of neighbours, enlarged when blocks of four agree worse, (3,)."""
    neighbours = np.diff(index) == 1
    differences = np.diff(force, axis=0)[neighbours]
    single = np.sqrt((differences**2).mean(axis=0) / 2.0)
    blocks = [
        force[i : i + 4].mean(axis=0) for i in range(0, len(force) - 3, 4) if index[i + 3] - index[i] == 3
    ]
    if len(blocks) < 4:
        return single
    steps = np.diff(np.asarray(blocks), axis=0)
    # The step between the baselines before and after the contact is drift, not noise: the median ignores it.
    block = np.sqrt(np.median(steps**2, axis=0) / 0.4549 / 2.0) * 2.0
    return np.clip(block, single, 3.0 * single)
