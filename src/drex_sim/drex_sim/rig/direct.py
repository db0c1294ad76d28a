"""The robot protocols by stepping the simulated rig in this process, faster than real time."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager

import numpy as np
from numpy.typing import NDArray

from drex_sim.errors import CancelledError, MotionError, NotTrackedError
from drex_sim.rig.model import TIMESTEP
from drex_sim.rig.poses import NoisyPoses
from drex_sim.rig.recording import RigRecording
from drex_sim.rig.rig import RigSample, SimulatedRig
from drex_sim.robot.kinematics import HAND_OPEN
from drex_sim.robot.limits import SafetyLimits
from drex_sim.robot.protocols import Guard, MotionResult, RobotState, StateRecorder, TrackedPose
from drex_sim.robot.realisation import realise
from drex_sim.robot.trajectory import JointTrajectory

Array = NDArray[np.float64]

GUARD_STEPS = 5
"""Steps between two calls of a guard (10 ms)."""
START_DELAY = 0.03
"""Time between sending a trajectory and its start, as over DDS [s]."""
CANCEL_DELAY = 0.03
"""Time between asking for a stop and the arm braking, as over DDS [s]."""
START_TOLERANCE = 0.05
"""A trajectory must start within this of the present joint position [rad]."""


class DirectRobot:
    """Implements drex_sim.robot.protocols.Robot on a SimulatedRig, which it alone steps."""

    def __init__(
        self,
        rig: SimulatedRig,
        limits: SafetyLimits | None = None,
        cancelled: Callable[[], bool] = lambda: False,
        on_step: Callable[[RigSample], None] | None = None,
    ) -> None:
        """Wrap a rig.

        Args:
          rig: the simulated rig.
          limits: what trajectories and hand commands are checked against; None: the defaults.
          cancelled: asked during every motion and wait.
          on_step: called after every step, for plots and tests.
        """
        self.rig = rig
        self._limits = limits or SafetyLimits()
        self._cancelled = cancelled
        self._on_step = on_step
        self._poses = NoisyPoses(rig)
        self._pose: TrackedPose | None = None
        self._pose_received = -np.inf
        self._recordings: list[RigRecording] = []
        self._hand_target: tuple[Array, Array] | None = (HAND_OPEN.copy(), np.zeros(16))
        self._next_hand = rig.time

    @property
    def arm(self) -> DirectRobot:
        """The arm."""
        return self

    @property
    def hand(self) -> DirectRobot:
        """The hand."""
        return self

    def time(self) -> float:
        """See protocols.Robot."""
        return self.rig.time

    def state(self) -> RobotState:
        """See protocols.Robot."""
        s = self.rig.sample
        return RobotState(
            stamp=s.time,
            arm_position=s.arm_position,
            arm_velocity=s.arm_velocity,
            hand_position=s.hand_position,
            hand_velocity=s.hand_velocity,
            force=s.wrench[:3],
            torque=s.wrench[3:],
        )

    def tracked(self) -> TrackedPose:
        """See protocols.Robot."""
        if self._pose is None:
            self._advance(0.3)
        if self._pose is None or self.rig.time - self._pose_received > self._limits.pose_timeout:
            raise NotTrackedError(f"no pose of {self.rig.twin.id} within {self._limits.pose_timeout} s")
        return self._pose

    def sleep(self, duration: float) -> None:
        """See protocols.Robot."""
        self._advance(duration)

    def zero_force(self) -> None:
        """See protocols.Robot."""
        self._advance(0.01)
        self.rig.zero_force()

    def set_payload(self, mass: float, center_of_gravity: Array) -> None:
        """See protocols.Robot."""
        kinematics = self.rig.kinematics
        own, own_center = kinematics.hand_mass, kinematics.hand_center_of_gravity(HAND_OPEN)
        center = (own * own_center + mass * np.asarray(center_of_gravity, float)) / (own + mass)
        self.rig.set_payload(own + mass, center)

    @contextmanager
    def _record(self) -> Iterator[RigRecording]:
        recording = RigRecording()
        self._recordings.append(recording)
        try:
            yield recording
        finally:
            self._recordings.remove(recording)

    def record(self) -> AbstractContextManager[StateRecorder]:
        """See protocols.Robot."""
        return self._record()

    def command(self, positions: Array, efforts: Array | None = None, grasp_force: float = 0.0) -> None:
        """See protocols.Hand."""
        self._hand_target = self._limits.clamp_hand(positions, np.zeros(16) if efforts is None else efforts)
        for recording in self._recordings:
            recording.add_command(self.rig.time, self._hand_target[0])

    def execute(self, trajectory: JointTrajectory, guard: Guard | None = None) -> MotionResult:
        """See protocols.Arm."""
        gap = np.abs(trajectory.positions[0] - self.rig.sample.arm_position).max()
        if gap > START_TOLERANCE:
            raise MotionError(
                f"trajectory starts {gap:.3f} rad from the arm's position (allowed {START_TOLERANCE} rad);"
                " nothing moved"
            )
        self._limits.check_trajectory(trajectory)
        self._advance(START_DELAY)
        self.rig.start_trajectory(trajectory)
        while (outcome := self.rig.arm.take_outcome()) is None:
            for _ in range(GUARD_STEPS):
                self._step()
            if self._cancelled():
                self._stop()
                raise CancelledError("cancelled by the user; the robot was stopped")
            if guard is not None and guard(self.state()):
                self._stop()
                return MotionResult.GUARDED
        if not outcome:
            raise MotionError(
                "the arm did not reach the end of its trajectory: something holds it; see the wrench"
            )
        return MotionResult.REACHED

    def _stop(self) -> None:
        self._run(CANCEL_DELAY)
        self.rig.stop_trajectory()
        while self.rig.arm.moving:
            self._step()
        self._run(0.05)
        self.rig.arm.take_outcome()

    def _run(self, duration: float) -> None:
        for _ in range(round(duration / TIMESTEP)):
            self._step()

    def _advance(self, duration: float) -> None:
        steps = max(1, round(duration / TIMESTEP))
        for i in range(steps):
            self._step()
            if i % GUARD_STEPS == 0 and self._cancelled():
                raise CancelledError("cancelled by the user; the robot was stopped")

    def _step(self) -> None:
        driver, hand_cycle = self.rig.hand, self.rig.time >= self._next_hand - 1e-9
        if hand_cycle:
            self._next_hand += driver.period
            if self._hand_target is not None:
                sample = self.rig.sample
                driver.command(
                    realise(
                        *self._hand_target,
                        mode=driver.mode,
                        gains=driver.gains,
                        measured=sample.hand_position,
                        velocity=sample.hand_velocity,
                    )
                )
        sample = self.rig.step()
        for pose in self._poses.step():
            self._pose, self._pose_received = pose, sample.time
            for recording in self._recordings:
                recording.add_pose(sample.time, pose)
        for recording in self._recordings:
            recording.add_sample(sample, hand_cycle)
        if self._on_step is not None:
            self._on_step(sample)
