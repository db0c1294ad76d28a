"""Depth pictures: decoding, with errors that tell a wrong encoding, size or unit."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from drex_sim.errors import InvalidDataError

MAX_RANGE = 20.0
"""A table-top depth camera sees nothing useful beyond this; a median above it means another unit [m]."""
_ENCODINGS = {"16UC1": np.uint16, "mono16": np.uint16, "32FC1": np.float32}


def decode_depth(
    data: bytes | bytearray | memoryview | NDArray[np.uint8], encoding: str, width: int, height: int, step: int,
    big_endian: bool = False,
) -> NDArray[np.generic]:
    """View the bytes of a ROS depth image as (height, width) uint16 [mm] or float32 [m], without a copy.

    Raises:
      InvalidDataError: encoding that is no depth, or bytes that do not fit the size.
    """
    if encoding not in _ENCODINGS:
        raise InvalidDataError(
            f"depth image: encoding {encoding!r} is no depth; allowed: 16UC1 (millimetres), 32FC1 (metres). Is the"
            " depth topic mapped to a colour picture?"
        )
    dtype = np.dtype(_ENCODINGS[encoding]).newbyteorder(">" if big_endian else "<")
    if step < width * dtype.itemsize or step % dtype.itemsize or len(data) < step * height:
        raise InvalidDataError(
            f"depth image: {len(data)} bytes, step {step} for {width} x {height} {encoding}; at least"
            f" {width * dtype.itemsize} bytes a row are needed. Is the message truncated?"
        )
    rows = np.frombuffer(data, dtype, count=step // dtype.itemsize * height).reshape(height, step // dtype.itemsize)
    return rows[:, :width]


def check_depth(depth: NDArray[np.generic], width: int, height: int) -> None:
    """Refuse a picture whose shape, type or unit cannot be right.

    Raises:
      InvalidDataError: what was found and what is allowed.
    """
    if depth.shape != (height, width):
        raise InvalidDataError(
            f"depth image is {depth.shape[::-1]}, camera_info says ({width}, {height}); both must come from the same"
            " stream (aligned depth)"
        )
    if depth.dtype.kind not in "uf":
        raise InvalidDataError(f"depth image of {depth.dtype}; uint16 millimetres or float32 metres are needed")
    sample = metres(depth[::16, ::16])
    seen = sample[sample > 0]
    if seen.size and np.median(seen) > MAX_RANGE:
        raise InvalidDataError(
            f"depth image: median depth {np.median(seen):.0f} m; below {MAX_RANGE:.0f} m is expected. float32 depth"
            " must be in metres, not millimetres"
        )


def metres(depth: NDArray[np.generic]) -> NDArray[np.float32]:
    """Depth in metres, 0 where there is none (NaN, infinite or zero in the input)."""
    if depth.dtype.kind == "u":
        return depth.astype(np.float32) * np.float32(1e-3)
    clean = depth.astype(np.float32)
    clean[~np.isfinite(clean)] = 0.0
    return clean
