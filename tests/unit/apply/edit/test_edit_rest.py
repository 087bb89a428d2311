"""`osteon.edit_rest`: from an edited mesh, in any order of vertices, of the rest pose or of a frame, to an edit."""

from __future__ import annotations

import numpy as np
import pytest

import osteon
from osteon.apply.edit.edit_rest import edit_rest
from osteon.apply.edit.options import EditOptions
from osteon.apply.edit.strokes import Strokes
from osteon.core.errors import GeometryError, OptionError
from osteon.core.mesh import Mesh
from osteon.core.model import SkinnedModel
from osteon.core.transforms import apply, compose, invert
from osteon.deform.edits import edits_of
from osteon.deform.pose import pose_frames, pose_vertices
from osteon.deform.registry import DEFORMERS, DISPLACEMENTS
from tests.contract.families import DEFORMER_CASES, DISPLACEMENT_CASES, linear_blend
from tests.tolerance import assert_near, assert_same_points


def local_bump(model: SkinnedModel, size: float = 0.1) -> np.ndarray:
    """(v,3) of the vertices around one."""
    distance = np.linalg.norm(model.rest - model.rest[7], axis=1) / (0.3 * model.diagonal)
    out = np.zeros((model.n_vertices, 3))
    out[distance < 1] = size * model.diagonal * ((1 - distance[distance < 1] ** 2) ** 2)[:, None] * [0.3, 1.0, -0.2]
    return out


def test_positions_become_an_edit() -> None:
    model = linear_blend()
    d = local_bump(model)
    found = osteon.edit_rest(model, model.rest + d, options=osteon.EditOptions(name="hump", scale=0.5))
    edits = edits_of(found.model.character)
    assert edits.names == ("hump",)
    assert edits.scales.tolist() == [0.5]
    assert_near(edits.basis[0], d, 1e-6)
    assert np.array_equal(found.model.rest, model.rest)
    assert [report.name for report in found.reports] == ["hump"]


def test_equal_positions_are_no_edit() -> None:
    model = linear_blend()
    rounded = model.rest * (1 + 2e-7)  # as a text file rounds
    found = edit_rest(model, rounded)
    assert found.model.character == model.character
    assert found.notes == ("no vertex differs from the model; no edit was stored",)


@pytest.mark.parametrize("kind", sorted(set(DISPLACEMENTS) - {"edits"}))
@pytest.mark.parametrize("frame", [0, 5])
def test_a_sculpt_of_a_frame_is_seen_in_that_frame(kind: str, frame: int) -> None:
    model = DISPLACEMENT_CASES[kind]()
    moves = local_bump(model)
    sculpted = pose_vertices(model, frame) + moves
    found = edit_rest(model, sculpted, options=EditOptions(at_frame=frame)).model
    shown = pose_vertices(found, frame)
    moved = moves.any(axis=1)
    apart = np.linalg.norm(shown - sculpted, axis=1)
    assert np.array_equal(edits_of(found.character).basis[0].any(axis=1), moved)
    assert np.median(apart[moved]) <= 1e-5 * model.diagonal  # random blends: some are nearly singular
    assert (apart <= np.linalg.norm(moves, axis=1) + 1e-5 * model.diagonal).all()


@pytest.mark.parametrize("kind", sorted(DEFORMERS))
def test_an_edit_turns_and_scales_with_the_scene(kind: str) -> None:
    """A scene that lies elsewhere, in other units, edited there: the same edit, placed."""
    model = DEFORMER_CASES[kind]()
    turn = np.array([[0.0, -1, 0], [1, 0, 0], [0, 0, 1]])
    place = np.concatenate([3.0 * turn, [[5.0], [-1.0], [0.2]]], axis=1)
    bones = compose(compose(place, model.track.transforms.astype(np.float64)), invert(place))
    track = osteon.BoneTrack(bones.astype(np.float32), model.track.bone_type)
    there = model.with_character(deformer=model.deformer.placed(place)).with_animation(track=track)
    there = there.with_mesh(rest=apply(place, model.rest.astype(np.float64)))
    d = local_bump(model)
    here = pose_frames(edit_rest(model, model.rest + d).model)
    moved = pose_frames(edit_rest(there, there.rest + 3.0 * d @ turn.T).model)
    assert_same_points(moved, apply(place, here.astype(np.float64)), 5e-6)


