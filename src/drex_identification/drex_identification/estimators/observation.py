"""What one recorded tip says, in the vertical plane of the push."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from drex_identification.estimators.config import TipConfig
from drex_identification.estimators.force_noise import BiasEstimate, estimate_bias
from drex_identification.trials.push_trial import PushTrial
from drex_sim.errors import UninformativePushError
from drex_sim.robot.kinematics import RobotKinematics
from drex_sim.transforms import from_xyzw
from drex_sim.twin import Twin

Array = NDArray[np.float64]

CONTACT_PHASES = ("contact", "lean", "lower")
"""Phases in which the finger may touch the object."""
MIN_POSES = 5
"""Tracked poses needed before contact, and while tilted."""

LEAN_SMOOTHING = 0.35
"""Of the tracked lean direction of a round object [s]."""
LEAN_FLOOR = 0.015
"""Tilt below which the lean direction is that of the push [rad]."""


@lru_cache(maxsize=1)
def kinematics() -> RobotKinematics:
    """The robot's kinematics, loaded once."""
    return RobotKinematics()


@dataclass(frozen=True, kw_only=True)
class TipObservation:
    """One tip. Plane coordinates: x along the push from the object's tracked origin at rest, z up from the table."""

    trial_id: str
    outcome: str
    edge_key: str
    """Names the support edge, the same for pushes about the same edge."""
    direction: Array
    """Unit direction of the lean in base_link (perpendicular to the edge), (2,)."""
    direction_object: Array
    """The same in the object frame, (2,)."""
    times: Array
    """Sample times (N,) [s]."""
    phase: tuple[str, ...]
    pad: Array
    """Pad centre, (N, 2) [m]."""
    recess: Array
    """How much a round face lies back beside its foremost line, where the pad touches it, (N,) [m]."""
    force: Array
    """Force on the object with the baseline removed, (N, 2) [N]."""
    bias: BiasEstimate
    steady: NDArray[np.bool_]
    """Samples in contact phases with constant hand speed, (N,)."""
    pose_times: Array
    """(P,) [s]."""
    pose_pad: Array
    """Pad centre at the pose times, (P, 2) [m]."""
    pose_recess: Array
    """Recess of the face at the pose times, (P,) [m]."""
    tilt: Array
    """Tracked tilt about the edge relative to rest, (P,) [rad]."""
    displacement: Array
    """Tracked displacement of the object's origin from rest, (P, 2) [m]."""
    pose_usable: NDArray[np.bool_]
    """Poses taken in contact phases, (P,)."""
    tilt_noise: float
    """Noise of one tilt, from the poses at rest [rad]."""
    position_noise: float
    """Noise of one position, from the poses at rest [m]."""
    edge: float
    """Support edge along the push from the origin [m]."""
    face_point: Array
    """Planned contact relative to the object's origin, (2,) [m]."""
    face_normal: Array
    """Outward unit normal there, (2,)."""
    pad_radius: float
    gravity: float
    """[m/s2]."""


