from __future__ import annotations

import numpy as np
import pytest

from osteon.core.animation import BoneTrack
from osteon.core.character import Skin
from osteon.core.model import SkinnedModel
from osteon.core.transforms import identity, rotation_from_axis_angle
from osteon.deform.linear_blend import LinearBlend, linear_blend_model
from osteon.measure import distortion
from osteon.measure.distortion import measure_conditioning
from osteon.synth.baked import RandomOptions, bake_random_model


def singular_values(model: SkinnedModel) -> np.ndarray:
    """(f,v) smallest singular value of every blend."""
    blend = np.einsum("vb,fbij->fvij", model.skin.dense(model.n_bones), model.track.transforms[..., :3])
    return np.linalg.svd(blend, compute_uv=False)[..., 2]


@pytest.mark.parametrize("bone_type", ["rigid", "flexible"])
def test_against_the_svd_of_every_blend(bone_type):
    model = bake_random_model(2, options=RandomOptions(5, 9, 60, 3, bone_type)).model
    found, expected = measure_conditioning(model), singular_values(model)
    assert found.smallest == pytest.approx(expected.min(), rel=1e-5)
    assert found.first_percentile == pytest.approx(np.percentile(expected, 1), rel=1e-5)


def test_two_bones_half_a_turn_apart_cancel():
    transforms = identity(1, 2)
    transforms[0, 1, :, :3] = rotation_from_axis_angle(np.array([0.0, 0, 1]), np.pi)
    rest, faces = np.eye(3), np.array([[0, 1, 2]])
    skin = Skin(np.tile([0, 1], (3, 1)), np.tile([0.5, 0.5], (3, 1)))
    assert measure_conditioning(linear_blend_model(rest, faces, skin, BoneTrack(transforms))).smallest < 1e-6


@pytest.mark.parametrize("most", [50, 97, 250])
def test_a_sample_reaches_all_parts_of_the_model(monkeypatch, most):
    """Of 540 blends, a few are looked at; a bad frame and a bad region are still seen."""
    model = bake_random_model(2, options=RandomOptions(5, 9, 60, 3)).model
    monkeypatch.setattr(distortion, "MAX_PAIRS", most)
    assert measure_conditioning(model).smallest >= singular_values(model).min() * (1 - 1e-5)
    frame, region = model.track.transforms.copy(), model.skin.bones.copy()
    frame[4, :, 2] = 0
    assert measure_conditioning(model.with_animation(track=BoneTrack(frame))).smallest < 1e-6
    region[20:40] = 0
    flat = model.track.transforms.copy()
    flat[:, 0, 2] = 0
    skin = Skin(region, model.skin.weights)
    assert (
        measure_conditioning(
            model.with_character(deformer=LinearBlend(skin)).with_animation(track=BoneTrack(flat))
        ).smallest
        < 1e-6
    )
