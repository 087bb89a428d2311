"""Bones, weights and corrections together: each half descends, and the result is better than one after the other."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from osteon.fit.corrections.columns import ColumnFit, SkinState, no_columns, solve_coefficients
from osteon.fit.corrections.corrected_skin import (
    CorrectedSkin,
    JointRefinementOptions,
    _Joint,
    fit_frames,
    refine_corrected_skin,
)
from osteon.fit.corrections.fit_corrections import fit_corrections
from osteon.fit.problem import FitProblem
from osteon.fit.skin.procrustes import rotations_of

from ....subjects import corrected_errors, random_skin
from ....tolerance import assert_near


def rigid(transforms: np.ndarray) -> np.ndarray:
    out = transforms.copy()
    out[..., :3] = rotations_of(transforms)
    return out


def subject(bone_type: str = "flexible", **options: object) -> tuple[FitProblem, SkinState]:
    problem, skin = random_skin(noise=0.08, **options)
    return problem, replace(skin, transforms=rigid(skin.transforms)) if bone_type == "rigid" else skin


def joint_of(problem: FitProblem, state: CorrectedSkin, bone_type: str, stiffness: float = 0.0) -> _Joint:
    joint = _Joint(problem, JointRefinementOptions(state.columns.rank, bone_type, stiffness=stiffness), lambda _: None)
    joint.weigh_errors(state)
    return joint


def objective(joint: _Joint, state: CorrectedSkin) -> float:
    """e_r + lambda e_0, by posing every vertex."""
    with_columns = corrected_errors(joint.problem, state.skin, state.columns).sum()
    return float(with_columns + joint.keep * corrected_errors(joint.problem, state.skin, joint.nothing).sum())


@pytest.mark.parametrize("bone_type", ["flexible", "rigid"])
@pytest.mark.parametrize("seed", range(3))
def test_each_half_of_a_round_only_ever_helps(bone_type, seed):
    problem, skin = subject(bone_type, seed=seed)
    state = CorrectedSkin(skin, fit_corrections(problem, skin, 3))
    joint = joint_of(problem, state, bone_type)
    assert 0 < joint.keep < 1
    last = objective(joint, state)
    for _ in range(4):
        transforms, q = joint.frame_pass(state)
        half = CorrectedSkin(replace(state.skin, transforms=transforms), ColumnFit(state.columns.basis, q))
        after_frames = objective(joint, half)
        assert after_frames <= last * (1 + 1e-6)
        state, told = joint.vertex_pass(half, transforms, q)
        after_vertices = objective(joint, state)
        assert after_vertices <= after_frames * (1 + 1e-6)
        assert told == pytest.approx(after_vertices, rel=1e-5)
        last = after_vertices


def test_rounds_never_raise_the_sum_without_stiffness():
    problem, skin = subject()
    state = CorrectedSkin(skin, fit_corrections(problem, skin, 2))
    joint = joint_of(problem, state, "flexible")
    sums = [objective(joint, joint.run(state, rounds)) for rounds in (0, 1, 2, 4, 8, 16)]
    assert all(after <= before * (1 + 1e-6) for before, after in pairwise(sums))


@pytest.mark.parametrize("bone_type", ["flexible", "rigid"])
@pytest.mark.parametrize("rank", [1, 3, 5])
def test_together_is_better_than_one_after_the_other(bone_type, rank):
    problem, skin = subject(bone_type)
    alone = corrected_errors(problem, skin, fit_corrections(problem, skin, rank)).sum()
    heard: list[float] = []
    fit = refine_corrected_skin(problem, skin, JointRefinementOptions(rank, bone_type), heard.append)
    together = corrected_errors(problem, fit.skin, fit.columns)
    assert together.sum() < 0.95 * alone
    assert len(heard) == len(fit.history)
    assert fit.history[-1] == pytest.approx(problem.error_percent(together), rel=1e-4)
    if bone_type == "rigid":
        linear = fit.skin.transforms[..., :3]
        assert_near(linear @ np.swapaxes(linear, 2, 3), np.broadcast_to(np.eye(3), linear.shape), 1e-9)


def test_weights_stay_weights():
    problem, skin = subject()
    weights = refine_corrected_skin(problem, skin, JointRefinementOptions(3), lambda _: None).skin.weights
    assert weights.min() >= 0
    assert_near(weights.sum(axis=1), np.ones(problem.n_vertices), 1e-12)
    assert ((weights > 0) <= (skin.weights > 0)).all()  # of the bones that were chosen before


def test_weights_that_are_held():
    problem, skin = subject()
    fit = refine_corrected_skin(problem, skin, JointRefinementOptions(3, hold_weights=True), lambda _: None)
    assert np.array_equal(fit.skin.weights, skin.weights)
    alone = corrected_errors(problem, skin, fit_corrections(problem, skin, 3)).sum()
    assert corrected_errors(problem, fit.skin, fit.columns).sum() < alone


def test_what_is_left_without_corrections_is_held():
    """Cut to rank 0 the skin may lose a little, not much."""
    problem, skin = subject()
    fit = refine_corrected_skin(problem, skin, JointRefinementOptions(3), lambda _: None)
    nothing = no_columns(problem)
    before, after = (corrected_errors(problem, s, nothing).sum() for s in (skin, fit.skin))
    assert after < 1.3 * before


def test_no_rounds_leave_the_skin():
    problem, skin = subject()
    fit = refine_corrected_skin(problem, skin, JointRefinementOptions(2, rounds=0), lambda _: None)
    assert np.array_equal(fit.skin.transforms, skin.transforms)
    assert fit.columns.rank == 2
    assert fit.history == ()


def test_error_never_rises_with_rank():
    for seed in range(4):
        problem, skin = subject(seed=seed)
        fit = refine_corrected_skin(problem, skin, JointRefinementOptions(5), lambda _: None)
        errors = [corrected_errors(problem, fit.skin, fit.columns, r).sum() for r in range(6)]
        assert (np.diff(errors) <= 0).all()


def test_a_sample_first_and_then_all():
    """Many vertices: the bones are found on a sample, the basis on all."""
    problem, skin = subject(n_vertices=2500, n_bones=3, n_frames=6)
    heard: list[float] = []
    fit = refine_corrected_skin(problem, skin, JointRefinementOptions(2, rounds=6, sample=1), heard.append)
    assert fit.columns.basis.shape == (2500, 2, 3)
    alone = corrected_errors(problem, skin, fit_corrections(problem, skin, 2)).sum()
    assert corrected_errors(problem, fit.skin, fit.columns).sum() < alone


@pytest.mark.parametrize("bone_type", ["flexible", "rigid"])
def test_number_of_threads_does_not_matter(bone_type):
    problem, skin = subject(bone_type, n_vertices=600)
    one, two = (
        refine_corrected_skin(problem, skin, JointRefinementOptions(3, bone_type, rounds=5, threads=n), lambda _: None)
        for n in (1, 2)
    )
    assert np.array_equal(one.skin.transforms, two.skin.transforms)
    assert np.array_equal(one.skin.weights, two.skin.weights)
    assert np.array_equal(one.columns.basis, two.columns.basis)


def test_other_frames_for_weights_and_basis_that_stay():
    problem, skin = subject()
    fit = refine_corrected_skin(problem, skin, JointRefinementOptions(2), lambda _: None)
    rng = np.random.default_rng(0)
    start = replace(fit.skin, transforms=fit.skin.transforms + 0.05 * rng.normal(size=fit.skin.transforms.shape))
    q = solve_coefficients(problem, start, fit.columns.basis, no_columns(problem), 1)
    guess = CorrectedSkin(start, ColumnFit(fit.columns.basis, q))
    found = fit_frames(problem, guess, JointRefinementOptions(2))
    assert np.array_equal(found.columns.basis, fit.columns.basis)
    before, after = (corrected_errors(problem, s.skin, s.columns).sum() for s in (guess, found))
    assert after < 0.5 * before
    assert after < 1.2 * corrected_errors(problem, fit.skin, fit.columns).sum()
