"""Corrections of a skin that stays: order, exactness, descent, and that no column does harm."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from osteon.fit.corrections.columns import (
    ColumnFit,
    SkinState,
    add_columns,
    no_columns,
    order_columns,
    solve_basis,
    solve_coefficients,
)
from osteon.fit.corrections.fit_corrections import (
    BLOCK_RANK,
    displacement_corrections,
    errors_of_ranks,
    exact_corrections,
    fit_corrections,
    never_rising,
    rises,
)
from osteon.fit.problem import FitProblem

from ....subjects import corrected_errors, random_skin
from ....tolerance import assert_near


def product(columns: ColumnFit) -> np.ndarray:
    return np.einsum("vrj,fr->vfj", columns.basis, columns.coefficients)


def random_columns(problem: FitProblem, rank: int, seed: int = 0) -> ColumnFit:
    rng = np.random.default_rng(seed)
    return ColumnFit(rng.normal(size=(problem.n_vertices, rank, 3)), rng.normal(size=(problem.n_frames, rank)))


def singular_skin(seed: int = 0) -> tuple[FitProblem, SkinState]:
    """Some bones point the other way in some frames: vertices between them are flattened, to a ten-thousandth some."""
    problem, skin = random_skin(n_vertices=200, seed=seed, noise=0.1)
    transforms, weights = skin.transforms.copy(), skin.weights.copy()
    for frame, bone in ((2, 0), (5, 1), (6, 2)):
        transforms[frame, bone, :2, :3] *= -1
    between = (weights > 0.2).sum(axis=1) == 2
    weights[between] = np.where(weights[between] > 0.2, 0.5 + 1e-4, 0)
    return problem, SkinState(transforms, skin.bones, weights / weights.sum(axis=1, keepdims=True))


def totals(problem: FitProblem, skin: SkinState, columns: ColumnFit) -> np.ndarray:
    return np.array([corrected_errors(problem, skin, columns, r).sum() for r in range(columns.rank + 1)])


def test_ordered_columns_are_the_same_product():
    problem, _ = random_skin()
    for rank in (1, 3, 8):
        columns = random_columns(problem, rank)
        ordered = order_columns(columns)
        assert_near(product(ordered), product(columns), 1e-12)
        flat = ordered.basis.transpose(1, 0, 2).reshape(rank, -1)
        assert_near(flat @ flat.T * (1 - np.eye(rank)), np.zeros((rank, rank)), 1e-10)
        gram = ordered.coefficients.T @ ordered.coefficients
        assert_near(gram * (1 - np.eye(rank)), np.zeros((rank, rank)), 1e-10)
        sizes = np.linalg.norm(flat, axis=1) * np.linalg.norm(ordered.coefficients, axis=0)
        assert (np.diff(sizes) <= 1e-12).all()
        assert_near(ordered.coefficients.max(axis=0), np.ones(rank), 1e-12)
        assert (np.abs(ordered.coefficients) <= 1 + 1e-12).all()


def test_more_columns_than_coordinates():
    """Two vertices span six dimensions: columns beyond are empty, and nothing breaks."""
    problem, skin = random_skin(n_vertices=4, n_bones=1, n_frames=20, noise=0.05)
    small = problem.subset(np.array([0, 2], np.int32))
    two = SkinState(skin.transforms, skin.bones[[0, 2]], skin.weights[[0, 2]])
    for rank in (5, 6, 7, 17, 19, 20, 40):
        found = fit_corrections(small, two, rank)
        assert found.rank == min(rank, 20)
        assert np.isfinite(found.basis).all()
        if rank >= 6:
            assert small.error_percent(corrected_errors(small, two, found)) < 1e-3


def test_empty_columns_stay_empty():
    problem, _ = random_skin()
    nothing = ColumnFit(np.zeros((problem.n_vertices, 3, 3)), np.zeros((problem.n_frames, 3)))
    ordered = order_columns(nothing)
    assert not ordered.basis.any()
    assert np.isfinite(ordered.coefficients).all()
    assert order_columns(no_columns(problem)).rank == 0


def test_a_skin_without_error_needs_no_corrections():
    problem, skin = random_skin(noise=0.0)
    exact = FitProblem(
        problem.points,
        np.einsum("vk,fvkij,vj->vfi", skin.weights, skin.transforms[:, skin.bones], problem.points)
        .reshape(problem.n_vertices, -1)
        .astype(np.float32),
        problem.energy,
        problem.rest_center,
        problem.frame_centers,
        problem.rest_scale,
        problem.posed_scale,
        problem.motion,
    )
    for rank in (1, 3, problem.n_frames):
        assert np.abs(product(fit_corrections(exact, skin, rank))).max() < 1e-5


@pytest.mark.parametrize("start", range(3))
def test_either_step_only_ever_helps(start):
    problem, skin = random_skin(noise=0.1)
    columns, nothing = random_columns(problem, 3, start), no_columns(problem)
    errors = [totals(problem, skin, columns)[-1]]
    q = columns.coefficients
    for _ in range(4):
        basis, told = solve_basis(problem, skin, q, nothing, 1)
        errors.append(totals(problem, skin, ColumnFit(basis, q))[-1])
        assert_near(told, corrected_errors(problem, skin, ColumnFit(basis, q)), 1e-6)
        q = solve_coefficients(problem, skin, basis, nothing, 1)
        errors.append(totals(problem, skin, ColumnFit(basis, q))[-1])
    assert all(after <= before * (1 + 1e-6) for before, after in pairwise(errors))
    assert errors[-1] < 0.85 * errors[1]


def test_posed_space_is_better_than_the_svd_in_the_rest_pose():
    problem, skin = random_skin(noise=0.1)
    for rank in (1, 3, 6):
        posed = totals(problem, skin, fit_corrections(problem, skin, rank))[-1]
        assert posed <= totals(problem, skin, displacement_corrections(problem, skin, rank, 1))[-1]


def test_a_vertex_that_is_flattened_once_does_not_spoil_the_others():
    """The paper's SVD spends its first column on the displacement of that one vertex, as large as it is useless."""
    problem, skin = random_skin(noise=0.1)
    transforms = np.concatenate([skin.transforms, skin.transforms[:, :1]], axis=1)
    bones, weights = skin.bones.copy(), skin.weights.copy()
    bones[7], weights[7] = 5, np.eye(3)[0]
    transforms[3, 5, :, :3] *= 1e-4
    transforms[3, 5, :, 3] = problem.targets[7, 9:12] + 0.01
    flat = SkinState(transforms, bones, weights)
    posed = totals(problem, flat, fit_corrections(problem, flat, 1))
    rest = totals(problem, flat, displacement_corrections(problem, flat, 1, 1))
    assert posed[1] < 0.9 * posed[0]
    assert rest[1] > 1.05 * posed[1]


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("singular", [False, True])
def test_error_never_rises_with_rank(seed, singular):
    problem, skin = singular_skin(seed) if singular else random_skin(seed=seed, noise=0.1)
    for rank in (1, 3, 6, 7, 8):
        errors = totals(problem, skin, fit_corrections(problem, skin, rank))
        assert (np.diff(errors) <= 1e-9 * errors[0]).all(), (rank, errors)


