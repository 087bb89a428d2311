from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from osteon.core.errors import OptionError
from osteon.core.topology import vertex_graph
from osteon.fit.moments import squared_errors
from osteon.fit.skin.influences import Influences, select_influences
from osteon.synth.baked import RandomOptions, bake_random_model

from ....subjects import dense, direct_errors, random_problem

ROOT = Path(__file__).resolve().parents[3]
SIZES = [(1, 1), (5, 1), (5, 4), (3, 8), (12, 4), (12, 8)]  # bones, influences


@pytest.mark.parametrize("thorough", [False, True])
@pytest.mark.parametrize(("n_bones", "n_influences"), [*SIZES, (30, 8)])
@pytest.mark.parametrize("noise", [0.0, 0.02, 0.3])
def test_weights_are_a_blend_of_at_most_k_bones(n_bones, n_influences, noise, thorough):
    problem, transforms = random_problem(n_bones=n_bones, noise=noise)
    found = select_influences(problem, transforms, n_influences, thorough=thorough)
    bones, weights, errors = found.bones, found.weights, found.errors
    assert bones.shape == weights.shape == (60, min(n_influences, n_bones))
    assert (weights >= 0).all()
    np.testing.assert_allclose(weights.sum(axis=1), 1, atol=1e-12)
    assert (np.diff(weights, axis=1) <= 0).all()  # largest first
    assert (errors >= 0).all()
    for row, weight in zip(bones, weights, strict=True):
        assert len(set(row[weight > 0])) == (weight > 0).sum()  # no bone twice
        assert (row[weight == 0] == row[0]).all()


@pytest.mark.parametrize("thorough", [False, True])
@pytest.mark.parametrize(("n_bones", "n_influences"), SIZES)
def test_never_worse_than_the_best_single_bone(n_bones, n_influences, thorough):
    problem, transforms = random_problem(n_bones=n_bones, noise=0.1)
    single = squared_errors(problem, transforms, 1).min(axis=1)
    errors = select_influences(problem, transforms, n_influences, thorough=thorough).errors
    assert (errors <= single * (1 + 1e-9)).all()
    if n_influences == 1:
        np.testing.assert_allclose(errors, single, rtol=1e-9)


def test_more_influences_help():
    problem, transforms = random_problem(n_bones=8, noise=0.1)
    sums = [select_influences(problem, transforms, k).errors.sum() for k in range(1, 9)]
    assert all(after <= before * (1 + 1e-9) for before, after in pairwise(sums))


def test_errors_are_those_of_the_posed_vertices():
    problem, transforms = random_problem(noise=0.05)
    found = select_influences(problem, transforms, 4)
    np.testing.assert_allclose(found.errors, direct_errors(problem, transforms, found), rtol=1e-6)


@pytest.mark.parametrize(("n_bones", "n_influences"), [(5, 3), (12, 4)])
def test_a_warm_start_is_never_worse(n_bones, n_influences):
    problem, transforms = random_problem(n_bones=n_bones, noise=0.1)
    rng = np.random.default_rng(1)
    bones = np.argsort(rng.random((60, n_bones)), axis=1)[:, :n_influences]
    weights = rng.dirichlet(np.ones(n_influences), 60)
    weights[:10, 1:], weights[:10, 0] = 0, 1  # some use one bone only
    earlier = Influences(bones, weights, weights[:, 0])
    earlier = replace(earlier, errors=direct_errors(problem, transforms, earlier))
    again = select_influences(problem, transforms, n_influences, earlier=earlier)
    assert (again.errors <= earlier.errors * (1 + 1e-9)).all()
    settled = select_influences(problem, transforms, n_influences, earlier=again)
    assert (settled.errors <= again.errors * (1 + 1e-9)).all()
    assert np.array_equal(earlier.bones, bones)  # what was given is left as it was


