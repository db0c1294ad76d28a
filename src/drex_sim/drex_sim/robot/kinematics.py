"""Kinematics of arm and hand: forward, inverse, Jacobians. No ROS."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property

import mink
import mujoco
import numpy as np
from numpy.typing import NDArray
from scipy.optimize import least_squares

from drex_sim.errors import UnreachableError
from drex_sim.robot.models import MODEL_HAND_JOINTS, MODEL_PREFIXES, robot_spec
from drex_sim.robot.names import ARM_JOINTS, FINGERS
from drex_sim.transforms import from_matrix, inverse

Array = NDArray[np.float64]

ARM_HOME = np.array([0.55, -1.75, 1.75, -1.571, -1.571, 0.55])
"""Palm above the table, beside the camera's view of the object [rad]."""
HAND_OPEN = np.array([0.0, 0.3, 0.3, 0.3] * 3 + [1.0, 0.2, 0.3, 0.3])
"""Fingers nearly straight, thumb opposed [rad]."""

POSITION_TOLERANCE = 5e-5
"""Largest position error of an arm solution [m]."""
ROTATION_TOLERANCE = 3e-4
"""Largest rotation error of an arm solution [rad]."""


class RobotKinematics:
    """Forward and inverse kinematics of the UR5e with the Allegro; all poses in base_link."""

    def __init__(self) -> None:
        self.model = robot_spec(visuals=False).compile()
        self._data = mujoco.MjData(self.model)
        self._arm = [int(self.model.joint(f"arm/{name}").qposadr[0]) for name in ARM_JOINTS]
        self._hand = [int(self.model.joint(name).qposadr[0]) for name in MODEL_HAND_JOINTS]
        self._hand_dofs = [int(self.model.joint(name).dofadr[0]) for name in MODEL_HAND_JOINTS]
        self._arm_dofs = [int(self.model.joint(f"arm/{name}").dofadr[0]) for name in ARM_JOINTS]
        self._pads = {f: int(self.model.site(f"hand/{MODEL_PREFIXES[f]}_pad").id) for f in FINGERS}
        self._tool = int(self.model.site("hand/tool0").id)
        self._palm = int(self.model.site("hand/palm_frame").id)
        self.hand_lower = np.array([self.model.joint(n).range[0] for n in MODEL_HAND_JOINTS])
        self.hand_upper = np.array([self.model.joint(n).range[1] for n in MODEL_HAND_JOINTS])
        palm = self.model.body("hand/palm").id
        hand_bodies = [b for b in range(self.model.nbody) if self.model.body_rootid[b] and self._below(b, palm)]
        self._hand_bodies = hand_bodies
        self.hand_mass = float(self.model.body_mass[hand_bodies].sum())
        """Mass of the hand [kg]."""

    def _below(self, body: int, ancestor: int) -> bool:
        while body > 0:
            if body == ancestor:
                return True
            body = int(self.model.body_parentid[body])
        return False

    def _pose(self, arm: Array, hand: Array) -> mujoco.MjData:
        self._data.qpos[self._arm] = arm
        self._data.qpos[self._hand] = hand
        mujoco.mj_kinematics(self.model, self._data)
        return self._data

    def _site(self, data: mujoco.MjData, site: int) -> Array:
        return from_matrix(data.site_xpos[site], data.site_xmat[site].reshape(3, 3))

    def tool(self, arm: Array) -> Array:
        """base_T_tool0, (4, 4), for arm joints (6,) [rad]."""
        return self._site(self._pose(arm, HAND_OPEN), self._tool)

    def forward(self, arm: Array, hand: Array) -> dict[str, Array]:
        """Poses in base_link of tool0, tool0_controller, palm and {finger}_tip (pad end-sphere centre).

        Args:
          arm: (6,) in ARM_JOINTS order [rad].
          hand: (16,) in HAND_JOINTS order [rad].
        """
        data = self._pose(arm, hand)
        frames = {"tool0": self._site(data, self._tool), "palm": self._site(data, self._palm)}
        frames["tool0_controller"] = frames["tool0"]
        for finger, site in self._pads.items():
            frames[f"{finger}_tip"] = self._site(data, site)
        return frames

    def tip_position(self, finger: str, arm: Array, hand: Array) -> Array:
        """Pad end-sphere centre of one finger in base_link, (3,) [m]."""
        return self._pose(arm, hand).site_xpos[self._pads[finger]].copy()

    def tips_in_palm(self, hand: Array) -> dict[str, Array]:
        """Pad end-sphere centres in the palm frame, {finger: (3,)} [m]."""
        data = self._pose(ARM_HOME, hand)
        palm_T_base = inverse(self._site(data, self._palm))
        return {f: palm_T_base[:3, :3] @ data.site_xpos[s] + palm_T_base[:3, 3] for f, s in self._pads.items()}

    @cached_property
    def tool_T_palm(self) -> Array:
        """tool0_T_palm, (4, 4)."""
        data = self._pose(ARM_HOME, HAND_OPEN)
        return inverse(self._site(data, self._tool)) @ self._site(data, self._palm)

    def hand_center_of_gravity(self, hand: Array) -> Array:
        """COM of the hand in tool0, (3,) [m]."""
        data = self._pose(ARM_HOME, hand)
        mujoco.mj_comPos(self.model, data)
        masses = self.model.body_mass[self._hand_bodies]
        com = masses @ data.xipos[self._hand_bodies] / masses.sum()
        tool_T_base = inverse(self._site(data, self._tool))
        return tool_T_base[:3, :3] @ com + tool_T_base[:3, 3]

    def tip_jacobian(self, finger: str, arm: Array, hand: Array, offset: Array | None = None) -> Array:
        """Jacobian of a point fixed to a fingertip with respect to the hand joints, in base_link, (3, 16).

        Args:
          finger: which one.
          arm: (6,) [rad].
          hand: (16,) [rad].
          offset: the point relative to the pad centre, base_link axes, (3,) [m]; None: the centre.
        """
        data = self._pose(arm, hand)
        mujoco.mj_comPos(self.model, data)
        point = data.site_xpos[self._pads[finger]] + (0.0 if offset is None else offset)
        jacobian = np.zeros((3, self.model.nv))
        body = int(self.model.site_bodyid[self._pads[finger]])
        mujoco.mj_jac(self.model, data, jacobian, None, point, body)
        return jacobian[:, self._hand_dofs]

    # Inverse ------------------------------------------------------------------------------------------------
    def arm_ik(self, base_T_tool0: Array, seed: Array, iterations: int = 200) -> Array:
        """Arm joints (6,) [rad] that put tool0 at a pose, the solution nearest to the seed's branch.

        Raises:
          UnreachableError: no solution within 0.05 mm and 0.3 mrad.
        """
        configuration = self._configuration
        q = configuration.q.copy()
        q[self._arm], q[self._hand] = seed, HAND_OPEN
        configuration.update(q)
        task = self._task
        task.set_target(mink.SE3.from_matrix(base_T_tool0))
        freeze = self._frozen
        for _ in range(iterations):
            error = task.compute_error(configuration)
            if np.linalg.norm(error[:3]) < POSITION_TOLERANCE and np.linalg.norm(error[3:]) < ROTATION_TOLERANCE:
                return configuration.q[self._arm].copy()
            velocity = mink.solve_ik(
                configuration, [task], 1.0, solver="daqp", damping=1e-8, constraints=[freeze], limits=[]
            )
            velocity *= min(1.0, 0.3 / max(float(np.abs(velocity).max()), 1e-12))
            configuration.integrate_inplace(velocity, 1.0)
        error = task.compute_error(configuration)
        raise UnreachableError(
            f"arm cannot reach tool0 at {np.round(base_T_tool0[:3, 3], 3).tolist()} m: remaining error"
            f" {1e3 * np.linalg.norm(error[:3]):.1f} mm, {np.degrees(np.linalg.norm(error[3:])):.1f} deg; move the"
            " object nearer to (0.5, 0)"
        )

    def arm_path_ik(self, poses: Sequence[Array], seed: Array, max_step: float = 0.35) -> Array:
        """Joint path (N, 6) [rad] through tool0 poses, continuous from the seed.

        Raises:
          UnreachableError: a pose cannot be reached, or the path jumps by more than max_step [rad].
        """
        path = []
        for index, pose in enumerate(poses):
            q = self.arm_ik(pose, seed)
            if index > 0 and np.abs(q - seed).max() > max_step:
                raise UnreachableError(
                    f"arm path jumps {np.abs(q - seed).max():.2f} rad between points {index - 1} and {index}"
                    f" (allowed {max_step}): too near a singularity"
                )
            path.append(q)
            seed = q
        return np.asarray(path)

    @cached_property
    def _configuration(self) -> mink.Configuration:
        return mink.Configuration(self.model)

    @cached_property
    def _task(self) -> mink.FrameTask:
        return mink.FrameTask("hand/tool0", "site", position_cost=1.0, orientation_cost=1.0, lm_damping=1e-6)

    @cached_property
    def _frozen(self) -> mink.DofFreezingTask:
        return mink.DofFreezingTask(self.model, self._hand_dofs)

    def hand_ik(self, tips: Mapping[str, Array], seed: Array, regularisation: float = 2e-3) -> tuple[Array, float]:
        """Hand joints that put pad centres at points of the palm frame.

        Args:
          tips: {finger: (3,)} [m]; fingers not named keep the seed's joints.
          seed: (16,) [rad].
          regularisation: pull towards the seed [m/rad].

        Returns:
          joints (16,) [rad] within the limits, and the largest distance left [m].
        """
        data = self._data
        free = np.concatenate([np.arange(4) + 4 * FINGERS.index(f) for f in tips])
        lower, upper = self.hand_lower[free] + 1e-3, self.hand_upper[free] - 1e-3
        base_T_palm = self._site(self._pose(ARM_HOME, seed), self._palm)
        targets = {f: base_T_palm[:3, :3] @ p + base_T_palm[:3, 3] for f, p in tips.items()}
        full = np.array(seed, float)
        full_seed = full[free].copy()

        def distances() -> list[Array]:
            return [data.site_xpos[self._pads[f]] - target for f, target in targets.items()]

        def residual(q: Array) -> Array:
            full[free] = q
            self._pose(ARM_HOME, full)
            return np.concatenate([*distances(), regularisation * (q - full_seed)])

        solution = least_squares(residual, np.clip(full_seed, lower, upper), bounds=(lower, upper))
        residual(solution.x)
        return full.copy(), max(float(np.linalg.norm(d)) for d in distances())
