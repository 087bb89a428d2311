"""Scores of skeletons: a skeleton is right by itself, from any root; what is missing or made up is counted."""

from __future__ import annotations

import numpy as np

from osteon.measure.skeletons import TrueSkeleton, depth_outside, score_skeleton
from osteon.synth.shapes import make_ball

PLACES = np.array([[0.0, 0, 0], [1, 0, 0], [2, 0, 0], [0, 1, 0], [0, 2, 0]])
PARENTS = np.array([-1, 0, 1, 0, 3])
TRUE = TrueSkeleton(PLACES[1:], np.array([-1, 0, -1, 2]))


def test_a_skeleton_is_right_by_itself() -> None:
    score = score_skeleton(PLACES, PARENTS, TRUE, 3.0)
    assert (score.precision, score.recall, score.parents) == (1, 1, 1)


def test_the_root_does_not_matter() -> None:
    # Told from the bone at the end of the first arm: each joint now belongs to the bone on its other side.
    places = np.array([[9.0, 9, 9], PLACES[2], PLACES[1], PLACES[3], PLACES[4]])
    score = score_skeleton(places, np.array([-1, 0, 1, 2, 3]), TRUE, 3.0)
    assert (score.precision, score.recall, score.parents) == (1, 1, 1)


def test_what_is_missing_and_what_is_made_up() -> None:
    score = score_skeleton(PLACES[:4], PARENTS[:4], TRUE, 3.0)
    assert (score.precision, score.recall) == (1, 0.75)
    places = np.vstack([PLACES, [[5.0, 5, 5]]])
    score = score_skeleton(places, np.append(PARENTS, 0), TRUE, 3.0)
    assert (score.precision, score.recall) == (0.8, 1)


def test_a_joint_on_the_wrong_bone() -> None:
    parents = np.array([-1, 0, 4, 0, 3])  # the second joint of one arm hangs on the hand of the other
    assert score_skeleton(PLACES, parents, TRUE, 3.0).parents < 1


def test_no_joints_at_all() -> None:
    assert score_skeleton(PLACES[:1], PARENTS[:1], TRUE, 3.0).recall == 0


def test_inside_and_outside() -> None:
    ball = make_ball(200)
    points = np.array([[0.0, 0, 0], [0.4, 0, 0], [3.0, 0, 0]])
    found = depth_outside(points, ball.vertices, ball.faces, np.array([1.0, 0.5, 2.0]))
    assert found.tolist() == [0, 0, 2]