def observe(trial: PushTrial, twin: Twin, config: TipConfig) -> TipObservation:
    """Bring a validated trial into the plane of the push.

    Raises:
      UninformativePushError: it does not hold what a tip needs; the text says what and what to do.
    """
    name = f"push {trial.trial_id}"
    if trial.push_type != "TIP":
        raise UninformativePushError(f"{name}: is a {trial.push_type}; only TIP can be used, push with type TIP")
    baseline = trial.phase("baseline")
    assert baseline is not None  # validated
    poses = [from_xyzw(row[:3], row[3:7]) for row in trial.blocks.poses]
    stamps = trial.blocks.pose_stamps
    at_rest = (stamps <= baseline.end) & (stamps >= stamps[0] if len(stamps) else True)
    if at_rest.sum() < MIN_POSES:
        raise UninformativePushError(
            f"{name}: {int(at_rest.sum())} poses before contact; {MIN_POSES} are needed, check camera and tracker"
        )
    rotations = Rotation.from_matrix([pose[:3, :3] for pose in poses])
    positions = np.array([pose[:3, 3] for pose in poses])
    rest_rotation = rotations[at_rest].mean()
    rest_position = positions[at_rest].mean(axis=0)
    _check_stays(trial, name, rotations, positions, config)

    direction_object, key = _edge_direction(trial, twin, rest_rotation)
    direction = rest_rotation.apply(np.append(direction_object, 0.0))[:2]
    direction /= np.linalg.norm(direction)
    table_height = float(trial.table_plane[3] / trial.table_plane[2])
    in_contact = _inside(trial, stamps, CONTACT_PHASES)
    turned = rotations * rest_rotation.inv()

    times, phase, pad, force, steady = _sampled(trial, config)
    free = np.array([name in ("baseline", "baseline_after") for name in phase])
    bias = estimate_bias(times, force, free, config.force_drift, config.force_floor)
    clean = force - bias.mean
    # A flat base leans over its edge; a round one rolls on its rim, so that its lean turns while it is pushed.
    fixed = np.tile(direction, (len(times), 1)), np.tile(direction, (len(stamps), 1))
    lean, pose_lean = _rolling_lean(turned, stamps, in_contact, direction, times) if twin.round_base else fixed
    offset = pad - np.array([rest_position[0], rest_position[1], table_height])
    plane_pad = np.column_stack([np.sum(offset[:, :2] * lean, axis=1), offset[:, 2]])
    recess = np.zeros(len(times))
    if twin.round_base:
        radius = float(np.linalg.norm(trial.contact_point[:2])) + trial.pad_radius
        sideways = offset[:, 1] * lean[:, 0] - offset[:, 0] * lean[:, 1]
        recess = radius - np.sqrt(radius**2 - np.clip(sideways, -0.7 * radius, 0.7 * radius) ** 2)
    vectors = turned.as_rotvec()
    tilt = vectors[:, 1] * pose_lean[:, 0] - vectors[:, 0] * pose_lean[:, 1]
    moved = positions - rest_position
    displacement = np.column_stack([np.sum(moved[:, :2] * pose_lean, axis=1), moved[:, 2]])
    if in_contact.any():
        weight = np.maximum(tilt, 0.0) * in_contact + 1e-9
        direction = weight @ pose_lean / np.linalg.norm(weight @ pose_lean)
        direction_object = rest_rotation.inv().apply(np.append(direction, 0.0))[:2]
        direction_object /= np.linalg.norm(direction_object)
    normal = np.array([direction_object @ trial.contact_normal[:2], trial.contact_normal[2]])
    polygon = twin.support_polygon @ direction_object
    return TipObservation(
        trial_id=trial.trial_id,
        outcome=trial.outcome,
        edge_key=key,
        direction=direction,
        direction_object=direction_object,
        times=times,
        phase=tuple(phase),
        pad=plane_pad,
        recess=recess,
        force=np.column_stack([np.sum(clean[:, :2] * lean, axis=1), clean[:, 2]]),
        bias=BiasEstimate(bias.mean, bias.covariance, np.array([bias.white[:2].max(), bias.white[2]])),
        steady=steady,
        pose_times=stamps,
        pose_pad=np.stack([np.interp(stamps, times, plane_pad[:, i]) for i in range(2)], axis=1),
        pose_recess=np.interp(stamps, times, recess),
        tilt=tilt,
        displacement=displacement,
        pose_usable=in_contact,
        tilt_noise=max(float(np.std(tilt[at_rest], ddof=1)), np.radians(config.tilt_floor)),
        position_noise=max(float(np.std(displacement[at_rest], axis=0, ddof=1).max()), config.position_floor),
        edge=float(polygon.max()),
        face_point=np.array([direction_object @ trial.contact_point[:2], trial.contact_point[2]]),
        face_normal=normal / np.linalg.norm(normal),
        pad_radius=trial.pad_radius,
        gravity=float(np.linalg.norm(trial.gravity)),
    )


def _rolling_lean(
    turned: Rotation, stamps: Array, in_contact: NDArray[np.bool_], direction: Array, times: Array
) -> tuple[Array, Array]:
    """Unit direction of the lean of a round object over time, at `times` (N, 2) and at the poses (P, 2).

    The horizontal part of the object's axis, smoothed over LEAN_SMOOTHING; near rest, where it is noise, the push's.
    """
    axis = turned.apply([0.0, 0.0, 1.0])[:, :2]

    def smoothed(at: Array) -> Array:
        weight = np.exp(-0.5 * ((at[:, None] - stamps[in_contact]) / LEAN_SMOOTHING) ** 2) + 1e-12
        mean = weight @ axis[in_contact] / weight.sum(axis=1, keepdims=True)
        blend = mean + LEAN_FLOOR * direction
        return blend / np.linalg.norm(blend, axis=1, keepdims=True)

    return smoothed(times), smoothed(stamps)


def _edge_direction(trial: PushTrial, twin: Twin, rest: Rotation) -> tuple[Array, str]:
    """Normal of the support edge ahead of the push, object frame (2,), and a name for the edge."""
    wanted = rest.inv().apply(trial.push_direction)[:2]
    wanted /= np.linalg.norm(wanted)
    if twin.round_base:
        return wanted, "rim"
    corners = twin.support_polygon
    edges = np.roll(corners, -1, axis=0) - corners
    normals = np.stack([edges[:, 1], -edges[:, 0]], axis=1) / np.linalg.norm(edges, axis=1)[:, None]
    # A rounded corner is many short edges: the one that carries the lean is the furthest ahead.
    reach = np.einsum("ij,ij->i", normals, corners)
    score = normals @ wanted + 0.05 * np.linalg.norm(edges, axis=1) / np.linalg.norm(edges, axis=1).max()
    best = int(np.argmax(score))
    angle = np.degrees(np.arctan2(normals[best, 1], normals[best, 0]))
    return normals[best], f"edge{round(float(angle)) % 360:03d}_{1e3 * reach[best]:.0f}mm"


