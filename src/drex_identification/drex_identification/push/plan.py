"""Which side to push, how high and how far: chosen before moving, from the twin alone."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from drex_identification.push.contact import TwinSurface, highest_contact
from drex_sim.errors import PushError
from drex_sim.twin import Twin

Array = NDArray[np.float64]

LEAN_SHARE = 0.6
"""Share of the balance angle the object is leaned to: it returns by itself."""
ROUND_LEAN_SHARE = 0.4
"""The same for a round base: the further it leans, the more it rolls on its rim."""
MAX_LEAN = np.radians(18.0)
"""Never lean further [rad]."""
TYPICAL_DENSITY = 600.0
"""Only for comparing directions before anything was pushed [kg/m3]."""
FORCE_ERROR = 0.008
"""Typical error of the force of one push after the baselines [N], for that comparison."""
GRAVITY = 9.81
"""[m/s2]"""


@dataclass(frozen=True, kw_only=True)
class TipPlan:
    """One tip, in the object frame."""

    direction: Array
    """Horizontal unit direction of the push, perpendicular to the support edge ahead, (2,)."""
    contact_point: Array
    """(3,) [m]."""
    contact_normal: Array
    """Outward unit normal there, (3,)."""
    edge: float
    """Support edge ahead of the origin [m]."""
    lean: float
    """Tilt to lean to [rad]."""
    balance: float
    """Tilt at which the twin would fall over [rad]."""
    friction_needed: float
    """Friction with the table below which it slides instead of tipping."""
    expected_sigma: float
    """Relative standard deviation of the mass expected from this edge and its opposite."""

    @property
    def to_pivot(self) -> float:
        """Horizontal distance from the contact to the support edge [m]."""
        return self.edge - float(self.direction @ self.contact_point[:2])


def _plan(twin: Twin, surface: TwinSurface, direction: Array) -> TipPlan | None:
    contact = highest_contact(twin, surface, direction)
    if contact is None:
        return None
    point, normal = contact
    radius = twin.edge_radius
    edge = float((twin.support_polygon @ direction).max())
    lever = edge - radius
    if lever <= 0.002:
        return None
    height = float(point[2] + twin.com_height)
    to_pivot = edge - float(direction @ point[:2])
    # The finger lifts while it leans; its least friction is what can be counted on.
    lift = max(0.0, twin.friction_tip[0] - 2.0 * twin.friction_tip[1])
    push = lever / (height + lift * to_pivot)
    balance = float(np.arctan2(lever, twin.com_height))
    back = -float((twin.support_polygon @ direction).min())
    width = edge + back - 2.0 * radius
    edges = np.hypot(np.sqrt(2.0) * twin.base_edge_sigma, 2.0 * twin.edge_radius_sigma) / width
    force = TYPICAL_DENSITY * twin.volume * GRAVITY * push
    share = ROUND_LEAN_SHARE if twin.round_base else LEAN_SHARE
    return TipPlan(
        direction=direction, contact_point=point, contact_normal=normal, edge=edge,
        lean=min(share * balance, MAX_LEAN), balance=balance, friction_needed=push / (1.0 - lift * push),
        expected_sigma=float(np.hypot(edges, FORCE_ERROR / force / np.sqrt(2.0))),
    )


def _directions(twin: Twin) -> list[Array]:
    """Directions of push worth looking at: one of each opposite pair."""
    if twin.round_base:
        return [np.array([np.cos(a), np.sin(a)]) for a in np.arange(8) * np.pi / 8]
    corners = twin.support_polygon
    edges = np.roll(corners, -1, axis=0) - corners
    lengths = np.linalg.norm(edges, axis=1)
    found: list[Array] = []
    for edge, length in sorted(zip(edges, lengths, strict=True), key=lambda pair: -pair[1]):
        if length < 0.35 * lengths.max():
            break
        normal = np.array([edge[1], -edge[0]]) / length
        if all(abs(normal @ other) < 0.95 for other in found):
            found.append(normal)
    return found


def plan_pairs(twin: Twin) -> list[tuple[TipPlan, TipPlan]]:
    """Pairs of opposite tips that this object allows, best expected information first.

    Raises:
      PushError: code CANNOT_TIP, with the reason and what to do instead.
    """
    if not twin.stands:
        raise PushError(
            f"{twin.id} lies or rolls in its declared pose and cannot be tipped; weigh it in the hand", "CANNOT_TIP"
        )
    surface = TwinSurface(twin)
    mean, sigma = twin.friction_table
    comfortable, possible = mean - 1.9 * sigma, mean - 1.2 * sigma
    pairs, least = [], np.inf
    for direction in _directions(twin):
        pair = _plan(twin, surface, direction), _plan(twin, surface, -direction)
        if pair[0] is None or pair[1] is None:
            continue
        needed = max(plan.friction_needed for plan in pair if plan is not None)
        least = min(least, needed)
        if needed <= possible:
            pairs.append((needed > comfortable, max(p.expected_sigma for p in pair if p is not None), pair))
    if not pairs:
        if not np.isfinite(least):
            raise PushError(
                f"{twin.id} has no pair of opposite upright faces for a fingertip; weigh it in the hand", "CANNOT_TIP"
            )
        raise PushError(
            f"{twin.id} is too wide or too low to tip: it would slide below a table friction of {least:.2f} (only"
            f" {possible:.2f} can be counted on); stand it on a smaller face, use a rougher table, or weigh it in the"
            " hand", "CANNOT_TIP",
        )
    pairs.sort(key=lambda entry: entry[:2])
    return [(pair[0], pair[1]) for _, _, pair in pairs if pair[0] is not None and pair[1] is not None]
