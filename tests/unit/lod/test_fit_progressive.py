"""Whole characters, however odd: every one has levels, from one bone to all, and plays as it did at the last."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from osteon.core.animation import BoneTrack
from osteon.core.character import Corrections
from osteon.core.model import SkinnedModel
from osteon.deform.pose import pose_frames
from osteon.lod.fit_progressive import fit_progressive
from osteon.lod.model_levels import model_at_level
from osteon.lod.progressive_skin import LevelPoint
from osteon.lod.search.level_errors import fit_curve, vertex_operations
from osteon.synth.baked import RandomOptions, bake_random_model
from osteon_bench.subjects import JointedOptions, make_jointed
from tests.lod_rigs import two_clips, with_doubles, with_unused
from tests.scaled_models import scaled_model, with_tree


def scaled_rig() -> SkinnedModel:
    """A body stored a hundred times larger than it plays."""
    plain = make_jointed(1)
    transforms = plain.animation.transforms.copy()
    transforms[..., :3] *= np.float32(0.01)
    return (
        plain.with_mesh(rest=100 * plain.rest)
        .with_character(skeleton=None)
        .with_animation(track=BoneTrack(transforms, "rigid", plain.track.names))
    )


def still() -> SkinnedModel:
    """A character without a clip: one frame."""
    plain = make_jointed(2)
    return plain.with_animation(track=replace(plain.track, transforms=plain.animation.transforms[3:4]), clips=())


def swollen() -> SkinnedModel:
    """Bones that turn and grow along the axes of the rest pose, each as it likes."""
    plain = make_jointed(3)
    grown = 1 + 0.3 * np.abs(np.sin(np.arange(plain.n_frames * plain.n_bones * 3))).reshape(
        plain.n_frames, plain.n_bones, 1, 3
    )
    transforms = plain.animation.transforms.copy()
    transforms[..., :3] *= grown
    return plain.with_animation(track=BoneTrack(transforms, "scaled", plain.track.names))


ODD: dict[str, Callable[[], SkinnedModel]] = {
    "one bone": lambda: make_jointed(1, JointedOptions(joints=1)),
    "two bones": lambda: make_jointed(1, JointedOptions(joints=2)),
    "scale animation": swollen,
    "scaled bones": lambda: with_tree(scaled_model()),
    "flexible bones": lambda: bake_random_model(1, options=RandomOptions(5, 8, 80, 3, "flexible")).model,
    "scale of 0.01": scaled_rig,
    "two binds of one joint": lambda: with_doubles(make_jointed(4)),
    "several roots": lambda: make_jointed(5, JointedOptions(roots=3)),
    "unused joints": lambda: with_unused(make_jointed(6)),
    "no clip": still,
    "no skeleton": lambda: make_jointed(7).with_character(skeleton=None),
    "six influences": lambda: make_jointed(8, JointedOptions(influences=6)),
    "one influence": lambda: make_jointed(9, JointedOptions(influences=1)),
    "two clips": lambda: two_clips(make_jointed(1), make_jointed(1, JointedOptions(swing=0.2))),
}


@pytest.mark.parametrize("name", ODD)
def test_odd_characters(name):
    model = ODD[name]()
    skin = fit_progressive(model).skin
    for number, (order, clip) in enumerate(zip(skin.orders, model.clips, strict=True)):
        assert order.clip == clip.name
        assert (np.diff(order.shares) <= 0).all()
        assert order.shares[-1] == 0
        assert skin.curves[number].at(0) == LevelPoint(1, 1)
        assert skin.curves[number].at(1) == LevelPoint(order.n_ordered, skin.blends.n_blends)
        whole = pose_frames(model, clip.start, clip.stop)
        np.testing.assert_allclose(
            pose_frames(model_at_level(model, skin, clip.name, 1.0)), whole, rtol=0, atol=1e-6 * model.diagonal
        )
        middle = pose_frames(model_at_level(model, skin, clip.name, 0.5))
        assert np.isfinite(middle).all()
        assert np.linalg.norm(middle - whole, axis=2).mean() <= 0.2 * model.diagonal


def test_a_still_character_needs_one_bone():
    skin = fit_progressive(still()).skin
    assert skin.orders[0].shares[1] <= 1e-9


def test_corrections_go_along():
    model = _with_corrections(make_jointed(1))
    skin = fit_progressive(model).skin
    np.testing.assert_array_equal(pose_frames(model_at_level(model, skin, "clip", 1.0)), pose_frames(model))
    assert model_at_level(model, skin, "clip", 0.4).rank == model.rank


def _with_corrections(model: SkinnedModel) -> SkinnedModel:
    rng = np.random.default_rng(0)
    basis = 0.02 * rng.normal(size=(2, model.n_vertices, 3)).astype(np.float32)
    return model.with_corrections(Corrections(basis, rng.normal(size=(model.n_frames, 2)).astype(np.float32)))


def test_reports_say_what_took_how_long():
    heard = []
    found = fit_progressive(make_jointed(1, JointedOptions(joints=4)), form="offset", progress=heard.append)
    assert [report.stage for report in found.reports] == ["blends", "bones", "curves"]
    assert found.skin.orders[0].form == "offset"
    assert {event.stage for event in heard} == {"blends", "bones", "curves"}


def test_a_curve_spends_on_what_helps_most():
    errors = np.array([[9.0, 9.0], [8.0, 7.9], [2.0, 1.5], [1.0, 0.0]])
    curve = fit_curve(errors, 1, lambda knots: np.array([0.1 * (n + k) for n, k in knots]))
    np.testing.assert_allclose(curve.reach, [0.1, 0.2, 0.3, 0.4])
    np.testing.assert_array_equal(curve.bones, [1, 2, 3, 3])
    np.testing.assert_array_equal(curve.blends, [1, 1, 1, 2])
    np.testing.assert_allclose(curve.levels, [0, 0.25, 0.5, 1])
    np.testing.assert_allclose(curve.rms, np.sqrt([8, 2, 1, 0]))


def test_a_curve_of_one_bone_and_one_blend():
    curve = fit_curve(np.zeros((2, 1)), 1, lambda knots: np.zeros(len(knots)))
    assert curve.at(0) == curve.at(1) == LevelPoint(1, 1)


def test_operations_of_the_paper():
    np.testing.assert_array_equal(vertex_operations(4), [20, 35, 43, 50])
    np.testing.assert_array_equal(vertex_operations(2), [20, 35])
    np.testing.assert_array_equal(vertex_operations(6), [20, 35, 43, 50, 57, 64])
