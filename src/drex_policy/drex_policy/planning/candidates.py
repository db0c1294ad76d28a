"""Pre-grasp candidates object_T_palm from the twin's geometry: fingers on one face, the thumb on the opposite one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from drex_policy.planning.surface import SurfacePoint, TwinSurface
from drex_sim.robot.models import PAD_RADIUS
from drex_sim.transforms import from_matrix
from drex_sim.twin import Twin

Array = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class CandidateConfig:
    """What the generator tries."""

    directions: int = 8
    """Pinch directions around the vertical, besides the axes of the base."""
    rolls: tuple[float, ...] = (0.0, 0.6, -0.6, 1.1, -1.1, 1.5708, -1.5708)
    """Turns of the palm about the pinch axis [rad]; 0: palm facing down, +-pi/2: palm facing sideways."""
    spreads: tuple[tuple[int, float], ...] = ((3, 0.036), (3, 0.027), (2, 0.018), (2, 0.013))
    """Number of fingers and distance of the outer ones from the middle of the row [m]."""
    height_step: float = 0.025
    """Spacing of the grasp heights [m]."""
    table_clearance: float = 0.022
    """Lowest pad centre above the table [m]."""
    pad_patch: float = 0.006
    """Half width of the surface a pad needs [m]."""
    max_incline: float = 0.6
    """Largest angle between a finger's contact normal and the pinch axis [rad]."""
    max_thumb_incline: float = 0.2
    """The same for the thumb [rad]."""
    width: tuple[float, float] = (0.012, 0.095)
    """Distances between the two contacts that the hand spans [m]."""


@dataclass(frozen=True, kw_only=True)
class GraspCandidate:
    """Where the pads shall touch, object frame; the palm's place along the pinch is left to the posture."""

    fingers: tuple[str, ...]
    """Fingers opposite the thumb."""
    contacts: dict[str, SurfacePoint]
    """Contact point and outward normal per finger, thumb included."""
    centre: Array
    """(3,) middle of the pinch [m]."""
    pinch: Array
    """(3,) unit, from the thumb to the fingers."""
    approach: Array
    """(3,) unit, from the palm to the object, perpendicular to the pinch."""
    row: Array
    """(3,) unit, along the fingers' row, from ring to index (palm +y)."""
    roll: float
    """Turn of the palm about the pinch axis [rad]."""
    width: float
    """Distance between the two sides [m]."""

    def object_T_palm(self, in_palm: Array, tilt: float) -> Array:
        """Pose of the palm in the object frame, (4, 4).

        Args:
          in_palm: middle of the pinch in the palm frame (3,) [m].
          tilt: angle of the palm's z axis from the pinch axis, towards the approach [rad].
        """
        object_axes = np.stack([self.approach, self.row, self.pinch], axis=1)
        rotation = object_axes @ pinch_axes_in_palm(tilt).T
        return from_matrix(self.centre - rotation @ in_palm, rotation)


def pinch_axes_in_palm(tilt: float) -> Array:
    """Columns: approach, row and pinch direction in the palm frame, (3, 3)."""
    c, s = np.cos(tilt), np.sin(tilt)
    return np.array([[c, 0.0, -s], [0.0, 1.0, 0.0], [s, 0.0, c]])


class CandidateSource(Protocol):
    """Proposes candidates; demonstrations or a network may take the generator's place."""

    def propose(self, twin: Twin) -> Sequence[GraspCandidate]:
        """Candidates in the standing object's frame, in no particular order."""
        ...


class AntipodalCandidates:
    """Candidates on opposite faces of the standing twin."""

    def __init__(self, config: CandidateConfig | None = None) -> None:
        self._config = config or CandidateConfig()

    def propose(self, twin: Twin) -> list[GraspCandidate]:
        """See CandidateSource."""
        return list(self._generate(twin))

    def _generate(self, twin: Twin) -> Iterator[GraspCandidate]:
        config, surface = self._config, TwinSurface(twin)
        bottom = -twin.com_height
        lowest, highest = bottom + config.table_clearance, bottom + twin.height - config.pad_patch
        steps = max(1, round((highest - lowest) / config.height_step))
        heights = np.linspace(lowest, highest, steps + 1)
        for pinch in _pinch_directions(twin, config.directions):
            for height in heights:
                if abs(height) < config.height_step / 2:
                    height = 0.0  # the COM's own height, exactly
                middle = np.array([0.0, 0.0, float(height)])
                if not self._opposed(surface, pinch, middle):
                    continue
                for roll in config.rolls:
                    for count, spread in config.spreads:
                        candidate = self._candidate(surface, pinch, middle, roll, count, spread, lowest)
                        if candidate is not None:
                            yield candidate
                            break  # the widest row that fits

    def _opposed(self, surface: TwinSurface, pinch: Array, middle: Array) -> bool:
        """Whether the thumb meets a face across the pinch there: sorts out most directions at little cost."""
        near = surface.first_hit(middle, pinch)
        return near is not None and near.normal @ -pinch >= np.cos(self._config.max_thumb_incline)

    def _candidate(
        self, surface: TwinSurface, pinch: Array, middle: Array, roll: float, count: int, spread: float, lowest: float
    ) -> GraspCandidate | None:
        config = self._config
        side = np.cross(pinch, [0.0, 0.0, 1.0])
        approach = np.cos(roll) * np.array([0.0, 0.0, -1.0]) + np.sin(roll) * side
        row = np.cross(pinch, approach)
        offsets = np.linspace(spread, -spread, count)
        places = {finger: middle + y * row for finger, y in zip(("index", "middle", "ring"), offsets, strict=False)}
        contacts: dict[str, SurfacePoint] = {}
        if min(place[2] for place in places.values()) < lowest - 1e-9:
            return None
        if any(surface.first_hit(place, -pinch) is None for place in places.values()):
            return None
        for finger, place in [*places.items(), ("thumb", middle)]:
            into = pinch if finger == "thumb" else -pinch
            hit = surface.pad_rest(place, into, config.pad_patch, (row, approach))
            allowed = config.max_thumb_incline if finger == "thumb" else config.max_incline
            if hit is None or hit.normal @ -into < np.cos(allowed):
                return None
            contacts[finger] = hit
        far = np.mean([contacts[f].point @ pinch for f in places])
        near = contacts["thumb"].point @ pinch
        if not config.width[0] <= far - near <= config.width[1]:
            return None
        centre = middle + ((far + near) / 2 - middle @ pinch) * pinch
        return GraspCandidate(
            fingers=tuple(places), contacts=contacts, centre=centre, pinch=pinch, approach=approach, row=row, roll=roll,
            width=float(far - near),
        )


def _pinch_directions(twin: Twin, count: int) -> list[Array]:
    angles = list(np.arange(count) * 2 * np.pi / count)
    edges = np.roll(twin.support_polygon, -1, axis=0) - twin.support_polygon
    longest = edges[np.linalg.norm(edges, axis=1).argmax()]
    along = np.arctan2(longest[1], longest[0])
    if not twin.round_base:
        angles += [along + k * np.pi / 2 for k in range(4)]
    unique: list[float] = []
    for angle in angles:
        if all(abs((angle - other + np.pi) % (2 * np.pi) - np.pi) > 0.02 for other in unique):
            unique.append(float(angle))
    return [np.array([np.cos(a), np.sin(a), 0.0]) for a in unique]


def pad_centre(contact: SurfacePoint) -> Array:
    """Centre of the pad's end sphere when it touches there, (3,) [m]."""
    return contact.point + PAD_RADIUS * contact.normal
