"""The part of ROS 2 launch_ros that D-REX's launch files use, for machines without the genuine package."""

from launch.unsupported import refuse_names

from . import actions, parameter_descriptions, substitutions

__all__ = ["actions", "parameter_descriptions", "substitutions"]

__getattr__ = refuse_names("launch_ros")
