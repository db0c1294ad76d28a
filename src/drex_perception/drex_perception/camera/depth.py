"""Depth pictures: decoding, and points in the robot's frame."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from drex_sim.errors import InvalidDataError

Array = NDArray[np.float64]

MIN_DEPTH, MAX_DEPTH = 0.1, 4.0
"""Depths outside are holes [m]."""


@dataclass(frozen=True)
class Intrinsics:
    """Pinhole camera without distortion (the aligned, rectified picture)."""

    width: int
    height: int
    fx: float
    fy: float
    cx: float
    cy: float

    @staticmethod
    def from_k(width: int, height: int, k: Array) -> Intrinsics:
        """From the nine numbers of a CameraInfo.

        Raises:
          InvalidDataError: the focal lengths are not positive and finite, or the size is empty.
        """
        k = np.asarray(k, float).ravel()
        if k.size != 9 or not np.isfinite(k).all() or k[0] <= 0 or k[4] <= 0 or width <= 0 or height <= 0:
            raise InvalidDataError(
                f"camera_info: size {width}x{height}, k = {k.tolist()}; a calibrated camera with positive focal"
                " lengths is needed"
            )
        return Intrinsics(width, height, float(k[0]), float(k[4]), float(k[2]), float(k[5]))

    @cached_property
    def rays(self) -> Array:
        """Directions with z = 1 through every pixel, optical frame, (height, width, 3)."""
        u, v = np.meshgrid(np.arange(self.width), np.arange(self.height))
        return np.stack([(u - self.cx) / self.fx, (v - self.cy) / self.fy, np.ones(u.shape)], axis=-1)


def decode_depth(data: bytes, encoding: str, width: int, height: int, big_endian: bool = False) -> NDArray[np.float32]:
    """Depth in metres from an Image message, (height, width); holes are 0.

    Args:
      data: the message's bytes.
      encoding: 16UC1 (millimetres) or 32FC1 (metres).
      width: pixels.
      height: pixels.
      big_endian: byte order.

    Raises:
      InvalidDataError: other encoding, wrong size, or depths that are no metres.
    """
    kinds = {"16UC1": np.dtype(np.uint16), "mono16": np.dtype(np.uint16), "32FC1": np.dtype(np.float32)}
    if encoding not in kinds:
        raise InvalidDataError(f"depth picture: encoding {encoding!r}; 16UC1 (mm) or 32FC1 (m) is needed")
    dtype = kinds[encoding].newbyteorder(">" if big_endian else "<")
    if len(data) != width * height * dtype.itemsize:
        raise InvalidDataError(
            f"depth picture: {len(data)} bytes for {width}x{height} {encoding}; {width * height * dtype.itemsize} needed"
        )
    raw = np.frombuffer(data, dtype).reshape(height, width)
    depth = raw.astype(np.float32) * (1e-3 if dtype.kind == "u" else 1.0)
    depth = np.nan_to_num(depth, nan=0.0, posinf=0.0, neginf=0.0)
    seen = depth[depth > 0]
    if seen.size and np.median(seen) > 50.0:
        raise InvalidDataError(
            f"depth picture: median depth {np.median(seen):.0f}; metres are needed in {encoding}. Is it millimetres?"
        )
    depth[(depth < MIN_DEPTH) | (depth > MAX_DEPTH)] = 0.0
    return depth


def points_in_base(
    depth: NDArray[np.float32], intrinsics: Intrinsics, base_T_camera: Array, stride: int = 1,
    window: tuple[int, int, int, int] | None = None,
) -> Array:
    """Points of a depth picture in base_link, (N, 3) [m].

    Args:
      depth: (height, width) [m].
      intrinsics: of this picture.
      base_T_camera: pose of the optical frame, (4, 4).
      stride: take every n-th pixel in both directions.
      window: row_start, row_end, column_start, column_end; None: the whole picture.
    """
    if depth.shape != (intrinsics.height, intrinsics.width):
        raise InvalidDataError(
            f"depth picture is {depth.shape[1]}x{depth.shape[0]} but camera_info says"
            f" {intrinsics.width}x{intrinsics.height}; use the aligned depth and its own camera_info"
        )
    r0, r1, c0, c1 = window or (0, intrinsics.height, 0, intrinsics.width)
    z = depth[r0:r1:stride, c0:c1:stride]
    seen = z > 0
    points = intrinsics.rays[r0:r1:stride, c0:c1:stride][seen] * z[seen][:, None]
    return points @ base_T_camera[:3, :3].T + base_T_camera[:3, 3]


def project(points: Array, intrinsics: Intrinsics, base_T_camera: Array) -> Array:
    """Pixels (N, 2: column, row) and depth of points in base_link, (N, 3)."""
    local = (points - base_T_camera[:3, 3]) @ base_T_camera[:3, :3]
    z = np.maximum(local[:, 2], 1e-6)
    return np.stack([
        local[:, 0] / z * intrinsics.fx + intrinsics.cx, local[:, 1] / z * intrinsics.fy + intrinsics.cy, local[:, 2]
    ], axis=1)
