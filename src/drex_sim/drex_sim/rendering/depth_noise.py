"""Imperfections of a stereo depth camera."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

REFERENCE_DEPTH = 0.7
"""Depth at which the noise is stated [m]."""
EDGE_STEP = 0.02
"""A jump of the depth above this is an edge [m]."""
EDGE_SHARE = 0.6
"""Share of the pixels at an edge that have no depth."""
GRAIN = 2
"""Noise is correlated over squares of this many pixels, as the matching window of a stereo camera makes it."""
MILLIMETRE = 0.001


def degrade(
    depth: NDArray[np.float32], sigma: float, edge_holes: bool, rng: np.random.Generator
) -> NDArray[np.float32]:
    """Depth with noise and holes; 0 is "no depth".

    Args:
      depth: (H, W) [m].
      sigma: standard deviation at REFERENCE_DEPTH, growing with the square of the depth [m].
      edge_holes: whether edges lose pixels.
      rng: random numbers.
    """
    noisy = depth.copy()
    if sigma > 0:
        height, width = depth.shape
        shape = (-(-height // GRAIN), 1, -(-width // GRAIN), 1)
        grain = rng.standard_normal(shape, dtype=np.float32) * np.float32(sigma / REFERENCE_DEPTH**2)
        noise = np.broadcast_to(grain, (shape[0], GRAIN, shape[2], GRAIN)).reshape(shape[0] * GRAIN, -1)
        noisy += noise[:height, :width] * depth * depth
    if edge_holes:
        edge = np.zeros(depth.shape, bool)
        for axis in (0, 1):
            near, far = (np.moveaxis(edge, axis, 0)[part] for part in (slice(None, -1), slice(1, None)))
            jump = np.moveaxis(np.abs(np.diff(depth, axis=axis)) > EDGE_STEP, axis, 0)
            near |= jump
            far |= jump
        rows, columns = np.nonzero(edge)
        lost = rng.random(len(rows)) < EDGE_SHARE
        noisy[rows[lost], columns[lost]] = 0.0
    noisy[depth <= 0] = 0.0
    return noisy


def to_millimetres(depth: NDArray[np.float32]) -> NDArray[np.uint16]:
    """16UC1 as realsense-ros publishes it: whole millimetres, 0 is "no depth"."""
    return np.clip(np.rint(depth / MILLIMETRE), 0, 65535).astype(np.uint16)
