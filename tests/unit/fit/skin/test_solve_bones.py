"""What crosscheck/test_bones.py does not say: descent, stiffness, bones without vertices."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from osteon.core.transforms import identity
from osteon.fit.skin.influences import select_influences
from osteon.fit.skin.procrustes import rotations_of
from osteon.fit.skin.solve_bones import solve_bones, stack_transforms, unstack_transforms

from ....subjects import direct_errors, random_problem
from ....tolerance import assert_near


def total_error(problem, transforms, influences) -> float:
    return float(direct_errors(problem, transforms, influences).sum())


def rigid(transforms: np.ndarray) -> np.ndarray:
    out = transforms.copy()
    out[..., :3] = rotations_of(transforms)
    return out


def test_stacking_and_back():
    transforms = np.random.default_rng(0).normal(size=(5, 4, 3, 4))
    stacked = stack_transforms(transforms)
    assert stacked.shape == (16, 15)
    assert stacked[4 * 2 + 3, 3 * 1 + 2] == transforms[1, 2, 2, 3]
    assert np.array_equal(unstack_transforms(stacked), transforms)


def test_flexible_bones_are_the_best_for_their_weights():
    problem, transforms = random_problem(n_vertices=120)
    influences = select_influences(problem, transforms, 3)
    solved = solve_bones(problem, influences.bones, influences.weights, transforms, "flexible", stiffness=0.0)
    best = total_error(problem, solved, influences)
    assert best < total_error(problem, transforms, influences)
    rng = np.random.default_rng(1)
    for _ in range(20):
        assert total_error(problem, solved + 1e-3 * rng.normal(size=solved.shape), influences) > best


def test_stiffness_draws_bones_to_rotations():
    problem, transforms = random_problem(noise=0.1)
    influences = select_influences(problem, transforms, 3)
    away, errors = [], []
    for stiffness in (0.0, 1e-3, 1e-1, 1e3):
        solved = solve_bones(problem, influences.bones, influences.weights, transforms, "flexible", stiffness=stiffness)
        away.append(np.linalg.norm((solved - rigid(transforms))[..., :3]))  # drawn to the rotation of the last bones
        errors.append(total_error(problem, solved, influences))
    assert away == sorted(away, reverse=True)
    assert away[-1] < 1e-2 * away[0]
    assert errors == sorted(errors)


def test_rigid_sweeps_only_ever_help():
    problem, transforms = random_problem(n_vertices=120, noise=0.1)
    influences = select_influences(problem, transforms, 4)
    current, errors = rigid(transforms), []
    for _ in range(15):
        errors.append(direct_errors(problem, current, influences).sum())
        current = solve_bones(problem, influences.bones, influences.weights, current, "rigid", sweeps=1)
    assert all(after <= before * (1 + 1e-12) for before, after in pairwise(errors))
    assert errors[-1] < 0.9 * errors[0]


def test_several_sweeps_are_one_sweep_several_times():
    problem, transforms = random_problem()
    influences = select_influences(problem, transforms, 3)
    at_once = solve_bones(problem, influences.bones, influences.weights, transforms, "rigid", sweeps=3)
    for _ in range(3):
        transforms = solve_bones(problem, influences.bones, influences.weights, transforms, "rigid", sweeps=1)
    assert_near(at_once, transforms, 1e-12)


def test_rigid_bones_are_rotations():
    problem, transforms = random_problem(noise=0.3)
    influences = select_influences(problem, transforms, 4)
    linear = solve_bones(problem, influences.bones, influences.weights, transforms, "rigid")[..., :3]
    assert_near(linear @ np.swapaxes(linear, 2, 3), np.broadcast_to(np.eye(3), linear.shape), 1e-12)
    np.testing.assert_allclose(np.linalg.det(linear), 1, atol=1e-12)


@pytest.mark.parametrize("bone_type", ["rigid", "flexible"])
def test_a_bone_without_vertices_stays_where_it_is(bone_type):
    problem, transforms = random_problem(n_bones=3)
    influences = select_influences(problem, transforms[:, :2], 2)
    solved = solve_bones(problem, influences.bones, influences.weights, rigid(transforms), bone_type)
    assert_near(solved[:, 2], rigid(transforms)[:, 2], 1e-6)


@pytest.mark.parametrize("bone_type", ["rigid", "flexible"])
def test_a_bone_of_one_vertex(bone_type):
    """Three numbers a frame cannot tell where a bone is: it stays close to its last place and finite."""
    problem, _ = random_problem()
    bones = np.zeros((60, 1), np.int64)
    bones[7] = 1
    solved = solve_bones(problem, bones, np.ones((60, 1)), identity(8, 2), bone_type)
    size = np.linalg.svd(solved[:, 1, :, :3], compute_uv=False)
    assert size.max() < 3
    assert np.isfinite(solved).all()
    posed = np.einsum("fij,j->fi", solved[:, 1], problem.points[7])
    assert_near(posed.ravel(), problem.targets[7], 1e-3)


@pytest.mark.parametrize("bone_type", ["rigid", "flexible"])
def test_number_of_threads_does_not_matter(bone_type):
    problem, transforms = random_problem(n_vertices=500, n_frames=20)
    influences = select_influences(problem, transforms, 3)
    one, two = (
        solve_bones(problem, influences.bones, influences.weights, transforms, bone_type, threads=n) for n in (1, 2)
    )
    assert np.array_equal(one, two)


def test_what_was_given_is_left_as_it_was():
    problem, transforms = random_problem()
    influences = select_influences(problem, transforms, 3)
    before = transforms.copy()
    for bone_type in ("rigid", "flexible"):
        solve_bones(problem, influences.bones, influences.weights, transforms, bone_type)
    assert np.array_equal(transforms, before)
