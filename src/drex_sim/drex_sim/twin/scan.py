"""A twin from a scanned mesh: checks, standing pose, hull-bounded repair (see `slabs`)."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np
import trimesh
from numpy.typing import NDArray
from scipy.spatial import ConvexHull, QhullError
from scipy.spatial.transform import Rotation

from drex_sim.errors import TwinError
from drex_sim.twin.format import Twin, check_points
from drex_sim.twin.library import twin_from_pieces
from drex_sim.twin.slabs import notch_share, stack_of

Array = NDArray[np.float64]

SAMPLES = 60000
"""Surface samples that stand for the scan."""
POSE_STRIDE = 10
"""Every so many-th sample is looked at for the standing pose."""
MAX_HEIGHT = 0.35
"""Taller objects leave the camera's view [m]."""
MAX_GRIP, MIN_GRIP = 0.110, 0.010
"""Narrowest horizontal size the hand can close on [m]."""
FLAT_BAND = 0.002
"""Points this near the lowest one make the base [m]."""
STRAY = 0.0005
"""Share of the points that may lie below the table: strays must not carry the object."""
MAX_BAND = 0.008
"""Greatest roughness of an underside [m]."""
MAX_ROUGH_LEAN = np.radians(8.0)
"""Lean of the underside against the scan's z axis that is taken for roughness [rad]."""
MIN_BASE_SHARE = 0.15
"""Area of the base, as a share of the shadow on the table."""
MIN_MARGIN = 0.004
"""Distance of the centre of mass from the base's edge below which it does not stand [m]."""
Z_PREFERENCE = 0.6
"""Height along z, relative to the tallest pose, from which the scan's own z is taken for up."""
MAX_OPEN = 0.15
"""Share of the outline that may be notch or hole."""
AXES = {"x": (1, 0, 0), "-x": (-1, 0, 0), "y": (0, 1, 0), "-y": (0, -1, 0), "z": (0, 0, 1), "-z": (0, 0, -1)}


def import_scan(path: Path, object_id: str, *, up: str | None = None, name: str | None = None) -> Twin:
    """The twin of a scanned mesh; see `inspect_scan`."""
    return inspect_scan(path, object_id, up=up, name=name)[0]


def inspect_scan(
    path: Path, object_id: str, *, up: str | None = None, name: str | None = None
) -> tuple[Twin, tuple[str, ...]]:
    """Make a twin of a scanned mesh (PLY, STL, OBJ in metres; it need not be watertight).

    Args:
      path: the mesh.
      object_id: id of the new twin.
      up: axis of the scan that points up when it stands ("x", "-x", ..., "-z"); None: z where it stands that way and
        is not lying flat, else the longest axis on which it stands.
      name: name for people; default: the id.

    Returns:
      The twin, and what was repaired and assumed, for people.

    Raises:
      TwinError: the scan cannot be used; the text says why and what to do.
    """
    mesh, notes = _load(Path(path))
    points, band, pose_note = _stand(mesh, up, Path(path))
    notes.append(pose_note)
    height = float(points[:, 2].max())
    if height > MAX_HEIGHT:
        raise TwinError(f"{path}: stands {1e3 * height:.0f} mm tall; at most {1e3 * MAX_HEIGHT:.0f} mm fit the camera")
    grip = _narrowest(points[:, :2])
    if not MIN_GRIP <= grip <= MAX_GRIP:
        raise TwinError(
            f"{path}: is {1e3 * grip:.0f} mm across at its narrowest; the hand closes on {1e3 * MIN_GRIP:.0f} to"
            f" {1e3 * MAX_GRIP:.0f} mm"
        )
    stack = stack_of(points, band)
    open_share = notch_share(points)
    if open_share > MAX_OPEN:
        raise TwinError(
            f"{path}: seen from the side, {open_share:.0%} of its convex outline is notch or hole ({MAX_OPEN:.0%} is"
            " allowed). This repair would fill them and put the centre of mass in the wrong place; give a twin with"
            " proper convex pieces instead"
        )
    notes.append(f"{len(stack.pieces)} convex pieces; notches, {open_share:.0%} of the outline, were filled")
    extents = np.ptp(points, axis=0)
    twin = twin_from_pieces(
        object_id, name or object_id, stack.pieces, round_base=stack.round_base, base_edge_sigma=0.0012,
        edge_radius=0.0015, edge_radius_sigma=0.0012, scale_sigma=0.01,
        com_sigma=tuple(float(0.04 * e) for e in extents),
        symmetry_axes=((0.0, 0.0, 1.0),) if stack.axisymmetric else (),
    )
    return twin, tuple(notes)


