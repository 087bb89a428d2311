"""Levels between whole numbers of bones: straight ways, no pops, and rigid bones where screws are blended."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from osteon.core.errors import OptionError
from osteon.deform.dual_quaternion import DualQuaternion
from osteon.deform.pose import pose_frames
from osteon.lod.bone_order import blend_screws_by, fade_of_count, pose_at_count
from osteon.lod.fit_progressive import fit_progressive
from osteon.lod.model_levels import model_at_level
from osteon.lod.progressive_skin import LevelPoint
from osteon_bench.subjects import JointedOptions, make_jointed
from tests.lod_rigs import direct_posed
from tests.posable import posable_model


@pytest.fixture(scope="module")
def fitted():
    model = make_jointed(1, JointedOptions(influences=4))
    return model, fit_progressive(model).skin


def largest_step(before: np.ndarray, after: np.ndarray) -> float:
    return float(np.linalg.norm(after - before, axis=-1).max())


def test_no_pop_as_bones_come_and_go(fitted):
    model, skin = fitted
    order, exact = skin.orders[0], model.animation.transforms.astype(np.float64)
    for count in range(order.n_ordered):
        ends = [direct_posed(model, pose_at_count(order, exact, n)) for n in (count, count + 1)]
        at = [
            direct_posed(model, pose_at_count(order, exact, count + u)) for u in (0.0, 0.01, 0.02, 0.5, 0.51, 0.99, 1.0)
        ]
        most = 0.01 * largest_step(*ends)
        for before, after in ((0, 1), (1, 2), (3, 4), (5, 6)):
            assert largest_step(at[before], at[after]) <= most * (1 + 1e-6) + 1e-12


def test_no_pop_as_blends_come_and_go(fitted):
    model, skin = fitted
    for blends in (1, 2, 3):
        posed = [
            pose_frames(model_at_level(model, skin, "clip", LevelPoint(model.n_bones, b))).astype(np.float64)
            for b in (blends, blends + 0.01, blends + 1)
        ]
        assert largest_step(posed[0], posed[1]) <= 0.01 * largest_step(posed[0], posed[2]) + 1e-6 * model.diagonal


def test_the_error_on_the_way_is_never_above_both_ends(fitted):
    model, skin = fitted
    order, exact = skin.orders[0], model.animation.transforms.astype(np.float64)
    true = direct_posed(model, exact)
    for count in range(1, order.n_ordered):
        errors = [
            ((direct_posed(model, pose_at_count(order, exact, count + u)) - true) ** 2).sum() for u in (0, 0.3, 0.7, 1)
        ]
        assert max(errors[1:3]) <= errors[0] * (1 + 1e-9) + 1e-12 * order.base


def test_the_whole_level_is_the_input_exactly(fitted):
    model, skin = fitted
    np.testing.assert_array_equal(pose_frames(model_at_level(model, skin, "clip", 1.0)), pose_frames(model))
    assert model_at_level(model, skin, "clip", 0.3).n_bones == model.n_bones


def test_bones_that_help_only_together_fade_together(fitted):
    _, skin = fitted
    order = skin.orders[0]
    errors = np.array(order.errors)
    errors[3] = 2 * errors[2]
    grouped = replace(order, errors=errors)
    assert fade_of_count(grouped, 3.0).low == 2
    assert fade_of_count(grouped, 2.7).part == 0
    fade = fade_of_count(grouped, 3.25)
    assert (fade.low, fade.high, fade.part) == (2, 4, 0.25)
    with pytest.raises(OptionError, match="bones: expected 0 … 8, got 9"):
        fade_of_count(grouped, 9)


def test_screws_between_two_motions_stay_rigid_and_meet_both():
    transforms = make_jointed(2).animation.transforms.astype(np.float64)
    first, second = transforms[3, :4], transforms[5, 4:]
    for part in (0.0, 0.3, 1.0):
        linear = blend_screws_by(first, second, part)[..., :3]
        np.testing.assert_allclose(np.swapaxes(linear, 1, 2) @ linear, np.broadcast_to(np.eye(3), (4, 3, 3)), atol=1e-6)
    np.testing.assert_allclose(blend_screws_by(first, second, 0.0), first, atol=1e-6)
    np.testing.assert_allclose(blend_screws_by(first, second, 1.0), second, atol=1e-6)


def test_dual_quaternions_play_every_level():
    model = posable_model(dual=True)
    skin = fit_progressive(model).skin
    np.testing.assert_array_equal(pose_frames(model_at_level(model, skin, "clip", 1.0)), pose_frames(model))
    exact, before = pose_frames(model).astype(np.float64), np.inf
    for level in np.linspace(0, 1, 6):
        at = model_at_level(model, skin, "clip", float(level))
        assert isinstance(at.deformer, DualQuaternion)
        error = float(((pose_frames(at) - exact) ** 2).sum())
        assert error <= before * 1.2
        before = error
