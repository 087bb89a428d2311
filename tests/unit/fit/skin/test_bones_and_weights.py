from __future__ import annotations

import numpy as np
import pytest

from osteon.core.animation import BoneTrack
from osteon.core.character import Skin
from osteon.core.errors import GeometryError
from osteon.core.options import change_options
from osteon.core.sequence import MeshSequence
from osteon.core.skin_options import SkinOptions
from osteon.core.transforms import identity
from osteon.deform.linear_blend import LinearBlend
from osteon.fit.skin.bones import fit_bones
from osteon.fit.skin.weights import fit_weights
from osteon.synth.baked import Baked, RandomOptions, bake_random_model, bake_shells

from ....subjects import bent_tube, dense
from ....tolerance import assert_near, assert_plays

RANDOM = [(seed, bone_type) for seed in range(4) for bone_type in ("rigid", "flexible")]


def random_subject(seed: int, bone_type: str) -> Baked:
    return bake_random_model(seed, options=RandomOptions(8, 16, 300, 4, bone_type))


@pytest.mark.parametrize(("seed", "bone_type"), RANDOM)
def test_weights_of_known_bones_are_recovered(seed, bone_type):
    baked = random_subject(seed, bone_type)
    skin = fit_weights(baked.sequence, baked.model.track, options=SkinOptions(bone_type=bone_type))
    assert_plays(baked.model.with_character(deformer=LinearBlend(skin)), baked.sequence)
    np.testing.assert_allclose(dense(skin, 8), baked.model.skin.dense(8), atol=1e-2)


@pytest.mark.parametrize("make", [bent_tube, bake_shells])
def test_weights_of_articulated_subjects(make):
    """Where a vertex lies on the axis of a joint its weights are free; where it goes is not."""
    baked = make()
    skin = fit_weights(baked.sequence, baked.model.track)
    assert_plays(baked.model.with_character(deformer=LinearBlend(skin)), baked.sequence)


@pytest.mark.parametrize("weights", ["nnls", "tsvd", "bounded"])
def test_weights_by_the_paper(weights):
    baked = bake_random_model(0, options=RandomOptions(4, 16, 200, 4))
    options = change_options(SkinOptions(), preset="paper", weights=weights, delta=0.1)
    skin = fit_weights(baked.sequence, baked.model.track, options=options)
    assert_plays(baked.model.with_character(deformer=LinearBlend(skin)), baked.sequence)


def test_weights_keep_their_limits():
    baked = random_subject(1, "rigid")
    skin = fit_weights(baked.sequence, baked.model.track, options=SkinOptions(influences=2))
    assert skin.n_influences == 2
    assert skin.weights.min() >= 0
    np.testing.assert_allclose(skin.weights.sum(axis=1), 1, atol=1e-6)


def test_vertices_that_coincide_get_equal_weights():
    baked = random_subject(0, "rigid")
    source = baked.sequence
    twice = np.concatenate([np.arange(300), np.arange(40)])
    sequence = MeshSequence(source.frames[:, twice], source.faces, source.rest[twice])
    skin = fit_weights(sequence, baked.model.track)
    assert np.array_equal(skin.weights[300:], skin.weights[:40])
    assert np.array_equal(skin.bones[300:], skin.bones[:40])


@pytest.mark.parametrize(("seed", "bone_type"), RANDOM)
def test_bones_of_known_weights_are_recovered(seed, bone_type):
    baked = random_subject(seed, bone_type)
    track = fit_bones(
        baked.sequence, baked.model.skin, options=change_options(SkinOptions(), bone_type=bone_type, stiffness=1e-9)
    )
    assert track.bone_type == bone_type
    assert_plays(baked.model.with_animation(track=track), baked.sequence)
    assert_near(track.transforms, baked.model.track.transforms, 1e-3)


def test_bones_nobody_uses_stand_still():
    baked = bent_tube()
    skin = Skin(baked.model.skin.bones * 2, baked.model.skin.weights)  # bones 0 and 2
    track = fit_bones(baked.sequence, skin, options=SkinOptions(bone_type="rigid"))
    assert track.n_bones == 3
    assert np.isfinite(track.transforms).all()


def test_what_was_given_must_fit_the_sequence(refused):
    baked = bent_tube()
    with refused(GeometryError, "track", "3 frames", "8"):
        fit_weights(baked.sequence, BoneTrack(identity(3, 2)))
    with refused(GeometryError, "skin", "2 rows"):
        fit_bones(baked.sequence, Skin(np.zeros((2, 1), int), np.ones((2, 1))))


def test_no_bones_at_all(refused):
    with refused(GeometryError, "track"):
        fit_weights(bent_tube().sequence, BoneTrack(identity(8, 0)))
