"""Multi-Weight by hand, and what its reference bones are for."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from osteon.core.errors import GeometryError
from osteon.core.transforms import apply, compose, identity, invert
from osteon.deform.linear_blend import LinearBlend
from osteon.deform.multi_weight import DIAGONAL, WORLD, MultiWeight
from osteon.deform.pose import blends_of, pose_points

from ...contract.families import multi_weight


def family() -> tuple[MultiWeight, np.ndarray, np.ndarray]:
    model = multi_weight()
    assert isinstance(model.deformer, MultiWeight)
    return model.deformer, model.rest.astype(np.float64), model.track.transforms.astype(np.float64)


def test_entries_are_weighed_in_the_frame_of_the_reference_bone() -> None:
    deformer, _, transforms = family()
    blends = blends_of(deformer, transforms[4])
    for v in (0, 17, 101):
        r, frames = deformer.reference[v], deformer.frames.astype(np.float64)
        placed = compose(transforms[4, r], frames[r])
        seen = compose(compose(invert(placed), transforms[4, deformer.bones[v]]), frames[r])
        total = (deformer.weights[v].reshape(-1, 3, 4) * seen).sum(axis=0)
        assert blends[v] == pytest.approx(compose(compose(placed, total), invert(frames[r])), abs=1e-9)


def test_world_axes_are_what_the_paper_prints() -> None:
    deformer, rest, transforms = family()
    printed = replace(deformer, reference=np.full(len(rest), WORLD))
    weights = deformer.weights.reshape(*deformer.bones.shape, 3, 4).astype(np.float64)
    expected = np.einsum("vkij,fvkij,vj->fvi", weights, transforms[:, deformer.bones], np.insert(rest, 3, 1, axis=1))
    posed = pose_points(printed, rest[None], transforms)
    assert np.abs(posed - expected).max() <= 1e-5


def turned(transforms: np.ndarray, place: np.ndarray) -> np.ndarray:
    return compose(compose(place, transforms), invert(place))


def test_only_world_axes_depend_on_how_the_scene_lies() -> None:
    deformer, rest, transforms = family()
    place = np.concatenate([Rotation.from_euler("xyz", [0.5, 1, 2]).as_matrix(), [[1.0], [2.0], [-1.0]]], axis=1)
    for reference, moves_along in ((deformer.reference, True), (np.full(len(rest), WORLD), False)):
        one = replace(deformer, reference=reference)
        expected = apply(place, pose_points(one, rest[None], transforms))
        found = pose_points(one.placed(place), apply(place, rest)[None], turned(transforms, place))
        off = np.abs(found - expected).max()
        assert off <= 1e-5 if moves_along else off > 0.01


def test_which_way_an_axis_points_does_not_matter() -> None:
    deformer, _, transforms = family()
    frames = deformer.frames * np.array([-1, 1, 1, 1], np.float32)
    mirrored = replace(deformer, frames=frames)
    assert blends_of(mirrored, transforms[2]) == pytest.approx(blends_of(deformer, transforms[2]), abs=1e-9)


def test_twelve_equal_weights_are_linear_blending() -> None:
    model = multi_weight()
    skin, transforms = model.character.fallback, model.track.transforms[3].astype(np.float64)
    found = blends_of(MultiWeight.from_skin(skin), transforms)
    assert found == pytest.approx(blends_of(LinearBlend(skin), transforms), abs=1e-5)


def test_what_does_not_fit_is_refused() -> None:
    weights = np.ones((1, 1, 12), np.float32)
    with pytest.raises(GeometryError, match="frames: expected rotations"):
        MultiWeight([[0]], weights, [0], 2 * identity(1))
    with pytest.raises(GeometryError, match="reference"):
        MultiWeight([[0]], weights, [1], identity(1))
    weights[0, 0, DIAGONAL[1]] = 0.5
    MultiWeight([[0]], weights, [WORLD], identity(1))  # world axes have no constraint
    with pytest.raises(GeometryError, match=r"weights: vertex 0 sums to 0\.5"):
        MultiWeight([[0]], weights, [0], identity(1))
