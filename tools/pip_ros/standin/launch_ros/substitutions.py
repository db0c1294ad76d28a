"""Where ROS packages are."""

from __future__ import annotations

from pathlib import Path

from ament_index_python.packages import PackageNotFoundError, get_package_prefix
from launch.launch_context import LaunchContext
from launch.substitutions import (
    SomeSubstitutionsType,
    Substitution,
    SubstitutionFailure,
    describe,
    perform_substitutions,
)
from launch.unsupported import refuse_names

__getattr__ = refuse_names("launch_ros.substitutions")


def package_prefix(package: str) -> Path:
    """Where a package is installed; raises SubstitutionFailure."""
    try:
        return Path(get_package_prefix(package))
    except PackageNotFoundError:
        raise SubstitutionFailure(
            f"package '{package}' not found; is it built, and is install/setup.bash sourced?"
        ) from None


class FindPackageShare(Substitution):
    """The share folder of a package, looked up when it is needed."""

    def __init__(self, package: SomeSubstitutionsType) -> None:
        self.package = package

    def perform(self, context: LaunchContext) -> str:
        """Path of the folder; raises SubstitutionFailure where the package is absent."""
        package = perform_substitutions(context, self.package)
        return str(package_prefix(package) / "share" / package)

    def describe(self) -> str:
        """As written in the launch file."""
        return f"FindPackageShare({describe(self.package)})"