@pytest.mark.parametrize("singular", [False, True])
def test_as_many_columns_as_frames_are_exact(singular):
    problem, skin = singular_skin() if singular else random_skin(noise=0.1)
    for rank in (8, 9, 100):
        found = fit_corrections(problem, skin, rank)
        assert found.rank == problem.n_frames
        assert problem.error_percent(corrected_errors(problem, skin, found)) < 1e-3


def test_a_blend_that_vanishes_altogether():
    """Nothing can be done in that frame; the others are exact and all is finite."""
    problem, skin = random_skin(noise=0.1)
    transforms = skin.transforms.copy()
    transforms[3, :, :, :3] = 0
    flat = SkinState(transforms, skin.bones, skin.weights)
    for rank in (2, 7, 8):
        found = fit_corrections(problem, flat, rank)
        assert np.isfinite(found.basis).all()
        assert (np.diff(totals(problem, flat, found)) <= 1e-9 * totals(problem, flat, found)[0]).all()
    assert np.isfinite(displacement_corrections(problem, flat, 3, 1).basis).all()
    others = np.delete(np.arange(8), 3)
    moved = product(exact_corrections(problem, flat, 1))[:, others]
    assert np.abs(moved).max() < 10


def test_large_blends_that_are_singular():
    """Rounding of A'A must not leave a negative pivot."""
    problem, skin = random_skin(noise=0.1)
    transforms = skin.transforms.copy()
    transforms[4, :, :, :3] *= 1e3
    transforms[4, :, :, 2] = transforms[4, :, :, 1]
    wild = SkinState(transforms, skin.bones, skin.weights)
    assert np.abs(displacement_corrections(problem, wild, 8, 1).basis).max() < 1e3


