"""Columns that turn an edit with the surface: what they keep, how few they are, and that they belong to their edit."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from osteon.apply.edit.edit_rest import edit_rest
from osteon.apply.edit.local_frames import EditedSurface
from osteon.apply.edit.options import EditOptions
from osteon.apply.edit.turn_columns import turn_columns, turn_of_edit
from osteon.core.animation import BoneTrack
from osteon.core.character import Corrections, Skin
from osteon.core.errors import GeometryError
from osteon.core.frames import frame_source
from osteon.core.mesh import Asset, CornerNormals
from osteon.core.model import SkinnedModel, StoredLevels
from osteon.core.sequence import MeshSequence
from osteon.deform.edit_columns import columns_of_edits, without_edits
from osteon.deform.edits import edits_of
from osteon.deform.linear_blend import linear_blend_model
from osteon.deform.normals import pose_normals
from osteon.deform.pose import pose_frames, pose_vertices
from osteon.io import load_model, save_model
from osteon_bench.edit_patches import frames_of_patches, make_patches, shared_normals
from tests.tolerance import assert_near, assert_same_points

RINGS, AROUND, FRAMES = 16, 10, 5


@cache
def bar(scale: float = 1.0, mirrored: bool = False) -> SkinnedModel:
    """A thin bar of two bones that bends by up to 100 degrees and twists, with a short blend."""
    angle = 2 * np.pi * np.arange(AROUND) / AROUND
    ring = np.stack([0 * angle, 0.08 * np.cos(angle), 0.08 * np.sin(angle)], axis=1)
    rest = np.concatenate([ring + np.array([x, 0, 0]) for x in np.linspace(-0.7, 0.7, RINGS)])
    first = np.arange((RINGS - 1) * AROUND)
    right = first - first % AROUND + (first + 1) % AROUND
    faces = np.concatenate(
        [np.stack([first, right, first + AROUND], 1), np.stack([right, right + AROUND, first + AROUND], 1)]
    )
    share = np.clip(0.5 + rest[:, 0] / 0.3, 0, 1)
    skin = Skin(np.tile(np.int32([0, 1]), (len(rest), 1)), np.stack([1 - share, share], 1))
    transforms = np.tile(np.eye(3, 4), (FRAMES, 2, 1, 1))
    for f in range(FRAMES):
        part = f / (FRAMES - 1)
        transforms[f, 1, :, :3] = Rotation.from_euler("zx", [100 * part, 40 * part], degrees=True).as_matrix()
        transforms[f] = Rotation.from_rotvec([0, 0.9 * part, 0.2]).as_matrix() @ transforms[f]
    transforms[:, :, 0] *= -1 if mirrored else 1
    return linear_blend_model(rest, faces, skin, BoneTrack(scale * transforms), name="bar")


def hump(model: SkinnedModel, x: float = 0.0) -> np.ndarray:
    """(v,3) a hump on one side of the bar."""
    near = np.maximum(0, 1 - ((model.rest - [x, 0.08, 0]) ** 2).sum(axis=1) / 0.04) ** 2
    return 0.1 * near[:, None] * np.array([0.0, 1, 0])


def shown(edited: SkinnedModel) -> np.ndarray:
    """(f,v,3) by how much the edits move the vertices of every frame."""
    return pose_frames(edited).astype(np.float64) - pose_frames(without_edits(edited))


def edit(model: SkinnedModel, d: np.ndarray, **options) -> SkinnedModel:
    return edit_rest(model, model.rest + d, options=EditOptions(**options)).model


def turned(model: SkinnedModel, d: np.ndarray) -> np.ndarray:
    """(f,v,3) the displacement in the one rotation per frame that the surface around it has: Kabsch, by SciPy."""
    w = np.linalg.norm(d, axis=1)
    frames, mean = [], w @ model.rest / w.sum()
    sequence = MeshSequence(pose_frames(model), mesh=model.mesh)
    size = np.sqrt(w @ ((model.rest - mean) ** 2).sum(axis=1) / w.sum())
    n = shared_normals(model.mesh, model.rest.astype(np.float64))
    for f in range(model.n_frames):
        points = sequence.frame(f).astype(np.float64)
        m = shared_normals(model.mesh, points)
        a = np.concatenate([points - w @ points / w.sum(), size * m])
        b = np.concatenate([model.rest - mean, size * n])
        rotation = Rotation.align_vectors(a, b, np.concatenate([w, w]) + 1e-12)[0]
        frames.append(d @ rotation.as_matrix().T)
    return np.array(frames)


def test_an_edit_keeps_its_shape_where_the_surface_bends() -> None:
    model = bar()
    d = hump(model)
    wanted = turned(model, d)
    alone = np.abs(shown(edit(model, d, blends_only=True)) - wanted).max()
    assert alone > 0.25 * 0.1  # the blends alone shear it by a quarter of its height
    for tolerance in (0.01, 0.05):
        found = edit(model, d, turn_tolerance=tolerance)
        apart = np.linalg.norm(shown(found) - wanted, axis=2).max() / np.linalg.norm(d, axis=1).max()
        assert apart <= tolerance + 2e-5
        assert apart > 0.05 * tolerance  # no more columns than needed


def test_as_few_columns_as_needed() -> None:
    model = bar()
    counts = [edit(model, hump(model), turn_tolerance=t).rank for t in (0.002, 0.05, 0.9)]
    assert counts[0] > counts[1] > counts[2] == 0
    turn = turn_of_edit(model, hump(model))
    for count in range(1, counts[1]):
        assert turn_columns(turn, 0.05, count).after.max() > 0.05
    assert edit(model, hump(model), turn_tolerance=0.002, turn_columns=1).rank == 1


def test_where_the_blends_are_rotations_there_are_no_columns() -> None:
    model = bar()
    found = edit_rest(model, model.rest + hump(model, 0.6), options=EditOptions(turn_tolerance=1e-3))
    assert found.model.corrections is None
    (report,) = found.reports
    assert report.columns == 0
    assert report.turn.blends <= 1e-3


@pytest.mark.parametrize(("scale", "mirrored"), [(0.01, False), (100.0, False), (1.0, True)])
def test_scaled_and_mirrored_characters(scale: float, mirrored: bool) -> None:
    plain, other = bar(), bar(scale, mirrored)
    d = hump(plain)
    expected = scale * shown(edit(plain, d)) * [-1 if mirrored else 1, 1, 1]
    assert np.abs(shown(edit(other, d)) - expected).max() <= 1e-4 * 0.1 * scale
    assert edit(other, d).rank == edit(plain, d).rank


def test_a_character_that_grows_takes_its_edit_along() -> None:
    model = bar()
    grown = model.track.transforms.copy()
    grown[3] *= 0.4
    other = model.with_animation(track=BoneTrack(grown), clips=())
    d = hump(model)
    assert_near(shown(edit(other, d))[3], 0.4 * turned(model, d)[3], 0.02 * 0.1)


def test_the_source_defines_the_frames() -> None:
    """The source turns about the bar's axis by 20 degrees more than the skin does; an edit with it turns as far."""
    model, d = bar(), hump(bar())
    spin = Rotation.from_euler("x", 20, degrees=True).as_matrix()
    source = frame_source(
        pose_frames(
            model.with_animation(
                track=BoneTrack(
                    np.concatenate([model.track.transforms[..., :3] @ spin, model.track.transforms[..., 3:]], axis=3)
                ),
                clips=(),
            )
        )
    )
    found = edit_rest(model, model.rest + d, source=source)
    spun = MeshSequence(source=source, mesh=model.mesh)
    patch = replace(make_patches(model.mesh)[0], vertices=np.flatnonzero(d.any(axis=1)))
    own = d[patch.vertices]
    patch = replace(patch, displacement=own, shares=np.linalg.norm(own, axis=1), height=0.1)
    (frames,) = frames_of_patches(spun, [patch])
    expected = np.einsum("fij,vj->fvi", frames.rotations, own)
    assert np.abs(shown(found.model)[:, patch.vertices] - expected).max() <= 0.011 * 0.1
    assert found.reports[0].turn.frames_of == "source"
    with pytest.raises(GeometryError, match=r"expected the 5 frames and 160 vertices of the model, got 4 and 160"):
        edit_rest(model, model.rest + d, source=frame_source(pose_frames(model)[:4]))
    with pytest.raises(GeometryError, match="of the diagonal from that of the model"):
        edit_rest(model, model.rest + d, source=frame_source(pose_frames(model) + 5))


