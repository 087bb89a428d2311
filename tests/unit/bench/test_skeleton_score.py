"""Scores of recovered skeletons: one-to-one matches, any root, missing and superfluous joints."""

from __future__ import annotations

import numpy as np

from osteon_bench.skeleton_score import TrueSkeleton, score_skeleton

PLACES = np.array([[0.0, 0, 0], [1, 0, 0], [2, 0, 0], [0, 1, 0], [0, 2, 0]])
PARENTS = np.array([-1, 0, 1, 0, 3])
TRUE = TrueSkeleton(PLACES[1:], np.array([-1, 0, -1, 2]))


def test_a_skeleton_matches_itself() -> None:
    score = score_skeleton(PLACES, PARENTS, TRUE, 3.0)
    assert (score.precision, score.recall, score.parents) == (1, 1, 1)


def test_the_root_does_not_matter() -> None:
    # The root is the bone at the end of the first arm: each joint now belongs to the bone on its other side.
    places = np.array([[9.0, 9, 9], PLACES[2], PLACES[1], PLACES[3], PLACES[4]])
    score = score_skeleton(places, np.array([-1, 0, 1, 2, 3]), TRUE, 3.0)
    assert (score.precision, score.recall, score.parents) == (1, 1, 1)


def test_missing_and_superfluous_joints() -> None:
    score = score_skeleton(PLACES[:4], PARENTS[:4], TRUE, 3.0)
    assert (score.precision, score.recall) == (1, 0.75)
    places = np.vstack([PLACES, [[5.0, 5, 5]]])
    score = score_skeleton(places, np.append(PARENTS, 0), TRUE, 3.0)
    assert (score.precision, score.recall) == (0.8, 1)


def test_a_joint_on_the_wrong_bone() -> None:
    parents = np.array([-1, 0, 4, 0, 3])  # the second joint of one arm is a child of the hand of the other
    assert score_skeleton(PLACES, parents, TRUE, 3.0).parents < 1


def test_no_joints_at_all() -> None:
    assert score_skeleton(PLACES[:1], PARENTS[:1], TRUE, 3.0).recall == 0


def test_joints_at_one_place_match_one_true_joint_only() -> None:
    places = np.vstack([PLACES, np.repeat(PLACES[1:2], 4, axis=0)])
    parents = np.append(PARENTS, [0, 0, 0, 0])
    score = score_skeleton(places, parents, TRUE, 3.0)
    assert (score.precision, score.recall) == (0.5, 1)


def test_one_joint_is_found_once_by_the_true_joints_around_it() -> None:
    true = TrueSkeleton(np.array([[1.0, 0, 0], [1.01, 0, 0], [1.02, 0, 0]]), np.array([-1, 0, 1]))
    score = score_skeleton(PLACES[:2], PARENTS[:2], true, 3.0)
    assert (score.precision, score.recall) == (1, 1 / 3)


def test_the_assignment_finds_as_many_pairs_as_there_are() -> None:
    """The nearest pair is given up where two farther pairs are possible."""
    true = TrueSkeleton(np.array([[1.0, 0, 0], [1.1, 0, 0]]), np.array([-1, 0]))
    places = np.array([[0.0, 0, 0], [1.09, 0, 0], [1.2, 0, 0]])
    score = score_skeleton(places, np.array([-1, 0, 1]), true, 3.0)
    assert (score.precision, score.recall, score.parents) == (1, 1, 1)


def test_many_joints_are_matched_as_a_whole() -> None:
    count = 400
    places = np.zeros((count + 1, 3))
    places[:, 0] = np.arange(count + 1)
    true = TrueSkeleton(places[1:] + np.array([0, 0.9, 0]), np.arange(-1, count - 1))
    score = score_skeleton(places, np.arange(-1, count), true, 20.0)
    assert (score.precision, score.recall, score.parents) == (1, 1, 1)
