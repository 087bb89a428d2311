"""What crosscheck/test_bones.py does not say: rotations known in advance, and corners."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from osteon.fit.skin.procrustes import rotation_to, rotations_of

from ....tolerance import assert_near


def nearest(matrix: np.ndarray) -> np.ndarray:
    out = np.empty((3, 3))
    rotation_to(np.ascontiguousarray(matrix, np.float64), np.empty((4, 4)), np.empty((4, 4)), out)
    return out


@pytest.mark.parametrize("angle", [0.0, 1e-9, 1.0, np.pi - 1e-9, np.pi])
def test_a_rotation_is_its_own_nearest(angle):
    for axis in np.random.default_rng(0).normal(size=(20, 3)):
        turn = Rotation.from_rotvec(angle * axis / np.linalg.norm(axis)).as_matrix()
        assert_near(nearest(turn), turn, 1e-12)


@pytest.mark.parametrize("axis", range(3))
def test_half_turns_about_the_axes(axis):
    turn = -np.eye(3)
    turn[axis, axis] = 1
    assert_near(nearest(turn), turn, 1e-14)


@pytest.mark.parametrize("matrix", [np.zeros((3, 3)), -np.eye(3), np.diag([1.0, 0, 0]), np.diag([1.0, 1, -1])])
def test_singular_and_reflecting_matrices_give_rotations(matrix):
    found = nearest(matrix)
    assert_near(found @ found.T, np.eye(3), 1e-14)
    assert np.linalg.det(found) == pytest.approx(1)


def test_nothing_gives_no_rotation():
    assert_near(nearest(np.zeros((3, 3))), np.eye(3), 0)


def test_only_the_linear_part_counts():
    rng = np.random.default_rng(1)
    transforms = rng.normal(size=(4, 3, 3, 4))
    out = rotations_of(transforms)
    for f in range(4):
        for b in range(3):
            assert_near(out[f, b], nearest(transforms[f, b, :, :3]), 1e-12)
