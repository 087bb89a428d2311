"""The factor against SciPy's own solver."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csc_array, diags_array, random_array

from osteon.core.errors import GeometryError
from osteon.core.topology import vertex_graph
from osteon.simplex.factor import WIDEST, SymmetricFactor
from osteon.synth.shapes import make_sphere


def laplacian(shift: float) -> csc_array:
    shape = make_sphere(3)
    graph = vertex_graph(shape.faces, len(shape.vertices))
    return csc_array(diags_array(np.asarray(graph.sum(axis=0)).ravel() + shift) - graph)


@pytest.mark.parametrize("sides", [1, 2, 3, 7])
def test_solves_a_mesh_matrix(sides: int) -> None:
    matrix = laplacian(1e-3)
    right = np.random.default_rng(0).normal(size=(matrix.shape[0], sides))
    solved = SymmetricFactor.of(matrix).solve(right)
    assert solved.shape == right.shape
    assert np.abs(matrix @ solved - right).max() < 1e-10 * np.abs(right).max()


def test_solves_a_random_matrix() -> None:
    rng = np.random.default_rng(1)
    half = random_array((300, 300), density=0.02, rng=rng)
    matrix = csc_array(half @ half.T + diags_array(np.full(300, 0.5)))
    right = rng.normal(size=(300, 3))
    assert np.allclose(SymmetricFactor.of(matrix).solve(right), np.linalg.solve(matrix.toarray(), right), atol=1e-10)


def test_solves_a_dense_matrix_wider_than_a_supernode() -> None:
    rng = np.random.default_rng(2)
    half = rng.normal(size=(2 * WIDEST + 5, 3 * WIDEST))
    matrix = half @ half.T
    right = rng.normal(size=(len(matrix), 3))
    assert np.allclose(SymmetricFactor.of(csc_array(matrix)).solve(right), np.linalg.solve(matrix, right), atol=1e-9)


def test_supernodes_cover_all_columns() -> None:
    factor = SymmetricFactor.of(laplacian(0.1))
    assert factor.first[0] == 0
    assert factor.first[-1] == factor.n_unknowns
    assert (np.diff(factor.first) >= 1).all()
    assert np.diff(factor.first).max() > 4


def test_substitutes_in_the_order_of_elimination() -> None:
    factor = SymmetricFactor.of(laplacian(0.1))
    right = np.random.default_rng(3).normal(size=(factor.n_unknowns, 3))
    ordered = np.empty_like(right)
    ordered[factor.order] = right
    factor.substitute(ordered)
    assert np.array_equal(ordered[factor.order], factor.solve(right))


@pytest.mark.parametrize("matrix", [np.zeros((3, 3)), np.ones((3, 3)), np.diag([1.0, -1.0, 1.0])])
def test_refuses_what_is_not_positive(matrix: np.ndarray) -> None:
    with pytest.raises(GeometryError):
        SymmetricFactor.of(csc_array(matrix))
