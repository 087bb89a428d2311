from __future__ import annotations

import numpy as np
import pytest

from osteon.core.sequence import MeshSequence
from osteon.fit.moments import squared_errors
from osteon.fit.problem import FitProblem, pose_problem
from osteon.fit.skin.bones import bones_of_labels, complete_bones, seed_bones
from osteon.synth.baked import BakeOptions, bake_chain
from osteon.synth.cloth import ClothOptions, make_cloth
from osteon.synth.shapes import make_sphere

from ....subjects import bent_tube, random_problem
from ....tolerance import assert_near


def problem_of(name: str) -> FitProblem:
    if name == "tube":
        return pose_problem(bent_tube(3).sequence)
    if name == "cloth":
        return pose_problem(make_cloth(ClothOptions(frames=8, columns=9, rows=6)))
    return random_problem()[0]


@pytest.mark.parametrize("n_bones", [*range(1, 13), 25, 60])
@pytest.mark.parametrize("name", ["tube", "cloth", "random"])
def test_exactly_as_many_as_asked_for(name, n_bones):
    problem = problem_of(name)
    transforms = seed_bones(problem, n_bones, 1)
    assert transforms.shape == (problem.n_frames, n_bones, 3, 4)
    linear = transforms[..., :3]
    assert_near(linear @ np.swapaxes(linear, 2, 3), np.broadcast_to(np.eye(3), linear.shape), 1e-9)


def test_a_bone_for_every_vertex():
    problem, _ = random_problem(n_vertices=12)
    transforms = seed_bones(problem, 12, 1)
    assert transforms.shape[1] == 12
    assert np.isfinite(transforms).all()


def test_more_bones_fit_better():
    problem = problem_of("cloth")
    errors = [squared_errors(problem, seed_bones(problem, n, 1), 1).min(axis=1).sum() for n in (1, 2, 4, 8, 16)]
    assert errors == sorted(errors, reverse=True)


@pytest.mark.parametrize("n_bones", [1, 3, 4, 9, 30])
def test_given_bones_are_kept_and_completed(n_bones):
    problem, transforms = random_problem(n_bones=3)
    found = complete_bones(problem, transforms, n_bones, 1)
    assert found.shape == (8, n_bones, 3, 4)
    kept = min(3, n_bones)
    assert np.array_equal(found[:, :kept], transforms[:, :kept])
    before, after = (squared_errors(problem, t, 1).min(axis=1).sum() for t in (transforms[:, :kept], found))
    assert after < before or n_bones <= 3


def test_links_of_a_chain_are_found():
    baked = bake_chain(4, options=BakeOptions(frames=10, bend=40.0))
    problem = pose_problem(baked.sequence)
    gamma = squared_errors(problem, seed_bones(problem, 4, 2), 2)
    assert gamma.min(axis=1).max() < 1e-8
    labels = gamma.argmin(axis=1)
    for link in range(4):
        assert len(set(labels[baked.model.skin.bones[:, 0] == link])) == 1


def test_motion_that_needs_only_one_bone():
    """Splitting a perfect cluster must neither fail nor hang."""
    sphere = make_sphere(1)
    frames = np.stack([sphere.vertices, sphere.vertices[:, [1, 2, 0]]])  # a turn about the diagonal
    problem = pose_problem(MeshSequence(frames, sphere.faces, sphere.vertices))
    transforms = seed_bones(problem, 5, 1)
    assert transforms.shape[1] == 5
    assert squared_errors(problem, transforms, 1).min(axis=1).max() < 1e-10


def test_bones_of_labels_leave_out_minus_one():
    problem, _ = random_problem()
    labels = np.where(np.arange(60) < 30, 0, -1)
    halved = problem.subset(np.arange(30, dtype=np.int32))
    expected = bones_of_labels(halved, np.zeros(30, np.int64), 1, 1)
    assert_near(bones_of_labels(problem, labels, 1, 1), expected, 1e-9)


def test_number_of_threads_does_not_matter():
    problem = problem_of("tube")
    assert np.array_equal(seed_bones(problem, 7, 1), seed_bones(problem, 7, 2))
