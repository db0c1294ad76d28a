"""Colour and aligned depth of the rig from one off-screen rendering (EGL)."""

from __future__ import annotations

from dataclasses import dataclass

import mujoco
import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

WIDTH, HEIGHT = 640, 480


@dataclass(frozen=True)
class Intrinsics:
    """Pinhole camera without distortion [pixels]."""

    width: int
    height: int
    fx: float
    fy: float
    cx: float
    cy: float

    @property
    def matrix(self) -> Array:
        """K, (3, 3)."""
        return np.array([[self.fx, 0.0, self.cx], [0.0, self.fy, self.cy], [0.0, 0.0, 1.0]])


def intrinsics(fovy: float, width: int = WIDTH, height: int = HEIGHT) -> Intrinsics:
    """Intrinsics of a MuJoCo camera with square pixels; pixel (u, v) looks along its centre (u, v integer).

    Args:
      fovy: vertical field of view [deg].
      width: of the picture [pixels].
      height: of the picture [pixels].
    """
    focal = 0.5 * height / np.tan(np.radians(fovy) / 2)
    return Intrinsics(width, height, focal, focal, 0.5 * width - 0.5, 0.5 * height - 0.5)


class RgbdRenderer:
    """Renders colour and metric depth together. Use it from the thread that made it, and close it there."""

    def __init__(self, model: mujoco.MjModel, camera: str, width: int = WIDTH, height: int = HEIGHT) -> None:
        """Make the renderer; the environment must say MUJOCO_GL=egl where there is no display.

        Args:
          model: compiled with visual meshes.
          camera: its name in the model.
          width: of the pictures [pixels].
          height: of the pictures [pixels].
        """
        self._renderer = mujoco.Renderer(model, height, width)
        self._camera = camera
        self._color = np.zeros((height, width, 3), np.uint8)
        self._depth = np.zeros((height, width), np.float32)
        near, far = (model.stat.extent * z for z in (model.vis.map.znear, model.vis.map.zfar))
        # Metric depth of MuJoCo's reversed-z buffer.
        self._offset = 0.5 * (far + near) / (far - near) - 0.5
        self._scale = far * near / (far - near)
        self._far = 0.99 * far
        self._flags = (mujoco.mjtRndFlag.mjRND_SHADOW, mujoco.mjtRndFlag.mjRND_REFLECTION)

    def render(self, data: mujoco.MjData) -> tuple[NDArray[np.uint8], NDArray[np.float32]]:
        """Colour (H, W, 3) and depth (H, W) [m]; 0 where nothing is seen."""
        renderer = self._renderer
        renderer.update_scene(data, self._camera)
        for flag in self._flags:
            renderer.scene.flags[flag] = 0
        renderer._gl_context.make_current()
        mujoco.mjr_render(renderer._rect, renderer.scene, renderer._mjr_context)
        mujoco.mjr_readPixels(self._color, self._depth, renderer._rect, renderer._mjr_context)
        depth = self._scale / (self._depth[::-1] + self._offset)
        depth[depth > self._far] = 0.0
        return self._color[::-1].copy(), depth.astype(np.float32)

    def close(self) -> None:
        """Free the context."""
        self._renderer.close()
