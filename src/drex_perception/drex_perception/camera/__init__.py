"""Camera intrinsics and depth pictures."""

from drex_perception.camera.depth import check_depth, decode_depth, metres
from drex_perception.camera.intrinsics import Intrinsics

__all__ = ["Intrinsics", "check_depth", "decode_depth", "metres"]
