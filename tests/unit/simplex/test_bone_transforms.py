"""Bone transforms: section 5 of the paper, and what it leaves open."""

from __future__ import annotations

import numpy as np
import pytest

from osteon.core.errors import GeometryError, OptionError
from osteon.core.pose_track import PoseTrack
from osteon.core.sticks import StickSkeleton
from osteon.core.transforms import apply, identity, rotation_from_axis_angle
from osteon.simplex.bone_transforms import BoneOptions, bone_transforms, segment_transforms

#: A pelvis with spine, two legs of two bones, and a tail.
BODY = StickSkeleton(
    np.array(
        [[0, 0, 0], [0, 1, 0.1], [0, 2, 0], [0.4, -0.1, 0], [0.5, -1, 0], [0.5, -2, 0.2], [-0.4, -0.1, 0],
         [-0.5, -1, 0], [0, -0.2, -1]]
    ),
    np.array([[0, 1], [1, 2], [0, 3], [3, 4], [4, 5], [0, 6], [6, 7], [0, 8]]),
)  # fmt: skip
#: Three bones, nearly straight.
ARM = StickSkeleton(np.array([[0, 0, 0], [1, 0.05, 0], [2, 0, 0.02], [3, 0.1, 0]]), np.array([[0, 1], [1, 2], [2, 3]]))
ONE = StickSkeleton(np.array([[0, 0, 0], [1, 0, 0.0]]), np.array([[0, 1]]))
RING = StickSkeleton(
    np.array([[0, 0, 0], [1, 0, 0], [1, 1, 0.2], [0, 1, 0]]), np.array([[0, 1], [1, 2], [2, 3], [3, 0]])
)


def posed(skeleton: StickSkeleton, joints: np.ndarray, **more: object) -> np.ndarray:
    """(b,3,4) transforms of one pose."""
    return bone_transforms(skeleton, PoseTrack(joints[None], **more))[0]  # type: ignore[arg-type]


