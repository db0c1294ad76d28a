"""The built-in objects, generated from dimensions: nothing is downloaded.

Sizes are those of the paper's objects where its scans tell (shared data), else typical ones. Declared pose: standing
as written, x across the first dimension, y across the second.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import trimesh
from numpy.typing import NDArray
from scipy.spatial import ConvexHull

from drex_sim.twin.format import Twin, solid_of_pieces

Array = NDArray[np.float64]

COM_SIGMA = 0.03
"""COM offset of a built-in twin, 1 sigma, of the extent along each axis (design: lab profile)."""
ROUND_CORNERS = 96
"""Corners of a round footprint: the polygon is 0.05 % smaller than the circle."""


@dataclass(frozen=True)
class _Entry:
    name: str
    make: Callable[[], list[Array]]
    stands: bool = True
    round_base: bool = False
    symmetry: tuple[float, float, float] | None = None
    """Axis of rotational symmetry where it is not that of a round base."""
    fragile_limit: float = 30.0
    fragile_reason: str = "rigid body; the hand's own limit comes first"


def rectangle(width: float, depth: float) -> Array:
    """Corners of a rectangle about the origin, (4, 2) [m]."""
    return np.array([[-1, -1], [1, -1], [1, 1], [-1, 1]]) * [width / 2, depth / 2]


def rounded_rectangle(width: float, depth: float, radius: float) -> Array:
    """Corners of a rectangle whose corners have a radius, (N, 2) [m]."""
    centre = np.array([width / 2 - radius, depth / 2 - radius])
    arcs = []
    for k, sign in enumerate(((1, 1), (-1, 1), (-1, -1), (1, -1))):
        angle = np.linspace(0, np.pi / 2, 9) + k * np.pi / 2
        arcs.append(centre * sign + radius * np.stack([np.cos(angle), np.sin(angle)], 1))
    return np.concatenate(arcs)


def circle(diameter: float, corners: int = ROUND_CORNERS) -> Array:
    """Corners of a circle about the origin, (N, 2) [m]."""
    angle = np.arange(corners) * 2 * np.pi / corners
    return diameter / 2 * np.stack([np.cos(angle), np.sin(angle)], 1)


def prism(footprint: Array, bottom: float, top: float, taper: float = 1.0) -> Array:
    """Vertices of a prism on a convex footprint (N, 2); the top is scaled by taper. (2N, 3) [m]."""
    low = np.column_stack([footprint, np.full(len(footprint), bottom)])
    high = np.column_stack([footprint * taper, np.full(len(footprint), top)])
    return np.concatenate([low, high])


def _bottle() -> list[Array]:
    body = rounded_rectangle(0.0623, 0.097, 0.022)
    return [prism(body, 0.0, 0.170), prism(body, 0.170, 0.2117, 0.55), prism(circle(0.034, 32), 0.2117, 0.2517)]


def _letter_a() -> list[Array]:
    def leg(sign: int) -> Array:
        outline = np.array([[0.042, 0.0], [0.020, 0.0], [0.0, 0.088], [0.0, 0.135], [0.014, 0.135]])
        return _extrude(outline * [sign, 1], 0.039)

    bar = np.array([[-0.0135, 0.026], [0.0135, 0.026], [0.0085, 0.050], [-0.0085, 0.050]])
    return [leg(1), leg(-1), _extrude(bar, 0.039)]


def _letter_u() -> list[Array]:
    arms = [np.array([[0.0445, 0.044], [0.078, 0.044], [0.078, 0.087], [0.0445, 0.087]]) * [s, 1] for s in (1, -1)]
    base = np.array([[-0.078, 0.0], [0.078, 0.0], [0.078, 0.044], [-0.078, 0.044]])
    return [_extrude(outline, 0.043) for outline in (base, *arms)]


def _extrude(outline_xz: Array, depth: float) -> Array:
    """Vertices of an outline in the y-z plane (second, third axis) extruded along x by depth."""
    return np.concatenate([
        np.column_stack([np.full(len(outline_xz), x), outline_xz]) for x in (-depth / 2, depth / 2)
    ])


BULB_RADIUS, NECK_RADIUS, BULB_LENGTH = 0.030, 0.0135, 0.075
"""Ball, neck, and distance from the ball's centre to the neck's end [m]."""
BULB_LEAN = float(
    np.arcsin(BULB_RADIUS / np.hypot(BULB_LENGTH, NECK_RADIUS)) - np.arctan2(NECK_RADIUS, BULB_LENGTH)
)
"""Angle at which ball and end of the neck both lie on the table [rad]."""
BULB_AXIS = (float(np.cos(BULB_LEAN)), 0.0, float(np.sin(BULB_LEAN)))
"""From the neck to the ball."""


def _lightbulb() -> list[Array]:
    ball = trimesh.creation.icosphere(subdivisions=2, radius=BULB_RADIUS).vertices
    angle = np.arange(24) * np.pi / 12
    ring = NECK_RADIUS * np.stack([np.zeros(24), np.cos(angle), np.sin(angle)], 1)
    neck = np.concatenate([ring - [x, 0.0, 0.0] for x in (0.028, BULB_LENGTH)])
    along, up = np.array(BULB_AXIS), np.array([-BULB_AXIS[2], 0.0, BULB_AXIS[0]])
    leaning = neck @ np.stack([along, [0.0, 1.0, 0.0], up])
    return [np.asarray(ball) + [0.0, 0.0, BULB_RADIUS], leaning + [0.0, 0.0, BULB_RADIUS]]


_BULB = "thin glass; bulbs crack from about 25 N between two points, half of it is allowed"
_CAN = "thin sheet of an open can dents at about 25 N from a fingertip"

LIBRARY: dict[str, _Entry] = {
    "lego": _Entry("Lego block", lambda: [prism(rectangle(0.0248, 0.0436), 0.0, 0.0912)]),
    "domino": _Entry("Domino", lambda: [prism(rectangle(0.030, 0.049), 0.0, 0.138)]),
    "cookie": _Entry(
        "Cookie can", lambda: [prism(circle(0.080), 0.0, 0.236)], round_base=True, fragile_limit=20.0,
        fragile_reason="cardboard can: dents from about 25 N of a fingertip",
    ),
    "letter_a": _Entry("Letter A", _letter_a),
    "letter_u": _Entry("Letter U, standing", _letter_u),
    "ketchup": _Entry(
        "Ketchup bottle", _bottle, fragile_limit=25.0,
        fragile_reason="soft plastic: above 25 N the bottle is squeezed out of shape",
    ),
    "lightbulb": _Entry("Light bulb, lying", _lightbulb, stands=False, symmetry=BULB_AXIS, fragile_limit=12.0,
                        fragile_reason=_BULB),
    "cube": _Entry("Cube", lambda: [prism(rectangle(0.060, 0.060), 0.0, 0.060)]),
    "spam": _Entry("Spam can", lambda: [prism(rounded_rectangle(0.074, 0.132, 0.02), 0.0, 0.122)],
                   fragile_limit=25.0, fragile_reason=_CAN),
    "nutella": _Entry("Nutella jar", lambda: [prism(circle(0.085), 0.0, 0.110)], round_base=True),
    "spray": _Entry("Spray can", lambda: [prism(circle(0.066), 0.0, 0.165), prism(circle(0.034, 32), 0.165, 0.198)],
                    round_base=True),
}


def make_twin(object_id: str) -> Twin:
    """Generate a built-in twin (the id must be in LIBRARY)."""
    entry = LIBRARY[object_id]
    axis = {} if entry.symmetry is None else {"symmetry_axes": (entry.symmetry,)}
    return twin_from_pieces(
        object_id, entry.name, entry.make(), **axis, stands=entry.stands, round_base=entry.round_base,
        fragile_limit=entry.fragile_limit, fragile_reason=entry.fragile_reason,
    )


def twin_from_pieces(object_id: str, name: str, pieces: list[Array], **fields: object) -> Twin:
    """A twin of disjoint convex pieces given in a standing frame (z up, table at z = 0)."""
    volume, centre, inertia = solid_of_pieces(pieces)
    centred = tuple(piece - centre for piece in pieces)
    meshes = [trimesh.convex.convex_hull(piece) for piece in centred]
    mesh = trimesh.util.concatenate(meshes)
    lowest = min(piece[:, 2].min() for piece in centred)
    base = np.concatenate([piece[piece[:, 2] < lowest + 1e-4][:, :2] for piece in centred])
    # What rests on a point or a line has a small triangle under it, which stands for "no base".
    polygon = base[ConvexHull(base).vertices] if len(base) >= 3 else base.mean(axis=0) + circle(0.002, 3)
    extents = np.ptp(np.concatenate(centred), axis=0)
    symmetry = ((0.0, 0.0, 1.0),) if fields.get("round_base") else ()
    defaults: dict[str, object] = {
        "com_sigma": tuple(float(COM_SIGMA * e) for e in extents), "symmetry_axes": symmetry,
    }
    return Twin(
        id=object_id, name=name, pieces=centred, vertices=np.asarray(mesh.vertices, float),
        faces=np.asarray(mesh.faces, np.int64), com_height=float(-lowest), support_polygon=polygon, volume=volume,
        inertia_per_kg=inertia, **{**defaults, **fields},  # type: ignore[arg-type]
    )