def test_edits_compose_in_any_order() -> None:
    model = bar().with_corrections(some_corrections(bar()))
    one, two = hump(model), hump(model, 0.1)[:, [1, 0, 2]]
    first = edit(edit(model, one, name="b", scale=0.5), two, name="a")
    second = edit(edit(model, two, name="a"), one, name="b", scale=0.5)
    assert first.rank == second.rank > model.rank + 1
    assert np.array_equal(pose_frames(first), pose_frames(second))
    assert np.array_equal(edits_of(first.character).columns, edits_of(second.character).columns)
    left = edit_rest(second, options=EditOptions(remove=("b",))).model
    assert np.array_equal(pose_frames(left), pose_frames(edit(model, two, name="a")))
    none = edit_rest(left, options=EditOptions(remove=("a",))).model
    assert len(none.character.displacements) == 1
    for name in ("basis", "coefficients", "normal_basis"):
        assert np.array_equal(getattr(none.corrections, name), getattr(model.corrections, name))


def some_corrections(model: SkinnedModel) -> Corrections:
    rng = np.random.default_rng(0)
    basis = rng.normal(size=(2, model.n_vertices, 3)) * [[[1]], [[0]]]
    return Corrections(
        0.001 * basis, rng.normal(size=(model.n_frames, 2)), rng.normal(size=(2, model.mesh.n_normals, 3))
    )


