"""How the stand-in refuses what it does not have: by name, at the place where it is used."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

ADVICE = "the stand-in for ROS 2 launch does not have it (docs/setup.md lists what it has); install ROS 2 Jazzy's own"


class UnsupportedLaunchFeatureError(ImportError):
    """A launch file uses a feature that the stand-in does not have."""


def refuse_names(module: str) -> Callable[[str], Any]:
    """A module `__getattr__` that refuses every name the module does not define."""

    def getattribute(name: str) -> Any:
        if name.startswith("__"):  # asked for by Python itself, e.g. __path__
            raise AttributeError(name)
        raise UnsupportedLaunchFeatureError(f"{module}.{name}: {ADVICE}")

    return getattribute


def refuse_options(owner: str, options: Mapping[str, Any]) -> None:
    """Raise for keyword arguments that the genuine class may have and this one does not."""
    if options:
        names = ", ".join(sorted(options))
        raise UnsupportedLaunchFeatureError(f"{owner}({names}=...): {ADVICE}")
