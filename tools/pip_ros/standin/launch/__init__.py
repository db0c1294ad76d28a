"""The part of ROS 2 launch that D-REX's launch files use, for machines without the genuine package."""

from . import (
    actions,
    conditions,
    event_handlers,
    events,
    launch_description_sources,
    substitutions,
    utilities,
)
from .action import Action, LaunchDescription
from .launch_context import LaunchContext
from .launch_service import LaunchService
from .substitutions import SomeSubstitutionsType, Substitution
from .unsupported import UnsupportedLaunchFeatureError, refuse_names

__all__ = [
    "STAND_IN",
    "Action",
    "LaunchContext",
    "LaunchDescription",
    "LaunchService",
    "SomeSubstitutionsType",
    "Substitution",
    "UnsupportedLaunchFeatureError",
    "actions",
    "conditions",
    "event_handlers",
    "events",
    "launch_description_sources",
    "substitutions",
    "utilities",
]

STAND_IN = True
"""Tells this package from the genuine one."""

__getattr__ = refuse_names("launch")
