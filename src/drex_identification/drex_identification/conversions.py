"""Between core types and drex_msgs."""

from __future__ import annotations

import numpy as np
from builtin_interfaces.msg import Time
from geometry_msgs.msg import Point, Vector3
from numpy.typing import NDArray

from drex_identification.estimators.result import MassEstimateResult
from drex_identification.push.goal import PushGoal
from drex_identification.trials.push_trial import BLOCK_NAMES, PUSH_TYPES, Phase, PushTrial
from drex_msgs.action import ExecutePush
from drex_msgs.msg import MassEstimate
from drex_msgs.msg import PushTrial as PushTrialMsg
from drex_sim.errors import PushError, TrialError
from drex_sim.robot.names import ARM_JOINTS, HAND_JOINTS
from drex_sim.robot.protocols import RecordedBlocks
from drex_sim.transforms import from_xyzw, to_xyzw

Array = NDArray[np.float64]

POSE_NAMES = ("x", "y", "z", "qx", "qy", "qz", "qw", "confidence")
WRENCH_NAMES = ("fx", "fy", "fz", "tx", "ty", "tz")
_NAMES = {"pose_names": POSE_NAMES, "arm_names": ARM_JOINTS, "hand_names": HAND_JOINTS, "wrench_names": WRENCH_NAMES}
_WIDTHS = {"poses": 8, "pose_covariances": 36, "arm_positions": 6, "arm_velocities": 6, "hand_positions": 16,
           "hand_efforts": 16, "hand_commands": 16, "wrenches": 6}
_COLUMNS = {"poses": "pose_names", "arm_positions": "arm_names", "arm_velocities": "arm_names",
            "hand_positions": "hand_names", "hand_efforts": "hand_names", "wrenches": "wrench_names"}


def _vector(values: Array) -> Vector3:
    return Vector3(x=float(values[0]), y=float(values[1]), z=float(values[2]))


def _array(vector: Vector3 | Point) -> Array:
    return np.array([vector.x, vector.y, vector.z])


def trial_to_msg(trial: PushTrial) -> PushTrialMsg:
    """drex_msgs/PushTrial of a trial."""
    message = PushTrialMsg(
        trial_id=trial.trial_id, object_id=trial.object_id, twin_hash=trial.twin_hash,
        push_type=PUSH_TYPES.index(trial.push_type), force_frame=trial.force_frame, pad_radius=float(trial.pad_radius),
        finger=trial.finger, outcome=trial.outcome, tared=trial.tare is not None,
    )
    for name in BLOCK_NAMES:
        setattr(message, name, np.ascontiguousarray(getattr(trial.blocks, name), float).ravel().tolist())
    for name, values in _NAMES.items():
        setattr(message, name, list(values))
    message.phase_names = [phase.name for phase in trial.phases]
    message.phase_starts = [float(phase.start) for phase in trial.phases]
    message.phase_ends = [float(phase.end) for phase in trial.phases]
    x, y, z = (float(v) for v in trial.contact_point)
    message.contact_point = Point(x=x, y=y, z=z)
    message.contact_normal = _vector(trial.contact_normal)
    message.push_direction = _vector(trial.push_direction)
    message.gravity = _vector(trial.gravity)
    message.table_plane = np.asarray(trial.table_plane, float)
    position, quaternion = to_xyzw(trial.tool_T_force)
    message.tool0_pose_force_frame = np.concatenate([position, quaternion])
    message.tare = np.zeros(6) if trial.tare is None else np.asarray(trial.tare, float)
    return message


