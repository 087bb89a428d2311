"""What a level takes from its source: closest points of its own triangles, shares of corners, mixtures of weights."""

from __future__ import annotations

import numpy as np
import pytest

from osteon.core.character import Skin
from osteon.lod.mesh.level_shape import barycentric, closest_of_own, closest_shares, mix_skin

FLAT = np.array([[[0.0, 0, 0], [1, 0, 0], [0, 1, 0]]])


@pytest.mark.parametrize(
    ("point", "shares"),
    [
        ([0.25, 0.25, 3.0], [0.5, 0.25, 0.25]),  # above the inside
        ([-1.0, -1, 0], [1, 0, 0]),  # beyond a corner
        ([0.5, -2.0, 1], [0.5, 0.5, 0]),  # beyond an edge
        ([2.0, 2, 0], [0, 0.5, 0.5]),
        ([5.0, 0, 0], [0, 1, 0]),
    ],
)
def test_the_closest_point_of_a_triangle(point, shares):
    assert closest_shares(np.array([point]), FLAT)[0] == pytest.approx(shares)


def test_no_other_point_of_the_triangle_is_closer():
    rng = np.random.default_rng(0)
    triangles, points = rng.normal(size=(50, 3, 3)), 2 * rng.normal(size=(50, 3))
    shares = closest_shares(points, triangles)
    assert (shares >= 0).all()
    assert shares.sum(axis=1) == pytest.approx(1)
    here = np.linalg.norm(np.einsum("mc,mci->mi", shares, triangles) - points, axis=1)
    for tried in rng.dirichlet([0.5, 0.5, 0.5], 200):
        assert (np.linalg.norm(np.einsum("c,mci->mi", tried, triangles) - points, axis=1) >= here - 1e-12).all()


def test_triangles_without_area_have_closest_points_too():
    line = np.array([[[0.0, 0, 0], [1, 0, 0], [2, 0, 0]], [[1.0, 1, 1]] * 3])
    shares = closest_shares(np.array([[1.5, 1, 0], [0.0, 0, 0]]), line)
    assert np.einsum("mc,mci->mi", shares, line) == pytest.approx(np.array([[1.5, 0, 0], [1, 1, 1]]))
    assert barycentric(np.zeros((2, 3)), line) == pytest.approx(1 / 3)
    assert barycentric(np.zeros((2, 3)), line, clipped=False) == pytest.approx(-1)


def test_only_triangles_of_ones_own_are_looked_at():
    """Two sheets on top of one another: a place below the first belongs to the second, and stays there."""
    sheets = np.concatenate([FLAT, np.add(FLAT, [0, 0, 1])])
    owners = np.array([[0, 0, 0], [1, -1, 1]])
    found = closest_of_own(np.array([[0.25, 0.25, 0.9], [0.25, 0.25, -0.5]]), owners, sheets)
    assert found.triangles.tolist() == [0, 1]
    assert found.mix(sheets) == pytest.approx(np.array([[0.25, 0.25, 0], [0.25, 0.25, 1]]))
    assert found.nearest(np.array([[7, 8, 9], [4, 5, 6]], np.int32)).tolist() == [7, 4]


def test_mixtures_of_weights_keep_the_largest():
    skin = Skin(np.array([[0, 1], [2, 1], [3, 0]], np.int32), np.array([[0.6, 0.4], [0.7, 0.3], [1, 0]], np.float32))
    mixed = mix_skin(skin, np.array([[0, 1, 2], [0, 0, 0]], np.int32), np.array([[0.5, 0.5, 0], [1, 0, 0]]))
    dense = mixed.dense(4)  # .3, .35, .35, 0 before the smallest goes
    assert dense[0] == pytest.approx([0, 0.5, 0.5, 0])
    assert dense[1] == pytest.approx([0.6, 0.4, 0, 0])
    assert mixed.n_influences == 2
