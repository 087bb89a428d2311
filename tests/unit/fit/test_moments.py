from __future__ import annotations

import numpy as np
import pytest

from osteon.core.sequence import MeshSequence
from osteon.fit.moments import blend_moments, prediction_moments, products, squared_errors
from osteon.fit.problem import pose_problem
from osteon.fit.skin.influences import select_influences

from ...subjects import dense, predictions, random_problem
from ...tolerance import assert_near


@pytest.mark.parametrize("n_bones", [1, 4])
def test_prediction_moments_are_sums_over_frames(n_bones):
    problem, transforms = random_problem(n_vertices=1100, n_bones=n_bones, n_frames=5)  # more than one block
    moved = predictions(problem, transforms)
    sums = prediction_moments(problem, transforms, 2)
    cross, forms = sums.cross, sums.forms
    assert_near(cross, np.einsum("vbx,vx->vb", moved, problem.targets))
    gram = np.einsum("vi,bci->vbc", products(problem.points), forms)
    assert_near(gram, np.einsum("vbx,vcx->vbc", moved, moved))
    assert_near(forms, np.swapaxes(forms, 0, 1))


def test_products_give_quadratic_forms():
    rng = np.random.default_rng(0)
    points, matrix = rng.normal(size=(20, 4)), rng.normal(size=(4, 4))
    symmetric = matrix + matrix.T
    row, column = [0, 1, 2, 0, 0, 1, 0, 1, 2, 3], [0, 1, 2, 1, 2, 2, 3, 3, 3, 3]
    assert_near(products(points) @ symmetric[row, column], np.einsum("vi,ij,vj->v", points, symmetric, points))


def test_squared_errors_are_gamma():
    problem, transforms = random_problem()
    expected = ((predictions(problem, transforms) - problem.targets[:, None]) ** 2).sum(axis=2)
    assert_near(squared_errors(problem, transforms, 1), expected)


@pytest.mark.parametrize("n_vertices", [5, 8, 60])
def test_blend_moments_are_sums_over_vertices(n_vertices):
    problem, transforms = random_problem(n_vertices=n_vertices)
    influences = select_influences(problem, transforms, 3)
    blends = np.einsum("vb,vi->vbi", dense(influences, 5), problem.points).reshape(n_vertices, -1)
    zz, zx = blend_moments(problem, influences.bones, influences.weights, 5, 2)
    assert_near(zz, blends.T @ blends)
    assert_near(zx, blends.T @ problem.targets)


def test_number_of_threads_does_not_matter():
    problem, transforms = random_problem(n_vertices=3000, n_frames=4)
    influences = select_influences(problem, transforms, 3)
    for one, two in (
        tuple((m.product, m.forms, m.cross) for m in (prediction_moments(problem, transforms, n) for n in (1, 2))),
        (
            blend_moments(problem, influences.bones, influences.weights, 5, 1),
            blend_moments(problem, influences.bones, influences.weights, 5, 2),
        ),
    ):
        assert all(np.array_equal(a, b) for a, b in zip(one, two, strict=True))


def test_a_vertex_without_error_has_none():
    """Centred data keep the cancellation small: exact predictions leave 1e-12 of the energy."""
    problem, _ = random_problem()
    still = MeshSequence(
        np.stack([problem.points[:, :3], 2 * problem.points[:, :3]]), np.array([[0, 1, 2]]), problem.points[:, :3]
    )
    same = pose_problem(still)
    grow = np.zeros((2, 1, 3, 4))
    grow[:, 0, :, :3] = np.eye(3) * np.array([1.0, 2.0])[:, None, None]
    assert squared_errors(same, grow, 1).max() < 1e-11