def test_more_columns_are_built_on_those_that_are_there():
    problem, skin = random_skin(n_vertices=80, n_frames=40, noise=0.1)
    whole = fit_corrections(problem, skin, BLOCK_RANK + 4)
    first = fit_corrections(problem, skin, BLOCK_RANK)
    assert np.array_equal(whole.basis[:, :BLOCK_RANK], first.basis)
    again = fit_corrections(problem, skin, 4, fixed=first)
    assert np.array_equal(whole.basis, again.basis)
    assert np.array_equal(whole.coefficients, again.coefficients)
    errors = totals(problem, skin, whole)
    assert (np.diff(errors) <= 0).all()


def test_errors_of_ranks_are_those_of_posed_vertices():
    problem, skin = random_skin()
    fixed, columns = random_columns(problem, 2, 1), random_columns(problem, 3, 2)
    found = errors_of_ranks(problem, skin, columns, fixed, 1)
    both = add_columns(fixed, columns)
    for r in range(4):
        np.testing.assert_allclose(found[:, r], corrected_errors(problem, skin, both, 2 + r), rtol=1e-6)


def test_columns_that_do_no_harm_stay_as_they_are():
    problem, skin = random_skin(noise=0.1)
    found = fit_corrections(problem, skin, 4)
    again = never_rising(problem, skin, found, no_columns(problem), 1)
    assert np.array_equal(again.basis, found.basis)


def test_only_the_vertices_that_do_harm_change():
    """Three vertices have displacements that cancel in pairs of columns: cut, they would be far off."""
    problem, skin = random_skin(noise=0.1)
    good, nothing = fit_corrections(problem, skin, 4), no_columns(problem)
    basis = good.basis.copy()
    basis[[3, 30, 50], 0] += 20
    basis[[3, 30, 50], 1] -= 20
    spoiled = ColumnFit(basis, good.coefficients)
    before = errors_of_ranks(problem, skin, spoiled, nothing, 1)
    assert len(rises(problem, before.sum(axis=0)))
    found = never_rising(problem, skin, spoiled, nothing, 1)
    changed = np.flatnonzero((found.basis != basis).any(axis=(1, 2)))
    assert set(changed) == {3, 30, 50}
    assert (np.diff(totals(problem, skin, found)) <= 0).all()
    assert np.array_equal(found.coefficients, good.coefficients)


@pytest.mark.parametrize("rank", [3, 20, 40])
def test_number_of_threads_does_not_matter(rank):
    problem, skin = random_skin(n_vertices=600, n_frames=40, noise=0.1)
    one, two = (fit_corrections(problem, skin, rank, threads=n) for n in (1, 2))
    assert np.array_equal(one.basis, two.basis)
    assert np.array_equal(one.coefficients, two.coefficients)
