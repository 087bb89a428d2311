"""Scores of recovered rigs on small rigs written by hand."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from osteon.core.errors import GeometryError
from osteon.measure.skeleton_score import ScoredRig, is_branch, match_joints, score_rig

#: Hips, chest, head, two arms and two legs: boxes of 27 vertices around these centres.
CENTERS = np.array([[0.0, 0, 0], [0, 1, 0], [0, 2, 0], [1.5, 1, 0], [-1.5, 1, 0], [0.5, -1.5, 0], [-0.5, -1.5, 0]])
PARENTS = np.array([-1, 0, 1, 1, 1, 0, 0])
JOINTS = np.array([[0.0, 0, 0], [0, 0.5, 0], [0, 1.5, 0], [0.7, 1, 0], [-0.7, 1, 0], [0.4, -0.7, 0], [-0.4, -0.7, 0]])


def body() -> ScoredRig:
    steps = np.stack(np.meshgrid(*[[-0.35, 0.0, 0.35]] * 3, indexing="ij"), axis=-1).reshape(-1, 3)
    rest = (CENTERS[:, None] + steps[None]).reshape(-1, 3)
    weights = np.repeat(np.eye(len(CENTERS)), len(steps), axis=0)
    return ScoredRig(JOINTS, PARENTS, weights, rest, CENTERS)


def test_a_rig_matches_itself() -> None:
    score = score_rig(body(), body())
    assert (score.precision, score.recall, score.handle, score.body, score.rerooted) == (1, 1, 1, 1, 1)
    assert (score.wrong, score.mixed, score.tips, score.good) == (0, 0, 0, 1)
    assert score.lateral == 4
    assert (score.n_true, score.n_found) == (6, 6)


def test_scores_do_not_depend_on_units_and_place() -> None:
    true = body()
    far = replace(true, joints=100 * true.joints + 7, rest=100 * true.rest + 7, ends=100 * CENTERS + 7)
    wrong = replace(far, parents=np.array([-1, 0, 1, 1, 1, 0, 5]))
    near = replace(true, parents=np.array([-1, 0, 1, 1, 1, 0, 5]))
    one, other = score_rig(far, wrong), score_rig(true, near)
    assert np.allclose(one.handles, other.handles)
    assert (one.wrong, one.mixed, one.tips) == (other.wrong, other.mixed, other.tips)


def test_an_arm_on_the_other_arm_is_mixed_and_a_wrong_edge() -> None:
    found = replace(body(), parents=np.array([-1, 0, 1, 1, 3, 0, 0]))
    score = score_rig(body(), found)
    assert score.recall == 1  # the joints are all in place
    assert score.mixed == 1
    assert score.wrong_joints == (3,)
    assert score.handles[2] == pytest.approx(0.5)  # it moves one arm too many
    assert score.body < 0.95


def test_a_root_elsewhere_is_forgiven_by_the_rerooted_score_only() -> None:
    # The root is the chest; the joint between hips and chest stays where it is, and now moves the hips and legs.
    parents, joints = np.array([1, -1, 1, 1, 1, 0, 0]), JOINTS.copy()
    joints[[0, 1]] = JOINTS[[1, 0]]
    score = score_rig(body(), replace(body(), parents=parents, joints=joints))
    assert score.body < 1
    assert score.rerooted == pytest.approx(1)
    assert score.wrong == 0


def test_a_second_joint_at_the_same_place_is_a_false_positive() -> None:
    true = body()
    weights = np.concatenate([true.weights, np.zeros((len(true.rest), 1))], axis=1)
    half = weights[:, 2] > 0
    half[np.flatnonzero(half)[::2]] = False
    weights[half, 7], weights[half, 2] = 1, 0
    found = ScoredRig(np.vstack([JOINTS, JOINTS[2]]), np.append(PARENTS, 2), weights, true.rest)
    score = score_rig(true, found)
    assert score.precision == pytest.approx(6 / 7)
    assert score.recall == 1


def test_far_joints_are_no_handles() -> None:
    """Paired within 5 % of the diagonal, handles within 8 %."""
    true = body()
    diagonal = np.linalg.norm(np.ptp(true.rest, axis=0))
    for offset, recall, handle in ((0.049, 1, 1), (0.051, 5 / 6, 1), (0.079, 5 / 6, 1), (0.081, 5 / 6, 0)):
        joints = JOINTS.copy()
        joints[2, 1] += offset * diagonal
        score = score_rig(true, replace(true, joints=joints))
        assert score.recall == pytest.approx(recall), offset
        assert score.handles[1] == pytest.approx(handle), offset


def test_an_end_in_another_part_is_wrong() -> None:
    ends = CENTERS.copy()
    ends[6] = CENTERS[5]
    assert score_rig(body(), replace(body(), ends=ends)).tips == pytest.approx(1 / 5)


def test_small_branches_are_not_of_the_body() -> None:
    """A joint whose branch reaches less far than 6 % of the diagonal is a finger."""
    true = body()
    rest = true.rest.copy()
    head = true.weights[:, 2] > 0
    rest[head] = JOINTS[2] + 0.1 * (rest[head] - CENTERS[2])
    fingers = replace(true, rest=rest)
    lost = replace(fingers, joints=JOINTS + np.array([[0.0, 3.0, 0]]) * (np.arange(7) == 2)[:, None])
    score = score_rig(fingers, lost)
    assert score.handle < 1
    assert score.body == 1


@pytest.mark.parametrize(
    ("members", "branch"),
    [((2,), True), ((1, 2, 3, 4), True), ((1, 2), True), ((2, 3), False), ((2, 4), False), ((0, 1, 2, 3, 4, 5), True)],
)
def test_branches_of_a_tree(members: tuple[int, ...], branch: bool) -> None:
    """A bone with none, one or all of its branches; at the root also with all but one."""
    true = body()
    part = true.weights[:, list(members)].sum(axis=1)
    assert is_branch(part, true.branches(), true.parents) is branch


def test_one_root_alone() -> None:
    none = ScoredRig(JOINTS[:1], PARENTS[:1], np.ones((27, 1)), body().rest[:27])
    score = score_rig(none, none)
    assert (score.precision, score.recall, score.body, score.wrong) == (1, 1, 1, 0)
    score = score_rig(body(), ScoredRig(JOINTS[:1], PARENTS[:1], np.ones((189, 1)), body().rest))
    assert (score.recall, score.handle, score.n_found) == (0, 0, 0)


def test_the_assignment_finds_as_many_pairs_as_there_are() -> None:
    """The nearest pair is given up where two farther pairs are possible."""
    distances = np.array([[0.04, 0.01], [0.9, 0.04]])
    assert match_joints(distances, 0.05) == {0: 0, 1: 1}
    assert match_joints(np.zeros((0, 3)), 0.05) == {}


def test_other_shapes_are_refused() -> None:
    with pytest.raises(GeometryError, match="expected 7 parents"):
        replace(body(), parents=PARENTS[:3])
    with pytest.raises(GeometryError, match="rest: expected"):
        score_rig(body(), ScoredRig(JOINTS, PARENTS, body().weights[:9], body().rest[:9]))
