"""Twins from scans: synthetic damaged meshes with known truth, bad input, and the paper's own scans."""

from __future__ import annotations

import os
from pathlib import Path

import mujoco
import numpy as np
import pytest
import trimesh

from drex_sim.errors import TwinError
from drex_sim.twin import load_twin, write_twin
from drex_sim.twin.scan import import_scan, inspect_scan

SHARED = Path(os.environ.get("DREX_SHARED", Path(__file__).resolve().parents[3].parent / "shared"))
SCANS = SHARED / "data" / "drex_real" / "meshes"


def damaged(mesh: trimesh.Trimesh, seed: int = 0, noise: float = 0.0002, share: float = 0.1) -> trimesh.Trimesh:
    """A scan-like copy: fine, noisy, with missing triangles and loose debris."""
    rng = np.random.default_rng(seed)
    fine = mesh.copy()
    while len(fine.faces) < 15000:
        fine = fine.subdivide()
    fine.vertices = fine.vertices + noise * rng.standard_normal(fine.vertices.shape)
    fine.update_faces(rng.random(len(fine.faces)) > share)
    debris = trimesh.creation.icosphere(subdivisions=1, radius=0.002)
    debris.apply_translation([0.1, 0.05, 0.05])
    return trimesh.util.concatenate([fine, debris])


def saved(mesh: trimesh.Trimesh, folder: Path, name: str = "scan.ply") -> Path:
    mesh.export(folder / name)
    return folder / name


def test_a_damaged_box_comes_back(tmp_path):
    box = trimesh.creation.box([0.060, 0.090, 0.200])
    box.apply_transform(trimesh.transformations.rotation_matrix(0.4, [0, 0, 1], [0, 0, 0]))
    twin, notes = inspect_scan(saved(damaged(box), tmp_path), "box")
    assert np.allclose(twin.extents, [0.060, 0.090, 0.200], atol=0.002)
    assert twin.volume == pytest.approx(0.060 * 0.090 * 0.200, rel=0.03)
    assert twin.com_height == pytest.approx(0.100, abs=0.002)
    assert np.allclose(np.ptp(twin.support_polygon, axis=0), [0.060, 0.090], atol=0.002)
    assert not twin.round_base and twin.stands
    assert any("loose parts dropped" in note for note in notes) and "not watertight" in notes[0]


def test_a_damaged_can_is_round_and_its_axis_is_kept(tmp_path):
    can = trimesh.creation.cylinder(radius=0.040, height=0.210, sections=64)
    twin = import_scan(saved(damaged(can, 1), tmp_path, "can.stl"), "can")
    assert twin.round_base and twin.symmetry_axes == ((0.0, 0.0, 1.0),)
    assert np.allclose(np.linalg.norm(twin.support_polygon, axis=1), 0.040, atol=0.001)
    assert len(twin.support_polygon) >= 64


def test_a_scan_lying_on_its_side_is_stood_up_and_the_axis_can_be_given(tmp_path):
    block = damaged(trimesh.creation.box([0.200, 0.080, 0.060]))
    file = saved(block, tmp_path)
    assert import_scan(file, "block").height == pytest.approx(0.200, abs=0.003)
    assert import_scan(file, "block", up="y").height == pytest.approx(0.080, abs=0.003)


def test_the_twin_is_written_and_stands_in_mujoco(tmp_path):
    twin = import_scan(saved(damaged(trimesh.creation.box([0.05, 0.08, 0.15])), tmp_path), "scan_box")
    folder = write_twin(twin, tmp_path / "twins")
    assert load_twin("scan_box", str(tmp_path / "twins")).hash == load_twin("scan_box", str(tmp_path / "twins")).hash
    model = mujoco.MjModel.from_xml_path(str(folder / "object.xml"))
    data = mujoco.MjData(model)
    for _ in range(500):
        mujoco.mj_step(model, data)
    assert data.body("scan_box").xmat.reshape(3, 3)[2, 2] > 0.999


