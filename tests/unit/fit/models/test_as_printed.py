"""Models as the paper prints them, against least squares written out, and how they differ from ours."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from osteon.core.character import Skeleton
from osteon.core.sequence import MeshSequence
from osteon.core.transforms import apply, compose
from osteon.deform.animation_space import AnimationSpace
from osteon.deform.multi_weight import DIAGONAL, WORLD, MultiWeight
from osteon.deform.pose import pose_points
from osteon.fit.models.as_printed import fit_printed_animation_space, fit_printed_multi_weight
from osteon.fit.models.ridge_fit import RidgeFit, RidgeOptions

from .test_ridge_fit import Case, Fit, baked, moving

FITS = {"animation_space": fit_printed_animation_space, "multi_weight": fit_printed_multi_weight}
LAMBDA = 3e-3
OPTIONS = RidgeOptions(strength=LAMBDA, threads=1)
BONES, FRAMES = 5, 7


@pytest.fixture(scope="module")
def case() -> Case:
    """Frames that no skin plays exactly, far from the origin."""
    model = baked(FRAMES)
    shifted = model.track.transforms.astype(np.float64).copy()
    shifted[..., 3] += [2.0, -1.0, 0.5]
    frames = pose_points(model.deformer, model.rest.astype(np.float64)[None], shifted)
    return Case(moving(model, frames + 0.05 * np.sin(5 * frames)), shifted)


@pytest.fixture(scope="module")
def skeleton(case: Case) -> Skeleton:
    from scipy.spatial.transform import Rotation

    frames = np.zeros((BONES, 3, 4), np.float32)
    frames[..., :3] = Rotation.random(BONES, random_state=1).as_matrix()
    frames[..., 3] = np.random.default_rng(2).normal(size=(BONES, 3))
    return Skeleton(tuple("abcde"), np.array([-1, 0, 1, 2, 3], np.int32), frames)


@pytest.fixture(params=FITS)
def fit(request: pytest.FixtureRequest) -> Fit:
    return FITS[request.param]


def positions(case: Case) -> np.ndarray:
    """(v,f,3) the targets about the origin of the input."""
    problem = case.problem
    targets = problem.targets.reshape(len(case.rest[0]), -1, 3).astype(np.float64)
    return problem.posed_scale * targets + problem.frame_centers


def ridge(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """The least squares of A x - b with rows sqrt(lambda) x."""
    n = a.shape[1]
    return np.linalg.lstsq(np.vstack([a, np.sqrt(LAMBDA) * np.eye(n)]), np.concatenate([b, np.zeros(n)]), rcond=None)[0]


def test_animation_space_is_the_sum_of_all_bones_and_nothing_else(case: Case, skeleton: Skeleton):
    """v = sum T_i p_i with p_i in bone coordinates, one dense problem per vertex."""
    found = case.fit(fit_printed_animation_space, replace(OPTIONS, skeleton=skeleton))
    scale = case.problem.posed_scale
    placed = compose(case.world, skeleton.world_from_joint.astype(np.float64))
    columns = placed.copy()
    columns[..., 3] /= scale
    a = columns.transpose(0, 2, 1, 3).reshape(3 * FRAMES, 4 * BONES)
    posed = case.posed(found)
    for v, targets in enumerate(positions(case)):
        p = ridge(a, targets.ravel() / scale)
        np.testing.assert_allclose(posed[:, v], scale * (a @ p).reshape(FRAMES, 3), atol=2e-5)
    assert isinstance(found.deformer, AnimationSpace)
    assert found.deformer.free
    assert found.deformer.bones.shape[1] == BONES
    assert np.abs(found.deformer.weights.sum(axis=1) - 1).max() > 1e-3  # there is no constraint


def test_multi_weight_is_equation_2_row_by_row(case: Case):
    found = case.fit(fit_printed_multi_weight, OPTIONS)
    scale, rest, posed = case.problem.posed_scale, case.rest[0], case.posed(found)
    for v, targets in enumerate(positions(case)):
        point = np.append(rest[v], 1.0)
        for row in range(3):
            a = (case.world[:, :, row] * point / scale).reshape(FRAMES, 4 * BONES)
            expected = scale * a @ ridge(a, targets[:, row] / scale)
            np.testing.assert_allclose(posed[:, v, row], expected, atol=2e-5)
    assert isinstance(found.deformer, MultiWeight)
    assert (found.deformer.reference == WORLD).all()
    assert np.abs(found.deformer.weights[:, :, DIAGONAL].sum(axis=1) - 1).max() > 1e-3


def test_errors_are_those_of_the_deformer(case: Case, skeleton: Skeleton, fit: Fit):
    found = case.fit(fit, replace(OPTIONS, skeleton=skeleton))
    off = (case.posed(found) - positions(case).swapaxes(0, 1)) / case.problem.posed_scale
    assert (off**2).sum(axis=(0, 2)) == pytest.approx(found.errors, rel=1e-3, abs=1e-8)


def test_an_infinite_lambda_pulls_everything_to_the_origin(case: Case, fit: Fit):
    found = case.fit(fit, replace(OPTIONS, strength=np.inf))
    assert np.abs(case.posed(found)).max() == 0


def test_lambda_is_that_of_the_least_held_out_deviation(case: Case, fit: Fit):
    found: RidgeFit = case.fit(fit, RidgeOptions(strengths=(1e-4, 1e-1, 10.0), threads=1))
    assert found.sweep is not None
    assert found.strength == found.sweep.best
    others = [case.fit(fit, replace(OPTIONS, strength=value)).errors.sum() for value in (1e-4, 1e-1, 10.0)]
    assert others[0] < others[1] < others[2]


def test_held_out_poses_are_as_if_fitted_without_them(case: Case, fit: Fit):
    sweep = case.fit(fit, RidgeOptions(strengths=(LAMBDA,), threads=1)).sweep
    total = 0.0
    for f in range(FRAMES):
        kept = np.delete(np.arange(FRAMES), f)
        other = Case.__new__(Case)
        other.problem = case.problem.take_frames(kept)
        other.transforms, other.ssd, other.rest = case.transforms[kept], case.ssd, case.rest
        deformer = other.fit(fit, OPTIONS).deformer
        off = pose_points(deformer, case.rest, case.world[f : f + 1])[0] - positions(case)[:, f]
        total += float((off**2).sum()) / case.problem.posed_scale**2
    diagonal = float(np.linalg.norm(np.ptp(case.problem.points[:, :3], axis=0)))
    rms = 100 * np.sqrt(total / (len(case.rest[0]) * FRAMES)) / diagonal
    assert sweep.held_out[0] == pytest.approx(rms, rel=1e-3)


def test_the_result_depends_on_where_the_scene_is(case: Case, fit: Fit):
    """The paper's matrices have an origin; ours do not."""
    moved = np.concatenate([np.eye(3), [[3.0], [0.0], [0.0]]], axis=1)
    frames = apply(moved, positions(case).swapaxes(0, 1)).astype(np.float32)
    rest = case.rest[0].astype(np.float32)
    there = Case(MeshSequence(frames, np.array([[0, 1, 2]]), rest), compose(moved, case.world))
    apart = there.posed(there.fit(fit, OPTIONS)) - apply(moved, case.posed(case.fit(fit, OPTIONS)))
    assert np.abs(apart).max() > 1e-4