def _inside(trial: PushTrial, stamps: Array, names: tuple[str, ...]) -> NDArray[np.bool_]:
    inside = np.zeros(len(stamps), bool)
    for phase in trial.phases:
        if phase.name in names:
            inside |= (stamps >= phase.start) & (stamps <= phase.end)
    return inside


def _sampled(trial: PushTrial, config: TipConfig) -> tuple[Array, list[str], Array, Array, NDArray[np.bool_]]:
    """Times, phases, pad centres (N, 3), forces on the object (N, 3) and steadiness, averaged per sample."""
    blocks = trial.blocks
    start, end = trial.phases[0].start, trial.phases[-1].end
    start = max(start, blocks.wrench_stamps[0], blocks.arm_stamps[0], blocks.hand_stamps[0])
    end = min(end, blocks.wrench_stamps[-1], blocks.arm_stamps[-1], blocks.hand_stamps[-1])
    edges = np.arange(start, end, config.sample_period)
    count = np.histogram(blocks.wrench_stamps, edges)[0]
    if len(edges) < 10 or (count == 0).mean() > 0.05:
        raise UninformativePushError(
            f"push {trial.trial_id}: the wrench is missing in {int((count == 0).sum())} of {len(count)} samples of"
            f" {config.sample_period} s; check the force sensor's topic"
        )
    keep = count > 0
    times = (0.5 * (edges[1:] + edges[:-1]))[keep]

    def average(stamps: Array, values: Array) -> Array:
        total = np.stack([np.histogram(stamps, edges, weights=column)[0] for column in values.T], axis=1)
        number = np.histogram(stamps, edges)[0][:, None]
        mean = total / np.maximum(number, 1)
        middle = np.stack([np.interp(times, stamps, column) for column in values.T], axis=1)
        return np.where(number[keep] > 0, mean[keep], middle)

    force_tool = average(blocks.wrench_stamps, blocks.wrenches[:, :3])
    arm = average(blocks.arm_stamps, blocks.arm_positions)
    hand = average(blocks.hand_stamps, blocks.hand_positions)
    model = kinematics()
    pad, force, tool = np.empty((len(times), 3)), np.empty((len(times), 3)), np.empty((len(times), 3))
    for i in range(len(times)):
        frames = model.forward(arm[i], hand[i])
        pad[i] = frames[f"{trial.finger}_tip"][:3, 3]
        tool[i] = frames["tool0"][:3, 3]
        # The wrench is what the environment does to the hand; the object feels the opposite.
        force[i] = -(frames["tool0"][:3, :3] @ trial.tool_T_force[:3, :3] @ force_tool[i])
        if trial.tare is not None:
            force[i] += frames["tool0"][:3, :3] @ trial.tool_T_force[:3, :3] @ trial.tare[:3]
    middle = [next((p.name for p in trial.phases if p.start <= t <= p.end), "between") for t in times]
    velocity = np.gradient(tool, times, axis=0)
    acceleration = np.linalg.norm(np.gradient(velocity, times, axis=0), axis=1)
    steady = (acceleration <= config.max_tip_acceleration) & np.isin(middle, CONTACT_PHASES)
    return times, middle, pad, force, steady


def _check_stays(
    trial: PushTrial, name: str, rotations: Rotation, positions: Array, config: TipConfig
) -> None:
    """Refuse pushes that displaced the object instead of only tilting it."""
    after = trial.phase("baseline_after")
    baseline = trial.phase("baseline")
    assert baseline is not None
    stamps = trial.blocks.pose_stamps
    late = stamps >= after.start if after is not None else np.zeros(len(stamps), bool)
    early = stamps <= baseline.end
    if late.sum() < MIN_POSES:
        return
    moved = positions[late].mean(axis=0) - positions[early].mean(axis=0)
    turn = (rotations[late].mean() * rotations[early].mean().inv()).as_rotvec()
    slid = float(np.linalg.norm(moved[:2]))
    if slid > config.max_slide:
        raise UninformativePushError(
            f"{name}: the object slid {1e3 * slid:.1f} mm (allowed {1e3 * config.max_slide:.0f}); push slower, higher,"
            " or over its narrower side"
        )
    if abs(np.degrees(turn[2])) > config.max_turn:
        raise UninformativePushError(
            f"{name}: the object turned {np.degrees(turn[2]):.1f} deg about the vertical (allowed"
            f" {config.max_turn:.0f}); aim nearer to its centre line"
        )
