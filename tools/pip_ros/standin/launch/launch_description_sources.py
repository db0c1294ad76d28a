"""Where an included description comes from."""

from __future__ import annotations

import importlib.util
from typing import Any

from launch._missing import refuse
from launch.context import LaunchContext
from launch.launch_description import LaunchDescription
from launch.substitutions import perform


def load_python_launch_file(path: str) -> LaunchDescription:
    """Description of a Python launch file."""
    spec = importlib.util.spec_from_file_location("launch_file", path)
    if spec is None or spec.loader is None:
        raise FileNotFoundError(f"launch file {path} cannot be loaded; only Python launch files are supported")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    if not hasattr(module, "generate_launch_description"):
        raise AttributeError(f"launch file {path} has no generate_launch_description()")
    return module.generate_launch_description()


class PythonLaunchDescriptionSource:
    """A Python launch file."""

    def __init__(self, launch_file_path: Any) -> None:
        self.path = launch_file_path

    def load(self, context: LaunchContext) -> LaunchDescription:
        """Load it."""
        return load_python_launch_file(perform(context, self.path))


__getattr__ = refuse("launch.launch_description_sources")