class _Standing(NamedTuple):
    height: float
    base_share: float
    along_z: bool
    lean: float
    """Angle between the axis tried and the base's normal [rad]."""
    axis: Array
    points: Array


def _load(path: Path) -> tuple[trimesh.Trimesh, list[str]]:
    if not path.is_file():
        raise TwinError(f"mesh {path}: no such file")
    try:
        mesh = trimesh.load(path, force="mesh", process=False)
    except Exception as error:
        raise TwinError(f"mesh {path}: cannot be read ({error}); PLY, STL and OBJ are allowed") from error
    if not isinstance(mesh, trimesh.Trimesh) or len(mesh.faces) < 12:
        raise TwinError(f"mesh {path}: holds no surface; at least 12 triangles are needed")
    check_points(np.asarray(mesh.vertices, float), f"mesh {path}")
    mesh.merge_vertices()
    notes = [f"{len(mesh.vertices)} vertices, {'' if mesh.is_watertight else 'not '}watertight"]
    labels = trimesh.graph.connected_component_labels(mesh.edges, node_count=len(mesh.vertices))[mesh.faces[:, 0]]
    areas = np.bincount(labels, weights=mesh.area_faces)
    share = float(areas.max() / areas.sum())
    if share < 0.6:
        raise TwinError(
            f"mesh {path}: falls into {np.count_nonzero(areas)} parts, the largest with {share:.0%} of the surface"
            " (60 % is needed); remove the surroundings or close the scan"
        )
    if np.count_nonzero(areas) > 1:
        mesh.update_faces(labels == int(areas.argmax()))
        mesh.remove_unreferenced_vertices()
        notes.append(f"{np.count_nonzero(areas) - 1} loose parts dropped ({1 - share:.1%} of the surface)")
    return mesh, notes


def _stand(mesh: trimesh.Trimesh, up: str | None, path: Path) -> tuple[Array, float, str]:
    """Surface points with z up on the table, centred; thickness of the base's roughness [m]; how it stands."""
    points, _ = trimesh.sample.sample_surface(mesh, SAMPLES, seed=0)
    points = np.asarray(points, float)
    if up is not None:
        if up not in AXES:
            raise TwinError(f"{path}: up axis {up!r} is unknown; allowed: {', '.join(AXES)}")
        axes = [np.array(AXES[up], float)]
    else:
        principal = np.linalg.eigh(np.cov(points.T))[1].T
        axes = [sign * axis for axis in (*np.eye(3), *principal) for sign in (1.0, -1.0)]
    corners = points[::POSE_STRIDE]
    corners = corners[ConvexHull(corners).vertices]
    tried: list[_Standing] = []
    reason = "it has no flat base"
    for axis in axes:
        placed, lean, share, margin = _level(points, corners, axis)
        if share >= MIN_BASE_SHARE and margin >= MIN_MARGIN:
            tried.append(_Standing(float(np.ptp(placed[:, 2])), share, abs(float(axis[2])) > 0.99, lean, axis, placed))
        else:
            reason = f"its base covers {share:.0%} of its shadow, its centre is {1e3 * margin:.0f} mm inside the edge"
    if not tried:
        raise TwinError(
            f"{path}: does not stand ({reason}; {MIN_BASE_SHARE:.0%} and {1e3 * MIN_MARGIN:.0f} mm are needed). Give"
            " the up axis if it stands another way"
        )
    tallest = max(t.height for t in tried)
    # Scans are mostly z up already; else an object stands on its smallest side.
    usual = [t for t in tried if t.along_z and t.height > Z_PREFERENCE * tallest]
    best = max(usual or [t for t in tried if t.height > 0.95 * tallest], key=lambda t: t.base_share)
    note = f"stands {1e3 * best.height:.0f} mm tall, its base covers {best.base_share:.0%} of its shadow"
    if best.lean > MAX_ROUGH_LEAN or not best.along_z:
        return _square(best.points), FLAT_BAND, note
    # The underside is what a scan sees worst; the axis in which it was saved is better.
    placed = points @ _turn_up(best.axis).T
    placed = placed - [0.0, 0.0, float(np.quantile(placed[:, 2], STRAY))]
    band = FLAT_BAND + float(np.sin(best.lean)) * float(np.ptp(placed[:, :2], axis=0).max())
    if best.lean > np.radians(0.5):
        note += f"; the underside leans by {np.degrees(best.lean):.1f} deg against the scan's axis, which was kept"
    return _square(placed), min(band, MAX_BAND), note


