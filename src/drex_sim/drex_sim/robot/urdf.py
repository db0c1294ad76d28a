"""URDF of arm and hand, generated from the MuJoCo model: links, joints, inertias and collision primitives."""

from __future__ import annotations

import warnings
import xml.etree.ElementTree as ET

import mujoco
import numpy as np
from numpy.typing import ArrayLike
from scipy.spatial.transform import Rotation

from drex_sim.robot.models import MODEL_HAND_JOINTS
from drex_sim.robot.names import driver_joint_names
from drex_sim.transforms import xyzw_from_wxyz

BASE = "base_link"
_ARM_EFFORT, _ARM_VELOCITY, _HAND_EFFORT, _HAND_VELOCITY = 150.0, 3.14, 0.7, 7.0


def robot_urdf(model: mujoco.MjModel, hand_driver: str) -> str:
    """URDF text of a compiled `robot_spec`.

    Args:
      model: arm and hand.
      hand_driver: whose joint names the hand gets.
    """
    robot = ET.Element("robot", name="ur5e_allegro")
    ET.SubElement(robot, "link", name=BASE)
    hand_names = dict(zip(MODEL_HAND_JOINTS, driver_joint_names(hand_driver), strict=True))
    links = {0: BASE}
    for body in range(1, model.nbody):
        name = model.body(body).name
        if name == "arm/base" or name == "object":
            links[body] = f"{name.split('/')[-1]}_link_inertia"
        else:
            links[body] = name.split("/")[-1] if "/" in name else f"link_{body}"
        _link(robot, model, body, links[body])
        _joint(robot, model, body, links, hand_names)
    _fixed(robot, model, "hand/tool0", "tool0", links)
    ET.SubElement(robot, "link", name="tool0_controller")
    joint = ET.SubElement(robot, "joint", name="tool0_controller_fixed", type="fixed")
    ET.SubElement(joint, "parent", link="tool0")
    ET.SubElement(joint, "child", link="tool0_controller")
    ET.indent(robot)
    return ET.tostring(robot, encoding="unicode", xml_declaration=False)


def _origin(parent: ET.Element, position: ArrayLike, wxyz: ArrayLike) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # at gimbal lock one of the possible answers is given
        rpy = Rotation.from_quat(xyzw_from_wxyz(wxyz)).as_euler("xyz")
    ET.SubElement(parent, "origin", xyz=_text(position), rpy=_text(rpy))


def _text(values: ArrayLike) -> str:
    return " ".join(f"{v:.9g}" for v in np.asarray(values, float))


def _link(robot: ET.Element, model: mujoco.MjModel, body: int, name: str) -> None:
    link = ET.SubElement(robot, "link", name=name)
    if model.body_mass[body] > 0:
        inertial = ET.SubElement(link, "inertial")
        _origin(inertial, model.body_ipos[body], model.body_iquat[body])
        ET.SubElement(inertial, "mass", value=f"{model.body_mass[body]:.9g}")
        ixx, iyy, izz = (f"{v:.9g}" for v in model.body_inertia[body])
        ET.SubElement(inertial, "inertia", ixx=ixx, iyy=iyy, izz=izz, ixy="0", ixz="0", iyz="0")
    for geom in np.nonzero(model.geom_bodyid == body)[0]:
        size, kind = model.geom_size[geom], model.geom_type[geom]
        if kind == mujoco.mjtGeom.mjGEOM_BOX:
            shape, fields = "box", {"size": _text(2 * size)}
        elif kind in (mujoco.mjtGeom.mjGEOM_CAPSULE, mujoco.mjtGeom.mjGEOM_CYLINDER):
            # URDF has no capsule: a cylinder over its whole length stands for it.
            length = 2 * (size[1] + (size[0] if kind == mujoco.mjtGeom.mjGEOM_CAPSULE else 0.0))
            shape, fields = "cylinder", {"radius": f"{size[0]:.9g}", "length": f"{length:.9g}"}
        else:
            continue
        for use in ("visual", "collision"):
            element = ET.SubElement(link, use)
            _origin(element, model.geom_pos[geom], model.geom_quat[geom])
            ET.SubElement(ET.SubElement(element, "geometry"), shape, fields)


def _joint(
    robot: ET.Element, model: mujoco.MjModel, body: int, links: dict[int, str], hand_names: dict[str, str]
) -> None:
    joints = model.body_jntnum[body]
    if joints == 0:
        joint = ET.SubElement(robot, "joint", name=f"{links[body]}_fixed", type="fixed")
    else:
        index = int(model.body_jntadr[body])
        name = model.joint(index).name
        joint = ET.SubElement(robot, "joint", name=hand_names.get(name, name.split("/")[-1]), type="revolute")
        lower, upper = model.jnt_range[index]
        is_hand = name in hand_names
        ET.SubElement(joint, "axis", xyz=_text(model.jnt_axis[index]))
        ET.SubElement(
            joint,
            "limit",
            lower=f"{lower:.9g}",
            upper=f"{upper:.9g}",
            effort=str(_HAND_EFFORT if is_hand else _ARM_EFFORT),
            velocity=str(_HAND_VELOCITY if is_hand else _ARM_VELOCITY),
        )
    ET.SubElement(joint, "parent", link=links[int(model.body_parentid[body])])
    ET.SubElement(joint, "child", link=links[body])
    _origin(joint, model.body_pos[body], model.body_quat[body])


def _fixed(robot: ET.Element, model: mujoco.MjModel, site: str, name: str, links: dict[int, str]) -> None:
    index = model.site(site).id
    ET.SubElement(robot, "link", name=name)
    joint = ET.SubElement(robot, "joint", name=f"{name}_fixed", type="fixed")
    ET.SubElement(joint, "parent", link=links[int(model.site_bodyid[index])])
    ET.SubElement(joint, "child", link=name)
    _origin(joint, model.site_pos[index], model.site_quat[index])