def test_columns_scale_with_their_edit() -> None:
    model = bar()
    found = edit(model, hump(model))
    twice = edit_rest(found, options=EditOptions(scale=2.0)).model
    assert_near(shown(twice), 2 * shown(found), 1e-6)
    zero = edit_rest(twice, options=EditOptions(scale=0.0)).model
    assert not columns_of_edits(zero)
    assert np.array_equal(pose_frames(zero), pose_frames(model))
    assert_near(shown(edit_rest(zero, options=EditOptions(scale=1.0)).model), shown(found), 1e-6)
    assert not columns_of_edits(edit_rest(found, options=EditOptions(scale=1.0, blends_only=True)).model)


@pytest.mark.parametrize("suffix", [".npz", ".glb", ".gltf", ".usdc"])
def test_columns_survive_in_files(suffix: str, tmp_path) -> None:
    model = bar()
    found = edit(model, hump(model))
    save_model(found, tmp_path / f"a{suffix}")
    again = load_model(tmp_path / f"a{suffix}")
    assert_same_points(pose_frames(again), pose_frames(found))
    own, stored = columns_of_edits(found)["edit"], columns_of_edits(again)["edit"]
    assert stored.n_columns == own.n_columns > 0
    plain = edit_rest(again, options=EditOptions(remove=("edit",))).model
    assert plain.corrections is None
    save_model(plain, tmp_path / f"b{suffix}")
    save_model(load_model(tmp_path / f"b{suffix}"), tmp_path / f"c{suffix}")
    assert_same_points(pose_frames(load_model(tmp_path / f"c{suffix}")), pose_frames(model))


def test_a_truncated_model_has_lost_its_columns() -> None:
    model = bar()
    found = edit(model, hump(model))
    cut = found.truncate(0)
    assert columns_of_edits(cut) == {}
    assert_same_points(pose_frames(cut), pose_frames(edit(model, hump(model), blends_only=True)))
    assert edit_rest(cut, options=EditOptions(remove=("edit",))).model.character.displacements == ()


