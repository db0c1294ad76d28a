"""Candidates, postures and the planner."""

from __future__ import annotations

import numpy as np
import pytest

from drex_policy.planning.candidates import AntipodalCandidates, pinch_axes_in_palm
from drex_policy.planning.planner import Demand, GraspPlanner
from drex_policy.planning.posture import PostureSolver, fingertip_torques, pad_ik, share_force
from drex_policy.planning.surface import TwinSurface
from drex_sim.errors import GraspError
from drex_sim.robot.kinematics import ARM_HOME, HAND_OPEN, RobotKinematics
from drex_sim.robot.models import PAD_RADIUS
from drex_sim.transforms import apply, from_matrix
from drex_sim.twin import load_twin


@pytest.fixture(scope="module")
def kinematics() -> RobotKinematics:
    return RobotKinematics()


@pytest.fixture(scope="module")
def planner(kinematics) -> GraspPlanner:
    return GraspPlanner(load_twin("lego"), kinematics)


def test_ray_finds_face_and_normal_and_misses_beside() -> None:
    surface = TwinSurface(load_twin("lego"))
    hit = surface.first_hit(np.zeros(3), np.array([-1.0, 0, 0]))
    assert hit.point == pytest.approx([0.0124, 0, 0]) and hit.normal == pytest.approx([1, 0, 0])
    assert surface.first_hit(np.array([0, 0.03, 0]), np.array([-1.0, 0, 0])) is None


def test_ray_of_a_hollow_shape_meets_the_outer_piece_first() -> None:
    twin = load_twin("letter_u")
    hit = TwinSurface(twin).first_hit(np.array([0.0, 0.0, 0.02]), np.array([0.0, 1.0, 0.0]))
    assert hit.point[1] == pytest.approx(-0.078, abs=1e-6) and hit.normal[1] == pytest.approx(-1.0)


def test_candidates_are_antipodal_above_the_table_and_right_handed() -> None:
    twin = load_twin("domino")
    candidates = AntipodalCandidates().propose(twin)
    assert candidates
    for c in candidates:
        assert np.cross(c.approach, c.row) == pytest.approx(c.pinch, abs=1e-9)
        assert c.contacts["thumb"].normal @ c.pinch < -0.98
        assert all(c.contacts[f].normal @ c.pinch > 0.8 for f in c.fingers)
        assert min(p.point[2] for p in c.contacts.values()) > -twin.com_height + 0.02
        pose = c.object_T_palm(np.array([0.1, 0.0, 0.02]), 0.3)
        assert apply(pose, np.array([0.1, 0.0, 0.02])) == pytest.approx(c.centre)
        assert pose[:3, :3] @ pinch_axes_in_palm(0.3)[:, 2] == pytest.approx(c.pinch)


def test_pad_ik_reaches_what_the_hand_can(kinematics) -> None:
    wanted = HAND_OPEN + 0.2
    tips = kinematics.tips_in_palm(wanted)
    joints, left = pad_ik(kinematics, tips, HAND_OPEN)
    assert left < 3e-4
    assert kinematics.tips_in_palm(joints)["thumb"] == pytest.approx(tips["thumb"], abs=3e-4)
    assert pad_ik(kinematics, {"index": np.array([0.5, 0, 0])}, HAND_OPEN)[1] > 0.1


def test_shared_force_balances_along_the_pinch() -> None:
    pinch = np.array([0.0, 0.0, 1.0])
    slanted = np.array([0.0, 0.5, np.sqrt(0.75)])
    forces = share_force({"index": slanted, "middle": pinch, "thumb": -pinch}, pinch)
    assert sum(f @ pinch for f in forces.values()) == pytest.approx(0.0)
    assert forces["thumb"] == pytest.approx(pinch)


def test_torques_do_the_work_of_the_force(kinematics) -> None:
    """Virtual work: tau dq = f dx, against finite differences of the contact point's motion."""
    force = np.array([0.3, -0.2, 1.0])
    torque = fingertip_torques(kinematics, HAND_OPEN, {"thumb": force}, {"thumb": force})
    palm = kinematics.forward(ARM_HOME, HAND_OPEN)["palm"]
    offset_w = PAD_RADIUS * palm[:3, :3] @ force / np.linalg.norm(force)

    def contact(hand: np.ndarray) -> np.ndarray:
        tip, start = (kinematics.forward(ARM_HOME, h)["thumb_tip"] for h in (hand, HAND_OPEN))
        return tip[:3, 3] + tip[:3, :3] @ start[:3, :3].T @ offset_w

    for joint in (12, 13, 15):
        for step in (1e-4, 1e-5):
            d = step * np.eye(16)[joint]
            moved = (contact(HAND_OPEN + d) - contact(HAND_OPEN - d)) / (2 * step)
            assert torque[joint] == pytest.approx(palm[:3, :3] @ force @ moved, rel=1e-5, abs=1e-8)
    assert torque[:12] == pytest.approx(np.zeros(12))


def test_side_limit_is_where_a_joint_reaches_its_torque(kinematics) -> None:
    twin = load_twin("lego")
    candidate = next(c for c in AntipodalCandidates().propose(twin) if c.roll == 0.0 and c.centre[2] == 0.0)
    posture = PostureSolver(kinematics, 0.7).postures(candidate)[0]
    for weight in (0.0, 2.0):
        torque = posture.side_limit(weight) * posture.grip_torque + weight * posture.weight_torque
        assert np.abs(torque).max() == pytest.approx(posture.torque_limit, rel=1e-6)
    assert posture.side_limit(500.0) == 0.0


def test_plan_puts_pads_on_the_object_and_arm_above_the_table(kinematics, planner) -> None:
    twin = load_twin("lego")
    base_T_object = from_matrix([0.5, 0.01, twin.com_height], np.eye(3))
    plan = planner.plan(base_T_object, ARM_HOME, Demand(2.0, 0.5), 0.10)
    palm = kinematics.forward(plan.approach[-1], plan.posture.hand_contact)
    for finger, contact in plan.candidate.contacts.items():
        pad = palm[f"{finger}_tip"][:3, 3]
        gap = np.linalg.norm(pad - apply(base_T_object, contact.point)) - PAD_RADIUS
        assert abs(gap) < 0.002
    rise = kinematics.tool(plan.lift[-1])[2, 3] - kinematics.tool(plan.lift[0])[2, 3]
    assert rise == pytest.approx(0.10, abs=2e-4)
    assert plan.free_path[0] == pytest.approx(ARM_HOME) and plan.free_path[-1] == pytest.approx(plan.approach[0])


def test_out_of_reach_says_what_failed(planner) -> None:
    with pytest.raises(GraspError, match=r"\d+ x arm cannot reach") as caught:
        planner.plan(from_matrix([1.6, 0.0, 0.0456], np.eye(3)), ARM_HOME, Demand(2.0, 0.5), 0.10)
    assert caught.value.code == "NO_GRASP"


def test_too_wide_an_object_has_no_opposite_faces_in_reach(kinematics) -> None:
    spam = load_twin("spam")
    for candidate in AntipodalCandidates().propose(spam):
        assert candidate.width <= 0.095
