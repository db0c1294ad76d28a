"""The rig as one MuJoCo model: UR5e, Allegro, table, camera and the object as it really is."""

from __future__ import annotations

from dataclasses import dataclass

import mujoco
import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.spatial.transform import Rotation

from drex_sim.rig.geometry import TrueShape, true_shape
from drex_sim.rig.truth import Truth
from drex_sim.robot.models import MODEL_HAND_JOINTS, MODEL_PREFIXES, robot_spec
from drex_sim.robot.names import ARM_JOINTS, FINGERS
from drex_sim.transforms import from_matrix, wxyz_from_xyzw
from drex_sim.twin import Twin

Array = NDArray[np.float64]

TIMESTEP = 0.002
"""Step of the simulation, and of every 500 Hz signal [s]."""
ARM_STIFFNESS = np.array([3e4, 3e4, 2e4, 1e4, 1e4, 1e4])
"""Position servo of the arm [N m/rad]."""
ARM_DAMPING = np.array([900.0, 900.0, 500.0, 150.0, 150.0, 150.0])
"""Velocity gain of that servo [N m s/rad]."""
ARM_TORQUE = np.array([150.0, 150.0, 150.0, 28.0, 28.0, 28.0])
"""Torque limits of the UR5e [N m]."""
CAMERA = "rgbd"
CAMERA_POSITION = (0.95, -0.45, 0.55)
CAMERA_TARGET = (0.5, 0.0, 0.08)
CAMERA_FOVY = 43.0
"""Vertical field of view [deg]."""
TABLE_PIVOT = np.array([0.5, 0.0, 0.0])
"""The table tilts about this point, base_link [m]."""

# Who meets whom: the robot (contype 0, conaffinity 1 + 4) meets the object's hull and the table.
_HULL, _TABLE, _SUPPORT = (9, 0), (4, 8), (8, 0)


@dataclass(frozen=True, kw_only=True)
class RigModel:
    """The compiled model and where things are in it."""

    model: mujoco.MjModel
    shape: TrueShape
    arm_qpos: NDArray[np.int64]
    arm_dofs: NDArray[np.int64]
    hand_qpos: NDArray[np.int64]
    hand_dofs: NDArray[np.int64]
    object_qpos: int
    object_dof: int
    object_body: int
    tool_site: int
    pad_geoms: dict[str, int]
    table_geom: int
    base_T_table: Array


def build_rig(twin: Twin, truth: Truth, finger_friction: float, visuals: bool = False) -> RigModel:
    """Model of the rig for one truth.

    Args:
      twin: the object's twin.
      truth: what is really so.
      finger_friction: Coulomb friction of the finger joints [N m].
      visuals: with the meshes a camera sees.
    """
    spec = robot_spec(visuals)
    spec.option.timestep = TIMESTEP
    spec.option.impratio = 50.0
    _add_actuators(spec, finger_friction)
    _set_friction(spec, truth)
    base_T_table = table_pose(truth)
    _add_table(spec, truth, base_T_table)
    shape = true_shape(twin, truth)
    _add_object(spec, twin, truth, shape)
    spec.worldbody.add_camera(
        name=CAMERA, pos=CAMERA_POSITION, quat=_look_at(CAMERA_POSITION, CAMERA_TARGET), fovy=CAMERA_FOVY
    )
    for kind in (mujoco.mjtSensor.mjSENS_FORCE, mujoco.mjtSensor.mjSENS_TORQUE):
        spec.add_sensor(name=kind.name, type=kind, objtype=mujoco.mjtObj.mjOBJ_SITE, objname="hand/tool0")
    for body in spec.bodies[1:]:
        # The arm's controller and the hand's driver compensate the weight of what they carry.
        body.gravcomp = 0.0 if body.name == "object" else 1.0
    model = spec.compile()
    hand = [model.joint(name) for name in MODEL_HAND_JOINTS]
    arm = [model.joint(f"arm/{name}") for name in ARM_JOINTS]
    return RigModel(
        model=model,
        shape=shape,
        arm_qpos=np.array([int(j.qposadr[0]) for j in arm]),
        arm_dofs=np.array([int(j.dofadr[0]) for j in arm]),
        hand_qpos=np.array([int(j.qposadr[0]) for j in hand]),
        hand_dofs=np.array([int(j.dofadr[0]) for j in hand]),
        object_qpos=int(model.joint("object").qposadr[0]),
        object_dof=int(model.joint("object").dofadr[0]),
        object_body=int(model.body("object").id),
        tool_site=int(model.site("hand/tool0").id),
        pad_geoms={f: int(model.geom(f"hand/{MODEL_PREFIXES[f]}_pad").id) for f in FINGERS},
        table_geom=int(model.geom("table").id),
        base_T_table=base_T_table,
    )


