"""Depth pictures of a twin on a table with known truth, for tests and benchmarks. Rendered by MuJoCo."""

from __future__ import annotations

from dataclasses import dataclass

import mujoco
import numpy as np
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from drex_perception.camera.intrinsics import Intrinsics
from drex_sim.rendering.depth_noise import degrade, to_millimetres
from drex_sim.transforms import from_matrix, to_wxyz
from drex_sim.twin import Twin

Array = NDArray[np.float64]

FINGER_RADIUS = 0.012
"""Radius of the finger-like occluder [m]."""
FOVY = 43.0
"""Vertical field of view [deg]."""


@dataclass(frozen=True, kw_only=True)
class DepthNoise:
    """Imperfections of a depth picture, those of the simulated rig's camera (design: realism profiles)."""

    sigma: float = 0.0015
    """Noise at 0.7 m, growing with the square of the depth [m]."""
    edge_holes: bool = True
    """No depth at jumps of depth."""

    def apply(self, depth: NDArray[np.float32], rng: np.random.Generator) -> NDArray[np.uint16]:
        """The picture a camera would deliver, in millimetres."""
        return to_millimetres(degrade(depth, self.sigma, self.edge_holes, rng))


class DepthScene:
    """A table, one object and a finger (a capsule), seen by a fixed camera."""

    def __init__(self, twin: Twin, base_T_camera: Array, width: int = 640, height: int = 480) -> None:
        """base_T_camera is the pose of the optical frame (x right, y down, z forward), (4, 4)."""
        spec = mujoco.MjSpec()
        spec.visual.global_.offwidth, spec.visual.global_.offheight = width, height
        spec.visual.map.znear, spec.visual.map.zfar = 0.02, 20.0
        spec.visual.quality.offsamples = 0
        spec.worldbody.add_geom(
            name="table", type=mujoco.mjtGeom.mjGEOM_PLANE, size=(0.75, 0.6, 0.1), pos=(0.45, 0.0, 0.0)
        )
        faces = twin.faces.ravel().astype(np.int32)
        mesh = spec.add_mesh(name="object", uservert=twin.vertices.ravel(), userface=faces)
        mesh.inertia = mujoco.mjtMeshInertia.mjMESH_INERTIA_SHELL
        body = spec.worldbody.add_body(name="object", mocap=True)
        body.add_geom(name="object", type=mujoco.mjtGeom.mjGEOM_MESH, meshname="object")
        finger = spec.worldbody.add_body(name="finger", mocap=True)
        finger.add_geom(
            name="finger", type=mujoco.mjtGeom.mjGEOM_CAPSULE, fromto=(0, 0, 0, 0, 0, 0.12), size=(FINGER_RADIUS, 0, 0)
        )
        finger.add_geom(name="palm", type=mujoco.mjtGeom.mjGEOM_BOX, size=(0.04, 0.05, 0.05), pos=(0, 0, 0.19))
        camera = base_T_camera @ from_matrix(np.zeros(3), np.diag([1.0, -1.0, -1.0]))
        position, quaternion = to_wxyz(camera)
        spec.worldbody.add_camera(name="camera", pos=position, quat=quaternion, fovy=FOVY)
        self.model = spec.compile()
        self.data = mujoco.MjData(self.model)
        self._renderer = mujoco.Renderer(self.model, height, width)
        self._renderer.enable_depth_rendering()
        self.intrinsics = Intrinsics.from_fovy(FOVY, width, height)

    def depth(self, base_T_object: Array | None, base_T_finger: Array | None = None) -> NDArray[np.float32]:
        """Noise-free depth picture [m]; None puts the object or the finger (tip at its origin, along z) away."""
        for i, pose in enumerate((base_T_object, base_T_finger)):
            away = from_matrix([0.0, 0.0, -5.0], np.eye(3))
            self.data.mocap_pos[i], self.data.mocap_quat[i] = to_wxyz(away if pose is None else pose)
        mujoco.mj_forward(self.model, self.data)
        self._renderer.update_scene(self.data, "camera")
        return self._renderer.render().copy()

    def close(self) -> None:
        """Free the renderer."""
        self._renderer.close()


@dataclass(frozen=True, kw_only=True)
class Frame:
    """One instant of a slow tip."""

    time: float
    tilt: float
    """[rad]."""
    base_T_object: Array
    base_T_finger: Array


def slow_tip(
    twin: Twin, *, place: tuple[float, float] = (0.5, 0.0), yaw: float = 0.0, push: float = 0.0, max_tilt: float = 0.2,
    duration: float = 6.0, rate: float = 15.0, rest: float = 1.0,
) -> list[Frame]:
    """A push high on one side that leans the object about the opposite edge and lowers it back.

    Args:
      place: where it stands, base_link x and y [m].
      yaw: its yaw [rad].
      push: direction of the push in the object frame, from its x axis [rad].
      max_tilt: [rad].
      duration: of tip and return [s].
      rate: pictures per second [Hz].
      rest: time at rest before and after, the finger already at the object [s].
    """
    standing = from_matrix([*place, twin.com_height], Rotation.from_euler("z", yaw).as_matrix())
    direction = np.array([np.cos(push), np.sin(push), 0.0])
    reach = twin.support_polygon @ direction[:2]
    edge = np.array([*(direction[:2] * reach.max()), -twin.com_height])
    side = twin.vertices @ direction
    contact = direction * side.min() + [0.0, 0.0, 0.85 * twin.height - twin.com_height]
    level = [p[:, :3] for p in twin.pieces if p[:, 2].min() <= contact[2] <= p[:, 2].max()]
    if level:
        contact = np.array([*(direction[:2] * min(float((p @ direction).min()) for p in level)), contact[2]])
    frames = []
    for time in np.arange(0.0, duration + 2 * rest, 1.0 / rate):
        phase = np.clip((time - rest) / duration, 0.0, 1.0)
        tilt = max_tilt * 0.5 * (1 - np.cos(2 * np.pi * phase))
        turn = Rotation.from_rotvec(tilt * np.cross([0.0, 0.0, 1.0], direction)).as_matrix()
        pose = standing @ from_matrix(edge - turn @ edge, turn)
        pad = contact - FINGER_RADIUS * direction
        tip = pose[:3, :3] @ pad + pose[:3, 3]
        frames.append(
            Frame(time=float(time), tilt=float(tilt), base_T_object=pose, base_T_finger=from_matrix(tip, np.eye(3)))
        )
    return frames
