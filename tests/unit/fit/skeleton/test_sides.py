"""Left, right and central sections, and pairs of posed limbs."""

from __future__ import annotations

import numpy as np

from osteon.fit.mirror import MirrorPlane
from osteon.fit.skeleton.sides import Sides, find_sides, sides_of_joints

PLANE = MirrorPlane(np.array([1.0, 0, 0]), 0.0)
#: Trunk, left upper and lower arm, right upper and lower arm; the right arm is posed differently.
X = np.array([-0.2, 0.2, 1.0, 1.2, 2.0, 2.2, -0.5, -0.6, -0.5, -0.6])
WEIGHTS = np.repeat(np.eye(5), 2, axis=0)
GAPS = np.array([[0, 1, 2, 1, 2], [1, 0, 1, 2, 3], [2, 1, 0, 3, 4], [1, 2, 3, 0, 1], [2, 3, 4, 1, 0]], float)


def sides_of(x: np.ndarray, gaps: np.ndarray = GAPS, plane: MirrorPlane | None = PLANE) -> Sides:
    points = np.stack([x, np.zeros_like(x), np.zeros_like(x)], axis=1)
    return find_sides(plane, points, np.ones(len(x)), WEIGHTS, gaps, 5.0)


def test_sides_and_pairs_do_not_need_a_symmetric_pose() -> None:
    sides = sides_of(X)
    assert sides.side.tolist() == [0, 1, 1, -1, -1]
    assert sides.partner.tolist() == [-1, 3, 4, 1, 2]
    assert sides.known


def test_a_section_across_the_plane_is_central() -> None:
    crossing = X.copy()
    crossing[3] = -0.3
    assert sides_of(crossing).side.tolist() == [0, 0, 1, -1, -1]


def test_sections_at_other_distances_are_no_pair() -> None:
    gaps = GAPS.copy()
    gaps[4, 0] = gaps[0, 4] = 2.4  # 0.08 diagonals farther than the other lower arm
    assert sides_of(X, gaps).partner.tolist() == [-1, 3, -1, 1, -1]


def test_without_a_plane_or_one_side_there_are_no_sides() -> None:
    assert not sides_of(X, plane=None).known
    assert not sides_of(np.abs(X) + 0.1).known


def test_reordered_sides() -> None:
    sides = sides_of(X).ordered(np.array([3, 0, 4, 2, 1]))
    assert sides.side.tolist() == [-1, 0, -1, 1, 1]
    assert sides.partner.tolist() == [4, -1, 3, 2, 0]


def test_a_thigh_across_the_plane_belongs_to_its_leg() -> None:
    """Hips, spine, thigh, lower leg, foot: the thigh is central as a section, and its joint left of the plane."""
    side, parents = np.array([0, 0, 0, 1, 1]), np.array([-1, 0, 0, 2, 3])
    for away, expected in ((0.031, 1), (0.029, 0), (-0.031, 0)):
        found = sides_of_joints(side, parents, np.array([0, 0, away, 0.1, 0.1]))
        assert found.tolist() == [0, 0, expected, 1, 1]
