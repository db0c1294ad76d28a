"""The UR5e with the Allegro hand as one MuJoCo specification, from the models that set-up made."""

from __future__ import annotations

import os
from pathlib import Path

import mujoco

from drex_sim.errors import ModelsMissingError
from drex_sim.robot.names import FINGERS

PALM_OFFSET = 0.107
"""Palm frame above the flange: 95 mm of hand and a 12 mm adapter plate [m]."""
PAD_RADIUS = 0.012
"""Radius of a fingertip pad [m]."""
MODEL_PREFIXES = dict(zip(FINGERS, ("ff", "mf", "rf", "th"), strict=True))
"""Finger names of the hand model."""
MODEL_HAND_JOINTS: tuple[str, ...] = tuple(f"hand/{MODEL_PREFIXES[f]}j{i}" for f in FINGERS for i in range(4))
"""Joints of the hand model in canonical order."""
PAD_TIP = {"ff": 0.029, "mf": 0.029, "rf": 0.029, "th": 0.043}
"""Centre of the end sphere of the pad capsule along the tip body's z [m] (capsule centre plus half length)."""


def models_folder() -> Path:
    """Where the robot models are: $DREX_MODELS, else `.cache/models` of the workspace.

    Raises:
      ModelsMissingError: set-up has not made them.
    """
    candidates = []
    if os.environ.get("DREX_MODELS"):
        candidates.append(Path(os.environ["DREX_MODELS"]))
    roots = [Path(os.environ["DREX_ROOT"])] if os.environ.get("DREX_ROOT") else []
    roots += [Path.cwd(), *Path(__file__).resolve().parents]
    candidates += [root / ".cache" / "models" for root in roots]
    for folder in candidates:
        if (folder / "ur5e" / "ur5e.xml").is_file() and (folder / "allegro" / "right_hand.xml").is_file():
            return folder
    raise ModelsMissingError(
        f"robot models not found in {candidates[0]}; run `make setup`, or point DREX_MODELS at the folder that"
        " tools/setup/fetch_models.py wrote"
    )


def robot_spec(visuals: bool) -> mujoco.MjSpec:
    """UR5e (joints with driver names) with the hand on its flange (prefix `hand/`); no actuators.

    Sites: `tool0`, `palm_frame` and `<finger>_pad` (end sphere centre of each fingertip).
    """
    folder = models_folder()
    spec = mujoco.MjSpec()
    spec.option.timestep = 0.002
    spec.option.integrator = mujoco.mjtIntegrator.mjINT_IMPLICITFAST
    spec.option.cone = mujoco.mjtCone.mjCONE_ELLIPTIC
    spec.option.impratio = 10.0
    arm = mujoco.MjSpec.from_file(str(folder / "ur5e" / "ur5e.xml"))
    for actuator in list(arm.actuators):
        arm.delete(actuator)
    hand = mujoco.MjSpec.from_file(str(folder / "allegro" / "right_hand.xml"))
    for part in (arm, hand):
        part.option.cone, part.option.impratio = spec.option.cone, spec.option.impratio
        part.option.integrator = spec.option.integrator
        _mark_geoms(part, visuals)
    # The menagerie base is turned by 180 degrees against base_link: undo it, so that the world is base_link.
    arm.body("base").quat = (1.0, 0.0, 0.0, 0.0)
    spec.attach(arm, prefix="arm/", frame=spec.worldbody.add_frame())
    palm = hand.body("palm")
    palm.pos, palm.quat = (0.0, 0.0, PALM_OFFSET), (1.0, 0.0, 0.0, 0.0)
    palm.add_site(name="palm_frame", pos=(0, 0, 0), size=(0.002,) * 3, group=5)
    # Inside the palm body, so that force and torque sensors here see the hand and what it touches.
    palm.add_site(name="tool0", pos=(0, 0, -PALM_OFFSET), size=(0.002,) * 3, group=5)
    for prefix, offset in PAD_TIP.items():
        tip = hand.body(f"{prefix}_tip")
        tip.add_site(name=f"{prefix}_pad", pos=(0, 0, offset), size=(0.002,) * 3, group=5)
        for geom in tip.geoms:
            if geom.type == mujoco.mjtGeom.mjGEOM_CAPSULE:
                geom.name = f"{prefix}_pad"
    spec.attach(hand, prefix="hand/", site=spec.site("arm/attachment_site"))
    return spec


def _mark_geoms(spec: mujoco.MjSpec, visuals: bool) -> None:
    """Robot geoms collide with the table and the object (bits 1 and 4), not with each other."""
    for geom in list(spec.geoms):
        is_visual = geom.group == 2 or (geom.contype == 0 and geom.conaffinity == 0)
        if is_visual and not visuals:
            spec.delete(geom)
        elif not is_visual:
            geom.contype, geom.conaffinity = 0, 5
    if not visuals:
        used = {geom.meshname for geom in spec.geoms}
        for mesh in list(spec.meshes):
            if mesh.name not in used:
                spec.delete(mesh)
