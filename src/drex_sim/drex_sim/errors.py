"""Typed errors of D-REX. Each text says what was found, what is allowed and what to do."""

from __future__ import annotations


class DrexError(Exception):
    """Base of every error that D-REX raises on purpose."""


class UnknownObjectError(DrexError):
    """No twin of this id is in the twin path."""


class TwinError(DrexError):
    """A twin on disk cannot be used; the text names the file and the field."""


class ConfigError(DrexError):
    """A configuration value or parameter is missing or out of range."""


class ModelsMissingError(DrexError):
    """The robot models are not on disk (set-up has not been run)."""


class JointNamesError(DrexError):
    """A joint is missing, doubled or unknown."""


class InvalidDataError(DrexError):
    """Data contain NaN, wrong shapes or wrong units."""


class StaleDataError(DrexError):
    """A stream the robot needs went silent."""


class NotTrackedError(DrexError):
    """No usable pose of the object."""


class MotionError(DrexError):
    """A motion was refused or failed (controller absent, goal rejected, tolerance violated)."""


class MotionStoppedError(MotionError):
    """The supervisor (or the robot's own safety) stopped the motion."""


class LimitError(MotionError):
    """A command was outside the limits of the safety configuration."""


class UnreachableError(DrexError):
    """Inverse kinematics or collision checks found no motion."""


class CancelledError(DrexError):
    """The user cancelled."""


class TrialError(DrexError):
    """A recorded trial is damaged, truncated or of another object."""


class UninformativePushError(DrexError):
    """A push holds no information about the mass."""


class PushError(DrexError):
    """A push could not be carried out. `code` is the name of the ExecutePush error constant."""

    def __init__(self, message: str, code: str) -> None:
        super().__init__(message)
        self.code = code


class GraspError(DrexError):
    """A grasp could not be carried out. `code` is the name of the Grasp error constant."""

    def __init__(self, message: str, code: str) -> None:
        super().__init__(message)
        self.code = code
