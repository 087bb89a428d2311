"""Corrections against dense least squares and SVD that share no code with the fit."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.linalg import lstsq
from scipy.optimize import minimize

from osteon.core.skin_options import SkinOptions
from osteon.fit.corrections.columns import ColumnFit, SkinState, no_columns, solve_basis, solve_coefficients
from osteon.fit.corrections.corrected_skin import CorrectedSkin, JointRefinementOptions, _Joint
from osteon.fit.corrections.fit_corrections import displacement_corrections
from osteon.fit.moments import add_blend_moments
from osteon.fit.problem import FitProblem
from osteon.pipeline.skin import skin_sequence
from osteon.synth.baked import RandomOptions, bake_random_model

from ..subjects import blends, corrected_errors, dense, frames_of, random_skin
from ..tolerance import assert_near


def columns_of(problem: FitProblem, rank: int, seed: int = 0) -> ColumnFit:
    rng = np.random.default_rng(seed)
    return ColumnFit(0.1 * rng.normal(size=(problem.n_vertices, rank, 3)), rng.normal(size=(problem.n_frames, rank)))


def residues(problem: FitProblem, skin: SkinState, fixed: ColumnFit) -> np.ndarray:
    """(f,v,3) what the skin with its fixed columns leaves."""
    moved = problem.points[:, :3] + np.einsum("fr,vrj->fvj", fixed.coefficients, fixed.basis)
    A = blends(skin)
    return frames_of(problem) - np.einsum("fvij,fvj->fvi", A[..., :3], moved) - A[..., 3]


CASES = [(1, 0), (2, 0), (3, 2), (5, 1)]


@pytest.mark.parametrize(("rank", "n_fixed"), CASES)
def test_basis_step(rank, n_fixed):
    """Every vertex: rows q (x) A against the residue, by lstsq."""
    problem, skin = random_skin(n_vertices=25)
    fixed, q = columns_of(problem, n_fixed, 3), columns_of(problem, rank).coefficients
    found, errors = solve_basis(problem, skin, q, fixed, 1)
    A, left = blends(skin)[..., :3], residues(problem, skin, fixed)
    for v in range(problem.n_vertices):
        system = np.einsum("fr,fij->firj", q, A[:, v]).reshape(-1, 3 * rank)
        expected = lstsq(system, left[:, v].ravel())[0]
        assert_near(found[v].ravel(), expected, 1e-5)  # the damping is 1e-8 of the diagonal
        assert_near(errors[v], ((system @ expected - left[:, v].ravel()) ** 2).sum(), 1e-6)


@pytest.mark.parametrize(("rank", "n_fixed"), CASES)
def test_coefficient_step(rank, n_fixed):
    """Every frame: rows A U against the residue, by lstsq."""
    problem, skin = random_skin(n_vertices=25)
    fixed, basis = columns_of(problem, n_fixed, 3), columns_of(problem, rank).basis
    found = solve_coefficients(problem, skin, basis, fixed, 1)
    A, left = blends(skin)[..., :3], residues(problem, skin, fixed)
    for f in range(problem.n_frames):
        system = np.einsum("vij,vrj->vir", A[f], basis).reshape(-1, rank)
        assert_near(found[f], lstsq(system, left[f].ravel())[0], 1e-5)


def test_truncated_svd_of_displacements():
    """The paper's recipe, eq. 12, from NumPy's inverse and SVD."""
    problem, skin = random_skin(n_vertices=40)
    A = blends(skin)
    rest_frame = np.linalg.solve(A[..., :3], (frames_of(problem) - A[..., 3])[..., None])[..., 0]
    displacements = (rest_frame - problem.points[:, :3]).transpose(1, 2, 0).reshape(-1, problem.n_frames)
    u, s, vt = np.linalg.svd(displacements, full_matrices=False)
    for rank in (1, 3, problem.n_frames):
        found = displacement_corrections(problem, skin, rank, 1)
        product = np.einsum("vrj,fr->vjf", found.basis, found.coefficients).reshape(-1, problem.n_frames)
        assert_near(product, (u[:, :rank] * s[:rank]) @ vt[:rank], 1e-6)
        assert_near(found.coefficients.T @ found.coefficients, np.eye(rank), 1e-9)
        sizes = np.linalg.norm(found.basis, axis=(0, 2))
        assert_near(sizes, s[:rank], 1e-6)


def test_the_paper_preset_is_that_svd():
    """The whole way, in the units of the input: the stored columns span the leading singular vectors."""
    sequence = bake_random_model(4, options=RandomOptions(5, 9, 150, 3, "flexible")).sequence
    rank = 3
    model = skin_sequence(sequence, options=SkinOptions(preset="paper", bones=3, rank=rank)).model
    assert model.corrections is not None
    weights = model.skin.dense(3)
    A = np.einsum("vb,fbij->fvij", weights, model.track.transforms.astype(np.float64))
    back = np.linalg.solve(A[..., :3], (sequence.frames - A[..., 3])[..., None])[..., 0] - sequence.rest
    flat = back.transpose(1, 2, 0).reshape(-1, sequence.n_frames)
    u, s, vt = np.linalg.svd(flat, full_matrices=False)
    product = np.einsum("rvj,fr->vjf", model.corrections.basis, model.corrections.coefficients)
    assert_near(product.reshape(-1, sequence.n_frames), (u[:, :rank] * s[:rank]) @ vt[:rank], 1e-5)


def test_normal_equations_of_a_frame():
    """Z'Z and Z'X of corrected rest points, from the dense Z."""
    problem, skin = random_skin(n_vertices=30, n_bones=4)
    columns = columns_of(problem, 2)
    weights = dense(skin, 4)
    for f in (0, 5):
        zz, zx = np.zeros((16, 16)), np.zeros((16, 3))
        point = problem.points.copy()
        point[:, :3] += np.einsum("r,vrj->vj", columns.coefficients[f], columns.basis)
        targets = np.ascontiguousarray(problem.targets[:, 3 * f : 3 * f + 3])
        add_blend_moments(point, targets, skin.bones, skin.weights, 0, len(point), zz, zx)
        Z = np.einsum("vb,vi->vbi", weights, point).reshape(problem.n_vertices, -1)
        assert_near(zz, Z.T @ Z, 1e-12)
        assert_near(zx, Z.T @ frames_of(problem)[f], 1e-6)


@pytest.mark.parametrize("keep", [0.0, 0.3])
def test_bones_of_a_frame_with_and_without_corrections(keep):
    """Without stiffness: min e_r + keep e_0 over all bones of a frame, by lstsq of both systems stacked."""
    problem, skin = random_skin(n_vertices=80, n_bones=3)
    columns = columns_of(problem, 2)
    joint = _Joint(problem, JointRefinementOptions(rank=2, bone_type="flexible", stiffness=0.0), lambda _: None)
    joint.keep = keep
    found, q = joint.frame_pass(CorrectedSkin(skin, columns))
    weights = dense(skin, 3)
    for f in range(problem.n_frames):
        moved = problem.points.copy()
        moved[:, :3] += np.einsum("r,vrj->vj", columns.coefficients[f], columns.basis)
        parts = [(1.0, moved), (np.sqrt(keep), problem.points)]
        system = np.concatenate([s * np.einsum("vb,vi->vbi", weights, p).reshape(len(p), -1) for s, p in parts])
        right = np.concatenate([s * frames_of(problem)[f] for s, _ in parts])
        expected = lstsq(system, right)[0].reshape(3, 4, 3).transpose(0, 2, 1)
        assert_near(found[f], expected, 1e-5)
    assert_near(
        q, solve_coefficients(problem, replace(skin, transforms=found), columns.basis, no_columns(problem), 1), 1e-12
    )


def test_weights_of_a_vertex_with_and_without_corrections():
    """No weights on the simplex that SciPy finds are better for e_r + keep e_0 than those of the vertex pass."""
    problem, skin = random_skin(n_vertices=12, n_bones=4, noise=0.1)
    columns = columns_of(problem, 2)
    joint = _Joint(problem, JointRefinementOptions(rank=2, bone_type="flexible"), lambda _: None)
    joint.keep = 0.4
    # The old basis counts for the weights; the pass then replaces it, so only the weights are looked at.
    state, _ = joint.vertex_pass(CorrectedSkin(skin, columns), skin.transforms, columns.coefficients)

    def objective(weights: np.ndarray, v: int) -> float:
        tried = skin.weights.copy()
        tried[v] = weights
        other = replace(skin, weights=tried)
        return float(
            corrected_errors(problem, other, columns)[v]
            + joint.keep * corrected_errors(problem, other, no_columns(problem))[v]
        )

    for v in range(problem.n_vertices):
        best = minimize(
            objective,
            skin.weights[v],
            args=(v,),
            bounds=[(0, 1) if w > 0 else (0, 0) for w in skin.weights[v]],
            constraints={"type": "eq", "fun": lambda w: w.sum() - 1},
            method="SLSQP",
            options={"ftol": 1e-12},
        )
        assert objective(state.skin.weights[v], v) <= best.fun * (1 + 1e-6)