@pytest.mark.parametrize("frame", [0, 3])
def test_a_sculpt_of_a_frame_is_shown_in_it_exactly(frame: int) -> None:
    model = bar()
    moves = np.einsum("vij,vj->vi", np.tile(np.eye(3), (model.n_vertices, 1, 1)), hump(model))
    sculpted = pose_vertices(model, frame) + moves
    found = edit_rest(model, sculpted, options=EditOptions(at_frame=frame)).model
    assert found.rank > 0
    assert np.abs(pose_vertices(found, frame) - sculpted).max() <= 2e-6


@pytest.mark.parametrize("own", [False, True])
def test_normals_follow(own: bool) -> None:
    """Where the edit is high, players show the normals of its surface; at its border those of the unedited bar."""
    model = bar()
    if own:
        from osteon.deform.normals import rest_normals

        normals = CornerNormals(rest_normals(model.mesh).astype(np.float32), model.faces)
        model = model.with_mesh(asset=Asset(normals=normals))
    found = edit(model, hump(model), turn_tolerance=0.002)
    length = np.linalg.norm(hump(model), axis=1)
    near, high = length > 0, length > 0.03
    stored = columns_of_edits(found)["edit"]
    still = found.with_corrections(Corrections(stored.basis, stored.coefficients))

    def apart(each: SkinnedModel) -> float:
        wanted = shared_normals(model.mesh, pose_vertices(each, FRAMES - 1).astype(np.float64))
        found = np.degrees(2 * np.arcsin(np.linalg.norm(pose_normals(each, FRAMES - 1) - wanted, axis=1)[high] / 2))
        return float(np.sqrt((found**2).mean()))

    assert apart(found) < 0.75 * min(apart(still), apart(model))
    border = near & (length < 0.01)
    beside = [pose_normals(each, FRAMES - 1)[border] for each in (found, model)]
    assert np.abs(beside[0] - beside[1]).max() < 0.25


def test_levels_and_subdivision_carry_columns() -> None:
    model = bar()
    levels = StoredLevels({}, coarse=(model.character,), coverage=(0.5, 0.0))
    found = edit_rest(model, model.rest + hump(model), coarse=levels.coarse)
    found.levels(levels).check_fit(found.model)
    (coarse,) = found.coarse
    level = replace(found.model, character=coarse)
    assert_same_points(pose_frames(level), pose_frames(found.model), 1e-5)
    removed = edit_rest(found.model, options=EditOptions(remove=("edit",)), coarse=found.coarse)
    assert removed.coarse[0].displacements == ()
    fine = edit_rest(found.model, options=EditOptions(subdivide=1, scale=1.0)).model
    assert_same_points(pose_frames(fine)[:, : model.n_vertices], pose_frames(found.model), 1e-6)
    assert columns_of_edits(fine)["edit"].n_columns == columns_of_edits(found.model)["edit"].n_columns


def test_patches_of_small_and_large_edits() -> None:
    model = bar()
    whole = EditedSurface.of(model.mesh, 0.01 * model.rest + 1)
    assert whole.shares.shape[1] > 3
    assert_near(whole.shares.sum(axis=1), np.ones(model.n_vertices), 1e-12)
    spot = np.zeros((model.n_vertices, 3))
    spot[75] = 0.1
    one = EditedSurface.of(model.mesh, spot)
    assert (one.n_moved, one.shares.shape[1], one.weights.nnz) == (1, 1, 7)  # with its neighbours
    turn = Rotation.from_euler("xyz", [20, 50, 130], degrees=True).as_matrix()
    for surface in (whole, one):
        found = surface.rotations(surface.rest @ turn.T + 3)
        assert_near(found, np.broadcast_to(turn, found.shape), 1e-9)
        inside_out = surface.rotations(surface.rest @ -turn.T, mirrored=True)
        assert_near(inside_out, np.broadcast_to(-turn, found.shape), 1e-9)
