"""The run time: the same matrices as all frames at once, from the keys of active bones alone."""

from __future__ import annotations

import numpy as np
import pytest

from osteon.core.transforms import quaternions_from_matrices, slerp
from osteon.lod.bone_order import pose_at_count
from osteon.lod.level_player import LevelPlayer, LocalKeys, local_keys, plan_level
from osteon.lod.search.fit_orders import fit_orders
from osteon.lod.search.skin_motion import read_skin_motion
from osteon_bench.subjects import JointedOptions, make_jointed
from tests.lod_rigs import two_clips, with_unused
from tests.scaled_models import scaled_model, with_tree


def played(model, count: float, frames, *, clip: int = 0, screws: bool = False):
    order, run = fit_orders(read_skin_motion(model))[clip], model.clips[clip]
    keys = local_keys(model, order, run.start, run.stop)
    return order, LevelPlayer(keys, order, plan_level(order, count), screws=screws).prepare(frames)


MODELS = {
    "rigid": lambda: make_jointed(1),
    "unused": lambda: with_unused(make_jointed(1)),
    "scaled": lambda: with_tree(scaled_model()),
    "no skeleton": lambda: make_jointed(1).with_character(skeleton=None),
    "second clip": lambda: two_clips(make_jointed(1), make_jointed(1, JointedOptions(swing=1.0))),
}


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("count", [0, 1, 2.5, 4, 5.75])
def test_frames_are_those_of_all_at_once(name, count):
    model = MODELS[name]()
    clip = len(model.clips) - 1
    run = model.clips[clip]
    order, matrices = played(model, count, np.arange(run.n_frames), clip=clip)
    expected = pose_at_count(order, model.animation.transforms[run.start : run.stop], count)
    np.testing.assert_allclose(matrices, expected, atol=3e-6 * max(1, np.abs(expected).max()))


def test_all_bones_are_the_input_exactly():
    model = make_jointed(2)
    _, matrices = played(model, model.n_bones, np.arange(model.n_frames))
    np.testing.assert_allclose(matrices, model.animation.transforms, rtol=0, atol=1e-15)


def test_between_frames_bones_turn_along_the_arc():
    model = make_jointed(3, JointedOptions(joints=2, swing=1.5))
    order, matrices = played(model, 2, [3.25])
    root = order.order[0]
    exact = model.animation.transforms[[3, 4], root, :, :3].astype(np.float64)
    turns = quaternions_from_matrices(exact)
    middle = slerp(turns[:1], turns[1:], np.array([0.25]))[0]
    found = quaternions_from_matrices(matrices[0, root, :, :3].astype(np.float64))
    assert abs(found @ middle) == pytest.approx(1, abs=1e-9)


def test_frames_beyond_the_ends_are_the_ends():
    model = make_jointed(4)
    _, matrices = played(model, 3, [-5.0, 0.0, model.n_frames - 1.0, 99.0])
    np.testing.assert_array_equal(matrices[0], matrices[1])
    np.testing.assert_array_equal(matrices[2], matrices[3])


def test_only_active_bones_are_looked_at():
    model = make_jointed(5)
    order = fit_orders(read_skin_motion(model))[0]
    keys = local_keys(model, order, 0, model.n_frames)
    unread = [np.array(a) for a in (keys.rotations, keys.translations, keys.stretches)]
    for array in unread:
        array[:, 3:] = np.nan
    plan = plan_level(order, 3)
    blind = LocalKeys(*unread, keys.parents, keys.joint_from_rest)
    expected = LevelPlayer(keys, order, plan).prepare([1.5]).copy()
    np.testing.assert_array_equal(LevelPlayer(blind, order, plan).prepare([1.5]), expected)
    assert plan.n_computed == 3
    assert plan_level(order, 3.5).n_computed == 4


def test_a_player_is_used_again_with_fewer_and_more_characters():
    model = make_jointed(6)
    order = fit_orders(read_skin_motion(model))[0]
    player = LevelPlayer(local_keys(model, order, 0, model.n_frames), order, plan_level(order, 3))
    frames = np.linspace(0, model.n_frames - 1, 70)
    many = player.prepare(frames).copy()
    np.testing.assert_array_equal(player.prepare(frames[:2]), many[:2])
    np.testing.assert_array_equal(player.prepare(frames), many)


def test_screws_stay_rigid_while_they_fade():
    model = make_jointed(7)
    frames = np.arange(model.n_frames)
    order, matrices = played(model, 2.5, frames, screws=True)
    linear = matrices[..., :3].astype(np.float64)
    off = np.swapaxes(linear, -1, -2) @ linear - np.eye(3)
    assert np.abs(off).max() < 1e-5
    expected = pose_at_count(order, model.animation.transforms, 2.5, screws=True)
    np.testing.assert_allclose(matrices, expected, atol=1e-5)


def test_one_frame_and_one_bone():
    model = make_jointed(8, JointedOptions(joints=1, frames=1))
    _, matrices = played(model, 1, [0.0, 0.7])
    np.testing.assert_allclose(matrices, np.repeat(model.animation.transforms, 2, axis=0), atol=1e-15)
