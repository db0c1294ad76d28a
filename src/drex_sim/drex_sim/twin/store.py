"""Twins on disk: `objects/<id>/object.yaml`, visual.obj, collision/*.obj and object.xml (plain MuJoCo)."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path

import numpy as np
import trimesh
import yaml
from numpy.typing import NDArray

from drex_sim.errors import TwinError, UnknownObjectError
from drex_sim.twin.format import Twin
from drex_sim.twin.library import LIBRARY, make_twin

FIELDS = (
    "name", "com_height", "support_polygon", "volume", "inertia_per_kg", "round_base", "stands", "edge_radius",
    "edge_radius_sigma", "base_edge_sigma", "com_sigma", "scale_sigma", "friction_table", "friction_tip",
    "fragile_limit", "fragile_reason", "symmetry_axes",
)


def search_path(twin_path: str | None = None) -> list[Path]:
    """Folders that hold twins: the argument, else $DREX_TWIN_PATH, separated like PATH."""
    text = twin_path or os.environ.get("DREX_TWIN_PATH", "")
    return [Path(part) for part in text.split(os.pathsep) if part]


def find_folder(object_id: str, twin_path: str | None = None) -> Path | None:
    """Folder of a twin on disk, or None."""
    for folder in search_path(twin_path):
        if (folder / object_id / "object.yaml").is_file():
            return folder / object_id
    return None


def list_twins(twin_path: str | None = None) -> list[str]:
    """Ids of every twin there is, on disk and built in."""
    found = {
        entry.parent.name for folder in search_path(twin_path) if folder.is_dir()
        for entry in folder.glob("*/object.yaml")
    }
    return sorted(found | set(LIBRARY))


def load_twin(object_id: str, twin_path: str | None = None) -> Twin:
    """A twin by id; folders of the path come before the built-in library.

    Raises:
      UnknownObjectError: no such twin; the text lists those there are.
      TwinError: it cannot be used; the text names file and field.
    """
    folder = find_folder(object_id, twin_path)
    if folder is not None:
        return read_twin(folder)
    if object_id in LIBRARY:
        return make_twin(object_id)
    raise UnknownObjectError(
        f"object {object_id!r} is unknown; available: {', '.join(list_twins(twin_path))} (add folders of twins with"
        " twin_path or DREX_TWIN_PATH)"
    )


def _load_mesh(file: Path) -> trimesh.Trimesh:
    if not file.is_file():
        raise TwinError(f"{file}: missing; a twin needs visual.obj and collision/*.obj")
    try:
        mesh = trimesh.load(file, force="mesh", process=False)
    except Exception as error:
        raise TwinError(f"{file}: cannot be read as a mesh ({error})") from error
    if len(mesh.vertices) == 0:
        raise TwinError(f"{file}: holds no vertices; is the file truncated?")
    return mesh


def read_twin(folder: Path) -> Twin:
    """A twin from its folder.

    Raises:
      TwinError: names the file and the field, what was found and what is allowed.
    """
    file = folder / "object.yaml"
    try:
        record = yaml.safe_load(file.read_text())
    except (OSError, yaml.YAMLError) as error:
        raise TwinError(f"{file}: cannot be read ({error})") from error
    if not isinstance(record, dict):
        raise TwinError(f"{file}: holds no mapping; is it truncated?")
    if record.get("units") != {"length": "m", "mass": "kg"}:
        raise TwinError(f"{file}: units are {record.get('units')!r}; only {{length: m, mass: kg}} is allowed")
    if record.get("mass") is not None:
        from drex_sim.twin.mass_record import check_mass

        mass = record["mass"]
        check_mass(mass.get("value") if isinstance(mass, dict) else mass, f"{file}: mass.value")
    missing = [field for field in FIELDS if field not in record]
    if missing:
        raise TwinError(f"{file}: missing field {', '.join(missing)}")
    visual = _load_mesh(folder / "visual.obj")
    files = sorted((folder / "collision").glob("*.obj"))
    if not files:
        raise TwinError(f"{folder}/collision: no *.obj; at least one convex piece is needed")
    values = {field: record[field] for field in FIELDS}
    try:
        for field in ("support_polygon", "inertia_per_kg"):
            values[field] = np.asarray(values[field], float)
        for field in ("com_sigma", "friction_table", "friction_tip"):
            values[field] = tuple(float(v) for v in values[field])
        values["symmetry_axes"] = tuple(tuple(float(v) for v in axis) for axis in values["symmetry_axes"])
        values["fragile_reason"] = str(values["fragile_reason"])
    except (TypeError, ValueError) as error:
        raise TwinError(f"{file}: {error}") from error
    return Twin(
        id=folder.name, vertices=np.asarray(visual.vertices, float), faces=np.asarray(visual.faces, np.int64),
        pieces=tuple(np.asarray(_load_mesh(f).vertices, float) for f in files), **values,
    )


def _plain(value: object) -> object:
    if isinstance(value, np.ndarray):
        return [_plain(v) for v in value] if value.ndim > 1 else [float(v) for v in value]
    if isinstance(value, tuple):
        return [_plain(v) for v in value]
    return value.item() if isinstance(value, np.generic) else value


def write_twin(twin: Twin, parent: Path, mass: float | None = None, mass_origin: str = "") -> Path:
    """Write a twin to `parent/<id>` atomically and return that folder.

    Args:
      twin: what to write.
      parent: folder of twins.
      mass: written for the simulator and people; no estimator reads it [kg].
      mass_origin: where the mass comes from.
    """
    parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=parent, prefix=".twin-") as scratch:
        folder = Path(scratch) / twin.id
        (folder / "collision").mkdir(parents=True)
        trimesh.Trimesh(twin.vertices, twin.faces, process=False).export(folder / "visual.obj")
        for i, piece in enumerate(twin.pieces):
            trimesh.convex.convex_hull(piece).export(folder / "collision" / f"piece_{i:02d}.obj")
        record: dict[str, object] = {"units": {"length": "m", "mass": "kg"}, "hash": twin.hash}
        record |= {field: _plain(getattr(twin, field)) for field in FIELDS}
        record["mass"] = None if mass is None else {"value": mass, "origin": mass_origin}
        record["estimates"] = []
        (folder / "object.yaml").write_text(yaml.safe_dump(record, sort_keys=False))
        (folder / "object.xml").write_text(_mjcf(twin, mass))
        target = parent / twin.id
        if target.exists():
            shutil.rmtree(target)
        folder.rename(target)
    return target


def _mjcf(twin: Twin, mass: float | None) -> str:
    """MJCF of the object on a table; loads in plain MuJoCo. Without a mass it has that of water."""
    kilograms = mass if mass is not None else twin.volume * 1000.0
    inertia: NDArray[np.float64] = twin.inertia_per_kg * kilograms
    full = " ".join(f"{inertia[i, j]:.6g}" for i, j in ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2)))
    assets = "".join(
        f'    <mesh name="piece_{i}" file="collision/piece_{i:02d}.obj"/>\n' for i in range(len(twin.pieces))
    )
    geoms = "".join(f'      <geom type="mesh" mesh="piece_{i}"/>\n' for i in range(len(twin.pieces)))
    return f"""<mujoco model="{twin.id}">
  <asset>
{assets}  </asset>
  <worldbody>
    <geom name="table" type="plane" size="1 1 0.1"/>
    <body name="{twin.id}" pos="0 0 {twin.com_height:.6g}">
      <freejoint/>
      <inertial pos="0 0 0" mass="{kilograms:.6g}" fullinertia="{full}"/>
{geoms}    </body>
  </worldbody>
</mujoco>
"""
