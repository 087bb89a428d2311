"""Defaults that clips share go into the bind pose; what a clip needs for itself stays its own."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from osteon.core.animation import Clip
from osteon.lod.bone_order import pose_at_count
from osteon.lod.fit_progressive import fit_progressive
from osteon.lod.progressive_skin import offsets_in_pose
from osteon.lod.search.fit_orders import fit_orders
from osteon.lod.search.skin_motion import read_skin_motion
from osteon_bench.subjects import JointedOptions, make_jointed
from tests.lod_rigs import direct_error, two_clips


def three_clips():
    """One clip twice, and one of another motion."""
    options = JointedOptions(joints=6)
    first, other = make_jointed(1, options), make_jointed(1, replace(options, swing=1.4))
    model = two_clips(first, other)
    transforms = np.concatenate([model.animation.transforms, first.animation.transforms])
    n = first.n_frames
    clips = (Clip("one", 0, n), Clip("two", n, 2 * n), Clip("again", 2 * n, 3 * n))
    return model.with_animation(track=replace(model.track, transforms=transforms), clips=clips)


def test_a_single_clip_shares_all_with_itself():
    skin = fit_progressive(make_jointed(2)).skin
    assert skin.bind_pose.shared.any(axis=0).all()
    np.testing.assert_allclose(skin.bind_pose.offsets(skin.orders[0].parents), skin.orders[0].offsets, atol=1e-5)


def test_equal_clips_share_and_another_does_not_have_to():
    skin = fit_progressive(three_clips()).skin
    shared = skin.bind_pose.shared
    assert shared[[0, 2]].all()
    assert shared.sum() < shared.size


def test_shared_defaults_raise_the_error_by_little_and_say_so():
    model = three_clips()
    before = fit_orders(read_skin_motion(model))
    skin = fit_progressive(model).skin
    for order, old, run in zip(skin.orders, before, model.clips, strict=False):
        assert (order.errors[1:] <= 1.02 * old.errors[1:] + 1e-7 * old.base).all()
        exact = model.animation.transforms[run.start : run.stop]
        error = direct_error(model, pose_at_count(order, exact, 3), run.start)
        np.testing.assert_allclose(error, order.errors[order.active_counts[3]], rtol=1e-9, atol=1e-10 * order.base)


def test_offsets_of_a_pose_lead_back_to_it():
    order = fit_progressive(make_jointed(3)).skin.orders[0]
    pose = order.default_pose()
    np.testing.assert_allclose(offsets_in_pose(pose, order.parents), order.offsets, atol=1e-5)
