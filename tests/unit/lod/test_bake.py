"""Levels as models of their own: fewer joints, and what they play is the level."""

from __future__ import annotations

import numpy as np
import pytest

from osteon.core.character import Skin
from osteon.deform.dual_quaternion import DualQuaternion
from osteon.deform.pose import displaced_rest, pose_frames, pose_points
from osteon.lod import bake
from osteon.lod.bake import bake_level
from osteon.lod.bone_order import pose_at_count
from osteon.lod.fit_progressive import fit_progressive
from osteon_bench.subjects import JointedOptions, make_jointed
from tests.tolerance import assert_same_points
from tests.unit.lod.test_fit_progressive import ODD, _with_corrections


def level_frames(model, order, bones):
    """(f,v,3) the level itself, every bone where it follows to."""
    used = pose_at_count(order, model.animation.transforms, bones)
    return pose_points(model.deformer, displaced_rest(model, 0, model.n_frames), used)


def rms(one, other):
    return float(np.sqrt(((one.astype(np.float64) - other) ** 2).sum(axis=-1).mean()))


@pytest.mark.parametrize("name", ODD)
def test_odd_characters_at_all_their_bones(name):
    model = ODD[name]()
    order = fit_progressive(model).skin.all_clips
    baked = bake_level(model, order, order.n_ordered)
    assert_same_points(pose_frames(baked), pose_frames(model))
    assert baked.n_bones == len(np.unique(model.skin.bones[model.skin.weights != 0]))
    assert baked.clips == model.clips


@pytest.mark.parametrize("name", ODD)
def test_odd_characters_at_half_their_bones(name):
    model = ODD[name]()
    order = fit_progressive(model).skin.all_clips
    bones = order.count_for_share(0.5)
    baked, source = bake_level(model, order, bones), pose_frames(model)
    assert baked.n_bones <= bones + 1
    assert set(baked.track.names) - {"still"} <= set(model.track.names)
    level = level_frames(model, order, bones)
    assert rms(pose_frames(baked), source) <= 1.3 * rms(level, source) + 2e-3 * model.diagonal


def test_what_hangs_on_one_leader_is_exact():
    """Bones that follow by a constant need no joint, wherever their offset puts them."""
    model = make_jointed(3, JointedOptions(joints=5, influences=1))
    order = fit_progressive(model).skin.all_clips
    for bones in range(1, 5):
        baked = bake_level(model, order, bones)
        assert_same_points(pose_frames(baked), level_frames(model, order, bones), 2e-6)


def test_joints_keep_their_names_and_their_tree():
    model = make_jointed(1, JointedOptions(joints=6, influences=2))
    order = fit_progressive(model).skin.all_clips
    baked = bake_level(model, order, 3)
    kept = [name for name in baked.skeleton.names if name != "still"]
    assert kept == [name for name in model.skeleton.names if name in kept]
    for name, above in zip(baked.skeleton.names, baked.skeleton.parents, strict=True):
        if above >= 0:
            here = model.skeleton.names.index(name)
            while model.skeleton.parents[here] >= 0:
                here = model.skeleton.parents[here]
                if model.skeleton.names[here] in kept:
                    break
            assert baked.skeleton.names[above] == model.skeleton.names[here]


def test_fewer_blends_are_baked_too():
    model = make_jointed(1, JointedOptions(joints=6, influences=3))
    found = fit_progressive(model).skin
    skin = Skin(found.blends.bones, found.blends.weights(1))
    baked = bake_level(model, found.all_clips, 6, skin)
    assert baked.skin.n_influences == 1
    posed = pose_points(type(model.deformer)(skin), model.rest[None].astype(np.float64), model.animation.transforms)
    assert_same_points(pose_frames(baked), posed, 2e-6)


def test_corrections_turn_with_the_bind_pose():
    model = _with_corrections(make_jointed(1, JointedOptions(joints=6, influences=1)))
    order = fit_progressive(model).skin.all_clips
    baked = bake_level(model, order, 3)
    assert baked.rank == model.rank
    assert_same_points(pose_frames(baked), level_frames(model, order, 3), 2e-6)


def test_dual_quaternions_stay_such():
    plain = make_jointed(2, JointedOptions(joints=6))
    model = plain.with_character(deformer=DualQuaternion(plain.skin), fallback=plain.skin)
    order = fit_progressive(model).skin.all_clips
    baked = bake_level(model, order, 4)
    assert baked.deformer.kind == "dual_quaternion"
    assert baked.character.fallback is not None
    source = pose_frames(model)
    level = level_frames(model, order, 4)
    assert rms(pose_frames(baked), source) <= 1.3 * rms(level, source) + 2e-3 * model.diagonal


def test_the_rest_pose_is_fitted(monkeypatch):
    """The fitted rest pose plays the level more closely than the blended one, at which a large weight holds it."""
    model = make_jointed(1, JointedOptions(joints=6, influences=3))
    order = fit_progressive(model).skin.all_clips
    fitted = [bake_level(model, order, bones) for bones in (2, 3, 4)]
    monkeypatch.setattr(bake, "HELD", 1e9)
    for bones, found in zip((2, 3, 4), fitted, strict=True):
        level, blended = level_frames(model, order, bones), bake_level(model, order, bones)
        assert rms(pose_frames(found), level) < 0.8 * rms(pose_frames(blended), level)


def test_positions_are_the_same_kept_or_not(monkeypatch):
    """Of large models they are computed once per pass."""
    model = make_jointed(3, JointedOptions(joints=5, frames=40))
    order = fit_progressive(model).skin.all_clips
    kept = bake_level(model, order, 3)
    monkeypatch.setattr("osteon.lod.bake.KEPT", 0)
    assert np.array_equal(bake_level(model, order, 3).rest, kept.rest)