def table_pose(truth: Truth) -> Array:
    """base_T_table, (4, 4): the table's plane through TABLE_PIVOT, tilted as the truth says."""
    axis = np.array([-np.sin(truth.table_azimuth), np.cos(truth.table_azimuth), 0.0])
    rotation = Rotation.from_rotvec(truth.table_tilt * axis).as_matrix()
    return from_matrix(TABLE_PIVOT - rotation @ TABLE_PIVOT, rotation)


def standing_pose(rig: RigModel, truth: Truth) -> Array:
    """base_T_object of the object standing on the table, (4, 4)."""
    upright = from_matrix(
        [*truth.place, rig.shape.com_height], Rotation.from_euler("z", truth.yaw).as_matrix()
    )
    return rig.base_T_table @ upright


def base_T_camera() -> Array:
    """base_T_camera_color_optical_frame (x right, y down, z forward), (4, 4)."""
    rotation = _camera_axes(CAMERA_POSITION, CAMERA_TARGET)
    return from_matrix(CAMERA_POSITION, rotation @ np.diag([1.0, -1.0, -1.0]))


def _add_actuators(spec: mujoco.MjSpec, finger_friction: float) -> None:
    for i, name in enumerate(ARM_JOINTS):
        gain, bias = np.zeros(10), np.zeros(10)
        gain[0] = ARM_STIFFNESS[i]
        bias[1], bias[2] = -ARM_STIFFNESS[i], -ARM_DAMPING[i]
        spec.add_actuator(
            name=name,
            target=f"arm/{name}",
            trntype=mujoco.mjtTrn.mjTRN_JOINT,
            gainprm=gain,
            biasprm=bias,
            gaintype=mujoco.mjtGain.mjGAIN_FIXED,
            biastype=mujoco.mjtBias.mjBIAS_AFFINE,
            forcelimited=mujoco.mjtLimited.mjLIMITED_TRUE,
            forcerange=(-ARM_TORQUE[i], ARM_TORQUE[i]),
        )
    for name in MODEL_HAND_JOINTS:
        joint = spec.joint(name)
        joint.damping, joint.armature, joint.frictionloss = (0.01, 0.0, 0.0), 1e-3, finger_friction
        spec.add_actuator(name=name, target=name, trntype=mujoco.mjtTrn.mjTRN_JOINT)


def _set_friction(spec: mujoco.MjSpec, truth: Truth) -> None:
    pads = {f"hand/{prefix}_pad" for prefix in MODEL_PREFIXES.values()}
    for geom in spec.geoms:
        geom.friction = (truth.friction_tip, 0.01, 1e-4)
        if geom.name in pads:
            geom.condim, geom.priority = 4, 1
            geom.solref, geom.solimp = (0.01, 1.0), (0.9, 0.95, 0.001, 0.5, 2.0)


