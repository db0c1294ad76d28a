"""Where the object stands: its tracked pose at rest, averaged and set upright."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from drex_sim.errors import NotTrackedError, PushError
from drex_sim.robot.protocols import Robot
from drex_sim.transforms import from_matrix
from drex_sim.twin import Twin

Array = NDArray[np.float64]

POSES = 8
"""Poses averaged."""
TIMEOUT = 3.0
"""Wait for them at most this long [s]."""
MAX_TILT = np.radians(8.0)
"""An object tilted more does not stand."""


def resting_pose(robot: Robot, twin: Twin) -> Array:
    """base_T_object of the object standing upright (4, 4).

    Raises:
      NotTrackedError: no fresh poses of this object.
      PushError: code OBJECT_LOST, it does not stand upright.
    """
    poses: list[Array] = []
    last, end = -np.inf, robot.time() + TIMEOUT
    robot.tracked()
    while len(poses) < POSES and robot.time() < end:
        pose = robot.tracked()
        if pose.object_id != twin.id:
            raise NotTrackedError(f"the tracker follows {pose.object_id!r}, not {twin.id!r}; load {twin.id} first")
        if pose.stamp > last:
            last = pose.stamp
            poses.append(pose.base_T_object)
        robot.sleep(0.02)
    if len(poses) < 3:
        raise NotTrackedError(f"{len(poses)} poses of {twin.id} within {TIMEOUT:.0f} s; check camera and tracker")
    rotation = Rotation.from_matrix([pose[:3, :3] for pose in poses]).mean().as_matrix()
    position = np.mean([pose[:3, 3] for pose in poses], axis=0)
    tilt = float(np.arccos(np.clip(rotation[2, 2], -1.0, 1.0)))
    if tilt > MAX_TILT:
        raise PushError(
            f"{twin.id} is tilted by {np.degrees(tilt):.0f} deg and does not stand; stand it up again", "OBJECT_LOST"
        )
    yaw = float(np.arctan2(rotation[1, 0] - rotation[0, 1], rotation[0, 0] + rotation[1, 1]))
    upright = Rotation.from_euler("z", yaw).as_matrix()
    return from_matrix([position[0], position[1], twin.com_height], upright)
