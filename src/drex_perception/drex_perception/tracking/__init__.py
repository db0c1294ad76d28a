"""Model-based 6-DoF tracking in depth pictures."""

from drex_perception.tracking.config import TrackerConfig
from drex_perception.tracking.tracker import Observation, Tracker

__all__ = ["Observation", "Tracker", "TrackerConfig"]
