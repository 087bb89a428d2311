"""Scaled bones: descent, agreement with a general solver, what holds them, and that they stay what they are."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from scipy.optimize import least_squares
from scipy.spatial.transform import Rotation

from osteon.core.bone_axes import axes_of_bones, off_axes
from osteon.fit.moments import moment_centers
from osteon.fit.problem import FitProblem
from osteon.fit.skin.influences import Influences, select_influences
from osteon.fit.skin.scaled_bones import SMALLEST_SCALE, project_scaled
from osteon.fit.skin.solve_bones import solve_bones, step_ahead

from ....scaled_models import split_along_axes
from ....subjects import direct_errors, random_problem
from ....tolerance import assert_near


def solve(problem: FitProblem, influences: Influences, start: np.ndarray, **options: float) -> np.ndarray:
    return solve_bones(problem, influences.bones, influences.weights, start, "scaled", **({"stiffness": 0.0} | options))


def test_rounds_only_ever_help_and_bones_stay_scaled():
    problem, transforms = random_problem(n_vertices=120, noise=0.1)
    influences = select_influences(problem, transforms, 4)
    current, errors = project_scaled(transforms), []
    for _ in range(15):
        errors.append(direct_errors(problem, current, influences).sum())
        current = solve(problem, influences, current)
        assert off_axes(current) < 1e-10
        assert (np.linalg.det(current[..., :3]) > 0).all()
    assert all(after <= before * (1 + 1e-12) for before, after in pairwise(errors))
    assert errors[-1] < 0.9 * errors[0]


def test_one_bone_is_as_good_as_a_general_solver_finds():
    """Rotation, scales and shift of every frame and the axes, all at once, by Levenberg and Marquardt."""
    problem, transforms = random_problem(n_vertices=25, n_bones=1, n_frames=3, noise=0.15)
    influences = select_influences(problem, transforms, 1)
    current = project_scaled(transforms)
    for _ in range(60):
        current = solve(problem, influences, current)
    ours = direct_errors(problem, current, influences).sum()
    points, targets = problem.points[:, :3], problem.targets.reshape(len(problem.points), -1, 3).astype(np.float64)

    def off(x: np.ndarray) -> np.ndarray:
        axes = Rotation.from_rotvec(x[:3]).as_matrix()
        frames = x[3:].reshape(-1, 9)
        linear = Rotation.from_rotvec(frames[:, :3]).as_matrix() @ (frames[:, 3:6, None] * axes)
        return (np.einsum("fij,vj->vfi", linear, points) + frames[:, 6:] - targets).ravel()

    axes = axes_of_bones(current)
    turns, scales = split_along_axes(current[..., :3], axes)
    frames = np.concatenate([Rotation.from_matrix(turns[:, 0]).as_rotvec(), scales[:, 0], current[:, 0, :, 3]], axis=1)
    best = []
    for seed in range(4):
        start = np.concatenate([Rotation.from_matrix(axes[0]).as_rotvec(), frames.ravel()])
        start += 0.1 * seed * np.random.default_rng(seed).normal(size=len(start))
        best.append(2 * least_squares(off, start, xtol=1e-14, ftol=1e-14, gtol=1e-14).cost)
    assert ours <= min(best) * (1 + 1e-4)


def test_they_lie_between_rigid_and_flexible_ones():
    problem, transforms = random_problem(n_vertices=150, noise=0.1)
    influences = select_influences(problem, transforms, 3)
    errors = {}
    for bone_type in ("rigid", "scaled", "flexible"):
        current = transforms
        for _ in range(20):
            current = solve_bones(problem, influences.bones, influences.weights, current, bone_type, stiffness=0.0)
        errors[bone_type] = direct_errors(problem, current, influences).sum()
    assert errors["flexible"] < errors["scaled"] < errors["rigid"]


def test_stiffness_draws_scales_to_one():
    problem, transforms = random_problem(noise=0.1)
    influences = select_influences(problem, transforms, 3)
    away = []
    for stiffness in (0.0, 1e-2, 1.0, 1e6):
        solved = solve(problem, influences, project_scaled(transforms), stiffness=stiffness)
        away.append(np.abs(split_along_axes(solved[..., :3], axes_of_bones(solved))[1] - 1).max())
    assert away == sorted(away, reverse=True)
    assert away[-1] < 1e-3


def test_bones_never_become_flat_or_mirrored():
    problem, transforms = random_problem()
    influences = select_influences(problem, transforms, 3)
    flat = problem.targets.copy().reshape(problem.n_vertices, -1, 3)
    flat[..., 2] *= -1e-4
    squashed = FitProblem(**{**_fields(problem), "targets": flat.reshape(problem.targets.shape)})
    current = project_scaled(transforms)
    for _ in range(10):
        current = solve(squashed, influences, current)
    scales = split_along_axes(current[..., :3], axes_of_bones(current))[1]
    assert scales.min() >= SMALLEST_SCALE * (1 - 1e-9)


def _fields(problem: FitProblem) -> dict[str, object]:
    return {name: getattr(problem, name) for name in problem.__dataclass_fields__}


def test_threads_change_nothing():
    problem, transforms = random_problem(n_frames=40)
    influences = select_influences(problem, transforms, 3)
    assert np.array_equal(solve(problem, influences, transforms), solve(problem, influences, transforms, threads=3))


@pytest.mark.parametrize("beta", [0.3, 1.0])
def test_steps_ahead_stay_scaled(beta):
    problem, transforms = random_problem(noise=0.1)
    before = project_scaled(transforms)
    after = solve(problem, select_influences(problem, transforms, 3), before)
    ahead = step_ahead(after, before, beta, "scaled", np.zeros((after.shape[1], 3)))
    assert off_axes(ahead) < 1e-10
    assert_near(step_ahead(after, after, beta, "scaled", np.ones((after.shape[1], 3))), after, 1e-10)


@pytest.mark.parametrize("bone_type", ["rigid", "scaled", "flexible"])
def test_steps_ahead_do_not_depend_on_the_origin(bone_type):
    """The same bones about another origin of the rest pose go the same way."""
    problem, transforms = random_problem(noise=0.1)
    influences = select_influences(problem, transforms, 3)
    before = step_ahead(transforms, transforms, 0.0, bone_type, np.zeros((transforms.shape[1], 3)))
    after = solve_bones(problem, influences.bones, influences.weights, before, bone_type)
    centers = moment_centers(problem.points, influences.bones, influences.weights, transforms.shape[1])
    away = np.array([3.0, -2.0, 5.0])

    def shifted(bones: np.ndarray) -> np.ndarray:
        out = bones.copy()
        out[..., 3] -= out[..., :3] @ away
        return out

    near = step_ahead(after, before, 1.0, bone_type, centers)
    far = step_ahead(shifted(after), shifted(before), 1.0, bone_type, centers + away)
    assert_near(far, shifted(near), 1e-9)
