"""Bones that follow one by one: predicted errors are true ones, and the search comes near the best there is."""

from __future__ import annotations

import numpy as np
import pytest

from osteon.lod.search.forward_search import search_forward, start_following
from osteon.lod.search.merge_search import MergeProblem, MergeState, order_of, search_backward, start_merging
from osteon.lod.search.pair_moments import error_of_matrices, motion_grams, pair_moments
from osteon.lod.search.skin_motion import SkinMotion, read_skin_motion
from osteon_bench.lod_references import exhaust
from osteon_bench.subjects import JointedOptions, make_jointed
from tests.scaled_models import scaled_model, with_tree

SMALL = JointedOptions(joints=6, frames=8, vertices=12)


def problem_of(motion: SkinMotion, **basic: np.ndarray) -> MergeProblem:
    pairs = pair_moments(motion.owners, motion.holds, motion.n_bones)
    return MergeProblem(pairs, motion_grams(motion.transforms), motion.rigid, **basic)


def true_error(motion: SkinMotion, state: MergeState) -> float:
    """The error of all that follow, by their matrices in every frame."""
    used = motion.transforms.copy()
    for follow in reversed(state.path):
        above = (
            used[:, follow.parent]
            if follow.parent < motion.n_bones
            else np.broadcast_to(np.eye(4)[:3], used[:, 0].shape)
        )
        whole = np.eye(4)
        whole[:3] = follow.offset
        used[:, follow.bone] = above @ whole
    return error_of_matrices(state.problem.pairs, used - motion.transforms)


def base_of(motion: SkinMotion, pairs: np.ndarray) -> float:
    return error_of_matrices(pairs, motion.transforms[:, :1] - motion.transforms)


@pytest.mark.parametrize("kind", ["rigid", "scaled", "basic"])
def test_every_step_costs_what_was_said(kind):
    model = with_tree(scaled_model()) if kind == "scaled" else make_jointed(1, SMALL)
    motion = read_skin_motion(model)
    problem = problem_of(motion, **({"rig_parents": motion.parents} if kind == "basic" else {}))
    state, base = start_merging(problem), base_of(motion, problem.pairs)
    rng = np.random.default_rng(0)
    while state.active.any():
        choices = state.best(99)
        error, c, p = choices[int(rng.integers(len(choices)))]
        state = state.follow(c, p)
        assert state.error == pytest.approx(error)
        assert true_error(motion, state) == pytest.approx(error, rel=1e-8, abs=1e-11 * base)
    assert sorted(order_of(state)) == list(range(motion.n_bones))


def test_basic_bones_follow_those_above_them_and_roots_come_last():
    motion = read_skin_motion(make_jointed(2, JointedOptions(joints=9, roots=2)))
    problem = problem_of(motion, rig_parents=motion.parents)
    path = search_backward(start_merging(problem), base_of(motion, problem.pairs))[0].path
    for follow in path:
        up = int(motion.parents[follow.bone])
        while up >= 0 and up != follow.parent:
            up = int(motion.parents[up])
        assert up == follow.parent if follow.parent < motion.n_bones else motion.parents[follow.bone] < 0
    assert [f.bone in motion.roots for f in path[-1:]] == [True]


def test_a_state_that_goes_on_twice_is_not_changed():
    motion = read_skin_motion(make_jointed(3, SMALL))
    start = start_merging(problem_of(motion))
    costs, pairs = start.costs.copy(), start.pairs.copy()
    for _, c, p in start.best(3):
        start.follow(c, p)
    np.testing.assert_array_equal(start.costs, costs)
    np.testing.assert_array_equal(start.pairs, pairs)


@pytest.mark.parametrize("seed", [1, 2])
def test_the_search_comes_near_the_best_of_all_sets(seed):
    motion = read_skin_motion(make_jointed(seed, SMALL))
    problem = problem_of(motion)
    state = search_backward(start_merging(problem), base_of(motion, problem.pairs))[0]
    errors = [follow.error for follow in reversed(state.path)]
    best = exhaust(problem, {2, 3})
    assert 1 <= best.orders <= 1.6
    for count in range(1, motion.n_bones):
        assert best.sets[count] * (1 - 1e-6) <= errors[count] <= 1.6 * best.sets[count]


def test_forward_finds_an_order_of_all_bones_whose_first_ones_matter_most():
    motion = read_skin_motion(make_jointed(4))
    problem = problem_of(motion)
    order = search_forward(problem)
    assert sorted(order) == list(range(motion.n_bones))
    start, base = start_merging(problem), base_of(motion, problem.pairs)
    found = {tuple(order_of(s)): s for s in search_backward(start, base, [order, order[::-1]])}
    assert tuple(order) in found
    half = motion.n_bones // 2
    assert found[tuple(order)].path[-half - 1].error < found[tuple(order[::-1])].path[-half - 1].error


def test_errors_of_the_free_form_are_true_ones():
    motion = read_skin_motion(make_jointed(5, SMALL))
    state, used = start_following(problem_of(motion)), motion.transforms.copy()
    for b, p in ((3, 0), (4, 6), (3, 1), (5, 4)):
        offsets, _ = state.trials(np.array([b]), np.array([p]))
        state.follow(b, p, offsets[0])
        whole = np.eye(4)
        whole[:3] = offsets[0]
        above = motion.transforms[:, p] if p < 6 else np.broadcast_to(np.eye(4)[:3], used[:, 0].shape)
        used[:, b] = above @ whole
        assert state.error == pytest.approx(error_of_matrices(state.problem.pairs, used - motion.transforms), rel=1e-8)
