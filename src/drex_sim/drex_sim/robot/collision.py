"""Distances between the robot, the table and an object."""

from __future__ import annotations

from collections.abc import Collection

import mujoco
import numpy as np
from numpy.typing import NDArray

from drex_sim.robot.models import MODEL_HAND_JOINTS, MODEL_PREFIXES, robot_spec
from drex_sim.robot.names import ARM_JOINTS
from drex_sim.transforms import to_wxyz
from drex_sim.twin.format import Twin

Array = NDArray[np.float64]


class CollisionChecker:
    """Clearance of the robot from the table (z = 0) and from one object."""

    def __init__(self, twin: Twin) -> None:
        spec = robot_spec(visuals=False)
        body = spec.worldbody.add_body(name="object", mocap=True)
        for i, piece in enumerate(twin.pieces):
            spec.add_mesh(name=f"object_{i}", uservert=piece.ravel())
            body.add_geom(name=f"object_{i}", type=mujoco.mjtGeom.mjGEOM_MESH, meshname=f"object_{i}")
        spec.worldbody.add_geom(name="table", type=mujoco.mjtGeom.mjGEOM_PLANE, size=(2, 2, 0.1))
        self._model = spec.compile()
        self._data = mujoco.MjData(self._model)
        self._joints = [int(self._model.joint(f"arm/{n}").qposadr[0]) for n in ARM_JOINTS]
        self._joints += [int(self._model.joint(n).qposadr[0]) for n in MODEL_HAND_JOINTS]
        self._object = [int(self._model.geom(f"object_{i}").id) for i in range(len(twin.pieces))]
        self._table = int(self._model.geom("table").id)
        names = [self._model.body(int(b)).name for b in self._model.geom_bodyid]
        self._hand = [g for g, n in enumerate(names) if n.startswith("hand/")]
        # The arm's base stands on the table; only its moving links can hit something.
        moving = ("upper_arm_link", "forearm_link", "wrist_1_link", "wrist_2_link", "wrist_3_link")
        self._robot = self._hand + [g for g, n in enumerate(names) if n.endswith(moving)]
        self._names = names

    def clearance(
        self, arm: Array, hand: Array, base_T_object: Array, touching: Collection[str] = (), limit: float = 0.05
    ) -> tuple[float, str]:
        """Smallest distance of the robot from object and table [m] and what is nearest.

        Args:
          arm: (6,) [rad].
          hand: (16,) [rad].
          base_T_object: (4, 4).
          touching: fingers whose tip may touch the object.
          limit: distances above this are not told apart [m].
        """
        data, model = self._data, self._model
        data.qpos[self._joints] = np.concatenate([arm, hand])
        data.mocap_pos[0], data.mocap_quat[0] = to_wxyz(base_T_object)
        mujoco.mj_kinematics(model, data)
        exempt = {f"hand/{MODEL_PREFIXES[f]}_tip" for f in touching}
        best, what = limit, ""
        for geom in self._robot:
            others = [self._table] if self._names[geom] in exempt else [*self._object, self._table]
            for other in others:
                distance = mujoco.mj_geomDistance(model, data, geom, other, limit, None)
                if distance < best:
                    best = distance
                    what = f"{self._names[geom]} to {'table' if other == self._table else 'object'}"
        return best, what
