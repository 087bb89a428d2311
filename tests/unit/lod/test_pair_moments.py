"""The error from moments is the error of posed vertices, to 1e-10."""

from __future__ import annotations

import numpy as np
import pytest

from osteon.core.character import Skin
from osteon.lod.bone_order import pose_at_count
from osteon.lod.search.fit_blends import fit_blends
from osteon.lod.search.fit_orders import fit_orders, runs_of
from osteon.lod.search.level_errors import blend_moments, level_errors
from osteon.lod.search.pair_moments import error_of_matrices, frame_factor, motion_grams, pair_moments
from osteon.lod.search.skin_motion import read_skin_motion
from osteon_bench.subjects import JointedOptions, make_jointed
from tests.lod_rigs import direct_error, two_clips


@pytest.mark.parametrize("seed", range(3))
def test_any_matrices(seed):
    motion = read_skin_motion(make_jointed(seed))
    pairs = pair_moments(motion.owners, motion.holds, motion.n_bones)
    differences = np.random.default_rng(seed).normal(size=motion.transforms.shape)
    moved = np.einsum("fvkij,vkj->fvi", differences[:, motion.owners], motion.holds)
    assert error_of_matrices(pairs, differences) == pytest.approx((moved**2).sum(), rel=1e-12)


def test_moments_leave_the_motion_as_it_is():
    motion = read_skin_motion(make_jointed(0))
    before = motion.holds.copy()
    first = pair_moments(motion.owners, motion.holds, motion.n_bones)
    np.testing.assert_array_equal(motion.holds, before)
    np.testing.assert_array_equal(pair_moments(motion.owners, motion.holds, motion.n_bones), first)


def test_grams_hold_products_of_all_frames():
    motion = read_skin_motion(make_jointed(1))
    grams, t = motion_grams(motion.transforms), motion.transforms
    np.testing.assert_allclose(grams[2, 5], np.einsum("fij,fik->jk", t[:, 2], t[:, 5]), atol=1e-12)
    np.testing.assert_allclose(grams[-1, 5, :3], t[:, 5].sum(axis=0), atol=1e-12)


def test_a_factor_has_the_same_products_in_fewer_frames():
    motion = read_skin_motion(make_jointed(1, JointedOptions(joints=4, frames=50)))
    factor = frame_factor(motion.transforms)
    assert len(factor) == 7  # 20 columns, three rows a frame
    rows = factor.transpose(0, 2, 1, 3).reshape(-1, 20)
    forms = motion_grams(motion.transforms).transpose(0, 2, 1, 3).reshape(20, 20)
    np.testing.assert_allclose(rows.T @ rows, forms, atol=1e-10)


def test_many_frames_agree_with_posed_vertices():
    model = make_jointed(3, JointedOptions(joints=5, frames=90))
    order = fit_orders(read_skin_motion(model))[0]
    for count in range(5):
        used = pose_at_count(order, model.animation.transforms, count)
        expected = direct_error(model, used)
        assert order.errors[order.active_counts[count]] == pytest.approx(expected, rel=1e-10, abs=1e-12 * order.base)


def test_every_level_of_every_clip_agrees_with_posed_vertices():
    model = two_clips(make_jointed(2, JointedOptions(influences=4)), make_jointed(2, JointedOptions(swing=0.2)))
    blends = fit_blends(read_skin_motion(model), model.skin)
    motion = read_skin_motion(model, blends.skin)
    moments = blend_moments(motion, blends)
    for order, run in zip(fit_orders(motion), runs_of(motion), strict=True):
        errors = level_errors(motion, moments, order, run)
        exact = model.animation.transforms[run.start : run.stop]
        for count in (1, 3, 6):
            used = pose_at_count(order, exact, count)
            alone = direct_error(model, used, run.start)
            assert order.errors[order.active_counts[count]] == pytest.approx(alone, rel=1e-10, abs=1e-10 * order.base)
            for k in (1, 2, 3):
                # weights as they are, before float32 rounds their sums
                weights = blends.skin.weights.astype(np.float64) @ blends.shares(k)
                both = _direct_with_weights(model, used, run.start, blends.skin, weights)
                assert errors[count, k - 1] == pytest.approx(both, rel=1e-9, abs=1e-10 * order.base)


def _direct_with_weights(model, used, start, skin: Skin, weights: np.ndarray) -> float:
    points = np.concatenate([model.rest, np.ones((model.n_vertices, 1))], axis=1).astype(np.float64)
    exact = model.animation.transforms[start : start + len(used)].astype(np.float64)
    own = skin.weights.astype(np.float64)
    moved = np.einsum("vk,fvkij->fvij", weights, used[:, skin.bones]) - np.einsum(
        "vk,fvkij->fvij", own, exact[:, skin.bones]
    )
    return float((np.einsum("fvij,vj->fvi", moved, points) ** 2).sum())
