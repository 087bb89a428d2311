from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from osteon.core.transforms import apply, compose, identity, invert, nearest_rotation, rotation_from_axis_angle

from ...tolerance import assert_near


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(3)


def test_identity_moves_nothing(rng):
    points = rng.normal(size=(7, 3))
    assert_near(apply(identity(), points), points)
    assert identity(2, 5).shape == (2, 5, 3, 4)


def test_apply_is_linear_part_then_translation(rng):
    transforms, points = rng.normal(size=(4, 3, 4)), rng.normal(size=(4, 6, 3))
    expected = np.einsum("fij,fvj->fvi", transforms[..., :3], points) + transforms[:, None, :, 3]
    assert_near(apply(transforms, points), expected)


def test_compose_is_one_after_the_other(rng):
    second, first, points = rng.normal(size=(5, 3, 4)), rng.normal(size=(5, 3, 4)), rng.normal(size=(5, 8, 3))
    assert_near(apply(compose(second, first), points), apply(second, apply(first, points)))
    one = rng.normal(size=(3, 4))
    assert_near(compose(one, first), np.stack([compose(one, t) for t in first]))


def test_invert_undoes(rng):
    transforms = rng.normal(size=(6, 2, 3, 4))
    assert_near(compose(transforms, invert(transforms)), identity(6, 2), 1e-8)
    assert_near(compose(invert(transforms), transforms), identity(6, 2), 1e-8)


def test_nearest_rotation_of_a_rotation_is_itself():
    turns = Rotation.random(50, rng=1).as_matrix()
    assert_near(nearest_rotation(turns), turns)
    assert_near(nearest_rotation(5 * turns), turns)


def test_nearest_rotation_beats_other_rotations(rng):
    """By definition: no other rotation has a larger trace(R'M), whatever the sign of det M."""
    others = Rotation.random(500, rng=2).as_matrix()
    for matrix in rng.normal(size=(20, 3, 3)):
        turn = nearest_rotation(matrix)
        assert np.linalg.det(turn) == pytest.approx(1)
        assert np.trace(turn.T @ matrix) >= np.einsum("nij,ij->n", others, matrix).max() - 1e-12


@pytest.mark.parametrize("matrix", [-np.eye(3), np.diag([1.0, 1, -1]), np.diag([1.0, 0, 0]), np.zeros((3, 3))])
def test_nearest_rotation_of_reflections_and_singular_matrices(matrix):
    turn = nearest_rotation(matrix)
    assert_near(turn @ turn.T, np.eye(3))
    assert np.linalg.det(turn) == pytest.approx(1)


def test_axis_angle(rng):
    axes, angles = rng.normal(size=(10, 3)), rng.uniform(-4, 4, 10)
    unit = axes / np.linalg.norm(axes, axis=1, keepdims=True)
    assert_near(rotation_from_axis_angle(axes, angles), Rotation.from_rotvec(angles[:, None] * unit).as_matrix())
    quarter = rotation_from_axis_angle(np.array([0.0, 0.0, 2.0]), np.pi / 2)
    assert_near(quarter @ [1.0, 0, 0], [0.0, 1, 0])
