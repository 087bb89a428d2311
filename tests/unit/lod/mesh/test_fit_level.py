"""Fitting points to the source: what is cut off and what sticks out are balanced, and no step leads away."""

from __future__ import annotations

import numpy as np
import pytest

from osteon.core.character import Skin
from osteon.core.model import SkinnedModel
from osteon.deform.linear_blend import LinearBlend
from osteon.lod.mesh.fit_level import fit_level
from osteon.lod.mesh.level import LevelDraft
from osteon.lod.mesh.level_shape import SourceShape
from osteon.lod.mesh.poses import Poses
from osteon.lod.mesh.sequence import collapse_model
from osteon.measure.closest_point import SurfaceBoxes, closest_points
from osteon.synth.shapes import make_ball
from tests.small_meshes import OCTAHEDRON, bending, grid, start, still


def drafted(model: SkinnedModel, triangles: int) -> tuple[LevelDraft, SourceShape]:
    """A level that is cut and not fitted."""
    poses = Poses.of(model, np.arange(model.n_frames, dtype=np.int32))
    sequence = collapse_model(model, start(model).corners, poses, triangles)
    posed = poses.posed(model.deformer, model.character.displacements, model.rest)
    return LevelDraft(model, poses, sequence, sequence.steps_to(triangles)), SourceShape.of(posed, model.faces)


def ball(vertices: int = 80) -> tuple[list[list[float]], list[list[int]]]:
    shape = make_ball(vertices, 1.0)
    return shape.vertices.tolist(), shape.faces.tolist()


def test_a_ball_is_closer_afterwards():
    """Distances of all source vertices and of all points of the level, in every pose, by its own count."""
    draft, source = drafted(bending(ball()), 60)
    fitted = fit_level(draft.shape, source, draft.point_of_source)
    before, after = (both_ways(shape, source) for shape in (draft.shape, fitted))
    assert after < 0.85 * before


def both_ways(level, source) -> float:
    """Mean distance from vertices of the source to the level, and half as much from its points to the source."""
    total = 0.0
    for points, posed in zip(level.posed, source.posed, strict=True):
        there = closest_points(SurfaceBoxes.of(points, level.faces), posed).distances
        back = closest_points(SurfaceBoxes.of(posed, source.faces), points).distances
        total += float(there.mean() + 0.5 * back.mean())
    return total


def test_what_was_never_merged_stays():
    draft, source = drafted(bending(ball()), 100)
    fitted = fit_level(draft.shape, source, draft.point_of_source)
    fixed = ~draft.shape.free
    assert fixed.any()
    assert np.array_equal(fitted.places[fixed], draft.shape.places[fixed])
    assert np.array_equal(fitted.weights[fixed], draft.shape.weights[fixed])


def test_weights_stay_weights_and_find_what_moves_a_point():
    """Weights are spoiled before; those that are free come back towards what they were."""
    model = bending(ball())
    draft, source = drafted(model, 100)
    wrong = draft.shape.weights.copy()
    wrong[draft.shape.free] = 0.5 * wrong[draft.shape.free] + 0.5 * wrong[draft.shape.free][:, ::-1]
    spoiled = type(draft.shape)(**{**{n: getattr(draft.shape, n) for n in draft.shape.__slots__}, "weights": wrong})
    fitted = fit_level(spoiled, source, draft.point_of_source)
    assert (fitted.weights >= 0).all()
    assert fitted.weights.sum(axis=1) == pytest.approx(1)
    before, after = (np.abs(s.weights - draft.shape.weights)[draft.shape.free].mean() for s in (spoiled, fitted))
    assert after < 0.75 * before


def test_carriers_that_a_point_does_not_have_get_nothing():
    plain = bending(ball())
    skin = Skin(plain.skin.bones, np.where(plain.rest[:, :1] < 0, [[1, 0]], [[0, 1]]).astype(np.float32))
    draft, source = drafted(plain.with_character(deformer=LinearBlend(skin)), 100)
    none = draft.shape.weights == 0
    assert (fit_level(draft.shape, source, draft.point_of_source).weights[none] == 0).all()


def test_a_flat_sheet_does_not_move():
    draft, source = drafted(still(grid(4)), 4)
    fitted = fit_level(draft.shape, source, draft.point_of_source)
    assert fitted.places == pytest.approx(draft.shape.places, abs=1e-6)


@pytest.mark.parametrize("triangles", [6, 4])
def test_few_points_stay_near(triangles):
    """Here steps along planes led away, each farther than the last."""
    draft, source = drafted(still(OCTAHEDRON), triangles)
    fitted = fit_level(draft.shape, source, draft.point_of_source)
    assert np.linalg.norm(fitted.places - draft.shape.places, axis=1).max() < 0.1


def test_border_points_move_less_than_others():
    """A ball without its cap: the points of the border are held where they are, and the others are fitted."""
    vertices, faces = ball(120)
    kept = np.array([face for face in faces if np.mean([vertices[v][2] for v in face]) < 0.3])
    used, number = np.unique(kept, return_inverse=True)
    cup = ([vertices[v] for v in used], number.reshape(kept.shape).tolist())
    draft, source = drafted(bending(cup), 60)
    fitted, border = fit_level(draft.shape, source, draft.point_of_source), draft.shape.stiff
    moved = np.linalg.norm(fitted.places - draft.shape.places, axis=1)
    assert moved[border & draft.shape.free].mean() < 0.6 * moved[~border & draft.shape.free].mean()
