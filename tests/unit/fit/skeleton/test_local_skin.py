"""Skins that are local on the surface: two legs that move alike stay two bones, and pieces become bones."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from osteon.core.sequence import MeshSequence
from osteon.fit.problem import pose_problem
from osteon.fit.skeleton.local_skin import OWNED, TOP, LocalFit, LocalSkin, ownership_costs
from osteon.fit.skeleton.surface_graph import surface_graph
from osteon.synth.shapes import make_tube

#: A trunk along x with its two ends bent in the same way about the same axis: both ends move alike.
N_FRAMES = 8


@pytest.fixture(scope="module")
def fit() -> LocalFit:
    tube = make_tube(10, 60, 0.1, 4.0)
    points = tube.vertices - tube.vertices.mean(axis=0)
    turns = Rotation.from_rotvec(np.linspace(0, 0.6, N_FRAMES)[:, None] * [1.0, 0, 0]).as_matrix()
    ends = (np.abs(points[:, 0]) > 1.2).astype(float)
    moved = ends[:, None] * (points @ np.swapaxes(turns, 1, 2)) + (1 - ends)[:, None] * points
    problem = pose_problem(MeshSequence(moved, tube.faces, points))
    return LocalFit(problem, surface_graph(problem, tube.faces), 4, 1)


def two_bones(fit: LocalFit) -> tuple[np.ndarray, np.ndarray]:
    """Both ends as one bone: labels and weights."""
    labels = (np.abs(fit.problem.points[:, 0]) > np.quantile(np.abs(fit.problem.points[:, 0]), 0.6)).astype(int)
    return labels, np.eye(2)[labels]


def test_a_weight_far_from_its_bone_costs(fit: LocalFit) -> None:
    _, weights = two_bones(fit)
    one_end = weights.copy()
    one_end[fit.problem.points[:, 0] < 0] = [1, 0]
    skin = fit.of_weights(one_end)
    far = fit.problem.points[:, 0] < -0.9 * fit.problem.points[:, 0].max()
    assert skin.dense()[far, 1].max() == 0  # the bone of the right end would move the left one too


def test_pieces_of_a_bone_become_bones(fit: LocalFit) -> None:
    _, weights = two_bones(fit)
    skin = fit.split_pieces(LocalSkin(fit.of_weights(weights).transforms, influences_of(weights)))
    assert skin.n_bones == 3
    left, right = fit.problem.points[:, 0] < 0, fit.problem.points[:, 0] > 0
    dense = fit.run(skin, 3).dense()
    ends = [b for b in range(3) if dense[left, b].sum() < 1e-6 or dense[right, b].sum() < 1e-6]
    assert len(ends) == 2


def test_rounds_lower_the_objective_for_fixed_cores(fit: LocalFit) -> None:
    _, weights = two_bones(fit)
    skin = fit.of_weights(weights)
    assert fit.error_percent(fit.run(skin, 3)) <= fit.error_percent(skin) * (1 + 1e-9)


def test_a_factor_of_the_costs(fit: LocalFit) -> None:
    _, weights = two_bones(fit)
    weak = LocalFit(fit.problem, fit.graph, 4, 1, strength=0.2)
    np.testing.assert_allclose(weak.costs(weights), 0.2 * fit.costs(weights))


def test_weights_are_copied_along_the_surface(fit: LocalFit) -> None:
    known = np.array([0, len(fit.problem.points) - 1])
    weights = np.zeros((len(fit.problem.points), 2))
    weights[known] = np.eye(2)
    spread = fit.spread(weights, known)
    order = np.argsort(fit.problem.points[:, 0])
    assert {tuple(row) for row in spread.tolist()} == {(1.0, 0.0), (0.0, 1.0)}
    assert (spread[order[:20]] == spread[order[0]]).all()
    assert (spread[order[-20:]] == spread[order[-1]]).all()


def influences_of(weights: np.ndarray):
    from osteon.fit.skin.influences import Influences

    bones = np.tile(np.arange(weights.shape[1]), (len(weights), 1))
    return Influences(bones, weights, np.zeros(len(weights)))


def test_weak_bones_own_their_strongest_vertices(fit: LocalFit) -> None:
    x = fit.problem.points[:, 0]
    end = np.clip((x - 0.5 * x.max()) / (0.5 * x.max()), 0, 1)
    for most, owned in ((0.4, True), (0.9, False)):
        weights = np.stack([1 - most * end, most * end], axis=1)
        costs = ownership_costs(fit.graph, weights, np.array([1]), N_FRAMES)
        assert (costs[:, 1] == 0).all()
        strongest = weights[:, 1] >= TOP * weights[:, 1].max()
        expected = N_FRAMES * (OWNED * fit.graph.diagonal) ** 2 if owned else 0.0
        np.testing.assert_allclose(costs[:, 0], np.where(strongest, expected, 0))
        assert not ownership_costs(fit.graph, weights, np.array([0]), N_FRAMES).any()