def trial_from_msg(message: PushTrialMsg) -> PushTrial:
    """The trial of a message; joints and columns are mapped by name.

    Raises:
      TrialError: names the field that cannot be used.
    """
    who = f"trial {message.trial_id or '(no id)'}"
    if message.bag_uri:
        raise TrialError(f"{who}: bag_uri is {message.bag_uri!r}; blocks kept elsewhere are not read in this release")
    if message.push_type >= len(PUSH_TYPES):
        raise TrialError(f"{who}: push_type is {message.push_type}; 0..{len(PUSH_TYPES) - 1} is allowed")
    blocks: dict[str, Array] = {}
    for name in BLOCK_NAMES:
        flat = np.asarray(getattr(message, name), float)
        width = _WIDTHS.get(name)
        if width is None:
            blocks[name] = flat
            continue
        if len(flat) % width:
            raise TrialError(f"{who}: {name} has {len(flat)} numbers; a multiple of {width} is needed")
        table = flat.reshape(-1, width)
        blocks[name] = table if name not in _COLUMNS else table[:, _order(message, _COLUMNS[name], who)]
    lengths = {len(message.phase_names), len(message.phase_starts), len(message.phase_ends)}
    if len(lengths) != 1:
        raise TrialError(f"{who}: phase_names, phase_starts and phase_ends have lengths {sorted(lengths)}; one each")
    frame = np.asarray(message.tool0_pose_force_frame, float)
    if not np.isfinite(frame).all() or np.linalg.norm(frame[3:]) < 0.5:
        raise TrialError(f"{who}: tool0_pose_force_frame is {frame.tolist()}; position and unit quaternion are needed")
    trial = PushTrial(
        trial_id=message.trial_id, object_id=message.object_id, twin_hash=message.twin_hash,
        push_type=PUSH_TYPES[message.push_type], blocks=RecordedBlocks(**blocks),
        phases=tuple(Phase(n, a, b) for n, a, b in
                     zip(message.phase_names, message.phase_starts, message.phase_ends, strict=True)),
        contact_point=_array(message.contact_point), contact_normal=_array(message.contact_normal),
        push_direction=_array(message.push_direction), table_plane=np.asarray(message.table_plane, float),
        gravity=_array(message.gravity), force_frame=message.force_frame,
        tool_T_force=from_xyzw(frame[:3], frame[3:]), tare=np.asarray(message.tare, float) if message.tared else None,
        pad_radius=float(message.pad_radius), finger=message.finger, outcome=message.outcome,
    )
    trial.validate()
    return trial


def _order(message: PushTrialMsg, field: str, who: str) -> list[int]:
    names, wanted = list(getattr(message, field)), _NAMES[field]
    missing = [name for name in wanted if name not in names]
    if missing or len(names) != len(wanted):
        raise TrialError(f"{who}: {field} holds {', '.join(names) or 'nothing'}; {', '.join(wanted)} are needed")
    return [names.index(name) for name in wanted]


def estimate_to_msg(result: MassEstimateResult, stamp: Time) -> MassEstimate:
    """drex_msgs/MassEstimate of a result."""
    message = MassEstimate(
        object_id=result.object_id, twin_hash=result.twin_hash, calibration_id=result.calibration_id,
        trial_ids=list(result.trial_ids), mass=result.mass, mass_stddev=result.mass_stddev, ci95_low=result.ci95[0],
        ci95_high=result.ci95[1], mass_prior_stddev=result.mass_prior[2],
        parameter_names=[f"{p.name}/{p.unit}" for p in result.parameters],
        parameter_values=[p.value for p in result.parameters],
        covariance=np.asarray(result.covariance, float).ravel().tolist(), verdict=result.verdict.value,
        reason=result.reason, next_action=result.next_action, position_rms=result.position_rms,
        rotation_rms=result.rotation_rms, force_rms=result.force_rms, trials_used=len(result.trials),
        trials_rejected=len(result.rejected), method=result.method, elapsed=result.elapsed,
    )
    message.header.stamp = stamp
    return message


def goal_from_msg(goal: ExecutePush.Goal) -> PushGoal:
    """The push that an ExecutePush goal asks for.

    Raises:
      PushError: code BAD_GOAL.
    """
    if goal.push_type >= len(PUSH_TYPES):
        raise PushError(f"push_type is {goal.push_type}; 0..{len(PUSH_TYPES) - 1} is allowed", "BAD_GOAL")
    chosen = not goal.auto_contact and bool(_array(goal.contact_normal).any())
    return PushGoal(
        push_type=PUSH_TYPES[goal.push_type], contact_point=_array(goal.contact_point) if chosen else None,
        contact_normal=_array(goal.contact_normal) if chosen else None, speed=goal.speed, force_limit=goal.force_limit,
        travel_limit=goal.travel_limit, repetitions=goal.repetitions, tare=goal.tare,
    )