def _turn_up(axis: Array) -> Array:
    """Rotation that takes an axis onto z, (3, 3)."""
    return Rotation.align_vectors([[0.0, 0.0, 1.0]], axis[None])[0].as_matrix()


def _square(placed: Array) -> Array:
    """Turn about z and shift so that the shadow's least rectangle lies along the axes, centred, narrow side along x."""
    to_rectangle, sides = trimesh.bounds.oriented_bounds_2D(placed[:, :2])
    if sides[0] > sides[1]:
        to_rectangle = np.array([[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]]) @ to_rectangle
    flat = placed[:, :2] @ to_rectangle[:2, :2].T + to_rectangle[:2, 2]
    return np.column_stack([flat, placed[:, 2]])


def _level(points: Array, corners: Array, up: Array) -> tuple[Array, float, float, float]:
    """Points turned so that the base lies on the table, and how well it stands.

    Returns:
      The points; the angle turned from `up` [rad]; the share of the shadow that the base covers; how far the centre
      of mass lies inside the base's edge [m].

    Args:
      points: surface points (N, 3).
      corners: vertices of their convex hull.
      up: the axis to point up, (3,).
    """
    turn = _turn_up(up)
    for _ in range(4):
        placed = corners @ turn.T
        hull = ConvexHull(placed)
        triangles = placed[hull.simplices]
        sides = np.cross(triangles[:, 1] - triangles[:, 0], triangles[:, 2] - triangles[:, 0])
        under = hull.equations[:, 2] < -np.cos(np.radians(12.0))
        under &= triangles[:, :, 2].mean(axis=1) < placed[:, 2].min() + 0.006
        if not under.any():
            break
        down = (hull.equations[under, :3] * np.linalg.norm(sides[under], axis=1)[:, None]).sum(axis=0)
        level = Rotation.align_vectors([[0.0, 0.0, -1.0]], (down / np.linalg.norm(down))[None])[0].as_matrix()
        turn = level @ turn
    lean = float(np.arccos(np.clip((turn @ up)[2], -1.0, 1.0)))
    placed, corners = points @ turn.T, corners @ turn.T
    floor = float(np.quantile(placed[:, 2], STRAY))
    placed, corners = placed - [0.0, 0.0, floor], corners - [0.0, 0.0, floor]
    base = placed[placed[:, 2] < FLAT_BAND][:, :2]
    try:
        ground, shadow = ConvexHull(base), ConvexHull(corners[:, :2])
    except (QhullError, ValueError):
        return placed, lean, 0.0, -1.0
    # The middle of the convex hull is near enough to the solid's to tell whether it stands.
    centre = trimesh.convex.convex_hull(corners).center_mass[:2]
    margin = -float((ground.equations[:, :2] @ centre + ground.equations[:, 2]).max())
    return placed, lean, float(ground.volume / shadow.volume), margin


def _narrowest(shadow: Array) -> float:
    corners = shadow[ConvexHull(shadow).vertices]
    angle = np.radians(np.arange(0.0, 180.0, 3.0))
    return float(np.ptp(corners @ np.stack([np.cos(angle), np.sin(angle)]), axis=0).min())
