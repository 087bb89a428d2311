"""Frames of joints: y along the bone, x along the hinge, right-handed; ends within what the bone moves."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from osteon.core.transforms import identity
from osteon.fit.skeleton.joint_tree import orient_joints

JOINTS = np.array([[0.0, 0, 0], [1, 0, 0], [2, 0, 0]])
PARENTS = np.array([-1, 0, 1])


def subject() -> tuple[np.ndarray, np.ndarray]:
    x = np.linspace(0, 3, 200)
    points = np.stack([x, 0.1 * np.sin(20 * x), 0.1 * np.cos(20 * x)], axis=1)
    return points, np.stack([x < 1, (x >= 1) & (x < 2), x >= 2], axis=1).astype(float)


def test_bones_go_along_y_and_hinges_along_x() -> None:
    points, weights = subject()
    turns = identity(8, 3)[..., :3]
    turns[:, 2] = turns[:, 1] = Rotation.from_rotvec(np.linspace(0, 1, 8)[:, None] * [0, 0, 1]).as_matrix()
    placed = orient_joints(JOINTS, PARENTS, turns, points, weights)
    frames = placed.world_from_joint[..., :3]
    np.testing.assert_allclose(frames @ np.swapaxes(frames, 1, 2), np.tile(np.eye(3), (3, 1, 1)), atol=1e-12)
    np.testing.assert_allclose(np.linalg.det(frames), 1)
    np.testing.assert_allclose(frames[:2, :, 1], [[1, 0, 0], [1, 0, 0]], atol=1e-12)
    np.testing.assert_allclose(frames[1, :, 0], [0, 0, 1], atol=1e-9)
    assert np.array_equal(placed.ends[:2], JOINTS[1:])
    assert placed.ends[2, 0] == pytest.approx(2.95, abs=0.06)


def test_a_bone_that_never_turns_has_a_frame_too() -> None:
    points, _ = subject()
    placed = orient_joints(JOINTS[:1], PARENTS[:1], identity(4, 1)[..., :3], points, np.ones((200, 1)))
    assert np.isfinite(placed.world_from_joint).all()
    assert np.linalg.det(placed.world_from_joint[0, :, :3]) == pytest.approx(1)


def test_an_end_is_never_in_the_region_of_another_bone() -> None:
    """The far vertices are a ring; another bone's vertices fill it."""
    ring = np.array([[np.cos(a), np.sin(a), 1.0] for a in np.linspace(0, 2 * np.pi, 12, endpoint=False)])
    points = np.concatenate([np.zeros((1, 3)), ring, [[0.0, 0, 1], [0.1, 0, 1]]])
    own = np.r_[np.ones(13), 0, 0]
    joints = np.array([[0.0, 0, -2], [0, 0, -1]])
    turns = identity(4, 2)[..., :3]
    placed = orient_joints(joints, np.array([-1, 0]), turns, points, np.stack([1 - own, own], axis=1))
    nearest = np.linalg.norm(points - placed.ends[1], axis=1).argmin()
    assert own[nearest] == 1
