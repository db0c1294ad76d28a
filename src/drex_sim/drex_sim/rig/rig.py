"""The simulated rig: steps MuJoCo and shows what the drivers of a real rig would show."""

from __future__ import annotations

from dataclasses import dataclass, replace

import mujoco
import numpy as np
from numpy.typing import NDArray

from drex_sim.errors import ConfigError, MotionError
from drex_sim.rig.config import RigConfig
from drex_sim.rig.hand_driver import HandDriver
from drex_sim.rig.model import TIMESTEP, RigModel, build_rig, standing_pose
from drex_sim.rig.profiles import Profile, get_profile
from drex_sim.rig.servo import ArmServo
from drex_sim.rig.truth import Truth, draw_truth, seal
from drex_sim.rig.wrist import WristSensor
from drex_sim.robot.kinematics import ARM_HOME, HAND_OPEN, RobotKinematics
from drex_sim.robot.trajectory import JointTrajectory
from drex_sim.transforms import from_matrix, to_wxyz
from drex_sim.twin import Twin, load_twin
from drex_sim.twin.mass_record import nominal_mass

Array = NDArray[np.float64]

SETTLE_TIME = 2.0
"""An object that does not stand is let roll to rest for this long before the run [s]."""
INERTIA_EVERY = 25
"""Steps between updates of the inertia used in the servo's feed-forward."""


@dataclass(frozen=True)
class RigSample:
    """Signals of one step, all of the same instant."""

    time: float
    """[s]"""
    arm_position: Array
    arm_velocity: Array
    hand_position: Array
    hand_velocity: Array
    hand_effort: Array
    """Commanded torques (16,) [N m]."""
    wrench: Array
    """(6,) of the environment on the hand, tool0_controller [N, N m]."""


