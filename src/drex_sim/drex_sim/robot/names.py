"""Names of joints, fingers and frames. Joint vectors are always mapped by name."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from drex_sim.errors import ConfigError, JointNamesError

ARM_JOINTS: tuple[str, ...] = (
    "shoulder_pan_joint",
    "shoulder_lift_joint",
    "elbow_joint",
    "wrist_1_joint",
    "wrist_2_joint",
    "wrist_3_joint",
)
"""Joints of the UR arm as ur_robot_driver names them."""

FINGERS: tuple[str, ...] = ("index", "middle", "ring", "thumb")
"""Canonical order of the Allegro's fingers."""

HAND_JOINTS: tuple[str, ...] = tuple(f"{finger}_joint_{i}" for finger in FINGERS for i in range(4))
"""Canonical names and order of the 16 Allegro joints."""

HandDriver = Literal["ros2_control", "v5", "v5_sense", "v5_torque"]
HAND_DRIVERS: tuple[str, ...] = get_args(HandDriver)


def driver_joint_names(driver: str) -> tuple[str, ...]:
    """Names of the 16 joints in the driver's own spelling, listed in canonical order.

    `ros2_control` (allegro_hand_ros2): ah_joint0x is the thumb, 1x index, 2x middle, 3x ring.
    `v5*` (classic drivers): joint_0_0 .. joint_15_0 in index, middle, ring, thumb order.

    Raises:
      ConfigError: unknown driver.
    """
    if driver == "ros2_control":
        return tuple(f"ah_joint{number}{i}" for number in (1, 2, 3, 0) for i in range(4))
    if driver in HAND_DRIVERS:
        return tuple(f"joint_{i}_0" for i in range(16))
    raise ConfigError(f"hand_driver {driver!r} is unknown; allowed: {', '.join(HAND_DRIVERS)}")


def select_by_name(names: Sequence[str], values: ArrayLike, wanted: Sequence[str], source: str) -> NDArray[np.float64]:
    """Values of the wanted joints, in the wanted order.

    Args:
      names: names that came with the values, length N.
      values: one value per name, shape (N,).
      wanted: names to pick.
      source: where the values came from (topic or file), for the error text.

    Raises:
      JointNamesError: lengths differ, or a wanted joint is missing or doubled.
    """
    array = np.asarray(values, float)
    if array.shape != (len(names),):
        raise JointNamesError(
            f"{source}: {len(names)} joint names but values of shape {array.shape}; one value per name is needed"
        )
    index = {name: i for i, name in enumerate(names)}
    if len(index) != len(names):
        doubled = sorted({name for name in names if list(names).count(name) > 1})
        raise JointNamesError(f"{source}: joint named twice: {', '.join(doubled)}")
    missing = [name for name in wanted if name not in index]
    if missing:
        raise JointNamesError(f"{source}: missing joint {', '.join(missing)}; found: {', '.join(names)}")
    return array[[index[name] for name in wanted]]