def some_rotation(seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return rotation_from_axis_angle(rng.normal(size=3), rng.uniform(0.1, 3.1))


@pytest.mark.parametrize("skeleton", [BODY, ARM, ONE, RING])
def test_rest_gives_the_identity(skeleton: StickSkeleton) -> None:
    assert np.abs(posed(skeleton, skeleton.joints) - identity(skeleton.n_bones)).max() < 1e-14


@pytest.mark.parametrize("skeleton", [BODY, ARM, RING])
@pytest.mark.parametrize("seed", range(5))
def test_a_rigid_motion_of_all_joints_is_the_motion_of_all_bones(skeleton: StickSkeleton, seed: int) -> None:
    rotation, shift = some_rotation(seed), np.array([3.0, -1, 2])
    expected = np.concatenate([rotation, shift[:, None]], axis=1)
    assert np.abs(posed(skeleton, skeleton.joints @ rotation.T + shift) - expected).max() < 1e-12


def test_bones_reach_their_joints() -> None:
    joints = BODY.joints + np.random.default_rng(0).normal(scale=0.3, size=BODY.joints.shape)
    moved = apply(posed(BODY, joints), BODY.joints[BODY.bones])
    assert np.abs(moved - joints[BODY.bones]).max() < 1e-12


def test_bones_that_do_not_move_stay_exactly() -> None:
    joints = BODY.joints.copy()
    joints[5] = [0.5, -1.2, 1.2]  # a foot kicks
    joints[8] = [0.9, -0.2, -0.4]  # the tail wags
    moved = posed(BODY, joints)
    still = [0, 1, 2, 3, 5, 6]
    assert np.abs(moved[still] - identity(len(still))).max() < 1e-9
    assert np.abs(moved[[4, 7]] - identity(2)).max() > 0.1


def test_a_nearly_straight_arm_bends_either_way_without_a_twist() -> None:
    for side in (1.0, -1.0):
        joints = ARM.joints.copy()
        joints[2:] = joints[1] + [[0, side, 0], [0, 2 * side, 0]]
        assert np.abs(posed(ARM, joints)[0] - identity()).max() < 1e-12


def test_turns_are_passed_on() -> None:
    """The forearm follows the swing of the upper arm; the paper's least rotation does not."""
    arm = StickSkeleton(np.array([[0.0, 0, 0], [1, 0, 0], [2, 0, 0]]), np.array([[0, 1], [1, 2]]))
    swing = rotation_from_axis_angle(np.array([0.0, 1, 0]), np.pi / 2)
    bend = rotation_from_axis_angle(swing @ np.array([0.0, 0, 1]), np.pi / 2)
    joints = np.array([[0, 0, 0], swing @ [1, 0, 0], swing @ [1, 0, 0] + bend @ swing @ [1, 0, 0]])
    passed_on = posed(arm, joints)
    assert np.abs(passed_on[1, :, :3] - bend @ swing).max() < 1e-12
    least = bone_transforms(arm, PoseTrack(joints[None]), options=BoneOptions(turns="least"))[0]
    assert np.abs(least[1, :, :3] - bend @ swing).max() > 0.5


@pytest.mark.parametrize("turns", ["passed-on", "least"])
def test_antiparallel_bones_turn_half_around(turns: str) -> None:
    joints = ONE.joints @ np.diag([-1.0, 1, 1])
    moved = bone_transforms(ONE, PoseTrack(joints[None]), options=BoneOptions(turns=turns))[0, 0]  # type: ignore[arg-type]
    assert np.allclose(moved[:, :3] @ moved[:, :3].T, np.eye(3), atol=1e-14)
    assert np.linalg.det(moved[:, :3]) == pytest.approx(1)
    assert np.allclose(moved[:, :3] @ [1, 0, 0], [-1, 0, 0], atol=1e-14)


def test_antiparallel_turns_commute_with_a_turn_of_the_scene() -> None:
    joints = ARM.joints.copy()
    joints[3] = joints[2] - (joints[3] - joints[2])
    scene = some_rotation(7)
    turned = StickSkeleton(ARM.joints @ scene.T, ARM.bones)
    here = posed(ARM, joints)[:, :, :3]
    there = posed(turned, joints @ scene.T)[:, :, :3]
    assert np.abs(there - scene @ here @ scene.T).max() < 1e-9


def test_known_rotations_are_kept() -> None:
    """A turn about the bone itself cannot be seen in its joints."""
    roll = rotation_from_axis_angle(np.array([1.0, 0, 0]), 1.0)
    assert np.allclose(posed(ONE, ONE.joints, rotations=roll[None, None])[0, :, :3], roll, atol=1e-14)


@pytest.mark.parametrize(("stretch", "along", "across"), [("along", 2, 1), ("uniform", 2, 2), ("none", 1, 1)])
def test_length_and_thickness(stretch: str, along: float, across: float) -> None:
    joints = ONE.joints * 2
    moved = bone_transforms(ONE, PoseTrack(joints[None]), options=BoneOptions(stretch=stretch))[0, 0]  # type: ignore[arg-type]
    assert np.allclose(moved[:, :3], np.diag([along, across, across]), atol=1e-14)


def test_cross_scale() -> None:
    turned = rotation_from_axis_angle(np.array([0.0, 0, 1]), np.pi / 2)
    moved = posed(ONE, ONE.joints @ turned.T, cross_scale=np.array([[3.0]]))[0]
    assert np.allclose(moved[:, :3], np.diag([3, 1, 3]) @ turned, atol=1e-14)  # eq. 12


def test_in_the_plane() -> None:
    joints = np.array([[1.0, 2, 0], [1, 4, 0]])
    moved = bone_transforms(ONE, PoseTrack(joints[None]), dimension=2)[0, 0]
    assert np.allclose(apply(moved, ONE.joints), joints, atol=1e-14)
    half = bone_transforms(ONE, PoseTrack(ONE.joints[None] * [-1, 1, 1]), dimension=2)[0, 0]
    assert np.allclose(half[:, :3], np.diag([-1, -1, 1]), atol=1e-14)  # turned in the plane, not flipped over


def test_lines_move_on_their_own() -> None:
    rest = np.array([[[0.0, 0, 0], [1, 0, 0]], [[0, 1, 0], [0, 2, 0]]])
    target = np.array([[[[0.0, 0, 1], [0, 0, 3]], [[0, 1, 0], [0, 2, 0]]]])
    moved = segment_transforms(rest, target, np.ones((1, 2)))
    assert np.allclose(apply(moved[0], rest), target[0], atol=1e-14)
    assert np.allclose(moved[0, 1], identity(), atol=1e-15)


def test_refusals() -> None:
    with pytest.raises(GeometryError, match="3 joints"):
        posed(BODY, np.zeros((3, 3)))
    with pytest.raises(GeometryError, match="no length"):
        posed(ONE, np.zeros((2, 3)))
    with pytest.raises(OptionError, match="stretch"):
        BoneOptions(stretch="sideways")  # type: ignore[arg-type]
    with pytest.raises(OptionError, match="turns"):
        BoneOptions(turns="none")  # type: ignore[arg-type]
