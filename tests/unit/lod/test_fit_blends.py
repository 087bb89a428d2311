"""Fewer blends: weights that hand over, the order that loses least, and any number of slots."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest

from osteon.core.character import Skin
from osteon.lod.progressive_skin import BlendOrder, blend_shares
from osteon.lod.search.fit_blends import fit_blends
from osteon.lod.search.skin_motion import read_skin_motion
from osteon.synth.baked import RandomOptions, bake_random_model
from osteon_bench.subjects import JointedOptions, make_jointed
from tests.lod_rigs import direct_error


def blended(model, weights: np.ndarray, bones: np.ndarray) -> np.ndarray:
    """(v,) squared error of every vertex with these weights (v,k), all bones active."""
    points = np.concatenate([model.rest, np.ones((model.n_vertices, 1))], axis=1).astype(np.float64)
    each = np.einsum("fvkij,vj->fvki", model.animation.transforms[:, bones].astype(np.float64), points)
    return (np.einsum("vk,fvki->fvi", weights, each) ** 2).sum(axis=(0, 2))


def test_shares_by_hand():
    np.testing.assert_array_equal(blend_shares(np.array([0, 0, 1, 0]), 3)[3], [1, 0, 0, 0])
    np.testing.assert_array_equal(blend_shares(np.array([0, 0, 1, 0]), 2)[2], [0, 1, 0, 0])
    np.testing.assert_array_equal(blend_shares(np.array([0, 0, 1, 2]), 2)[3], [0, 1, 0, 0])
    np.testing.assert_array_equal(blend_shares(np.array([0, 0, 1, 2]), 1)[:, 0], [1, 1, 1, 1])
    np.testing.assert_array_equal(blend_shares(np.array([0, 0, 1, 2]), 4), np.eye(4))


def test_weights_move_straight_between_whole_numbers_and_always_sum_to_one():
    weights = np.array([[0.4, 0.3, 0.2, 0.1]], np.float32)
    order = BlendOrder(Skin([[0, 1, 2, 3]], weights), np.array([0, 0, 1, 0]), np.zeros(4))
    np.testing.assert_array_equal(order.weights(4), weights)
    np.testing.assert_allclose(order.weights(3), [[0.5, 0.3, 0.2, 0]])
    np.testing.assert_allclose(order.weights(2.5), [[0.5, 0.4, 0.1, 0]], atol=1e-7)
    np.testing.assert_allclose(order.weights(1), [[1, 0, 0, 0]])
    for blends in np.linspace(1, 4, 13):
        assert order.weights(float(blends)).sum() == pytest.approx(1, abs=1e-6)


def test_every_vertex_has_the_best_order_for_its_table():
    model = bake_random_model(1, options=RandomOptions(5, 6, 40, 4)).model
    order = fit_blends(read_skin_motion(model), model.skin)
    changes = np.stack([blend_shares(order.heirs, n) for n in (1, 2, 3)]) - np.eye(4)

    def losses(slots: np.ndarray) -> np.ndarray:
        held = np.take_along_axis(order.skin.weights.astype(np.float64), slots, axis=1)
        bones = np.take_along_axis(order.skin.bones, slots, axis=1)
        lost = sum(blended(model, held @ change, bones) for change in changes)
        return np.where((held[:, :-1] == 0).any(axis=1) & (held[:, -1] != 0), np.inf, lost)

    kept = losses(np.tile(np.arange(4), (40, 1)))
    best = np.min([losses(np.tile(p, (40, 1))) for p in permutations(range(4))], axis=0)
    np.testing.assert_allclose(kept, best, rtol=1e-6, atol=1e-9)


def test_errors_are_those_of_posed_vertices():
    model = make_jointed(2, JointedOptions(influences=4))
    order = fit_blends(read_skin_motion(model), model.skin)
    own = order.skin.weights.astype(np.float64)
    for blends in (1, 2, 3):
        lost = blended(model, own @ order.shares(blends) - own, order.skin.bones).sum()
        assert order.errors[blends - 1] == pytest.approx(lost, rel=1e-8)
    assert order.errors[3] == 0
    assert (np.diff(order.errors) <= 0).all()


def test_no_worse_than_keeping_the_largest():
    for seed in range(3):
        model = make_jointed(seed, JointedOptions(influences=4))
        order = fit_blends(read_skin_motion(model), model.skin)
        weights, lost = model.skin.weights.astype(np.float64), 0.0
        ranks = np.argsort(np.argsort(-weights, axis=1, kind="stable"), axis=1)
        for blends in (1, 2, 3):
            kept = np.where(ranks < blends, weights, 0)
            lost += blended(model, kept / kept.sum(axis=1, keepdims=True) - weights, model.skin.bones).sum()
        assert order.errors.sum() <= 1.01 * lost


@pytest.mark.parametrize("influences", [1, 2, 6, 8])
def test_any_number_of_influences(influences):
    model = make_jointed(3, JointedOptions(joints=8, influences=influences))
    order = fit_blends(read_skin_motion(model), model.skin)
    assert order.n_blends == influences
    assert (np.diff(order.errors) <= 1e-9).all()
    same = direct_error(model, model.animation.transforms.astype(np.float64), skin=order.skin)
    assert same <= 1e-20 * model.diagonal**2
    for blends in range(1, influences + 1):
        weights = order.weights(blends)
        assert (np.count_nonzero(weights, axis=1) <= blends).all()
        np.testing.assert_allclose(weights.sum(axis=1), 1, atol=1e-6)


def test_slots_without_weight_stay_last():
    model = make_jointed(4, JointedOptions(influences=4))
    bones, weights = model.skin.bones.copy(), model.skin.weights.copy()
    weights[::2] = [0.0, 0.75, 0.0, 0.25]
    order = fit_blends(read_skin_motion(model, Skin(bones, weights)), Skin(bones, weights))
    assert (order.skin.weights[::2, :2] > 0).all()
    assert (order.skin.weights[::2, 2:] == 0).all()
