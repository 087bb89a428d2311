"""The tree of sections: the cheapest joints, told from the middle."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from osteon.fit.skeleton.joint_tree import find_tree, joint_costs
from osteon.fit.skeleton.pair_joints import PairJoints


def pairs_of(costs: dict[tuple[int, int], float]) -> PairJoints:
    n = len(costs)
    places = np.arange(3.0 * n).reshape(n, 3)
    zero, one = np.zeros(n), np.ones(n)
    residuals = np.array(list(costs.values()))
    return PairJoints(np.array(list(costs)), places, places, residuals, 90 * one, 90 * one, 10 * one, zero)


def test_the_cheapest_joints_make_the_tree() -> None:
    pairs = pairs_of({(0, 1): 0.1, (1, 2): 0.1, (0, 2): 5.0, (2, 3): 0.2})
    tree = find_tree(pairs, np.zeros((4, 3)), np.ones(4), 1.0, root=0)
    assert tree.order.tolist() == [0, 1, 2, 3]
    assert tree.parents.tolist() == [-1, 0, 1, 2]
    assert np.array_equal(tree.places[1:], pairs.places[[0, 1, 3]])


def test_the_root_is_in_the_middle() -> None:
    pairs = pairs_of({(0, 1): 0.1, (1, 2): 0.1, (2, 3): 0.1, (3, 4): 0.1})
    tree = find_tree(pairs, np.zeros((5, 3)), np.ones(5), 1.0)
    assert tree.order[0] == 2
    assert np.array_equal(tree.places[0], pairs.places[[1, 2]].mean(axis=0))  # between the joints on it
    assert (tree.parents[1:] < np.arange(1, 5)).all()


def test_one_section_is_a_root_at_its_centre() -> None:
    none = PairJoints(
        np.zeros((0, 2), np.int64), *(np.zeros((0, 3)) for _ in range(2)), *(np.zeros(0) for _ in range(5))
    )
    tree = find_tree(none, np.array([[1.0, 2, 3]]), np.ones(1), 1.0)
    assert tree.parents.tolist() == [-1]
    assert tree.places.tolist() == [[1, 2, 3]]


def test_what_a_joint_costs() -> None:
    """A residual counts as it is, a distance to the boundary a tenth, a gap three tenths; all in diagonals."""
    pairs = pairs_of({(0, 1): 0.5, (0, 2): 0.5, (1, 2): 0.5})
    away = pairs.places + np.array([[0.0, 0, 0], [3.0, 0, 4.0], [0, 0, 0]])
    pairs = replace(pairs, boundaries=away, gaps=np.array([0.0, 0.0, 2.0]), shared=np.array([10.0, 10.0, 0.0]))
    near, offset, gap = joint_costs(pairs, 2.0)
    assert np.isclose(offset - near, 0.1 * 5 / 2)
    assert np.isclose(gap - near, 0.3 * 2 / 2 + 0.05 - 0.01 / 21)
    assert np.isclose(near, 0.25 + 0.01 / 21)
