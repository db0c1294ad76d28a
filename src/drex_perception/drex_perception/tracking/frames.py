"""Fixed frames: a chain of static transforms from the camera to the base."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from drex_sim.transforms import inverse

Array = NDArray[np.float64]


class StaticFrames:
    """A tree of fixed frames, each with one parent, as /tf_static tells them."""

    def __init__(self) -> None:
        self._parents: dict[str, tuple[str, Array]] = {}

    def add(self, parent: str, child: str, parent_T_child: Array) -> None:
        """Set the pose of a frame in its parent, (4, 4)."""
        self._parents[child.lstrip("/")] = (parent.lstrip("/"), parent_T_child)

    def find(self, target: str, source: str) -> Array | None:
        """target_T_source (4, 4), or None while a link is missing."""
        up, down = self._climb(target), self._climb(source)
        root = next((frame for frame in down if frame in up), None)
        return None if root is None else inverse(up[root]) @ down[root]

    def _climb(self, frame: str) -> dict[str, Array]:
        """ancestor_T_frame of the frame and each of its ancestors."""
        pose, path = np.eye(4), {frame: np.eye(4)}
        while frame in self._parents:
            frame, step = self._parents[frame]
            if frame in path:
                break
            pose = step @ pose
            path[frame] = pose
        return path
