"""Turns at joints become transforms of bones, and back: what holds for every skeleton."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from osteon.core.errors import GeometryError
from osteon.core.kinematics import pose_joints
from osteon.core.transforms import apply
from osteon.deform.pose import pose_points
from osteon.deform.pose_skeleton import joint_rotations_of_transforms, posed_places, transforms_of_joint_rotations
from osteon.pipeline.pose_model import sticks_for
from tests.posable import NAMES, PARENTS, PLACES, posable_model, posable_skeleton, random_turns
from tests.tolerance import assert_same_points

REST = posable_skeleton().world_from_joint[..., 3].astype(np.float64)


def still(n_frames: int = 1) -> np.ndarray:
    return np.tile(np.eye(3), (n_frames, len(NAMES), 1, 1))


@pytest.mark.parametrize("dual", [False, True])
def test_no_turns_are_the_rest_pose_exactly(dual):
    model = posable_model(dual=dual)
    transforms = transforms_of_joint_rotations(posable_skeleton(), still())
    np.testing.assert_array_equal(transforms[0, :, :, :3], still()[0])
    np.testing.assert_array_equal(transforms[..., 3], 0)
    posed = pose_points(model.deformer, model.rest[None].astype(np.float64), transforms)
    assert_same_points(posed[0], model.rest, 1e-7)  # weights are float32, and sum to one as far as these can


@pytest.mark.parametrize("dual", [False, True])
def test_a_turned_and_moved_root_moves_the_mesh_rigidly(dual):
    model = posable_model(dual=dual)
    turns, shift = still(), np.array([[0.4, -1.0, 2.0]])
    turns[0, 0] = Rotation.from_rotvec([0.9, -0.5, 1.3]).as_matrix()
    transforms = transforms_of_joint_rotations(posable_skeleton(), turns, shift)
    np.testing.assert_allclose(transforms[0], np.tile(transforms[0, :1], (len(NAMES), 1, 1)), atol=1e-12)
    posed = pose_points(model.deformer, model.rest[None].astype(np.float64), transforms)[0]
    assert_same_points(posed, (model.rest - REST[0]) @ turns[0, 0].T + REST[0] + shift[0])


def test_bones_keep_their_lengths():
    transforms = transforms_of_joint_rotations(posable_skeleton(), random_turns(20, size=2), np.ones((20, 3)))
    places = posed_places(REST, transforms)
    children = np.flatnonzero(PARENTS >= 0)
    for points in (REST, places):
        lengths = np.linalg.norm(points[..., children, :] - points[..., PARENTS[children], :], axis=-1)
        rest = np.linalg.norm(REST[children] - REST[PARENTS[children]], axis=-1)
        np.testing.assert_allclose(lengths, np.broadcast_to(rest, lengths.shape), rtol=1e-12)
    hanging = apply(transforms[:, 2], REST[None, 3:4])[:, 0]  # the arm brings the hand where it is
    np.testing.assert_allclose(hanging, places[:, 3], atol=1e-12)


@pytest.mark.parametrize("dual", [False, True])
def test_turns_taken_from_an_animation_give_its_frames(dual):
    model = posable_model(dual=dual)
    turns, shift = joint_rotations_of_transforms(model.skeleton, model.track.transforms)
    np.testing.assert_allclose(turns, random_turns(model.n_frames), atol=1e-6)
    transforms = transforms_of_joint_rotations(model.skeleton, turns, shift)
    rest = model.rest[None].astype(np.float64)
    expected = pose_points(model.deformer, rest, model.track.transforms)
    assert_same_points(pose_points(model.deformer, rest, transforms), expected, 1e-5)


def test_turns_mean_what_they_mean_in_files_of_poses():
    sticks = sticks_for(posable_model()).sticks
    turns = random_turns(2)[1]
    by_stick = {sticks.names.index(name): turns[j] for j, name in enumerate(NAMES)}
    places, _ = pose_joints(sticks, by_stick, {})
    mine = posed_places(REST, transforms_of_joint_rotations(posable_skeleton(), turns[None]))[0]
    np.testing.assert_allclose([places[sticks.names.index(name)] for name in NAMES], mine, atol=1e-7)


def test_roots_may_move_apart():
    skeleton = type(posable_skeleton())(("a", "b"), np.array([-1, -1]), posable_skeleton().world_from_joint[:2])
    apart = np.array([[[1.0, 0, 0], [0, 2.0, 0]]])
    transforms = transforms_of_joint_rotations(skeleton, still()[:, :2], apart)
    np.testing.assert_allclose(transforms[..., 3], apart, atol=1e-15)
    np.testing.assert_allclose(joint_rotations_of_transforms(skeleton, transforms)[1], apart, atol=1e-7)
    with pytest.raises(GeometryError, match="shift"):
        transforms_of_joint_rotations(skeleton, still()[:, :2], np.zeros((1, 3, 3)))
    with pytest.raises(GeometryError, match="rotations"):
        transforms_of_joint_rotations(skeleton, still())


def test_places_are_those_of_the_subject():
    np.testing.assert_allclose(REST, PLACES, atol=1e-7)
