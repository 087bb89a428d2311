"""Normals in the fit against dense sums and SciPy's solvers, which share no code with it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.linalg import lstsq
from scipy.optimize import minimize

from osteon.fit.corrections import normals as column_fit
from osteon.fit.corrections.corrected_skin import _add_normal_grams
from osteon.fit.moments import blend_moments, prediction_moments
from osteon.fit.problem import FitProblem, NormalRows
from osteon.fit.skin import rest_normals
from osteon.fit.skin.influences import Influences, select_influences
from osteon.fit.skin.solve_bones import solve_bones

from ..subjects import dense, predictions, random_normals, random_problem
from ..tolerance import assert_near

WEIGHTS = [0.01, 0.7]


def with_normals(weight: float, n_bones: int = 4, seed: int = 0) -> tuple[FitProblem, np.ndarray]:
    problem, transforms = random_problem(n_bones=n_bones, seed=seed)
    return problem.with_normals(random_normals(problem, transforms, weight, seed)), transforms


def turned(rows: NormalRows, transforms: np.ndarray) -> np.ndarray:
    """(n,b,3f) where each bone alone turns each normal."""
    moved = np.einsum("fbij,nj->nbfi", transforms[..., :3], rows.rest)
    return moved.reshape(*moved.shape[:2], -1)


def both(problem: FitProblem, transforms: np.ndarray) -> list[tuple[np.ndarray, np.ndarray]]:
    """Of each vertex: predictions (b,x) of position and normals, and their targets (x,), weighed."""
    rows, moved = problem.normals, predictions(problem, transforms)
    of_normals, h, out = turned(rows, transforms), np.sqrt(rows.weight), []
    for v in range(problem.n_vertices):
        mine = np.flatnonzero(rows.vertex == v)
        parts = [moved[v], *(h * of_normals[n] for n in mine)]
        targets = [problem.targets[v], *(h * rows.targets[n] for n in mine)]
        out.append((np.concatenate(parts, axis=1), np.concatenate(targets).astype(np.float64)))
    return out


@pytest.mark.parametrize("weight", WEIGHTS)
def test_moments_with_normals_are_dense_sums(weight):
    problem, transforms = with_normals(weight)
    sums = prediction_moments(problem, transforms, 2)
    gram = np.einsum("vi,bci->vbc", sums.product, sums.forms)
    found = select_influences(problem, transforms, 3)
    errors, weights = sums.errors(found.bones, found.weights), dense(found, 4)
    for v, (moved, target) in enumerate(both(problem, transforms)):
        assert_near(sums.cross[v], moved @ target, 1e-5)  # normals are summed in single precision
        assert_near(gram[v], moved @ moved.T, 1e-9)
        assert_near(sums.energy[v], target @ target, 1e-6)
        assert_near(errors[v], ((weights[v] @ moved - target) ** 2).sum(), 1e-4)
        assert_near(sums.gamma[v], ((moved - target) ** 2).sum(axis=1), 1e-4)


@pytest.mark.parametrize("weight", WEIGHTS)
def test_blend_moments_with_normals_are_dense_sums(weight):
    problem, transforms = with_normals(weight)
    rows, found = problem.normals, select_influences(problem, transforms, 3)
    weights, h = dense(found, 4), np.sqrt(weight)
    points = np.concatenate([problem.points, np.concatenate([h * rows.rest, np.zeros((len(rows.rest), 1))], axis=1)])
    of_rows = np.concatenate([weights, weights[rows.vertex]])
    blends = np.einsum("vb,vi->vbi", of_rows, points).reshape(len(points), -1)
    zz, zx = blend_moments(problem, found.bones, found.weights, 4, 2)
    assert_near(zz, blends.T @ blends)
    assert_near(zx, blends.T @ np.concatenate([problem.targets, h * rows.targets]))


def test_normals_without_weight_change_nothing():
    problem, transforms = with_normals(0.0)
    plain = problem.with_normals(None)
    ours, theirs = (prediction_moments(p, transforms, 1) for p in (problem, plain))
    for name in ("product", "cross", "energy"):
        assert np.array_equal(getattr(ours, name), getattr(theirs, name))
    found = select_influences(plain, transforms, 3)
    for a, b in zip(*(blend_moments(p, found.bones, found.weights, 4, 1) for p in (problem, plain)), strict=True):
        assert np.array_equal(a, b)


@pytest.mark.parametrize("weight", WEIGHTS)
@pytest.mark.parametrize("n_bones", [2, 4])
def test_weights_with_normals_meet_the_kkt_conditions(weight, n_bones):
    """All bones allowed: no weight below zero, and no other weights lower the sum of both errors."""
    problem, transforms = with_normals(weight, n_bones)
    found = select_influences(problem, transforms, n_bones)
    weights = dense(found, n_bones)
    assert weights.min() >= 0
    np.testing.assert_allclose(weights.sum(axis=1), 1, atol=1e-9)
    for v, (moved, target) in enumerate(both(problem, transforms)):
        off = moved - target
        gram = off @ off.T
        slope = gram @ weights[v]
        error = weights[v] @ slope  # at the optimum every used bone has this slope
        scale = max(float(np.diag(gram).min()), 1e-12)
        assert np.abs(slope[weights[v] > 0] - error).max() <= 1e-5 * scale
        best = minimize(
            lambda w, g=gram / scale: w @ g @ w,
            weights[v],
            jac=lambda w, g=gram / scale: 2 * g @ w,
            bounds=[(0, 1)] * n_bones,
            constraints={"type": "eq", "fun": lambda w: w.sum() - 1},
            method="SLSQP",
        )
        # A bone that would lower the error by less than 1e-4 of it is not added.
        assert error <= best.fun * scale * (1 + 3e-3) + 1e-6 * scale


@pytest.mark.parametrize("weight", WEIGHTS)
def test_the_errors_of_positions_and_of_normals_are_told_apart(weight):
    problem, transforms = with_normals(weight)
    found = select_influences(problem, transforms, 3)
    weights, rows = dense(found, 4), problem.normals
    posed = np.einsum("vb,vbx->vx", weights, predictions(problem, transforms))
    assert_near(found.errors, ((posed - problem.targets) ** 2).sum(axis=1), 1e-4)
    shown = np.einsum("nb,nbx->nx", weights[rows.vertex], turned(rows, transforms))
    of_rows = ((shown - rows.targets) ** 2).sum(axis=1)
    assert_near(found.normal_errors, np.bincount(rows.vertex, of_rows, problem.n_vertices), 1e-4)


@pytest.mark.parametrize("weight", WEIGHTS)
def test_affine_bones_with_normals_are_the_least_squares(weight):
    """Flexible bones without stiffness: lstsq of all rows, frame by frame, is the lower bound and is reached."""
    problem, transforms = with_normals(weight, 3)
    found = select_influences(problem, transforms, 2)
    solved = transforms
    for _ in range(60):
        solved = solve_bones(
            problem, found.bones, found.weights, solved, "flexible", stiffness=0.0, sweeps=1, threads=1
        )
    rows, weights, h = problem.normals, dense(found, 3), np.sqrt(weight)
    points = np.concatenate([problem.points, np.concatenate([h * rows.rest, np.zeros((len(rows.rest), 1))], axis=1)])
    system = np.einsum("vb,vi->vbi", np.concatenate([weights, weights[rows.vertex]]), points).reshape(len(points), -1)
    targets = np.concatenate([problem.targets, h * rows.targets]).astype(np.float64)
    best = ((system @ lstsq(system, targets)[0] - targets) ** 2).sum()
    flat = solved.transpose(1, 3, 0, 2).reshape(12, -1)
    assert ((system @ flat - targets) ** 2).sum() <= best * (1 + 1e-3)


@pytest.mark.parametrize("weight", WEIGHTS)
def test_grams_of_corrections_count_normals(weight):
    problem, transforms = with_normals(weight)
    rows, n = problem.normals, problem.n_vertices
    bones = np.tile(np.arange(4), (n, 1))
    chosen, counts = bones.copy(), np.full(n, 4)
    plain = np.zeros((n, 4, 4))
    _add_normal_grams(
        *(rows.rest, rows.targets, rows.vertex, 0, 0, len(rows.vertex), weight, transforms),
        *(bones, chosen, counts, np.empty((4, 3)), plain),
    )
    off = turned(rows, transforms) - rows.targets[:, None]
    for v in range(n):
        mine = off[rows.vertex == v]
        assert_near(plain[v], weight * np.einsum("nbx,ncx->bc", mine, mine), 1e-6)


def blended(influences: Influences, rows: NormalRows, transforms: np.ndarray) -> np.ndarray:
    """(n,f,3,3) linear part of the blend of every normal."""
    weights = dense(influences, transforms.shape[1])[rows.vertex]
    return np.einsum("nb,fbij->nfij", weights, transforms[..., :3])


def angle_sum(n: np.ndarray, linear: np.ndarray, targets: np.ndarray) -> float:
    """What rest normals minimise, as chords softened near zero."""
    shown = linear @ n
    shown /= np.linalg.norm(shown, axis=1, keepdims=True)
    there = targets.any(axis=1)
    squares = ((shown - targets) ** 2).sum(axis=1)[there]
    return float(np.sqrt(squares + rest_normals.SHORTEST_CHORD**2).sum())


@pytest.mark.parametrize("seed", [0, 1])
def test_rest_normals_against_scipy(seed):
    """Many iterations end where a general minimiser over directions ends."""
    problem, transforms = with_normals(0.1, seed=seed)
    rows, found = problem.normals, select_influences(problem, transforms, 3)
    fitted, errors = rest_normals.fit_rest_normals(
        rows, transforms, found.bones, found.weights, iterations=200, threads=1
    )
    linear, targets = blended(found, rows, transforms), rows.targets.reshape(len(rows.rest), -1, 3).astype(np.float64)
    np.testing.assert_allclose(np.linalg.norm(fitted, axis=1), 1, atol=1e-9)
    for n in range(0, len(fitted), 5):
        best = minimize(lambda x, n=n: angle_sum(x, linear[n], targets[n]), fitted[n], method="Nelder-Mead")
        assert angle_sum(fitted[n], linear[n], targets[n]) <= best.fun * (1 + 1e-3)
        before = angle_sum(rows.rest[n], linear[n], targets[n])
        assert angle_sum(fitted[n], linear[n], targets[n]) <= before * (1 + 1e-9)
    shown = np.einsum("nfij,nj->nfi", linear, fitted)
    squares = np.where(targets.any(axis=2), ((shown - targets) ** 2).sum(axis=2), 0).sum(axis=1)
    assert_near(errors[:, 1], squares, 1e-6)


def test_one_frame_that_is_far_off_does_not_decide():
    """Angles, not their squares: nine frames agree and one is turned over; the nine win."""
    rng = np.random.default_rng(2)
    rest = np.array([[0.0, 0.0, 1.0]])
    goal = np.tile(rest, (10, 1))
    goal[4] = [np.sin(1.8), 0, np.cos(1.8)]
    rows = NormalRows(
        rest + 0.1 * rng.normal(size=(1, 3)), goal.reshape(1, -1).astype(np.float32), np.zeros(1, np.int64)
    )
    rows = replace(rows, rest=rows.rest / np.linalg.norm(rows.rest))
    transforms = np.tile(np.eye(3, 4), (10, 1, 1, 1))
    bones, weights = np.zeros((1, 1), np.int64), np.ones((1, 1))
    fitted, _ = rest_normals.fit_rest_normals(rows, transforms, bones, weights, iterations=30, threads=1)
    assert np.degrees(np.arccos(fitted[0] @ [0.0, 0, 1])) < 0.5  # the mean of squares is 10 degrees off


def test_columns_against_least_squares(monkeypatch):
    """One step of the basis, every normal: rows [1 q] (x) M, weighed, against the targets, by lstsq."""
    problem, transforms = with_normals(0.1)
    rows, found = problem.normals, select_influences(problem, transforms, 3)
    rng, count, n_frames = np.random.default_rng(0), len(rows.rest), len(transforms)
    fit = column_fit.NormalFit(rows.rest, 0.1 * rng.normal(size=(count, 2, 3)), rng.normal(size=(n_frames, 2)))
    monkeypatch.setattr(column_fit, "DAMPING", 1e-9)

    class Skin:
        bones, weights = found.bones, found.weights

    solved = column_fit._solve_basis(column_fit._Maps(rows, Skin, transforms), fit, 1)
    linear, targets = blended(found, rows, transforms), rows.targets.reshape(count, -1, 3).astype(np.float64)
    q = np.concatenate([np.ones((n_frames, 1)), fit.coefficients], axis=1)
    moved = fit.rest[:, None] + np.einsum("fr,nrj->nfj", fit.coefficients, fit.basis)
    shown = np.einsum("nfij,nfj->nfi", linear, moved)
    length = np.linalg.norm(shown, axis=2, keepdims=True)
    chord = np.sqrt(((shown / length - targets) ** 2).sum(axis=2) + column_fit.SHORTEST_CHORD**2)
    rho = np.where(targets.any(axis=2), 1 / np.sqrt(chord), 0)
    for n in range(0, count, 7):
        maps = rho[n][:, None, None] * linear[n] / length[n][..., None]
        system = np.einsum("fr,fij->firj", q, maps).reshape(3 * n_frames, -1)
        expected = lstsq(system, (rho[n][:, None] * targets[n]).ravel())[0].reshape(3, 3)
        size = np.linalg.norm(expected[0])
        if size > 2 * column_fit.SHORTEST_REST:
            assert_near(solved.rest[n], expected[0] / size, 1e-4)
            assert_near(solved.basis[n], expected[1:] / size, 1e-3)


def test_coefficients_against_least_squares():
    """One step of the coefficients, every frame, by lstsq over all normals."""
    problem, transforms = with_normals(0.1)
    rows, found = problem.normals, select_influences(problem, transforms, 3)
    rng, count, n_frames = np.random.default_rng(1), len(rows.rest), len(transforms)
    fit = column_fit.NormalFit(rows.rest, 0.2 * rng.normal(size=(count, 2, 3)), 0.5 * rng.normal(size=(n_frames, 2)))

    class Skin:
        bones, weights = found.bones, found.weights

    solved = column_fit._solve_coefficients(column_fit._Maps(rows, Skin, transforms), fit, 1)
    linear, targets = blended(found, rows, transforms), rows.targets.reshape(count, -1, 3).astype(np.float64)
    moved = fit.rest[:, None] + np.einsum("fr,nrj->nfj", fit.coefficients, fit.basis)
    shown = np.einsum("nfij,nfj->nfi", linear, moved)
    length = np.linalg.norm(shown, axis=2, keepdims=True)
    chord = np.sqrt(((shown / length - targets) ** 2).sum(axis=2) + column_fit.SHORTEST_CHORD**2)
    rho = np.where(targets.any(axis=2), 1 / np.sqrt(chord), 0)[..., None]
    maps = rho[..., None] * linear / length[..., None]
    for f in range(n_frames):
        system = np.einsum("nij,nrj->nir", maps[:, f], fit.basis).reshape(-1, 2)
        left = rho[:, f] * targets[:, f] - np.einsum("nij,nj->ni", maps[:, f], fit.rest)
        assert_near(solved.coefficients[f], lstsq(system, left.ravel())[0], 1e-5)