def _add_table(spec: mujoco.MjSpec, truth: Truth, base_T_table: Array) -> None:
    spec.add_texture(
        name="table",
        type=mujoco.mjtTexture.mjTEXTURE_2D,
        builtin=mujoco.mjtBuiltin.mjBUILTIN_CHECKER,
        rgb1=(0.45, 0.40, 0.35),
        rgb2=(0.55, 0.50, 0.45),
        width=256,
        height=256,
    )
    material = spec.add_material(name="table", texrepeat=(8, 8))
    material.textures[mujoco.mjtTextureRole.mjTEXROLE_RGB] = "table"
    pose = base_T_table @ from_matrix([0.45, 0.0, 0.0], np.eye(3))
    spec.worldbody.add_geom(
        name="table",
        type=mujoco.mjtGeom.mjGEOM_PLANE,
        size=(0.75, 0.6, 0.1),
        pos=pose[:3, 3],
        quat=_wxyz(pose[:3, :3]),
        contype=_TABLE[0],
        conaffinity=_TABLE[1],
        condim=3,
        friction=(truth.friction_table, 0.005, 1e-4),
        material="table",
    )
    spec.worldbody.add_light(pos=(0.3, -0.6, 1.8), dir=(0.1, 0.3, -1.0), castshadow=False)
    spec.visual.headlight.ambient = (0.4, 0.4, 0.4)
    spec.visual.map.znear = 0.02
    spec.visual.quality.offsamples = 0
    spec.visual.global_.offwidth, spec.visual.global_.offheight = 640, 480


def _add_object(spec: mujoco.MjSpec, twin: Twin, truth: Truth, shape: TrueShape) -> None:
    body = spec.worldbody.add_body(name="object", pos=(*truth.place, shape.com_height))
    body.add_freejoint(name="object")
    body.explicitinertial = True
    body.mass, body.ipos = truth.mass, truth.com_offset
    inertia = twin.inertia_per_kg * truth.mass * truth.scale**2 * truth.inertia_scale
    body.fullinertia = inertia[[0, 1, 2, 0, 0, 1], [0, 1, 2, 1, 2, 2]]
    friction = (truth.friction_table, 0.005, 1e-4)
    for i, piece in enumerate(shape.pieces):
        spec.add_mesh(name=f"piece_{i}", uservert=piece.ravel())
        body.add_geom(
            name=f"object_{i}",
            type=mujoco.mjtGeom.mjGEOM_MESH,
            meshname=f"piece_{i}",
            group=3,
            mass=0.0,
            contype=_HULL[0],
            conaffinity=_HULL[1],
            condim=3,
            friction=friction,
        )
    for i, centre in enumerate(shape.supports):
        body.add_geom(
            name=f"support_{i}",
            type=mujoco.mjtGeom.mjGEOM_SPHERE,
            size=(shape.support_radius, 0, 0),
            pos=centre,
            group=3,
            mass=0.0,
            contype=_SUPPORT[0],
            conaffinity=_SUPPORT[1],
            condim=3,
            friction=friction,
            priority=1,
            solref=(0.01, 1.0),
            solimp=(0.98, 0.995, 1e-4, 0.5, 2.0),
        )
    mesh = spec.add_mesh(
        name="object",
        uservert=(twin.vertices * truth.scale).ravel(),
        userface=twin.faces.ravel().astype(np.int32),
    )
    mesh.inertia = mujoco.mjtMeshInertia.mjMESH_INERTIA_SHELL
    body.add_geom(
        name="object",
        type=mujoco.mjtGeom.mjGEOM_MESH,
        meshname="object",
        group=2,
        mass=0.0,
        contype=0,
        conaffinity=0,
        rgba=(0.80, 0.22, 0.12, 1.0),
    )


def _camera_axes(position: ArrayLike, target: ArrayLike) -> Array:
    back = np.subtract(position, target)
    back /= np.linalg.norm(back)
    right = np.cross((0.0, 0.0, 1.0), back)
    right /= np.linalg.norm(right)
    return np.stack([right, np.cross(back, right), back], axis=1)


def _look_at(position: ArrayLike, target: ArrayLike) -> Array:
    return _wxyz(_camera_axes(position, target))


def _wxyz(rotation: Array) -> Array:
    return wxyz_from_xyzw(Rotation.from_matrix(rotation).as_quat())
