from __future__ import annotations

import numpy as np
import pytest

from osteon.core.errors import GeometryError
from osteon.core.sticks import StickSkeleton
from osteon.core.transforms import apply, identity, rotation_from_axis_angle
from osteon.deform.pose import blend_dense
from osteon.simplex.poser import inverse_square_weights

ELBOW = StickSkeleton(np.array([[0.0, 0, 0], [1, 0, 0], [1, 1, 0]]), np.array([[0, 1], [1, 2]], np.int32))


def test_weights_are_inverse_squares_of_segment_distances() -> None:
    points = np.array([[0.5, -0.5, 0], [-3, 0, 4], [1.5, 2, 0]])
    squares = np.array([[0.25, 0.5], [25, 32], [0.5**2 + 4, 0.5**2 + 1]])
    expected = 1 / squares / (1 / squares).sum(axis=1, keepdims=True)
    np.testing.assert_allclose(inverse_square_weights(points, ELBOW), expected, rtol=1e-12)


def test_a_vertex_on_a_bone_follows_it() -> None:
    found = inverse_square_weights(np.array([[0.3, 0, 0], [1, 0.9, 0], [1, 0, 0]]), ELBOW)
    np.testing.assert_allclose(found, [[1, 0], [0, 1], [0.5, 0.5]], atol=1e-12)


@pytest.mark.parametrize("size", [1e-30, 1.0, 1e30])
def test_rows_sum_to_one_at_any_size(size: float) -> None:
    points = size * np.random.default_rng(0).normal(size=(300, 3))
    skeleton = StickSkeleton(size * ELBOW.joints, ELBOW.bones)
    found = inverse_square_weights(points, skeleton)
    assert (found >= 0).all()
    np.testing.assert_allclose(found.sum(axis=1), 1, rtol=1e-12)
    np.testing.assert_allclose(found, inverse_square_weights(points / size, ELBOW), rtol=1e-6)


@pytest.mark.parametrize("n_vertices", [0, 7, 4096, 5000])
def test_blend_is_the_sum_of_moved_points(n_vertices: int) -> None:
    rng = np.random.default_rng(n_vertices)
    points, weights = rng.normal(size=(n_vertices, 3)), rng.random((n_vertices, 4))
    transforms = rng.normal(size=(3, 4, 3, 4))
    moved = np.stack([apply(transforms[:, b], points) for b in range(4)])
    expected = np.einsum("vb,bfvi->fvi", weights, moved)
    np.testing.assert_allclose(blend_dense(points, weights, transforms), expected, atol=1e-12)


def test_one_rigid_motion_of_all_bones_moves_the_mesh_rigidly() -> None:
    points = np.random.default_rng(2).normal(size=(50, 3))
    motion = identity(1, 2)
    motion[..., :3] = rotation_from_axis_angle(np.array([1.0, 2, 3]), 0.7)
    motion[..., 3] = (4, 5, 6)
    posed = blend_dense(points, inverse_square_weights(points, ELBOW), motion)
    np.testing.assert_allclose(posed[0], apply(motion[0, 0], points), atol=1e-12)


def test_refuses() -> None:
    with pytest.raises(GeometryError, match="vertices"):
        inverse_square_weights(np.zeros((2, 2)), ELBOW)
    with pytest.raises(GeometryError, match="transforms"):
        blend_dense(np.zeros((2, 3)), np.ones((2, 2)), identity(1, 3))
