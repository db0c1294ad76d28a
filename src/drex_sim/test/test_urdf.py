"""The URDF describes the same robot as the MuJoCo model."""

from __future__ import annotations

import xml.etree.ElementTree as ET

import mujoco
import numpy as np

from drex_sim.robot.kinematics import ARM_HOME, HAND_OPEN, RobotKinematics
from drex_sim.robot.names import ARM_JOINTS, driver_joint_names
from drex_sim.robot.urdf import robot_urdf


def test_urdf_has_the_joints_mass_and_flange_of_the_model(tmp_path):
    kinematics = RobotKinematics()
    text = robot_urdf(kinematics.model, "ros2_control")
    root = ET.fromstring(text)
    names = {j.get("name") for j in root.findall("joint") if j.get("type") == "revolute"}
    assert names == {*ARM_JOINTS, *driver_joint_names("ros2_control")}
    mass = sum(float(m.get("value")) for m in root.iter("mass"))
    assert abs(mass - kinematics.model.body_mass.sum()) < 1e-6
    file = tmp_path / "robot.urdf"
    # Keep the massless frames as bodies, so that tool0 can be found.
    file.write_text(
        text.replace("<robot ", "<robot ", 1).replace(
            ">",
            '><mujoco><compiler fusestatic="false" balanceinertia="true" boundmass="1e-9"'
            ' boundinertia="1e-12"/></mujoco>',
            1,
        )
    )
    model = mujoco.MjModel.from_xml_path(str(file))
    data = mujoco.MjData(model)
    for name, value in zip(ARM_JOINTS, ARM_HOME, strict=True):
        data.joint(name).qpos[0] = value
    for name, value in zip(driver_joint_names("ros2_control"), HAND_OPEN, strict=True):
        data.joint(name).qpos[0] = value
    mujoco.mj_kinematics(model, data)
    wanted = kinematics.forward(ARM_HOME, HAND_OPEN)["tool0"]
    assert np.allclose(data.body("tool0").xpos, wanted[:3, 3], atol=1e-6)
    assert np.allclose(data.body("tool0").xmat.reshape(3, 3), wanted[:3, :3], atol=1e-6)
