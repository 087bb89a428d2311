"""The tree of sections: the cheapest joints, with sides, seen from a root at the hips."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy.sparse import coo_array

from osteon.fit.skeleton.joint_tree import (
    JointTree,
    Neighborhood,
    find_tree,
    joint_costs,
    meet_sections,
    safe_places,
    slides,
)
from osteon.fit.skeleton.pair_joints import PairJoints
from osteon.fit.skeleton.sides import Sides
from osteon.fit.skeleton.surface_graph import SurfaceGraph


def pairs_of(costs: dict[tuple[int, int], float]) -> PairJoints:
    n = len(costs)
    places = np.arange(3.0 * n).reshape(n, 3)
    zero, one = np.zeros(n), np.ones(n)
    residuals = np.array(list(costs.values()))
    return PairJoints(np.array(list(costs)), places, places, residuals, 90 * one, 90 * one, 10 * one, zero)


def tree_of(costs: dict[tuple[int, int], float], n: int, masses: list[float] | None = None, **more) -> JointTree:
    return find_tree(
        pairs_of(costs),
        np.array(list(costs.values())),
        np.zeros((n, 3)),
        np.ones(n) if masses is None else np.array(masses),
        100.0,
        **more,
    )


def parent_of(tree: JointTree) -> dict[int, int]:
    """Parent by section."""
    return {int(tree.order[b]): int(tree.order[parent]) if parent >= 0 else -1 for b, parent in enumerate(tree.parents)}


def test_the_cheapest_joints_make_the_tree() -> None:
    costs = {(0, 1): 0.1, (1, 2): 0.1, (0, 2): 5.0, (2, 3): 0.2}
    tree = tree_of(costs, 4, root=0)
    assert tree.order.tolist() == [0, 1, 2, 3]
    assert tree.parents.tolist() == [-1, 0, 1, 2]
    assert np.array_equal(tree.places[1:], pairs_of(costs).places[[0, 1, 3]])


def test_the_root_is_in_the_middle() -> None:
    costs = {(0, 1): 0.1, (1, 2): 0.1, (2, 3): 0.1, (3, 4): 0.1}
    tree = tree_of(costs, 5)
    assert tree.order[0] == 2
    assert np.array_equal(tree.places[0], pairs_of(costs).places[[1, 2]].mean(axis=0))  # between the joints on it
    assert (tree.parents[1:] < np.arange(1, 5)).all()


# Sections 0 hips, 1 chest, 2 left leg, 3 right leg, 4 left arm, 5 right arm.
SIDES = Sides(np.array([0, 0, 1, -1, 1, -1]), np.array([-1, -1, 3, 2, 5, 4]))
BODY = {(0, 1): 0.2, (0, 2): 0.1, (0, 3): 0.3, (2, 3): 0.01, (1, 4): 0.1, (1, 5): 0.1, (0, 4): 0.5, (0, 5): 0.5}


def test_a_leg_does_not_hang_on_the_other_leg() -> None:
    """The cheapest joint of all is between the legs."""
    assert parent_of(tree_of(BODY, 6, root=0))[3] == 2
    with_sides = parent_of(tree_of(BODY, 6, root=0, sides=SIDES))
    assert with_sides == {0: -1, 1: 0, 2: 0, 3: 0, 4: 1, 5: 1}


def test_central_sections_are_joined_first() -> None:
    through = {**BODY, (1, 2): 0.01, (0, 1): 0.9}  # the way through the leg is cheaper
    assert parent_of(tree_of(through, 6, root=0, sides=SIDES))[1] == 0


def test_pairs_hang_alike() -> None:
    """The right leg alone would hang on the chest."""
    costs = {**BODY, (1, 3): 0.2, (1, 2): 0.9}
    assert parent_of(tree_of(costs, 6, root=0))[3] != 0
    assert parent_of(tree_of(costs, 6, root=0, sides=SIDES))[3] == 0


def rooted(arm: float, head: float, tail: float = 0.0, chest: float = 9.0) -> int:
    """The root of a body with arms of a length, in those of the legs, a head on its chest and perhaps a tail."""
    reach = np.hypot(0.2, 1.0)
    centers = [[0.0, 0, 0], [0, 1, 0], [0.2, -1, 0], [-0.2, -1, 0], [arm * reach, 1, 0], [-arm * reach, 1, 0]]
    costs, masses = {**BODY, (1, 6): 0.1}, [1.0, chest, 1, 1, 1, 1, head]
    side, partner = [0, 0, 1, -1, 1, -1, 0], [-1, -1, 3, 2, 5, 4, -1]
    if tail:
        costs, masses = {**costs, (0, 7): 0.1}, [*masses, tail]
        side, partner = [*side, 0], [*partner, -1]
    places = np.array([*centers, [0, 2, 0], [0, -0.5, -1]])[: len(masses)]
    sides = Sides(np.array(side), np.array(partner))
    tree = find_tree(pairs_of(costs), np.array(list(costs.values())), places, np.array(masses), 100.0, sides=sides)
    return int(tree.order[0])


def test_the_root_is_at_the_hips() -> None:
    """Not where the head is, even if the chest is nearer to the middle; unless only the chest has long limbs."""
    assert rooted(arm=0.9, head=2.0) == 0
    assert rooted(arm=1.4, head=2.0) == 0
    assert rooted(arm=2.4, head=2.0) == 0  # legs that are short beside the arms
    assert rooted(arm=2.6, head=2.0) == 1  # ears, not legs


def test_the_root_of_a_body_with_a_tail_is_nearest_to_its_middle() -> None:
    assert rooted(arm=0.9, head=2.0, tail=2.0) == 1
    assert rooted(arm=0.84, head=2.0, tail=2.0) == 0  # the limbs of the chest are shorter
    assert rooted(arm=0.9, head=0.5, tail=9.0, chest=1.0) == 0


def test_one_section_is_a_root_at_its_centre() -> None:
    none = PairJoints(
        np.zeros((0, 2), np.int64), *(np.zeros((0, 3)) for _ in range(2)), *(np.zeros(0) for _ in range(5))
    )
    tree = find_tree(none, np.zeros(0), np.array([[1.0, 2, 3]]), np.ones(1), 1.0)
    assert tree.parents.tolist() == [-1]
    assert tree.places.tolist() == [[1, 2, 3]]


def test_what_a_joint_costs() -> None:
    """A residual counts as it is, an offset a tenth, a gap half, little contact up to 0.02, none 0.1 more."""
    pairs = pairs_of({(0, 1): 0.5, (0, 2): 0.5, (1, 2): 0.5})
    away = pairs.places + np.array([[0.0, 0, 0], [3.0, 0, 4.0], [0, 0, 0]])
    contacts, gaps = np.ones((3, 3)), np.zeros((3, 3))
    contacts[1, 2], gaps[1, 2] = 0.0, 2.0
    meeting = Neighborhood(contacts, gaps, gaps)
    near, offset, gap = joint_costs(replace(pairs, boundaries=away), meeting, 2.0)
    assert np.isclose(near, 0.25)
    assert np.isclose(offset - near, 0.1 * 5 / 2)
    assert np.isclose(gap - near, 0.5 * 2 / 2 + 0.02 + 0.1)
    contacts[1, 2], gaps[1, 2] = 0.03, 0.0
    assert np.isclose(joint_costs(pairs, meeting, 2.0)[2], 0.25 + 0.02 * 0.97)


def test_a_joint_that_is_not_sure_is_at_its_boundary() -> None:
    """Where the residual is above 2 % of the diagonal and the joint more than 3 % from the boundary."""
    pairs = pairs_of({(0, 1): 0.0201, (0, 2): 0.0199, (1, 2): 0.0201, (0, 3): 0.0199})
    offsets = np.array([0.031, 0.031, 0.029, 0.0])
    boundaries = pairs.places + offsets[:, None] * np.array([1.0, 0, 0])
    places = safe_places(replace(pairs, boundaries=boundaries), 1.0)
    assert np.array_equal(places[0], boundaries[0])
    assert np.array_equal(places[1:], pairs.places[1:])


def test_a_joint_slides_where_even_its_best_place_moves() -> None:
    assert slides(pairs_of({(0, 1): 0.0151, (0, 2): 0.0149}), 1.0).tolist() == [True, False]


def test_how_sections_meet_on_a_strip() -> None:
    """Nine vertices in a row: sections of three; the first touches the second only."""
    steps = np.arange(8)
    ends = np.r_[steps, steps + 1], np.r_[steps + 1, steps]
    graph = SurfaceGraph(coo_array((np.ones(16), ends), shape=(9, 9)).tocsr(), 100.0, 1.0)
    meeting = meet_sections(graph, np.repeat(np.eye(3), 3, axis=0))
    assert meeting.contacts[0, 1] == 1  # all of the first's boundary is on the second
    assert meeting.contacts[0, 2] == 0
    assert meeting.gaps[0, 1] == 0
    assert meeting.gaps[0, 2] == 4
