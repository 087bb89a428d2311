"""Vertices of a rig found among those of a sequence: other order, welded seams, other units, another pose."""

from __future__ import annotations

import numpy as np
import pytest

from osteon.core.errors import GeometryError
from osteon.core.mesh import Asset
from osteon.core.model import SkinnedModel
from osteon.core.sequence import MeshSequence
from osteon.deform.linear_blend import linear_blend_model
from osteon.pipeline.rig import default_rig_options, on_rig_vertices, posed_by_rig
from osteon.pipeline.rig_match import MOST_IN_PLACE, NEAR_PLACE, SAME_PLACE, SAME_UV, match_vertices, take_vertices

from ...subjects import bent_tube


def uvs_of(model: SkinnedModel) -> np.ndarray:
    """One texture coordinate for each vertex, no two alike."""
    n = model.n_vertices
    table = np.stack([np.arange(n) / n, np.arange(n) % 7 / 7], axis=1)
    return table[model.faces].astype(np.float32)


def other_order(
    model: SkinnedModel, frames: np.ndarray, asset: Asset, seed: int = 0
) -> tuple[MeshSequence, np.ndarray]:
    """The frames with vertices in another order, and for each vertex of the model its new number."""
    order = np.random.default_rng(seed).permutation(model.n_vertices)
    place = np.argsort(order)
    return MeshSequence(frames[:, order], place[model.faces], model.rest[order], asset=asset), place


@pytest.fixture
def tube() -> tuple[SkinnedModel, MeshSequence]:
    baked = bent_tube(3, 6)
    return baked.model.with_mesh(asset=Asset(uvs=uvs_of(baked.model))), baked.sequence


@pytest.mark.parametrize("scale", [1.0, 100.0])
def test_by_position(tube, scale):
    model, sequence = tube
    found, place = other_order(model, sequence.frames, Asset())
    found = found.with_parts(frames=scale * found.frames, rest=scale * found.rest)
    assert np.array_equal(match_vertices(found, model), place)


def test_one_vertex_for_several_of_a_seam(tube):
    """The rig holds some vertices twice, as glTF does."""
    model, sequence = tube
    doubles = np.arange(0, model.n_vertices, 3)
    faces = model.faces.copy()
    pick = np.concatenate([np.arange(model.n_vertices), doubles])
    twice = {int(v): model.n_vertices + i for i, v in enumerate(doubles)}
    faces[1::2] = np.vectorize(lambda v: twice.get(int(v), int(v)))(faces[1::2])
    rig = linear_blend_model(model.rest[pick], faces, model.skin.take(pick.astype(np.int32)), model.track)
    found = match_vertices(sequence, rig)
    assert found is not None
    assert np.array_equal(found, pick)
    taken = take_vertices(sequence, rig, found)
    assert taken.n_vertices == rig.n_vertices
    assert np.array_equal(taken.frame(2), sequence.frame(2)[pick])


def test_by_texture_coordinate_in_another_pose(tube):
    model, sequence = tube
    found, place = other_order(model, sequence.frames[3:], model.asset)
    found = found.with_parts(rest=found.frame(0))
    matched = match_vertices(found, model)
    assert np.array_equal(matched, place)


def test_two_in_one_place_are_told_apart_by_texture_coordinate(tube):
    """Two tubes in one place that move apart."""
    model, sequence = tube
    n = model.n_vertices
    both = linear_blend_model(
        np.tile(model.rest, (2, 1)),
        np.concatenate([model.faces, model.faces + n]),
        model.skin.take(np.tile(np.arange(n, dtype=np.int32), 2)),
        model.track,
        asset=Asset(uvs=np.concatenate([uvs_of(model) / 2, uvs_of(model) / 2 + 0.5])),
    )
    apart = np.concatenate([sequence.frames, sequence.frames + np.float32([0, 0, 1])], axis=1)
    found, place = other_order(both, apart, both.asset)
    assert np.array_equal(match_vertices(found, both), place)


def test_another_mesh_is_none(tube):
    model, sequence = tube
    stretched = sequence.with_parts(rest=sequence.rest * [1, 2, 1], frames=sequence.frames * np.float32([1, 2, 1]))
    assert match_vertices(stretched, model) is None
    part = MeshSequence(sequence.frames, model.faces[:20], sequence.rest)
    assert match_vertices(part, model) is None


def test_a_note_tells_of_it(tube):
    model, sequence = tube
    found, _ = other_order(model, sequence.frames, Asset())
    same, notes = on_rig_vertices(found, model)
    assert np.array_equal(same.frames, sequence.frames)
    assert "one mesh" in notes[0]
    assert on_rig_vertices(sequence, model) == (sequence, ())


def shifted(model, sequence, share: float, distance: float) -> tuple[MeshSequence, np.ndarray]:
    """Another order, with a share of the vertices moved by a part of the mesh's size; none of them on its bounds."""
    points = model.rest.astype(np.float64)
    size = np.ptp(points, axis=0).max()
    inside = np.flatnonzero(((points > points.min(axis=0)) & (points < points.max(axis=0))).all(axis=1))
    count = round(share * len(points))
    assert count <= len(inside)
    frames = sequence.frames.astype(np.float64)
    rest = points.copy()
    rest[inside[:count], 0] += distance * size
    frames[:, inside[:count], 0] += distance * size
    moved = model.with_mesh(rest=rest.astype(np.float32))
    return other_order(moved, frames.astype(np.float32), Asset())


@pytest.mark.parametrize(
    ("share", "distance", "matches"),
    [
        (0.3, 0.9 * SAME_PLACE, True),
        (0.3, 1.2 * SAME_PLACE, False),
        (0.8 * (1 - MOST_IN_PLACE), 0.9 * NEAR_PLACE, True),
        (0.8 * (1 - MOST_IN_PLACE), 1.2 * NEAR_PLACE, False),
        (1.3 * (1 - MOST_IN_PLACE), 0.9 * NEAR_PLACE, False),
    ],
)
def test_the_edges_of_one_place(tube, share, distance, matches):
    """What is outside is refused in one line before the fit."""
    model, sequence = tube
    found, place = shifted(model, sequence, share, distance)
    matched = match_vertices(found, model)
    assert (matched is not None) == matches
    if matches:
        assert np.array_equal(matched, place)
        return
    found = MeshSequence(found.frames[:4], found.faces, found.rest)
    with pytest.raises(GeometryError, match="in another order; a rig must share all frames or all vertices") as caught:
        posed_by_rig(found, model, default_rig_options(found, model))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(("gap", "matches"), [(0.9, True), (1.2, False)])
def test_the_edge_of_one_texture_coordinate(tube, gap, matches):
    model, sequence = tube
    moved = Asset(uvs=model.asset.uvs + np.float32(gap * SAME_UV))
    found, place = other_order(model, sequence.frames[3:], moved)
    found = found.with_parts(rest=found.frame(0))
    matched = match_vertices(found, model)
    assert (matched is not None) == matches
    assert not matches or np.array_equal(matched, place)