@pytest.mark.parametrize(
    "call", ["select_influences(p, T, 4, earlier=few)", "select_influences(p, T, 4, strength=1.0)"]
)
def test_arguments_that_do_not_fit_are_refused_or_used(call):
    """Earlier influences of two slots for four; a strength towards nothing. In another process: kernels trust sizes."""
    code = f"""
import sys; sys.path.insert(0, {str(ROOT)!r})
from osteon.core.errors import OsteonError
from osteon.fit.skin.influences import select_influences
from tests.subjects import random_problem
p, T = random_problem(n_bones=8, noise=0.1)
few = select_influences(p, T, 2)
try:
    found = {call}
except OsteonError:
    sys.exit()
assert found.bones.shape == found.weights.shape == (60, 4) and abs(found.weights.sum(axis=1) - 1).max() < 1e-9
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-500:]


def test_a_warm_start_finds_the_bones_it_needs():
    problem, transforms = random_problem(noise=0.0)
    cold = select_influences(problem, transforms, 3)
    lost = Influences(np.full((60, 3), 4), np.tile([1.0, 0.0, 0.0], (60, 1)), np.full(60, np.inf))
    warm = select_influences(problem, transforms, 3, earlier=lost)
    assert warm.errors.sum() < 1e-3 * squared_errors(problem, transforms, 1)[:, 4].sum()
    assert cold.errors.sum() < 1e-3 * squared_errors(problem, transforms, 1)[:, 4].sum()


def test_pull_draws_weights_together():
    sequence = bake_random_model(0, options=RandomOptions(6, 8, 300)).sequence
    problem, transforms = random_problem(300, 6, noise=0.1)
    graph = vertex_graph(sequence.faces, 300)
    mean = graph / graph.sum(axis=1)[:, None]
    edges = np.concatenate([sequence.faces[:, [0, 1]], sequence.faces[:, [1, 2]]])
    free = select_influences(problem, transforms, 4)
    rough, costs = [], []
    for strength in (0.0, 0.3, 3.0):
        wanted = mean @ dense(free, 6)
        found = select_influences(problem, transforms, 4, earlier=free, strength=strength, wanted=wanted)
        weights = dense(found, 6)
        rough.append(np.abs(weights[edges[:, 0]] - weights[edges[:, 1]]).sum())
        costs.append(direct_errors(problem, transforms, found).sum())
        np.testing.assert_allclose(weights.sum(axis=1), 1)
        assert (weights >= 0).all()
        np.testing.assert_allclose(
            found.errors, direct_errors(problem, transforms, found), rtol=1e-5
        )  # of positions alone
    assert rough[0] > rough[1] > rough[2]
    assert costs[0] <= costs[1] <= costs[2]


def test_pull_minimises_error_and_distance_from_what_is_wanted():
    """With all bones allowed the optimum is unique: no other weights near it are better."""
    problem, transforms = random_problem(n_bones=4, noise=0.1)
    rng = np.random.default_rng(2)
    wanted, strength = rng.dirichlet(np.ones(4), 60), 0.5

    def objective(weights: np.ndarray) -> np.ndarray:
        bones = np.tile(np.arange(4), (60, 1))
        errors = direct_errors(problem, transforms, Influences(bones, weights, weights))
        return errors + strength * ((weights - wanted) ** 2).sum(1)

    best = dense(select_influences(problem, transforms, 4, strength=strength, wanted=wanted), 4)
    for _ in range(50):
        other = 0.95 * best + 0.05 * rng.dirichlet(0.3 * np.ones(4), 60)
        assert (objective(other) >= objective(best) * (1 - 1e-3)).all()


def test_an_irresistible_pull_gives_what_is_wanted():
    problem, transforms = random_problem(n_bones=4)
    wanted = np.random.default_rng(0).dirichlet(np.ones(4), 60)
    found = select_influences(problem, transforms, 4, strength=1e9, wanted=wanted)
    np.testing.assert_allclose(dense(found, 4), wanted, atol=1e-2)


def test_bones_that_are_equal():
    problem, transforms = random_problem(n_bones=3)
    same = np.repeat(transforms[:, :1], 4, axis=1)
    found = select_influences(problem, same, 4)
    weights, errors = found.weights, found.errors
    assert (weights[:, 0] == 1).all()
    np.testing.assert_allclose(errors, squared_errors(problem, same, 1)[:, 0], rtol=1e-9)


def test_number_of_threads_does_not_matter():
    problem, transforms = random_problem(n_vertices=1500, n_bones=8, n_frames=4)
    one, two = (select_influences(problem, transforms, 4, threads=n) for n in (1, 2))
    assert all(np.array_equal(getattr(one, name), getattr(two, name)) for name in ("bones", "weights", "errors"))


@pytest.mark.parametrize("count", [0, 9])
def test_number_of_influences(count, refused):
    problem, transforms = random_problem()
    with refused(OptionError, "influences", count):
        select_influences(problem, transforms, count)
