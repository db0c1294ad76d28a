"""One grasp from the first look to the release, step by step."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from drex_policy.control.config import Feedback, GraspConfig, GraspProgress
from drex_policy.control.force_law import GRAVITY, wanted_force
from drex_policy.control.grip import Grip
from drex_policy.control.result import GraspResult
from drex_policy.control.watch import HoldWatch
from drex_policy.control.weighing import weigh
from drex_policy.planning.planner import GraspPlan
from drex_sim.errors import NotTrackedError
from drex_sim.robot.kinematics import RobotKinematics
from drex_sim.robot.protocols import Robot, RobotState
from drex_sim.robot.trajectory import JointTrajectory, along_path, minimum_jerk, timed_path
from drex_sim.transforms import from_matrix, inverse, tilt_angle
from drex_sim.twin import Twin

Array = NDArray[np.float64]

SHAKE_AMPLITUDE, SHAKE_FREQUENCY, SHAKE_CYCLES = 0.020, 2.0, 4
"""Vertical shake [m, Hz, count]."""
SHAKE_ACCELERATION = SHAKE_AMPLITUDE * (2 * np.pi * SHAKE_FREQUENCY) ** 2
"""[m/s2]"""



class GraspRun:
    """One grasp from first look to release."""

    def __init__(
        self, robot: Robot, kinematics: RobotKinematics, twin: Twin, config: GraspConfig, result: GraspResult,
        feedback: Feedback, acceleration: float,
    ) -> None:
        self._robot, self._kinematics, self._twin = robot, kinematics, twin
        self._config, self._result, self._feedback = config, result, feedback
        self._acceleration = acceleration
        self._watch = HoldWatch(robot, kinematics)
        self._grip: Grip | None = None
        self._lifted = 0.0
        self._slip_seen = 0.0

    def report(self, phase: str, progress: float) -> None:
        """Send feedback."""
        r = self._result
        slip = r.slip if np.isfinite(r.slip) else 0.0
        force = 0.0 if self._grip is None else self._grip.force
        self._feedback(
            GraspProgress(phase=phase, progress=progress, force_per_side=force, contacts=r.contacts, slip=slip)
        )

    # Before contact -----------------------------------------------------------------------------------------
    def look(self) -> Array:
        """base_T_object averaged over a moment; a standing object is taken upright on the table."""
        poses = []
        end = self._robot.time() + self._config.look_time
        while self._robot.time() < end:
            poses.append(self._robot.tracked().base_T_object)
            self._robot.sleep(0.03)
        position = np.median([p[:3, 3] for p in poses], axis=0)
        rotation = Rotation.from_matrix([p[:3, :3] for p in poses]).mean().as_matrix()
        if not self._twin.stands:
            return from_matrix(position, rotation)
        lean = tilt_angle(from_matrix(position, rotation))
        if lean > self._config.max_lean:
            raise NotTrackedError(
                f"{self._twin.id} leans by {np.degrees(lean):.0f} deg (allowed"
                f" {np.degrees(self._config.max_lean):.0f}); stand it up"
            )
        yaw = np.arctan2(rotation[1, 0], rotation[0, 0])
        position[2] = self._twin.com_height
        return from_matrix(position, Rotation.from_euler("z", yaw).as_matrix())

    def approach(self, plan: GraspPlan) -> None:
        """Go around the object with the open hand, free way first, then straight."""
        robot, config = self._robot, self._config
        self._plan = plan
        self._grip = Grip(robot, self._kinematics, plan, config.stiffness, self._result)
        self.report("approach", 0.05)
        robot.set_payload(0.0, np.zeros(3))
        # The free way is checked with the open hand: a finger still stretched out from a push would sweep the object.
        self._grip.open(1.0)
        robot.sleep(0.3)
        for goal in plan.free_path[1:]:
            now = robot.state().arm_position
            if np.abs(goal - now).max() > 1e-3:
                robot.arm.execute(along_path(np.stack([now, goal]), config.joint_speed))
        robot.zero_force()
        robot.sleep(config.weighing.settle)
        # Here nothing touches the hand, and the straight approach keeps the wrist's orientation; at its end a finger
        # may lean on the object.
        self._watch.empty = self._watch.mean_force(config.weighing.duration)
        self._follow(along_path(plan.approach, config.approach_speed))
        robot.sleep(config.weighing.settle)

    def _follow(self, trajectory: JointTrajectory, guard: Callable[[RobotState], bool] | None = None) -> None:
        """Run a trajectory from where the arm really is."""
        positions = trajectory.positions.copy()
        positions[0] = self._robot.state().arm_position
        self._robot.arm.execute(JointTrajectory(trajectory.times, positions, trajectory.velocities), guard)

    # Contact ------------------------------------------------------------------------------------------------
    def close(self, force: float) -> bool:
        """Touch, then load; False (with code and message in the result) when the fingers met nothing."""
        config, grip, result = self._config, self._grip, self._result
        self.report("close", 0.25)
        grip.close(config.close_time)
        grip.ramp(min(config.touch_force, force), 0.0, 0.4)
        self._robot.sleep(0.3)
        grip.anchor()
        self.report("load", 0.35)
        grip.ramp(force, 0.0, config.load_time)
        self._robot.sleep(0.3)
        grip.anchor()
        self._robot.sleep(0.1)
        # The joints are soft: without their torques carrying the weight the object would sag in the hand.
        grip.ramp(force, result.mass_used * GRAVITY, 0.4)
        self._robot.sleep(0.2)
        result.force_per_side = force
        result.finger_forces = grip.finger_forces()
        touching = grip.contacts(config.contact_share, config.contact_force)
        result.contacts = len(touching)
        if "thumb" not in touching or len(touching) < 2 or grip.aperture() < -config.max_closing:
            result.code = "NO_CONTACT"
            result.message = (
                f"fingers in contact: {', '.join(touching) or 'none'} of {', '.join(self._plan.fingers)}; the hand"
                f" closed {1e3 * max(0.0, -grip.aperture()):.0f} mm beyond the object's width. It is not where the"
                " tracker says, or was knocked over: stand it up and try again"
            )
            return False
        self._watch.set_reference(0.4)
        return True

    # In the hand --------------------------------------------------------------------------------------------
    def lift(self, height: float) -> None:
        """A little first, to see whether the grip holds; then the rest, pressing harder when the object sags."""
        config = self._config
        self.report("lift", 0.45)
        self._rise(min(config.test_height, height))
        for _ in range(config.max_raises):
            self._robot.sleep(0.2)
            weight = self._watch.weight(self._watch.mean_force(0.4).force)
            slip = self._watch.slip(0.3)
            if not self._raise_for(weight, slip):
                break
            self._watch_slip(slip)
            self._rise(min(self._lifted + 0.004, height))
        self._rise(height)

    def _raise_for(self, weight: float, slip: float) -> bool:
        """Press harder when the test lift shows slip, or more weight than the force was meant for."""
        result, config = self._result, self._config
        mass = max(weight, 0.0) / GRAVITY
        force = self._grip.force
        if mass > result.mass_used + 2 * result.mass_sigma + 0.005:
            wanted = wanted_force(
                mass, 0.02 * mass, self._twin.friction_tip, config.law, self._acceleration
            )
            force = max(force, wanted)
        if slip > config.slip_reaction or mass < 0.7 * result.mass_used - 0.005:
            force = max(force, config.raise_by * self._grip.force)
        force = min(force, result.force_limit)
        if force <= 1.005 * self._grip.force:
            return False
        result.force_raised += 1
        result.force_per_side = force
        self._grip.ramp(force, max(self._grip.weight, mass * GRAVITY), 0.3)
        return True

    def _rise(self, height: float) -> None:
        """Straight up to a height over the grasp, no faster than the acceleration the force is meant for."""
        way = height - self._lifted
        if abs(way) < 1e-4:
            return
        # The largest acceleration of a minimum-jerk motion is 5.77 way / duration^2.
        duration = max(self._config.min_lift_time, np.sqrt(5.8 * abs(way) / self._config.law.acceleration))
        times = np.linspace(0.0, duration, max(8, int(duration / 0.1)))
        heights = self._lifted + minimum_jerk(times / duration) * way
        path = self._at_heights(heights)
        self._lifted = height
        self._follow(timed_path(times, path), self._lift_guard())

    def _at_heights(self, heights: Array) -> Array:
        lift = self._plan.lift
        grid = np.linspace(0.0, self._plan.lift_height, len(lift))
        return np.stack([np.interp(heights, grid, lift[:, j]) for j in range(6)], axis=1)

    def _lift_guard(self) -> Callable[[RobotState], bool]:
        """Never stops the motion; presses harder when the object sags in the hand."""
        reaction = [2 * self._config.slip_reaction]

        def guard(state: RobotState) -> bool:
            sag = self._watch.sagging(state)
            if sag > reaction[0]:
                reaction[0] += self._config.slip_reaction
                self._press_harder()
            return False

        return guard

    def _press_harder(self) -> None:
        result = self._result
        force = min(self._config.raise_by * self._grip.force, result.force_limit)
        if force > self._grip.force and result.force_raised < 2 * self._config.max_raises:
            result.force_raised += 1
            result.force_per_side = force
            self._grip.press(force)

    def hold(self, duration: float, shake: bool) -> None:
        """Hold, weigh, watch; the verdict goes into the result."""
        robot, config, result, watch = self._robot, self._config, self._result, self._watch
        self.report("hold", 0.6)
        end = robot.time() + duration
        robot.sleep(config.weighing.settle)
        self._held_force = watch.mean_force(max(config.weighing.duration, min(duration - 1.5, 3.0)))
        assert watch.empty is not None
        rotation = self._kinematics.tool(robot.state().arm_position)[:3, :3]
        weighing = weigh(watch.empty, self._held_force, rotation, config.weighing)
        result.weighed_mass, result.weighed_mass_stddev = weighing.mass, weighing.sigma
        self.report("weigh", 0.7)
        if shake:
            self._shake()
        # A dropped object needs no more holding.
        while robot.time() < end - 0.4 and weighing.mass > 0.4 * result.mass_used:
            weight = watch.weight(robot.state().force)
            self._grip.press(self._grip.force, weight)
            self._watch_slip(watch.slip(0.3))
            if result.slip > config.slip_reaction + self._slip_seen:
                self._slip_seen = result.slip
                self._press_harder()
            self.report("hold", 0.75)
        result.contacts = len(self._grip.contacts(config.contact_share, config.contact_force))
        result.finger_forces = self._grip.finger_forces()
        self._judge()

    def _watch_slip(self, slip: float) -> None:
        if np.isfinite(slip):
            self._result.slip = slip

    def _judge(self) -> None:
        result, config, watch = self._result, self._config, self._watch
        self._watch_slip(watch.slip(0.5))
        final = watch.weight(watch.mean_force(0.3).force) / GRAVITY
        result.lift_height = self._lifted
        if final < 0.6 * result.weighed_mass or final < 0.4 * result.mass_used or self._grip.aperture() < -0.015:
            result.lift_height = 0.0 if result.weighed_mass < 0.4 * result.mass_used else self._lifted
            text = f"dropped: {max(final, 0.0):.3f} kg felt in the hand of {result.mass_used:.3f} kg"
        elif result.slip > config.slip_limit:
            text = f"slipped {1e3 * result.slip:.0f} mm in the hand (allowed {1e3 * config.slip_limit:.0f} mm)"
        else:
            result.held = True
            result.message = (
                f"held {result.mass_used:.3f} kg with {result.force_per_side:.1f} N per side; weighed"
                f" {result.weighed_mass:.3f} +- {result.weighed_mass_stddev:.3f} kg"
            )
            return
        at_limit = self._grip.force > 0.98 * result.force_limit and result.force_wanted > result.force_limit
        result.code = "FORCE_TOO_HIGH" if at_limit else "SLIPPED"
        result.message = (
            f"{text} at {self._grip.force:.1f} N per side (limit {result.force_limit:.1f} N)."
            + (" The hand cannot press harder: use a grippier fingertip" if at_limit else " Weigh again and retry")
        )

    def _shake(self) -> None:
        """Up and down about the present height, at rest at both ends."""
        duration = SHAKE_CYCLES / SHAKE_FREQUENCY
        times = np.linspace(0.0, duration, int(duration / 0.02) + 1)
        fade = np.clip(np.minimum(times, duration - times) * SHAKE_FREQUENCY * 2, 0.0, 1.0)
        wave = -SHAKE_AMPLITUDE * (1 - np.cos(2 * np.pi * SHAKE_FREQUENCY * times)) * fade
        path = self._at_heights(self._lifted + wave)
        self._follow(timed_path(times, path), self._lift_guard())

    def _object_in_tool(self) -> Array:
        return (self._kinematics.tool_T_palm @ inverse(self._plan.posture.object_T_palm))[:3, 3]

    def tell_payload(self) -> None:
        """Tell the arm what it carries (after weighing: the weight vanishes from the wrench)."""
        if self._result.weighed_mass > 0:
            self._robot.set_payload(self._result.weighed_mass, self._object_in_tool())

    # Put down -----------------------------------------------------------------------------------------------
    def put_down(self) -> None:
        """Lower until the table carries, let go, weigh the empty hand again, go back the way it came."""
        robot, config, watch, result = self._robot, self._config, self._watch, self._result
        self.report("lower", 0.85)
        if self._lifted > 0:
            self.tell_payload()
            robot.sleep(0.2)
            rest = watch.mean_force(0.3).force
            stop = 0.4 + 0.3 * max(result.weighed_mass, 0.0) * GRAVITY

            def touched(state: RobotState) -> bool:
                return self._lifted_now(state) < 0.03 and self._upward(state.force - rest) > stop

            duration = max(2.0, np.sqrt(5.8 * self._lifted / config.law.acceleration))
            times = np.linspace(0.0, duration, max(10, int(duration / 0.1)))
            path = self._at_heights(self._lifted * (1.0 - minimum_jerk(times / duration)))
            self._follow(timed_path(times, path), touched)
        self.report("release", 0.92)
        self._grip.ramp(0.0, 0.0, 0.4)
        self._grip.open(0.8)
        robot.set_payload(0.0, np.zeros(3))
        if np.isfinite(result.weighed_mass) and watch.empty is not None:
            robot.sleep(config.weighing.settle)
            after = watch.mean_force(config.weighing.duration)
            rotation = self._kinematics.tool(robot.state().arm_position)[:3, :3]
            weighing = weigh(watch.empty, self._held_force, rotation, config.weighing, after)
            result.weighed_mass, result.weighed_mass_stddev = weighing.mass, weighing.sigma
        back = self._plan.approach[::-1]
        back = np.concatenate([[robot.state().arm_position], back[1:]])
        robot.arm.execute(along_path(back, config.approach_speed))
        self.report("release", 1.0)

    def _lifted_now(self, state: RobotState) -> float:
        return float(self._kinematics.tool(state.arm_position)[2, 3] - self._plan.base_T_tool[2, 3])

    def _upward(self, force: Array) -> float:
        return float((self._plan.base_T_tool[:3, :3] @ force)[2])