class SimulatedRig:
    """UR5e, Allegro, table and one object. Time is the number of steps times 2 ms and never goes back."""

    def __init__(self, config: RigConfig | None = None) -> None:
        """Build the rig.

        Raises:
          UnknownObjectError, TwinError: the twin cannot be used.
          ConfigError: unknown realism, driver or mode; no mass known.
          ModelsMissingError: set-up has not been run.
        """
        self.config = config or RigConfig()
        self.steps = 0
        self.kinematics = RobotKinematics()
        """For the hand's mass and its COM only; not shared with other threads."""
        self._build()

    # What it is ---------------------------------------------------------------------------------------------
    @property
    def time(self) -> float:
        """Rig time [s]."""
        return self.steps * TIMESTEP

    @property
    def model(self) -> mujoco.MjModel:
        """The compiled model."""
        return self.rig.model

    @property
    def sealed_truth(self) -> Truth:
        """The hidden truth: for tests, the camera's clock and the sealed file; no topic or parameter carries it."""
        return self._truth

    def _build(self) -> None:
        config = self.config
        self.twin: Twin = (
            config.twin if config.twin is not None else load_twin(config.object_id, config.twin_path)
        )
        self.profile: Profile = get_profile(config.realism, config.force_calibrated)
        nominal = None if config.twin is not None else nominal_mass(config.object_id, config.twin_path)
        self._truth = draw_truth(self.twin, self.profile, config.seed, nominal, config.mass)
        self.rig: RigModel = build_rig(self.twin, self._truth, self.profile.finger_friction, config.visuals)
        self.data = mujoco.MjData(self.rig.model)
        self._pad_home = {f: self.rig.model.geom_pos[g].copy() for f, g in self.rig.pad_geoms.items()}
        self.hand = HandDriver(
            config.hand_driver, config.hand_mode, self.profile.torque_step, TIMESTEP, config.hand_gains
        )
        if config.run_folder is not None:
            seal(self._truth, config.seed, config.realism, config.run_folder)
        self._start()

    def _start(self) -> None:
        seeds = np.random.SeedSequence([self.config.seed, 7919]).spawn(4)
        wrist, arm, push, self._camera_rng = (np.random.default_rng(s) for s in seeds)
        self._push_rng = push
        self.arm = ArmServo(self.profile, arm, ARM_HOME)
        self.wrist = WristSensor(
            self._truth,
            self.profile,
            wrist,
            TIMESTEP,
            self.kinematics.hand_mass,
            self.kinematics.hand_center_of_gravity(HAND_OPEN),
        )
        self.pushes = 0
        """How often the sensor was zeroed: what is constant per push changes with it."""
        self.place_robot(ARM_HOME, HAND_OPEN)
        self.place_object(standing_pose(self.rig, self._truth))
        self._displace_pads()
        if not self.twin.stands:
            self._settle()
        self.sample = self._step()

    @property
    def camera_rng(self) -> np.random.Generator:
        """Random numbers of the camera, apart from those of the physics so that it changes nothing there."""
        return self._camera_rng

    # Requests -----------------------------------------------------------------------------------------------
    def reset(self, seed: int | None = None, realism: str | None = None, keep: bool = False) -> None:
        """Arm home, hand open, object standing.

        Args:
          seed: new seed; None: the present one.
          realism: new profile; None: the present one.
          keep: true: the drawn truth stays whatever else is given.

        Raises:
          ConfigError: unknown realism.
        """
        if not keep:
            changed = replace(
                self.config,
                seed=self.config.seed if seed is None else seed,
                realism=self.config.realism if realism is None else realism,
            )
            get_profile(changed.realism)
            self.config = changed
            self._build()
        else:
            self._start()

    def load(self, object_id: str) -> None:
        """Put another object on the table, with its own truth.

        Raises:
          UnknownObjectError, TwinError, ConfigError: it cannot; the rig stays as it was.
        """
        twin = load_twin(object_id, self.config.twin_path)
        if self.config.mass is None and nominal_mass(object_id, self.config.twin_path) is None:
            raise ConfigError(
                f"object {object_id}: no mass.value in its object.yaml; the simulator needs one"
            )
        changed = replace(self.config, object_id=object_id, twin=None)
        if object_id == self.twin.id and twin.hash == self.twin.hash:
            self.reset(keep=True)
            return
        self.config = changed
        self._build()

    def start_trajectory(self, trajectory: JointTrajectory) -> None:
        """Begin an arm motion from where the arm is; `arm.take_outcome` tells how it ended.

        Raises:
          MotionError: one is running.
        """
        if self.arm.moving:
            raise MotionError("the arm is still moving; cancel the running trajectory first")
        self.arm.start(trajectory)

    def stop_trajectory(self) -> None:
        """Brake to rest within 0.12 s."""
        self.arm.stop()

    def zero_force(self) -> None:
        """Zero the wrist sensor; what is constant per push is drawn anew."""
        self.wrist.zero()
        self.pushes += 1
        if not self.pad_contacts():
            self._displace_pads()

    def set_payload(self, mass: float, center: Array) -> None:
        """Everything on the flange: mass [kg], COM in tool0 (3,) [m]."""
        self.wrist.set_payload(mass, center)

    # Stepping -----------------------------------------------------------------------------------------------
    def step(self) -> RigSample:
        """Advance by 2 ms; the signals at the start of the step."""
        self.sample = self._step()
        return self.sample

    def _step(self) -> RigSample:
        data, rig = self.data, self.rig
        time = self.time
        arm, arm_velocity = data.qpos[rig.arm_qpos], data.qvel[rig.arm_dofs]
        hand, hand_velocity = data.qpos[rig.hand_qpos], data.qvel[rig.hand_dofs]
        if self.steps % INERTIA_EVERY == 0:
            self._inertia = self._arm_inertia()
        data.ctrl[:6] = self.arm.step(time, arm, self._inertia)
        data.ctrl[6:] = self.hand.step(time, hand, hand_velocity)
        mujoco.mj_step(rig.model, data)
        self.steps += 1
        # Sensors and frames now hold the values of the step's start, as the joint values taken above do.
        rotation = data.site_xmat[rig.tool_site].reshape(3, 3)
        wrench = self.wrist.read(-data.sensordata[:6], rotation)
        return RigSample(time, arm, arm_velocity, hand, hand_velocity, self.hand.effort, wrench)

    def _arm_inertia(self) -> Array:
        full = np.zeros((self.model.nv, self.model.nv))
        mujoco.mj_fullM(self.model, self.data, full)
        return np.diag(full)[self.rig.arm_dofs]

    # For tests, the camera and the sealed side only ---------------------------------------------------------
    def object_pose(self) -> Array:
        """True base_T_object at the sample's instant, (4, 4)."""
        body = self.rig.object_body
        return from_matrix(self.data.xpos[body], self.data.xmat[body].reshape(3, 3))

    def pad_contacts(self) -> dict[str, float]:
        """True normal force of each fingertip on the object [N]; fingers that do not touch are left out."""
        return {
            finger: force
            for finger, geom in self.rig.pad_geoms.items()
            if (force := self._normal_force(geom)) > 0.0
        }

    def _normal_force(self, geom: int) -> float:
        total, wrench = 0.0, np.zeros(6)
        for i in range(self.data.ncon):
            contact = self.data.contact[i]
            if geom in contact.geom and self.rig.table_geom not in contact.geom:
                mujoco.mj_contactForce(self.model, self.data, i, wrench)
                total += float(wrench[0])
        return total

    def place_robot(self, arm: Array, hand: Array) -> None:
        """Put arm (6,) and hand (16,) at rest somewhere [rad] without moving there."""
        self.data.qpos[self.rig.arm_qpos], self.data.qpos[self.rig.hand_qpos] = arm, hand
        self.data.qvel[:] = 0.0
        self.arm.reset(arm)
        self.hand.reset(hand)
        self._forward()

    def place_object(self, base_T_object: Array) -> None:
        """Put the object at rest at a pose (4, 4)."""
        position, quaternion = to_wxyz(base_T_object)
        at = self.rig.object_qpos
        self.data.qpos[at : at + 3], self.data.qpos[at + 3 : at + 7] = position, quaternion
        self.data.qvel[self.rig.object_dof : self.rig.object_dof + 6] = 0.0
        self._forward()

    def _forward(self) -> None:
        self.data.ctrl[:6], self.data.ctrl[6:] = self.data.qpos[self.rig.arm_qpos], 0.0
        self.data.qacc_warmstart[:] = 0.0
        mujoco.mj_forward(self.model, self.data)

    def _displace_pads(self) -> None:
        for finger, geom in self.rig.pad_geoms.items():
            offset = self.profile.contact_location * self._push_rng.standard_normal(3)
            self.model.geom_pos[geom] = self._pad_home[finger] + offset

    def _settle(self) -> None:
        """Let a lying object roll to rest, then bring it back to its place."""
        at = self.rig.object_qpos
        hand_dofs = self.rig.hand_dofs
        for _ in range(int(SETTLE_TIME / TIMESTEP)):
            hand = self.data.qpos[self.rig.hand_qpos]
            self.data.ctrl[6:] = 3.0 * (HAND_OPEN - hand) - 0.1 * self.data.qvel[hand_dofs]
            # A little drag ends the rolling that a real table's softness would end.
            self.data.qvel[self.rig.object_dof : self.rig.object_dof + 6] *= 0.99
            mujoco.mj_step(self.model, self.data)
        self.data.qpos[at : at + 2] = self._truth.place
        self.data.qvel[:] = 0.0
        self._forward()
