"""Animation Space by hand: sums of matrices and 4-vectors."""

from __future__ import annotations

import numpy as np
import pytest

from osteon.core.character import Skin
from osteon.core.errors import GeometryError
from osteon.deform.animation_space import AnimationSpace
from osteon.deform.linear_blend import LinearBlend
from osteon.deform.pose import blends_of, pose_points

from ...contract.families import animation_space


def test_a_vertex_is_the_sum_of_its_bones_places() -> None:
    model = animation_space()
    deformer, transforms = model.deformer, model.track.transforms.astype(np.float64)
    assert isinstance(deformer, AnimationSpace)
    q = np.zeros((*deformer.weights.shape, 4))
    q[..., :3] = deformer.weights[..., None] * model.rest[:, None].astype(np.float64) + deformer.offsets
    q[..., 3] = deformer.weights
    expected = np.einsum("fvkij,vkj->fvi", transforms[:, deformer.bones], q)
    posed = pose_points(deformer, model.rest.astype(np.float64)[None], transforms)
    assert np.abs(posed - expected).max() <= 1e-6 * model.diagonal


def test_without_offsets_it_is_linear_blending() -> None:
    model = animation_space()
    skin, transforms = model.character.fallback, model.track.transforms[3].astype(np.float64)
    assert isinstance(skin, Skin)
    assert np.allclose(
        blends_of(AnimationSpace.from_skin(skin), transforms), blends_of(LinearBlend(skin), transforms), atol=1e-12
    )


def test_weights_may_be_negative_and_belong_by_their_size() -> None:
    deformer = AnimationSpace([[0, 1]], [[1.5, -0.5]], np.zeros((1, 2, 3)))
    assert deformer.bone_weights().weights.tolist() == [[0.75, 0.25]]


@pytest.mark.parametrize(
    ("weights", "offset", "words"),
    [([[0.5, 0.6]], 0.0, "weights: vertex 0 sums to 1.1"), ([[0.5, 0.5]], 0.1, "offsets: vertex 0 sums to 0.1")],
)
def test_what_would_move_the_rest_pose_is_refused(weights: list, offset: float, words: str) -> None:
    offsets = np.zeros((1, 2, 3))
    offsets[0, 1, 2] = offset
    with pytest.raises(GeometryError, match=words):
        AnimationSpace([[0, 1]], weights, offsets)


@pytest.mark.parametrize(
    ("weights", "offset", "named"), [([0.5, 0.501], 0.0, "weights"), ([0.5, 0.5], 1e-3, "offsets")]
)
def test_sums_are_checked_to_rounding(weights: list[float], offset: float, named: str) -> None:
    bones, offsets = np.array([[0, 1]], np.int32), np.array([[[offset, 0, 0], [0, 0, 0]]], np.float32)
    with pytest.raises(GeometryError, match=f"{named}: vertex 0 sums to"):
        AnimationSpace(bones, np.array([weights], np.float32), offsets)
    AnimationSpace(bones, np.array([[1 / 3, 2 / 3]], np.float32), np.zeros((1, 2, 3), np.float32))


def test_free_sums_are_kept_in_files_and_by_vertices() -> None:
    free = AnimationSpace([[0, 1], [1, 0]], [[0.5, 0.7], [0.1, 0.1]], np.ones((2, 2, 3)), free=True)
    again = AnimationSpace.from_arrays(free.arrays())
    assert again.free
    assert again.take(np.array([1])).free
    assert "free" not in AnimationSpace([[0]], [[1.0]], np.zeros((1, 1, 3))).arrays()
    rows = blends_of(free, np.tile(np.eye(3, 4), (2, 1, 1)))
    assert np.allclose(rows[0], [[1.2, 0, 0, 2], [0, 1.2, 0, 2], [0, 0, 1.2, 2]])


def test_free_weights_may_all_be_zero() -> None:
    free = AnimationSpace([[0, 1]], [[0.0, 0.0]], np.ones((1, 2, 3)), free=True)
    assert free.bone_weights().weights.tolist() == [[0.5, 0.5]]
