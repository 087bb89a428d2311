"""Joints turned so that one node says what a bone does."""

from __future__ import annotations

import numpy as np
from scipy.spatial.transform import Rotation

from osteon.core.transforms import compose, identity
from osteon.io.two_nodes import are_rotations, orient_joints, orthogonal_columns
from tests.scaled_models import scaled_model

FRAMES = 6


def rotations(seed: int, *shape: int) -> np.ndarray:
    turns = Rotation.random(int(np.prod(shape)), random_state=np.random.default_rng(seed)).as_matrix()
    return turns.reshape(*shape, 3, 3)


def moving(linear: np.ndarray) -> np.ndarray:
    return np.concatenate([linear, np.ones((*linear.shape[:-1], 1))], axis=-1)


def test_a_scaled_bone_becomes_rotations_and_scales() -> None:
    transforms = scaled_model().track.transforms.astype(np.float64)
    rest, along_axes = orient_joints(identity(transforms.shape[1]), transforms)
    assert along_axes.all()
    assert not orthogonal_columns(transforms[..., :3], 1e-3).any()
    assert orthogonal_columns(compose(transforms, rest)[..., :3], 1e-6).all()


def test_a_bone_that_only_turns_keeps_where_its_joint_points() -> None:
    rest = moving(rotations(1, 3))
    found, along_axes = orient_joints(rest, moving(rotations(2, FRAMES, 3)))
    assert not along_axes.any()
    assert np.abs(found - rest).max() <= 1e-12


def test_a_joint_that_was_placed_with_a_scale_loses_it() -> None:
    turned = rotations(1, 3)
    found, _ = orient_joints(moving(0.01 * turned), moving(rotations(2, FRAMES, 3)))
    assert np.abs(found[..., :3] - turned).max() <= 1e-9


def test_a_scale_that_all_bones_carry_goes_into_the_joint() -> None:
    transforms = moving(0.01 * rotations(2, FRAMES, 3))
    found, _ = orient_joints(identity(3), transforms)
    assert are_rotations(compose(transforms, found)[..., :3]).all()


def test_shear_and_reflections_are_left_alone() -> None:
    linear = rotations(2, FRAMES, 2)
    linear[:, 0] = linear[:, 0] @ np.array([[1, 0.3, 0], [0, 1, 0], [0, 0, 1.2]])
    linear[3:, 0] = linear[3:, 0] @ np.array([[1, 0, 0.4], [0, 1, 0], [0, 0, 1]])
    linear[:, 1] = linear[:, 1] * [1, 1, -1.5]
    rest = moving(rotations(1, 2))
    found, along_axes = orient_joints(rest, moving(linear))
    assert not along_axes.any()
    assert np.array_equal(found, rest)


def test_huge_and_tiny_bones_are_no_trouble() -> None:
    transforms = moving(rotations(2, FRAMES, 3))
    transforms[:, 0] *= 1e30
    transforms[:, 1] = 0
    found, along_axes = orient_joints(identity(3), transforms)
    assert np.isfinite(found).all()
    assert not along_axes[1]
