"""Stand-in for the part of ROS 2 launch that D-REX uses, where the original is absent (docs/setup.md)."""

from launch._missing import UnsupportedLaunchFeatureError, refuse
from launch.context import LaunchContext
from launch.launch_description import LaunchDescription

STAND_IN = True
"""Tells this package from the original."""

__all__ = ["STAND_IN", "LaunchContext", "LaunchDescription", "UnsupportedLaunchFeatureError"]

__getattr__ = refuse("launch")
