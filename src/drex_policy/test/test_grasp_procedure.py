"""The whole grasp on the simulated rig, stepped in this process."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from drex_policy.control.config import GraspProgress
from drex_policy.control.procedure import GraspProcedure
from drex_policy.planning.planner import GraspPlanner
from drex_sim.errors import CancelledError, ConfigError, GraspError, NotTrackedError
from drex_sim.rig.config import RigConfig
from drex_sim.rig.direct import DirectRobot
from drex_sim.rig.rig import SimulatedRig
from drex_sim.robot.kinematics import RobotKinematics
from drex_sim.transforms import from_matrix
from drex_sim.twin import load_twin

MASS = 0.05


@pytest.fixture(scope="module")
def planner() -> GraspPlanner:
    return GraspPlanner(load_twin("lego"), RobotKinematics())


def _rig() -> SimulatedRig:
    return SimulatedRig(RigConfig(object_id="lego", realism="lab", seed=3, mass=MASS, force_calibrated=True))


def _procedure(robot: DirectRobot, planner: GraspPlanner) -> GraspProcedure:
    return GraspProcedure(robot, RobotKinematics(), load_twin("lego"), planner=planner)


def test_holds_weighs_and_puts_back(planner) -> None:
    rig, seen = _rig(), []
    heights = []
    robot = DirectRobot(rig, on_step=lambda _: heights.append(rig.object_pose()[2, 3]))
    start = rig.object_pose()
    result = _procedure(robot, planner).run(MASS, 0.002, hold_time=2.0, feedback=seen.append)
    assert result.held and result.code == "NONE", result.message
    assert max(heights) - heights[0] > 0.095
    assert result.slip < 0.003 and result.contacts == 3
    assert result.weighed_mass == pytest.approx(MASS, abs=3 * result.weighed_mass_stddev + 0.002)
    assert len(result.times) == len(result.forces) == len(result.weights) > 50
    phases = list(dict.fromkeys(p.phase for p in seen))
    assert phases == ["plan", "approach", "close", "load", "lift", "hold", "weigh", "lower", "release"]
    end = rig.object_pose()
    assert np.linalg.norm(end[:3, 3] - start[:3, 3]) < 0.008 and end[2, 2] > 0.999
    assert not rig.pad_contacts()


def test_closing_on_nothing_is_no_contact(planner) -> None:
    rig = _rig()

    def take_away(progress: GraspProgress) -> None:
        if progress.phase == "close":
            rig.place_object(from_matrix([0.2, 0.5, 0.05], np.eye(3)))

    result = _procedure(DirectRobot(rig), planner).run(MASS, 0.002, feedback=take_away)
    assert not result.held and result.code == "NO_CONTACT" and "stand it up" in result.message


def test_a_dropped_object_is_reported(planner) -> None:
    rig = _rig()

    def drop(progress: GraspProgress) -> None:
        if progress.phase == "hold" and not dropped:
            dropped.append(True)
            rig.place_object(from_matrix([0.2, 0.5, 0.05], np.eye(3)))

    dropped: list[bool] = []
    result = _procedure(DirectRobot(rig), planner).run(MASS, 0.002, hold_time=1.0, feedback=drop)
    assert not result.held and result.code == "SLIPPED" and "dropped" in result.message


def test_too_heavy_is_refused_before_anything_moves(planner) -> None:
    rig = _rig()
    arm = rig.sample.arm_position
    with pytest.raises(GraspError, match=r"3\.000 kg needs") as caught:
        _procedure(DirectRobot(rig), planner).run(3.0, 0.1)
    assert caught.value.code == "FORCE_TOO_HIGH"
    assert rig.sample.arm_position == pytest.approx(arm, abs=1e-3)


def test_cancel_stops_within_a_second(planner) -> None:
    rig, at = _rig(), []

    def cancelled() -> bool:
        return bool(at) and rig.time > at[0]

    def ask(progress: GraspProgress) -> None:
        if progress.phase == "approach" and not at:
            at.append(rig.time + 1.0)

    with pytest.raises(CancelledError):
        _procedure(DirectRobot(rig, cancelled=cancelled), planner).run(MASS, 0.002, feedback=ask)
    assert rig.time - at[0] < 1.0
    assert np.abs(rig.sample.arm_velocity).max() < 0.05


def test_a_fallen_object_and_bad_goals_are_refused(planner) -> None:
    rig = _rig()
    rig.place_object(from_matrix([0.5, 0.0, 0.0124], Rotation.from_euler("y", 1.5708).as_matrix()))
    procedure = _procedure(DirectRobot(rig), planner)
    with pytest.raises(NotTrackedError, match="leans by"):
        procedure.run(MASS, 0.002)
    with pytest.raises(ConfigError, match=r"lift_height is 0\.5"):
        procedure.run(MASS, 0.002, lift_height=0.5)
    with pytest.raises(ConfigError, match="hold_time is -1"):
        procedure.run(MASS, 0.002, hold_time=-1)
