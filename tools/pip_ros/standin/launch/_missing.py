"""Features the stand-in does not have are errors that name them."""

from __future__ import annotations

from collections.abc import Callable


class UnsupportedLaunchFeatureError(ImportError):
    """A launch file asks for something the stand-in does not have."""


def refuse(module: str) -> Callable[[str], object]:
    """A module-level __getattr__ that names what is missing."""

    def __getattr__(name: str) -> object:
        if name.startswith("__"):
            raise AttributeError(name)
        raise UnsupportedLaunchFeatureError(
            f"{module}.{name} is not part of the launch stand-in of tools/pip_ros; use a feature listed in"
            " docs/setup.md, or install ROS 2 Jazzy, whose own launch is then used"
        )

    return __getattr__


def refuse_options(what: str, options: dict[str, object]) -> None:
    """Refuse keyword arguments the stand-in does not know."""
    if options:
        raise UnsupportedLaunchFeatureError(
            f"{what}: argument {', '.join(sorted(options))} is not part of the launch stand-in of tools/pip_ros"
        )
