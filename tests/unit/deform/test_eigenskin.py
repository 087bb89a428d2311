"""Displacements of small supports: posed as their columns say, packed in bytes, beside corrections, in every file."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from osteon.core.animation import Animation, BoneTrack
from osteon.core.character import Character, Corrections, StoredDisplacement
from osteon.core.errors import GeometryError
from osteon.core.model import SkinnedModel
from osteon.deform.column_rows import ColumnRows
from osteon.deform.eigenskin import EigenSkin, PackedColumns
from osteon.deform.joint_rbf import driver_shapes, joint_rotations
from osteon.deform.normals import pose_normals
from osteon.deform.pose import displaced_rest, pose_character, pose_frames, pose_points
from osteon.deform.registry import restore_displacement
from osteon.io import load_model, save_model
from osteon.io.formats.options import SaveOptions
from osteon.io.metadata.baked import StoredTables, baked_model, live_model, numbered_columns, table_arrays

from ...contract.families import DISPLACEMENT_CASES, FRAMES, VERTICES


def displacement_of(model: SkinnedModel) -> EigenSkin:
    found = model.character.displacement(EigenSkin.kind)
    assert isinstance(found, EigenSkin)
    return found


def both() -> SkinnedModel:
    """Corrections and EigenSkin on one character."""
    model = DISPLACEMENT_CASES["eigenskin"]()
    rng = np.random.default_rng(2)
    stored = StoredDisplacement(0.03 * rng.normal(size=(2, VERTICES, 3)))
    animation = Animation(model.track, model.clips, rng.normal(size=(FRAMES, 2)).astype(np.float32))
    return SkinnedModel(replace(model.character, displacements=(stored, *model.character.displacements)), animation)


@pytest.mark.parametrize("repeats", [1, 3])
def test_rows_of_columns_pose_as_the_whole_basis_does(repeats: int) -> None:
    """Also with more frames than are summed at a time."""
    model = both()
    track = BoneTrack(np.tile(model.track.transforms, (repeats, 1, 1, 1)), "rigid")
    coefficients = np.tile(model.animation.coefficients, (repeats, 1))
    model = SkinnedModel(model.character, Animation(track, (), coefficients))
    expected = pose_points(model.deformer, displaced_rest(model, 0, model.n_frames), track.transforms)
    assert np.abs(pose_frames(model) - expected).max() <= 1e-6 * model.diagonal
    part = pose_frames(model, 2, 5)
    assert np.abs(part - expected[2:5]).max() <= 1e-6 * model.diagonal


def test_coefficients_of_all_joints_at_once_are_those_of_each_driver() -> None:
    model = DISPLACEMENT_CASES["eigenskin"]()
    rbf, transforms = displacement_of(model).rbf, model.track.transforms
    used = np.unique(rbf.joints[rbf.joints >= 0]).astype(np.int64)
    turns, stop, at = joint_rotations(transforms, rbf.parents, used), np.cumsum(rbf.counts), 0
    for column, d in enumerate(rbf.driver.tolist()):
        joints, count = rbf.joints_of(d), int(rbf.counts[d])
        centres = rbf.centres[stop[d] - count : stop[d], : len(joints)].astype(np.float64)
        now = turns[:, None, np.searchsorted(used, joints)]
        shapes = driver_shapes(now, centres[None], rbf.axes[joints], float(rbf.radii[d]))
        assert np.allclose(rbf.values(transforms)[:, column], shapes @ rbf.weights[at : at + count], atol=1e-7)
        at += count


def test_rows_hold_what_is_not_zero() -> None:
    basis = displacement_of(both()).basis
    rows = ColumnRows.of(basis)
    assert len(rows.columns) == np.any(basis, axis=2).sum()
    out = np.zeros((VERTICES, 3, 1), np.float32)
    rows.add(np.ones((len(basis), 1), np.float32), 0, out)
    assert out[..., 0] == pytest.approx(basis.sum(axis=0), abs=1e-6)


def test_a_character_without_an_animation_is_posed() -> None:
    model = DISPLACEMENT_CASES["eigenskin"]()
    posed = pose_character(model.character, model.track.transforms)
    assert np.abs(posed - pose_frames(model)).max() <= 1e-7 * model.diagonal
    plain = pose_character(both().character, model.track.transforms)  # corrections belong to frames
    assert np.abs(plain - posed).max() <= 1e-7 * model.diagonal


@pytest.mark.parametrize("suffix", [".npz", ".glb", ".gltf", ".usdc"])
def test_both_kinds_come_back_from_files(suffix: str, tmp_path: Path) -> None:
    model = both()
    save_model(model, tmp_path / f"model{suffix}")
    again = load_model(tmp_path / f"model{suffix}")
    assert [one.kind for one in again.character.displacements] == ["corrections", "eigenskin"]
    assert again.rank == model.rank == 2
    assert np.abs(pose_frames(again) - pose_frames(model)).max() <= 2e-6 * model.diagonal


@pytest.mark.parametrize("options", [{"quantize": True}, {"compress": True}, {"key_error": 1e-4}, {"normals": False}])
def test_every_form_of_a_glb_gives_it_back(options: dict[str, object], tmp_path: Path) -> None:
    model = both()
    save_model(model, tmp_path / "model.glb", options=SaveOptions(engine="web", **options))
    again = load_model(tmp_path / "model.glb")
    assert displacement_of(again).rbf.n_columns == 5
    assert (displacement_of(again).normal_basis is None) == (not options.get("normals", True))
    assert np.abs(pose_frames(again) - pose_frames(model)).max() <= 1e-3 * model.diagonal


def test_bytes_are_small_and_close() -> None:
    whole = displacement_of(DISPLACEMENT_CASES["eigenskin"]())
    small = whole.in_8_bits()
    assert (whole.bits, small.bits) == (32, 8)
    off = np.abs(small.basis - whole.basis).max()
    assert 0 < off <= 0.006 * np.abs(whole.basis).max()
    assert small.basis_bytes <= 0.25 * whole.basis_bytes
    assert np.array_equal(np.any(small.basis, axis=2), np.any(whole.basis, axis=2))
    again = restore_displacement(EigenSkin.kind, small.arrays())
    assert np.array_equal(again.basis, small.basis)
    assert np.array_equal(again.normal_basis, small.normal_basis)
    assert np.abs(small.truncate(2).basis - small.basis[:2]).max() <= off
    assert small.take(np.array([3, 1], np.int32)).bits == 8


def test_stored_bytes_keep_their_meaning() -> None:
    """A scale byte of 16 halves the step: files of older versions depend on it."""
    moved = np.packbits(np.array([[True, False, True]]), axis=1)
    numbers = np.array([[127, 0, -127], [0, 127, 1]], np.int8)
    packed = PackedColumns(3, moved, numbers, np.array([0, 16], np.uint8), np.array([2.0], np.float32))
    expected = [[[2, 0, -2], [0, 0, 0], [0, 1, 1 / 127]]]
    np.testing.assert_allclose(packed.columns(), expected, rtol=1e-6)


def test_small_parts_of_a_column_keep_their_digits() -> None:
    """A column that fades out over three decades is right to a hundredth of each of its parts."""
    sizes = np.repeat(10.0 ** -np.linspace(0, 3, 100), 4)
    columns = (sizes[:, None] * np.random.default_rng(1).normal(size=(400, 3)))[None]
    packed = PackedColumns.of(columns).columns()
    off = np.linalg.norm(packed - columns, axis=2)[0].reshape(-1, 4).max(axis=1)
    assert (off <= 0.03 * np.linalg.norm(columns[0], axis=1).reshape(-1, 4).max(axis=1)).all()


def test_scales_of_four_vertices_are_read() -> None:
    """As files of before have them, beginning anew with each column."""
    columns = np.random.default_rng(2).normal(size=(2, 11, 3))
    columns[1, 3:5] = 0
    arrays = PackedColumns.of(columns).arrays("basis")
    shared = np.array([10, 20, 30, 40, 50, 60], np.uint8)
    found = PackedColumns.from_arrays("basis", arrays | {"basis_scales": shared})
    assert found.scales.tolist() == [10] * 4 + [20] * 4 + [30] * 3 + [40] * 4 + [50] * 4 + [60]
    with pytest.raises(GeometryError, match="scales"):
        PackedColumns.from_arrays("basis", arrays | {"basis_scales": shared[:5]})


def test_packed_in_an_npz(tmp_path: Path) -> None:
    model = DISPLACEMENT_CASES["eigenskin"]()
    small = replace(model.character, displacements=(displacement_of(model).in_8_bits(),))
    save_model(SkinnedModel(small, model.animation), tmp_path / "small.npz")
    again = load_model(tmp_path / "small.npz")
    assert displacement_of(again).bits == 8
    assert np.array_equal(displacement_of(again).basis, displacement_of(SkinnedModel(small, model.animation)).basis)


def test_a_vertex_is_counted(tmp_path: Path) -> None:
    found = displacement_of(DISPLACEMENT_CASES["eigenskin"]())
    assert found.columns_per_vertex.shape == (VERTICES,)
    assert found.columns_per_vertex.sum() == len(ColumnRows.of(found.basis).columns)


def test_an_empty_displacement_moves_nothing() -> None:
    model = DISPLACEMENT_CASES["eigenskin"]()
    none = replace(model.character, displacements=(displacement_of(model).truncate(0),))
    plain = Character(model.mesh, model.deformer)
    moved, still = (pose_frames(SkinnedModel(one, model.animation)) for one in (none, plain))
    assert np.array_equal(moved, still)


def test_a_displacement_without_rows_by_vertex_poses_a_character_too(monkeypatch: pytest.MonkeyPatch) -> None:
    model = DISPLACEMENT_CASES["eigenskin"]()
    transforms = model.track.transforms
    by_rows = pose_character(model.character, transforms)
    monkeypatch.setattr(EigenSkin, "by_vertex", lambda self: None)
    assert pose_character(model.character, transforms) == pytest.approx(by_rows, abs=1e-5)
    still = pose_character(replace(model.character, displacements=()), transforms)
    assert np.abs(by_rows - still).max() > 1e-3


def own_normals() -> SkinnedModel:
    """Corrections of positions and of normals beside EigenSkin with eigennormals: three and two of each."""
    model = DISPLACEMENT_CASES["eigenskin"]()
    rng, found = np.random.default_rng(5), displacement_of(model)
    assert found.normal_basis is not None
    basis, normals = found.basis.copy(), found.normal_basis.copy()
    basis[3:], normals[:3] = 0, 0
    stored, turned = (0.03 * rng.normal(size=(5, VERTICES, 3)) for _ in range(2))
    stored[3:], turned[:3] = 0, 0
    animation = Animation(model.track, model.clips, rng.uniform(0, 1, size=(FRAMES, 5)).astype(np.float32))
    displacements = (StoredDisplacement(stored, turned), EigenSkin(basis, found.rbf, normals))
    return SkinnedModel(replace(model.character, displacements=displacements), animation)


def test_columns_of_normals_cost_no_time_in_posing() -> None:
    found, animation = displacement_of(own_normals()), own_normals().animation
    assert (found.rank, found.n_normals) == (3, 2)
    assert found.by_vertex().columns.max() < 3
    q = found.position_coefficients(animation)
    assert q == pytest.approx(found.coefficients(animation)[:, :3], abs=1e-6)
    assert found.truncate(2).rbf.n_columns == 4
    assert np.array_equal(found.truncate(2).coefficients(animation), found.coefficients(animation)[:, [0, 1, 3, 4]])
    bare = found.without_normals(3)
    assert bare.normal_basis is None
    assert np.array_equal(bare.coefficients(animation), q)


def test_tables_are_taken_and_joined() -> None:
    model = own_normals()
    rbf, transforms = displacement_of(model).rbf, model.track.transforms
    whole = rbf.values(transforms)
    some = rbf.take(np.array([4, 1]))
    assert some.n_drivers == 1
    assert np.array_equal(some.values(transforms), whole[:, [4, 1]])
    assert np.allclose(rbf.joined(some).values(transforms), np.concatenate([whole, whole[:, [4, 1]]], axis=1))
    assert rbf.take(np.zeros(0, np.int64)).values(transforms).shape == (FRAMES, 0)


def test_eigennormals_in_bytes() -> None:
    whole = displacement_of(own_normals())
    small = whole.in_8_bits()
    assert whole.normal_basis is not None
    assert small.normal_basis is not None
    assert np.abs(small.normal_basis - whole.normal_basis).max() <= 0.006 * np.abs(whole.normal_basis).max()
    assert (small.rank, small.n_normals) == (3, 2)
    again = restore_displacement(EigenSkin.kind, small.arrays())
    assert np.array_equal(again.normal_basis, small.normal_basis)
    assert small.basis_bytes <= 0.25 * whole.basis_bytes


@pytest.mark.parametrize("suffix", [".npz", ".glb", ".gltf", ".usdc"])
def test_eigennormals_come_back_from_files(suffix: str, tmp_path: Path) -> None:
    """Players find those that move positions first; Osteon finds whose they are."""
    model = own_normals()
    assert baked_model(model).rank == 6
    save_model(model, tmp_path / f"model{suffix}")
    again = load_model(tmp_path / f"model{suffix}")
    assert (again.rank, again.normal_rank) == (3, 2)
    assert (displacement_of(again).rank, displacement_of(again).n_normals) == (3, 2)
    assert np.abs(pose_frames(again) - pose_frames(model)).max() <= 2e-6 * model.diagonal
    for frame in (1, 4):
        shown, expected = (pose_normals(each, frame)[each.mesh.normal_of_vertex] for each in (again, model))
        assert np.abs(shown - expected).max() <= 1e-4


@pytest.mark.parametrize("suffix", [".npz", ".glb", ".usdc"])
def test_files_without_normals_hold_positions_alone(suffix: str, tmp_path: Path) -> None:
    model = own_normals()
    save_model(model, tmp_path / f"model{suffix}", options=SaveOptions(normals=False))
    again = load_model(tmp_path / f"model{suffix}")
    assert (again.rank, again.normal_rank) == (3, 0)
    assert displacement_of(again).normal_basis is None
    assert displacement_of(again).rbf.n_columns == 3
    assert np.abs(pose_frames(again) - pose_frames(model)).max() <= 2e-6 * model.diagonal


def test_columns_of_files_of_before_stand_together() -> None:
    """Corrections of normals before EigenSkin, as files had them that say no numbers."""
    model = own_normals()
    stored, found = model.character.displacements
    q = [one.coefficients(model.animation) for one in (stored, found)]
    columns = [
        np.concatenate(parts) for parts in ((stored.basis, found.basis), (stored.normal_basis, found.normal_basis))
    ]
    corrections = Corrections(columns[0], np.concatenate(q, axis=1), columns[1])
    plain = SkinnedModel(replace(model.character, displacements=()), replace(model.animation, coefficients=None))
    (last,) = numbered_columns([5], [None], 10)
    tables = [StoredTables("eigenskin", last, table_arrays(found))]
    again = live_model(plain.with_corrections(corrections), tables)
    for one, other in zip(again.character.displacements, model.character.displacements, strict=True):
        assert np.array_equal(one.basis, other.basis)
        assert np.array_equal(one.normal_basis, other.normal_basis)
