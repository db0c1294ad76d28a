"""The simulated rig: physics, imperfections and the drivers' view of it."""

from drex_sim.rig.config import RigConfig
from drex_sim.rig.direct import DirectRobot
from drex_sim.rig.rig import RigSample, SimulatedRig

__all__ = ["DirectRobot", "RigConfig", "RigSample", "SimulatedRig"]
