"""Range planes and effective lines, checked against geometry by hand."""

from __future__ import annotations

import numpy as np
import pytest

from osteon.core.kernels import exact
from osteon.core.sticks import StickSkeleton
from osteon.simplex.segmentation.effective_distance import find_foot, find_ranges, nearest_foot


@exact
def foot(ranges, b, point):
    return find_foot(ranges, b, point)


@exact
def any_foot(ranges, b, point):
    return nearest_foot(ranges, b, point)


def sticks(joints, bones):
    return StickSkeleton(np.array(joints, float), np.array(bones, np.int32))


def at(skeleton, b, point, inner=None):
    return foot(find_ranges(skeleton, inner), b, tuple(map(float, point)))


ONE = sticks([[0, 0, 0], [2, 0, 0]], [[0, 1]])
ELBOW = sticks([[1, 0, 0], [0, 0, 0], [0, 1, 0]], [[0, 1], [1, 2]])


def test_free_ends_give_the_orthogonal_projection():
    distance, t = at(ONE, 0, (0.5, 3, 4))
    assert distance == pytest.approx(5)
    assert t == pytest.approx(0.25)


@pytest.mark.parametrize("x", [-0.01, 2.01])
def test_beyond_a_free_end_is_out_of_range(x):
    assert at(ONE, 0, (x, 0.1, 0)) == (np.inf, 0)


def test_on_the_plane_is_in_range():
    assert at(ONE, 0, (2, 1, 0)) == (1, 1)
    assert at(ONE, 0, (0, 1, 0)) == (1, 0)


def test_two_bones_meet_in_the_bisecting_plane():
    assert at(ELBOW, 0, (0.5, 0.4, 0.2))[0] < np.inf
    assert at(ELBOW, 1, (0.5, 0.4, 0.2))[0] == np.inf
    assert at(ELBOW, 1, (0.4, 0.5, 0.2))[0] < np.inf


def test_distances_agree_on_the_plane_between_bones():
    point = (0.3, 0.3, 0.7)
    first, second = at(ELBOW, 0, point), at(ELBOW, 1, point)
    assert first[0] == pytest.approx(np.linalg.norm(point))
    assert second[0] == pytest.approx(first[0])
    assert first[1] == pytest.approx(1)  # both feet lie in the joint
    assert second[1] == pytest.approx(0)


def test_the_effective_line_turns_evenly_between_the_planes():
    """A(1,0,0) free, B(0,0,0) at 45 degrees: the planes meet in the line x = y = 1; t grows with the slope from it."""
    ranges = find_ranges(sticks([[1, 0, 0], [0, 0, 0], [0, 1, 0]], [[0, 1], [1, 2]]))
    # At (0.5, 0.25, 0): a = 0.5 and b = (y - x) = -0.25, so t = 0.5 / 0.75.
    distance, t = foot(ranges, 0, (0.5, 0.25, 0.0))
    assert t == pytest.approx(2 / 3)
    assert distance == pytest.approx(np.hypot(0.5 - 1 / 3, 0.25))
    # All of a line through (1, 1) has the same foot.
    assert foot(ranges, 0, (0.75, 0.625, 0.0))[1] == pytest.approx(2 / 3)


def test_three_bones_share_space_without_gap_or_overlap():
    star = sticks([[0, 0, 0], [1, 0, 0], [-0.2, 1, 0], [-0.3, -0.6, 0.8]], [[0, 1], [0, 2], [3, 0]])
    far = star.joints * 100  # so that free ends do not matter
    ranges = find_ranges(StickSkeleton(far, star.bones))
    directions = far[1:] / np.linalg.norm(far[1:], axis=1, keepdims=True)
    for point in np.random.default_rng(0).normal(size=(300, 3)):
        inside = [b for b in range(3) if foot(ranges, b, tuple(point))[0] < np.inf]
        assert inside == [int(np.argmax(directions @ point))]


def test_folded_bones_bound_nothing_between_them():
    fold = sticks([[0, 0, 0], [1, 0, 0], [2, 0, 0]], [[0, 1], [0, 2]])
    ranges = find_ranges(fold)
    assert np.isfinite(ranges.planes).all()
    assert foot(ranges, 0, (0.5, 0.2, 0.0)) == pytest.approx((0.2, 0.5))
    assert foot(ranges, 1, (0.5, 0.2, 0.0)) == pytest.approx((0.2, 0.25))
    assert foot(ranges, 0, (-0.5, 0.2, 0.0))[0] == np.inf  # the joint counts as free


def test_feet_stay_on_the_inner_bone():
    inner = sticks([[0, 0, 0], [1, 0, 0]], [[0, 1]])
    assert at(ONE, 0, (1.5, 1, 0), inner) == pytest.approx((np.hypot(0.5, 1), 0.5))


def test_out_of_range_the_nearest_place_is_the_foot():
    ranges = find_ranges(ONE)
    assert any_foot(ranges, 0, (3.0, 0.0, 0.0)) == pytest.approx((1, 1))
    assert any_foot(ranges, 0, (-1.0, 1.0, 0.0)) == pytest.approx((np.sqrt(2), 0))
    assert any_foot(ranges, 0, (1.0, 1.0, 0.0)) == pytest.approx((1, 0.5))


def test_the_order_of_the_ends_does_not_matter():
    for point in np.random.default_rng(1).uniform(-0.2, 1, size=(50, 3)):
        distance, t = at(ELBOW, 0, point)
        turned = at(sticks(ELBOW.joints, [[1, 0], [2, 1]]), 0, point)
        assert turned[0] == pytest.approx(distance)
        if distance < np.inf:
            assert turned[1] == pytest.approx(1 - t)