def _bowl() -> trimesh.Trimesh:
    """Two posts on a plate: from the side it is mostly a hole."""
    parts = [trimesh.creation.box([0.05, 0.10, 0.02])]
    for y in (-0.04, 0.04):
        post = trimesh.creation.box([0.05, 0.02, 0.12])
        post.apply_translation([0.0, y, 0.07])
        parts.append(post)
    fused = trimesh.util.concatenate([part.subdivide().subdivide().subdivide() for part in parts])
    # One component: a thread of triangles joins the parts.
    bridge = [[0, len(parts[0].vertices) + k, len(fused.vertices) - 1] for k in range(3)]
    starts = np.cumsum([0] + [len(p.subdivide().subdivide().subdivide().vertices) for p in parts])
    bridge = [[0, int(starts[1]), int(starts[2])]]
    return trimesh.Trimesh(fused.vertices, np.concatenate([fused.faces, bridge]), process=False)


@pytest.mark.parametrize("make, match", [
    (lambda: trimesh.creation.box([60.0, 90.0, 200.0]), "millimetres"),
    (lambda: trimesh.creation.box([0.0006, 0.0009, 0.002]), "at least"),
    (lambda: trimesh.creation.box([0.15, 0.15, 0.20]), "narrowest"),
    (lambda: trimesh.creation.box([0.08, 0.08, 0.50]), "tall"),
    (lambda: trimesh.creation.icosphere(subdivisions=4, radius=0.04), "does not stand"),
    (_bowl, "notch or hole"),
    (lambda: trimesh.util.concatenate([
        trimesh.creation.box([0.05, 0.05, 0.05]), trimesh.creation.box(
            [0.05, 0.05, 0.05], transform=trimesh.transformations.translation_matrix([0.2, 0, 0]))]), "parts"),
])
def test_scans_that_cannot_be_used_say_why(tmp_path, make, match):
    with pytest.raises(TwinError, match=match):
        import_scan(saved(make(), tmp_path), "bad")


def test_files_that_are_no_scan_say_why(tmp_path):
    with pytest.raises(TwinError, match="no such file"):
        import_scan(tmp_path / "none.ply", "none")
    (tmp_path / "broken.ply").write_text("ply\nformat ascii 1.0\n")
    with pytest.raises(TwinError, match=r"broken\.ply"):
        import_scan(tmp_path / "broken.ply", "broken")
    box = trimesh.creation.box([0.06, 0.09, 0.2])
    box.vertices[0, 0] = np.nan
    with pytest.raises(TwinError, match="NaN"):
        import_scan(saved(box, tmp_path), "nan")
    with pytest.raises(TwinError, match="up axis 'up'"):
        import_scan(saved(trimesh.creation.box([0.06, 0.09, 0.2]), tmp_path), "axis", up="up")


needs_scans = pytest.mark.skipif(not SCANS.is_dir(), reason=f"the paper's scans are not in {SCANS} (set DREX_SHARED)")


@needs_scans
@pytest.mark.parametrize("file, size, tolerance", [
    ("ketchup.stl", (0.0623, 0.097, 0.2517), 0.004),
    ("cookie.stl", (0.0785, 0.0785, 0.2358), 0.004),
    ("domino.stl", (0.0295, 0.0485, 0.1381), 0.002),
    ("bluelego.ply", (0.0253, 0.0436, 0.0912), 0.002),
    ("spam.stl", (0.0742, 0.1315, 0.1219), 0.005),
])
def test_real_scans_become_twins(file, size, tolerance):
    twin = import_scan(SCANS / file, "real")
    assert np.allclose(twin.extents, size, atol=tolerance)
    assert twin.stands and np.all(np.isfinite(twin.inertia_per_kg))
    assert twin.round_base == (file == "cookie.stl")


@needs_scans
def test_a_real_scan_with_a_big_notch_says_why():
    with pytest.raises(TwinError, match="notch or hole"):
        import_scan(SCANS / "U.stl", "real_u")
