"""Twins: the built-in library, the format on disk, its errors, and that an estimator sees no mass."""

from __future__ import annotations

import dataclasses
import shutil
from pathlib import Path

import mujoco
import numpy as np
import pytest
import trimesh
import yaml
from scipy.spatial import ConvexHull

from drex_sim.errors import TwinError, UnknownObjectError
from drex_sim.twin import Twin, list_twins, load_twin, read_twin, write_twin
from drex_sim.twin.library import LIBRARY
from drex_sim.twin.mass_record import LIBRARY_MASSES, nominal_mass

SIZES = {
    "lego": (0.025, 0.044, 0.091), "domino": (0.030, 0.049, 0.138), "cookie": (0.080, 0.080, 0.236),
    "letter_a": (0.039, 0.084, 0.135), "letter_u": (0.043, 0.156, 0.087), "ketchup": (0.062, 0.097, 0.252),
    "cube": (0.060, 0.060, 0.060), "spam": (0.074, 0.132, 0.122),
}


@pytest.mark.parametrize("object_id", sorted(LIBRARY))
def test_library_twin_is_a_solid_about_its_centre_of_mass(object_id):
    twin = load_twin(object_id)
    if object_id in SIZES:
        assert np.allclose(twin.extents, SIZES[object_id], atol=0.001)
    assert min(p[:, 2].min() for p in twin.pieces) == pytest.approx(-twin.com_height)
    assert twin.volume == pytest.approx(sum(ConvexHull(p).volume for p in twin.pieces), rel=1e-6)
    # Monte Carlo of the centre and the inertia of the uniform solid.
    rng = np.random.default_rng(0)
    cloud = rng.uniform(twin.vertices.min(axis=0), twin.vertices.max(axis=0), (40000, 3))
    inside = np.zeros(len(cloud), bool)
    for piece in twin.pieces:
        equations = ConvexHull(piece).equations
        inside |= (cloud @ equations[:, :3].T + equations[:, 3]).max(axis=1) < 0
    solid = cloud[inside]
    assert np.all(np.abs(solid.mean(axis=0)) < 0.02 * twin.extents)
    second = solid.T @ solid / len(solid)
    assert np.allclose(twin.inertia_per_kg, np.trace(second) * np.eye(3) - second, atol=0.04 * np.trace(second))


@pytest.mark.parametrize("object_id", sorted(LIBRARY))
def test_base_is_convex_counter_clockwise_and_under_the_centre(object_id):
    polygon = load_twin(object_id).support_polygon
    ahead, after = np.roll(polygon, -1, axis=0), np.roll(polygon, -2, axis=0)
    turn = np.cross(np.c_[ahead - polygon, np.zeros(len(polygon))], np.c_[after - ahead, np.zeros(len(polygon))])[:, 2]
    assert (turn > -1e-12).all()
    if load_twin(object_id).stands:
        equations = ConvexHull(polygon).equations
        assert equations[:, 2].max() < -0.004


def test_rim_of_a_round_base_is_within_a_fifth_of_a_percent():
    for object_id in ("cookie", "nutella", "spray"):
        twin = load_twin(object_id)
        assert twin.round_base and twin.symmetry_axes == ((0.0, 0.0, 1.0),)
        angle = np.linspace(0, 2 * np.pi, 1000)
        reach = (twin.support_polygon @ np.stack([np.cos(angle), np.sin(angle)])).max(axis=0)
        assert np.ptp(reach) / reach.max() < 0.002


def test_a_twin_holds_no_mass():
    assert not any("mass" in field.name for field in dataclasses.fields(Twin))
    assert set(LIBRARY_MASSES) == set(LIBRARY) and nominal_mass("ketchup") == 0.726


@pytest.mark.parametrize("object_id", ["ketchup", "letter_a", "lightbulb", "cookie"])
def test_on_disk_and_back_and_in_plain_mujoco(tmp_path, object_id):
    twin = load_twin(object_id)
    folder = write_twin(twin, tmp_path, mass=0.5, mass_origin="test")
    again = load_twin(object_id, str(tmp_path))
    assert again.hash == read_twin(folder).hash
    assert np.allclose(again.inertia_per_kg, twin.inertia_per_kg) and again.symmetry_axes == twin.symmetry_axes
    assert np.allclose(np.sort(again.vertices, axis=0), np.sort(twin.vertices, axis=0), atol=1e-6)
    model = mujoco.MjModel.from_xml_path(str(folder / "object.xml"))
    assert model.body(object_id).mass[0] == pytest.approx(0.5)
    data = mujoco.MjData(model)
    for _ in range(500):
        mujoco.mj_step(model, data)
    if twin.stands:
        assert data.body(object_id).xmat.reshape(3, 3)[2, 2] > 0.999


def test_hash_ignores_the_mass_and_follows_the_geometry(tmp_path):
    twin = load_twin("lego")
    light, heavy = (write_twin(twin, tmp_path / n, mass=m) for n, m in (("a", 0.01), ("b", 1.0)))
    assert read_twin(light).hash == read_twin(heavy).hash
    assert nominal_mass("lego", str(tmp_path / "b")) == 1.0
    assert dataclasses.replace(twin, com_height=twin.com_height + 0.001).hash != twin.hash


def test_path_has_precedence_and_unknown_objects_list_what_there_is(tmp_path):
    write_twin(dataclasses.replace(load_twin("lego"), id="brick"), tmp_path)
    assert "brick" in list_twins(str(tmp_path)) and "ketchup" in list_twins(str(tmp_path))
    with pytest.raises(UnknownObjectError, match=r"brick.*ketchup"):
        load_twin("teapot", str(tmp_path))


NAN_MESH = "v nan 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 2 3\nf 2 3 4\n"


def _edit(folder: Path, **fields) -> None:
    file = folder / "object.yaml"
    record = yaml.safe_load(file.read_text())
    record.update(fields)
    file.write_text(yaml.safe_dump({k: v for k, v in record.items() if v != "drop"}))


def _scale(file: Path, factor: float) -> None:
    mesh = trimesh.load(file, process=False)
    mesh.apply_scale(factor)
    mesh.export(file)


@pytest.mark.parametrize("damage, match", [
    (lambda f: _scale(f / "visual.obj", 1000.0), "millimetres"),
    (lambda f: _edit(f, mass={"value": 0.0}), "mass"),
    (lambda f: _edit(f, mass={"value": -1.0}), "mass"),
    (lambda f: _edit(f, mass={"value": float("nan")}), "mass"),
    (lambda f: _edit(f, units={"length": "mm", "mass": "kg"}), "units"),
    (lambda f: _edit(f, com_height="drop"), "missing field com_height"),
    (lambda f: _edit(f, com_height=float("nan")), "com_height"),
    (lambda f: _edit(f, volume=-1.0), "volume"),
    (lambda f: _edit(f, inertia_per_kg="much"), "object.yaml"),
    (lambda f: (f / "object.yaml").write_text("a: ["), "cannot be read"),
    (lambda f: (f / "visual.obj").unlink(), "visual.obj: missing"),
    (lambda f: (f / "visual.obj").write_text(""), "visual.obj"),
    (lambda f: shutil.rmtree(f / "collision"), "collision"),
    (lambda f: (f / "collision" / "piece_00.obj").write_text(NAN_MESH), "NaN"),
])
def test_damaged_twins_are_refused_with_file_and_field(tmp_path, damage, match):
    folder = write_twin(load_twin("domino"), tmp_path, mass=0.1)
    damage(folder)
    with pytest.raises(TwinError, match=match) as caught:
        read_twin(folder)
    assert "domino" in str(caught.value)