def test_edits_of_two_meshes_add_up_in_any_order() -> None:
    model = linear_blend()
    meshes = [("a", model.rest + local_bump(model)), ("b", model.rest + local_bump(model)[:, ::-1])]

    def after(order: list[tuple[str, np.ndarray]]) -> np.ndarray:
        found = model
        for name, mesh in order:
            found = edit_rest(found, mesh, options=EditOptions(name=name)).model
        return pose_frames(found)

    assert np.array_equal(after(meshes), after(meshes[::-1]))


def test_a_mesh_made_on_edits_adds_to_them() -> None:
    model = linear_blend()
    first, second = local_bump(model), 0.2 * local_bump(model)[:, ::-1]
    once = edit_rest(model, model.rest + first, options=EditOptions(name="a", scale=0.5)).model
    on_it = EditOptions(name="b", base="edited")
    twice = edit_rest(once, model.rest + 0.5 * first + second, options=on_it).model
    assert_near(edits_of(twice.character).basis[1], second, 1e-5)
    with pytest.raises(OptionError, match="choose another name"):
        edit_rest(once, model.rest + first, options=EditOptions(name="a", base="edited"))


def test_an_edit_is_scaled_and_removed() -> None:
    model = linear_blend()
    once = edit_rest(model, model.rest + local_bump(model)).model
    assert edits_of(edit_rest(once, options=EditOptions(scale=0.25)).model.character).scales.tolist() == [0.25]
    assert edit_rest(once, options=EditOptions(remove=("edit",))).model.character == model.character
    with pytest.raises(OptionError, match="no edit of that name"):
        edit_rest(model, options=EditOptions(scale=2.0))


def test_a_mesh_in_another_order_gives_the_same_edit() -> None:
    model = linear_blend()
    order = np.random.default_rng(3).permutation(model.n_vertices)
    number = np.argsort(order)
    edited = Mesh((model.rest + local_bump(model).astype(np.float32))[order], number[model.faces])
    expected = edit_rest(model, model.rest + local_bump(model).astype(np.float32)).model
    assert np.array_equal(edits_of(edit_rest(model, edited).model.character).basis, edits_of(expected.character).basis)


@pytest.mark.parametrize(
    ("positions", "error", "what"),
    [
        (np.zeros((5, 3)), GeometryError, "expected positions of the model's 240 vertices"),
        (np.full((240, 3), np.nan), GeometryError, "not finite"),
    ],
)
def test_wrong_positions_are_named(positions: np.ndarray, error: type, what: str) -> None:
    with pytest.raises(error, match=what):
        edit_rest(linear_blend(), positions)


def test_a_frame_beyond_the_last_is_named() -> None:
    model = linear_blend()
    with pytest.raises(OptionError, match="expected 0 … 6"):
        edit_rest(model, model.rest, options=EditOptions(at_frame=7))


def test_strokes_are_for_their_model() -> None:
    model = linear_blend()
    strokes = Strokes("dent", model.n_vertices, np.array([3]), np.array([[0.1, 0.0, 0.0]]))
    edits = edits_of(edit_rest(model, strokes, options=EditOptions(name="dent")).model.character)
    assert edits.touched.tolist() == [3]
    assert edits.basis[0, 3] == pytest.approx([0.1, 0, 0])
    with pytest.raises(GeometryError, match="mesh of 7 vertices, the model has 240"):
        edit_rest(model, Strokes("dent", 7, np.array([3]), np.array([[0.1, 0.0, 0.0]])))
