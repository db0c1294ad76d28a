"""Stand-in for the part of launch_ros that D-REX uses (docs/setup.md)."""

from launch._missing import refuse

STAND_IN = True

__getattr__ = refuse("launch_ros")
