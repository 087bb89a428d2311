"""Normals of a model: rest normals and columns of their own bring shading closer to the source."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from osteon.core.character import Corrections
from osteon.core.model import SkinnedModel
from osteon.core.normals import SourceNormals, angles_between
from osteon.core.sequence import MeshSequence
from osteon.core.skin_options import SkinOptions
from osteon.deform.normals import pose_normals, unit_vectors
from osteon.deform.pose import pose_frames
from osteon.fit.corrections import normals as column_fit
from osteon.fit.corrections.normals import MOST_AUTOMATIC, fit_model_normals, normal_rows, normals_of_frames
from osteon.fit.problem import NormalRows
from osteon.measure.shading import measure_shading, source_normals_of
from osteon.pipeline.skin import skin_sequence
from osteon.synth.baked import smooth_series
from osteon.synth.cloth import ClothOptions, make_cloth

from ....subjects import bent_tube
from ....tolerance import assert_near

POSITIONS_ALONE = SkinOptions(bones=5, shading=0, normal_rank=0, rounds=6)


@pytest.fixture(scope="module")
def cloth() -> MeshSequence:
    return make_cloth(ClothOptions(frames=20, columns=14, rows=9))


@pytest.fixture(scope="module")
def source(cloth) -> SourceNormals:
    return source_normals_of(cloth)


@pytest.fixture(scope="module")
def model(cloth) -> SkinnedModel:
    """A fit of positions alone."""
    return skin_sequence(cloth, options=POSITIONS_ALONE).model


def fitted(model: SkinnedModel, cloth: MeshSequence, rank: int | None, threads: int = 0) -> SkinnedModel:
    return fit_model_normals(model, source_normals_of(cloth), cloth.source, rank=rank, threads=threads)


def degrees(model: SkinnedModel, cloth: MeshSequence) -> float:
    return measure_shading(model, cloth, source_normals_of(cloth), frames=cloth.n_frames).mean


def test_more_columns_are_closer_and_all_are_exact(cloth, model):
    angles = [degrees(model, cloth)]
    for rank in (0, 2, 6, 14, 50):
        found = fitted(model, cloth, rank)
        assert (found.rank, found.normal_rank) == (0, min(rank, cloth.n_frames))
        angles.append(degrees(found, cloth))
    assert angles == sorted(angles, reverse=True)
    assert angles[-1] < 0.03 * angles[0]
    assert angles[2] < 0.5 * angles[0]


def test_positions_stay_where_they_are(cloth, model):
    found = fitted(model, cloth, 3)
    assert np.array_equal(pose_frames(found), pose_frames(model))
    assert found.corrections is not None
    assert not found.corrections.basis.any()
    assert np.array_equal(found.skin.weights, model.skin.weights)


def test_corrections_of_positions_are_kept_and_come_first(cloth):
    base = skin_sequence(cloth, options=replace(POSITIONS_ALONE, rank=2)).model
    found = fitted(base, cloth, 3)
    assert (found.rank, found.normal_rank, found.n_columns) == (2, 3, 5)
    before, after = base.corrections, found.corrections
    assert before is not None
    assert after is not None
    assert after.normal_basis is not None
    assert np.array_equal(after.basis[:2], before.basis)
    assert np.array_equal(after.coefficients[:, :2], before.coefficients)
    assert not after.normal_basis[:2].any()
    for rank in (0, 1, 2):  # shading does not depend on the corrections of positions
        cut = found.truncate(rank)
        assert (cut.rank, cut.normal_rank) == (rank, 3)
        assert degrees(cut, cloth) == pytest.approx(degrees(found, cloth), abs=1e-4)


def test_columns_that_were_there_are_replaced(cloth, model):
    once = fitted(model, cloth, 4)
    again = fitted(once, cloth, 2)
    assert again.normal_rank == 2
    assert_near(degrees(again, cloth), degrees(fitted(model, cloth, 2), cloth), 1e-9)


def test_the_automatic_choice_takes_as_few_columns_as_do(cloth, model):
    chosen = fitted(model, cloth, None)
    assert 0 < chosen.normal_rank <= MOST_AUTOMATIC
    assert degrees(chosen, cloth) <= 3.0 or chosen.normal_rank == MOST_AUTOMATIC
    assert degrees(fitted(model, cloth, max(0, chosen.normal_rank - 2)), cloth) > 3.0


@pytest.mark.parametrize("good", [1.0, 2.0, 3.0, 4.0, 6.0, 9.0])
def test_the_automatic_choice_takes_at_most_one_column_too_many(cloth, model, monkeypatch, good):
    monkeypatch.setattr(column_fit, "GOOD_SHADING", good)
    shown = [degrees(fitted(model, cloth, rank), cloth) for rank in range(MOST_AUTOMATIC + 1)]
    rank = fitted(model, cloth, None).normal_rank
    assert shown[rank] <= good or rank == MOST_AUTOMATIC
    assert rank < 2 or shown[rank - 2] > good


def test_good_shading_needs_no_column():
    baked = bent_tube(1)
    found = fit_model_normals(baked.model, source_normals_of(baked.sequence), baked.sequence.source)
    assert found.n_columns == 0
    assert found.corrections is None


def test_a_rigid_body_has_the_normals_of_its_rest_pose():
    baked = bent_tube(1)
    source = source_normals_of(baked.sequence)
    found = fit_model_normals(baked.model, source, baked.sequence.source, rank=2)
    assert found.asset.normals is not None
    assert_near(found.asset.normals.values, source.rest, 1e-5)
    assert found.corrections is not None
    moved = np.einsum("rvj,fr->fvj", found.corrections.normal_basis, found.corrections.coefficients)
    assert np.abs(moved).max() < 1e-4
    assert degrees(found, baked.sequence) < 1e-2


def known_columns(rank: int, size: float) -> tuple[SkinnedModel, MeshSequence, NormalRows]:
    """A tube whose normals follow known rest normals and columns, and what these give in all frames."""
    baked, rng = bent_tube(3, 24), np.random.default_rng(4)
    model, source = baked.model, source_normals_of(baked.sequence)
    basis = size * rng.normal(size=(rank, model.n_vertices, 3))
    q = smooth_series(rng, model.n_frames, (rank,))
    rest = unit_vectors(source.rest + 0.2 * rng.normal(size=source.rest.shape))
    asset = replace(model.asset, normals=source.as_stored(rest))
    moved = Corrections(np.zeros_like(basis, np.float32), q.astype(np.float32), basis.astype(np.float32))
    known = model.with_mesh(asset=asset).with_corrections(moved)
    targets = np.stack([pose_normals(known, f) for f in range(model.n_frames)], axis=1)
    rows = NormalRows(source.rest, targets.reshape(model.n_vertices, -1), source.vertex.astype(np.int64))
    return known, baked.sequence, rows


@pytest.mark.parametrize("rank", [0, 1, 3])
def test_known_columns_are_recovered(rank):
    """What the columns make of the normals, which is all that is determined of them."""
    known, sequence, rows = known_columns(rank, 0.1)
    plain = known.with_corrections(None).with_mesh(asset=replace(known.asset, normals=None))
    source = source_normals_of(sequence)
    found = fit_model_normals(plain, source, sequence.source, rank=rank, known=rows)
    without = fit_model_normals(plain, source, sequence.source, rank=0, known=rows)
    off, worse = (
        np.mean([angles_between(pose_normals(m, f), pose_normals(known, f)) for f in range(known.n_frames)])
        for m in (found, without)
    )
    assert off < (0.5 if rank else 0.05)
    assert rank == 0 or off < 0.1 * worse


def test_the_columns_of_a_turned_sequence_turn_with_it(cloth, model):
    """A rigid motion of all frames changes no angle; one of the rest pose as well turns the normals."""
    turn = Rotation.from_rotvec([0.4, -1.1, 0.7]).as_matrix()
    frames, rest = (x.astype(np.float64) @ turn.T for x in (cloth.frames, cloth.rest))
    transforms = model.track.transforms.astype(np.float64)
    turned = np.concatenate([turn @ transforms[..., :3], (turn @ transforms[..., 3:])], axis=-1)
    both = np.concatenate([turned[..., :3] @ turn.T, turned[..., 3:]], axis=-1)
    track = model.track
    posed = model.with_animation(track=replace(track, transforms=turned.astype(np.float32)))
    whole = model.with_mesh(rest=rest.astype(np.float32)).with_animation(
        track=replace(track, transforms=both.astype(np.float32))
    )
    before = fitted(model, cloth, 3)
    after = fitted(posed, cloth.with_parts(frames=frames.astype(np.float32)), 3)
    moved = fitted(whole, MeshSequence(frames.astype(np.float32), cloth.faces, rest.astype(np.float32)), 3)
    assert before.asset.normals is not None
    assert after.asset.normals is not None
    assert moved.asset.normals is not None
    assert_near(after.asset.normals.values, before.asset.normals.values, 2e-3)
    assert_near(moved.asset.normals.values, before.asset.normals.values @ turn.T, 2e-3)
    for f in (0, 9, 19):
        assert_near(pose_normals(after, f), pose_normals(before, f) @ turn.T, 5e-3)
        assert_near(pose_normals(moved, f), pose_normals(before, f) @ turn.T, 5e-3)


def test_another_unit_changes_nothing(cloth, model):
    big = MeshSequence(1000 * cloth.frames, cloth.faces, 1000 * cloth.rest)
    transforms = model.track.transforms.copy()
    transforms[..., 3] *= 1000
    scaled = model.with_mesh(rest=1000 * model.rest).with_animation(track=replace(model.track, transforms=transforms))
    ours, theirs = fitted(model, cloth, 2), fitted(scaled, big, 2)
    for f in (3, 12):
        assert_near(pose_normals(theirs, f), pose_normals(ours, f), 1e-3)


def test_vertices_of_no_triangle_and_flat_triangles(cloth):
    """They have no normal to begin with; nothing becomes infinite."""
    frames = np.concatenate([cloth.frames, cloth.frames[:, :2] + np.float32(0.01)], axis=1)
    rest = np.concatenate([cloth.rest, cloth.rest[:2] + np.float32(0.01)])
    faces = np.concatenate([cloth.faces, [[0, 0, 1]]])
    sequence = MeshSequence(frames, faces, rest)
    fit = skin_sequence(sequence, options=SkinOptions(bones=3, rank=1, normal_rank=3, rounds=4))
    assert fit.model.normal_rank == 3
    assert fit.model.corrections is not None
    assert fit.model.corrections.normal_basis is not None
    assert np.abs(fit.model.corrections.normal_basis).max() < 1e3
    for f in (0, 10):
        assert np.isfinite(pose_normals(fit.model, f)).all()


def test_number_of_threads_does_not_matter(cloth, model):
    one, two = (fitted(model, cloth, 4, threads=n) for n in (1, 2))
    assert one.corrections is not None
    assert two.corrections is not None
    assert np.array_equal(one.corrections.normal_basis, two.corrections.normal_basis)
    assert np.array_equal(one.corrections.coefficients, two.corrections.coefficients)
    assert np.array_equal(one.asset.normals.values, two.asset.normals.values)


def test_rows_are_sorted_by_the_vertices_of_the_fit(cloth, source):
    """Rows of welded vertices: each keeps its own normal and targets."""
    numbers = np.random.default_rng(0).permutation(cloth.n_vertices)
    rows = normal_rows(source, cloth.source, numbers)
    assert (np.diff(rows.vertex) >= 0).all()
    back = np.argsort(numbers)
    assert_near(rows.rest, source.rest[back], 0)
    targets = normals_of_frames(source, cloth.source)
    assert np.array_equal(rows.targets, targets[back])
    assert_near(targets.reshape(len(targets), -1, 3)[:, 7], source.at(cloth.frames[7]), 1e-6)
