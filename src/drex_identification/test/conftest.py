"""Shared: pushes recorded once on the simulated rig."""

from __future__ import annotations

import os
import sys
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from drex_identification.push.procedure import PushProcedure
from drex_sim.rig.config import RigConfig
from drex_sim.rig.direct import DirectRobot
from drex_sim.rig.rig import SimulatedRig
from drex_sim.robot.kinematics import RobotKinematics


@pytest.fixture(scope="session")
def kinematics():
    return RobotKinematics()


@pytest.fixture(scope="session")
def pushed(kinematics):
    """Two tips of the letter A in profile lab: (trials, twin, true mass, rig time)."""
    rig = SimulatedRig(RigConfig(object_id="letter_a", realism="lab", seed=2, force_calibrated=True))
    trials = PushProcedure(DirectRobot(rig), kinematics, rig.twin).run()
    return trials, rig.twin, rig.sealed_truth.mass, rig.time
