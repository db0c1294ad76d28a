"""Substitutions about packages."""

from __future__ import annotations

from typing import Any

from ament_index_python.packages import get_package_prefix, get_package_share_directory
from launch._missing import refuse
from launch.context import LaunchContext
from launch.substitutions import Substitution, perform


class FindPackageShare(Substitution):
    """Share folder of a package, looked up when it is needed."""

    def __init__(self, package: Any) -> None:
        self.package = package

    def perform(self, context: LaunchContext) -> str:
        """The folder."""
        return get_package_share_directory(perform(context, self.package))


class FindPackagePrefix(FindPackageShare):
    """Prefix of a package."""

    def perform(self, context: LaunchContext) -> str:
        """The prefix."""
        return get_package_prefix(perform(context, self.package))


__getattr__ = refuse("launch_ros.substitutions")
