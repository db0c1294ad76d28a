"""Launch files."""

from __future__ import annotations

import importlib.util
from pathlib import Path

from .action import LaunchDescription
from .launch_context import LaunchContext
from .substitutions import SomeSubstitutionsType, describe, perform_substitutions
from .unsupported import UnsupportedLaunchFeatureError, refuse_names

__getattr__ = refuse_names("launch.launch_description_sources")


class InvalidLaunchFileError(RuntimeError):
    """A launch file cannot be used."""


class PythonLaunchDescriptionSource:
    """A launch file in Python."""

    def __init__(self, launch_file_path: SomeSubstitutionsType) -> None:
        self.path = launch_file_path

    def get_launch_description(self, context: LaunchContext) -> LaunchDescription:
        """Run the file and call its generate_launch_description(); raises InvalidLaunchFileError."""
        path = Path(perform_substitutions(context, self.path))
        if path.suffix != ".py":
            raise UnsupportedLaunchFeatureError(
                f"{path}: XML and YAML launch files are not in the stand-in for ROS 2 launch, Python ones are"
            )
        if not path.is_file():
            raise InvalidLaunchFileError(f"launch file {path} does not exist")
        name = "launch_file_" + "".join(letter if letter.isalnum() else "_" for letter in path.name)
        spec = importlib.util.spec_from_file_location(name, path)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        generate = getattr(module, "generate_launch_description", None)
        if generate is None:
            raise InvalidLaunchFileError(f"{path} defines no generate_launch_description()")
        description = generate()
        if not isinstance(description, LaunchDescription):
            raise InvalidLaunchFileError(
                f"generate_launch_description() of {path} returned {type(description).__name__}, not LaunchDescription"
            )
        return description

    def describe(self) -> str:
        """The path as written."""
        return describe(self.path)
