"""Edits as a displacement: order, scale, files; and the edited rest pose with its normals."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from osteon.core.character import Corrections
from osteon.core.errors import GeometryError, OptionError
from osteon.core.mesh import CornerNormals
from osteon.core.model import SkinnedModel
from osteon.core.normals import vertex_normals
from osteon.deform.edits import Edits, edited_model, edits_of, normal_rotations, with_edits
from osteon.deform.normals import pose_normals
from osteon.deform.pose import displaced_rest, linear_parts, pose_frames
from osteon.deform.registry import DEFORMERS
from osteon.io import SaveOptions, load_model, save_model
from osteon.io.metadata.edits import edit_arrays, restore_edits
from tests.contract.families import DEFORMER_CASES, DISPLACEMENT_CASES, linear_blend
from tests.cube import turning_cube
from tests.small_meshes import still
from tests.tolerance import assert_near, assert_same_points


def with_edit(model: SkinnedModel, *found: tuple[str, np.ndarray, float]) -> SkinnedModel:
    edits = edits_of(model.character)
    for name, displacement, scale in found:
        edits = edits.with_edit(name, displacement, scale)
    return replace(model, character=with_edits(model.character, edits))


def bump(model: SkinnedModel, seed: int = 1, size: float = 0.05) -> np.ndarray:
    """(v,3) of a few vertices."""
    rng = np.random.default_rng(seed)
    out = np.zeros((model.n_vertices, 3), np.float32)
    chosen = rng.permutation(model.n_vertices)[: model.n_vertices // 3]
    out[chosen] = size * model.diagonal * rng.normal(size=(len(chosen), 3))
    return out


def with_own_normals(model: SkinnedModel) -> SkinnedModel:
    """Normals of its own that are not those of the surface, and corrections of positions and normals."""
    rng, count = np.random.default_rng(2), model.n_vertices
    values = vertex_normals(model.rest, model.faces) + 0.2 * rng.normal(size=(count, 3))
    values = (values / np.linalg.norm(values, axis=1, keepdims=True)).astype(np.float32)
    asset = replace(model.asset, normals=CornerNormals(values, model.faces))
    basis, normals = (0.03 * rng.normal(size=(2, count, 3)).astype(np.float32) for _ in range(2))
    corrections = Corrections(basis, rng.normal(size=(model.n_frames, 2)).astype(np.float32), normals)
    return model.with_mesh(asset=asset).with_corrections(corrections)


@pytest.mark.parametrize("kind", sorted(DEFORMERS))
def test_an_edit_moves_with_the_blend_of_every_vertex(kind: str) -> None:
    model = DEFORMER_CASES[kind]()
    d = bump(model)
    edited = with_edit(model, ("bump", d, -0.5))
    plain, moved = pose_frames(model).astype(np.float64), pose_frames(edited).astype(np.float64)
    for f in range(model.n_frames):
        expected = plain[f] + np.einsum("vij,vj->vi", linear_parts(model, f), -0.5 * d.astype(np.float64))
        assert_same_points(moved[f], expected, 2e-6)
    assert_same_points(pose_frames(edited_model(edited)), moved, 2e-6)


def test_edits_do_not_depend_on_the_order_in_which_they_were_made() -> None:
    model = linear_blend()
    found = [
        (name, bump(model, seed), scale) for seed, (name, scale) in enumerate([("b", 1.0), ("a", 0.3), ("c", -2.0)])
    ]
    first, second = with_edit(model, *found), with_edit(model, *reversed(found))
    assert edits_of(first.character).names == ("a", "b", "c")
    assert np.array_equal(pose_frames(first), pose_frames(second))
    assert np.array_equal(edited_model(first).rest, edited_model(second).rest)
    total = model.rest + sum(scale * d.astype(np.float64) for _, d, scale in found)
    assert displaced_rest(first, 0, 2) == pytest.approx(np.stack([total, total]), abs=1e-6)


def test_an_edit_is_replaced_scaled_and_removed() -> None:
    model = linear_blend()
    one, other = bump(model, 1), bump(model, 2)
    edits = edits_of(with_edit(model, ("a", one, 1.0), ("b", one, 1.0), ("a", other, 2.0)).character)
    assert edits.names == ("a", "b")
    assert np.array_equal(edits.basis[0], other)
    assert edits.scaled("a", 0.5).scales.tolist() == [0.5, 1.0]
    assert edits.without(["a"]).names == ("b",)
    assert with_edits(model.character, edits.without(["a", "b"])).displacements == model.character.displacements
    with pytest.raises(OptionError, match="edit 'c': the model has no edit of that name; it has a, b"):
        edits.without(["c"])
    with pytest.raises(OptionError, match="it has none"):
        edits_of(model.character).scaled("a", 1.0)


@pytest.mark.parametrize("names", [("a", "a"), ("", "b")])
def test_edits_have_names_of_their_own(names: tuple[str, str]) -> None:
    with pytest.raises(GeometryError, match="expected different names"):
        Edits(names, np.ones(2), np.zeros((2, 4, 3)))


def test_names_are_stored_as_text() -> None:
    edits = Edits(("höcker", "b"), np.array([1.0, 2.0]), np.ones((2, 4, 3)))
    again = Edits.from_arrays(edits.arrays())
    assert again.names == ("b", "höcker")
    assert again.scales.tolist() == [2.0, 1.0]
    with pytest.raises(GeometryError, match="UTF-8"):
        Edits.from_arrays(edits.arrays() | {"names": np.array([0xFF], np.int32)})


def test_own_normals_turn_with_the_surface() -> None:
    """An edit that turns the whole mesh turns its normals and their columns, whatever they are."""
    model = with_own_normals(linear_blend())
    turn = Rotation.from_rotvec([0.4, -0.7, 0.2]).as_matrix()
    edited = edited_model(with_edit(model, ("turn", model.rest @ turn.T - model.rest, 1.0)))
    assert_near(edited.asset.normals.values, model.asset.normals.values @ turn.T, 1e-5)
    assert_near(edited.corrections.normal_basis, model.corrections.normal_basis @ turn.T, 1e-5)
    assert np.array_equal(edited.corrections.basis, model.corrections.basis)


def test_normals_stay_where_nothing_is_edited() -> None:
    model = with_own_normals(linear_blend())
    d = np.zeros((model.n_vertices, 3), np.float32)
    d[model.faces[0, 0]] = 0.1
    near = np.zeros(model.n_vertices, bool)
    near[model.faces[(model.faces == model.faces[0, 0]).any(axis=1)]] = True
    edited = edited_model(with_edit(model, ("one", d, 1.0)))
    same = (edited.asset.normals.values == model.asset.normals.values).all(axis=1)
    assert same[~near].all()
    assert not same[near].all()
    assert np.array_equal(edited.corrections.normal_basis[:, ~near], model.corrections.normal_basis[:, ~near])


def test_smooth_normals_are_those_of_the_edited_surface() -> None:
    model = linear_blend()
    edited = with_edit(model, ("bump", bump(model), 1.0))
    linear = linear_parts(model, 2)
    rest = model.rest + bump(model).astype(np.float64)
    expected = np.einsum("vij,vj->vi", linear, vertex_normals(rest.astype(np.float32), model.faces))
    expected /= np.linalg.norm(expected, axis=1, keepdims=True)
    assert_near(pose_normals(edited, 2), expected, 1e-5)


def test_the_sides_of_a_hard_edge_turn_apart() -> None:
    """Tilting one side of a cube turns the normals of that side only as far as its own triangles turn."""
    cube = turning_cube()
    mesh = cube.mesh
    moved = mesh.rest.astype(np.float64).copy()
    moved[mesh.rest[:, 1] > 0.5, 1] += 0.5 * mesh.rest[mesh.rest[:, 1] > 0.5, 0]  # the upper side tilts
    turned = np.einsum("nij,nj->ni", normal_rotations(mesh, moved), mesh.asset.normals.values)
    up = mesh.asset.normals.values[:, 1] > 0.5
    assert_near(turned[up], np.tile(np.array([-0.5, 1, 0]) / np.sqrt(1.25), (4, 1)), 1e-6)
    down = mesh.asset.normals.values[:, 1] < -0.5
    assert np.array_equal(turned[down], mesh.asset.normals.values[down])


def test_a_mesh_without_triangles_or_area_has_no_rotations() -> None:
    flat = still(([[0.0, 0, 0], [1, 0, 0], [2, 0, 0]], [[0, 1, 2]]))
    moved = flat.rest + np.float32([[0, 1, 0], [0, 0, 0], [0, 0, 0]])
    assert np.array_equal(normal_rotations(flat.mesh, moved), np.tile(np.eye(3), (3, 1, 1)))


@pytest.mark.parametrize("suffix", [".npz", ".glb", ".usdc"])
@pytest.mark.parametrize("own", [False, True])
def test_files_hold_edits_apart(suffix: str, own: bool, tmp_path) -> None:
    model = with_own_normals(linear_blend()) if own else linear_blend()
    edited = with_edit(model, ("bump", bump(model), 1.0), ("other", bump(model, 3), 0.25))
    save_model(edited, tmp_path / f"edited{suffix}")
    again = load_model(tmp_path / f"edited{suffix}")
    touched = edits_of(edited.character).touched
    assert np.array_equal(again.rest[touched], model.rest[touched])
    assert_same_points(again.rest, model.rest)  # others as closely as without edits
    found, stored = edits_of(again.character), edits_of(edited.character)
    assert (found.names, found.scales.tolist()) == (stored.names, stored.scales.tolist())
    assert np.array_equal(found.basis, stored.basis)
    assert_same_points(pose_frames(again), pose_frames(edited))
    shown = [pose_normals(m, 3)[m.mesh.normal_of_vertex] for m in (edited, again)]
    assert_near(shown[1], shown[0], 2e-6)
    if own:
        at = [m.asset.normals.of_corner for m in (model, again)]
        assert len(again.asset.normals.values) == len(model.asset.normals.values)
        assert_near(again.asset.normals.values[at[1]], model.asset.normals.values[at[0]], 1e-6)
        columns = [m.corrections.normal_basis for m in (model, again)]
        assert_near(columns[1][:, at[1]], columns[0][:, at[0]], 1e-6)


def test_stock_players_show_the_edited_mesh(tmp_path) -> None:
    """Read as the file of another program, which Osteon's metadata do not exist for."""
    model = linear_blend()
    edited = with_edit(model, ("bump", bump(model), 1.0))
    save_model(edited, tmp_path / "edited.gltf")
    text = (tmp_path / "edited.gltf").read_text()
    (tmp_path / "other.gltf").write_text(text.replace('"generator":"Osteon', '"generator":"Other'))
    other = load_model(tmp_path / "other.gltf")
    assert not edits_of(other.character).names
    assert other.n_columns == 0  # no morph target is spent on an edit
    assert_same_points(pose_frames(other), pose_frames(edited))


@pytest.mark.parametrize("suffix", [".npz", ".glb", ".usdc"])
def test_a_removed_edit_leaves_the_model_it_was_made_on(suffix: str, tmp_path) -> None:
    model = linear_blend()
    save_model(with_edit(model, ("bump", bump(model), 1.0)), tmp_path / f"edited{suffix}")
    again = load_model(tmp_path / f"edited{suffix}")
    left = replace(again, character=with_edits(again.character, edits_of(again.character).without(["bump"])))
    assert np.array_equal(left.rest, model.rest)
    assert left.character.displacements == ()
    assert_same_points(pose_frames(left), pose_frames(model))
    if suffix == ".npz":
        save_model(left, tmp_path / "a.npz")
        save_model(model, tmp_path / "b.npz")
        assert (tmp_path / "a.npz").read_bytes() == (tmp_path / "b.npz").read_bytes()


@pytest.mark.parametrize(
    "options", [SaveOptions(quantize=True), SaveOptions(compress=True), SaveOptions(normals=False)]
)
def test_small_files_hold_edits(options: SaveOptions, tmp_path) -> None:
    model = with_own_normals(linear_blend())
    edited = with_edit(model, ("bump", bump(model), 1.0))
    save_model(edited, tmp_path / "edited.glb", options=options)
    again = load_model(tmp_path / "edited.glb")
    assert edits_of(again.character).names == ("bump",)
    assert_same_points(pose_frames(again), pose_frames(edited), 5e-3 if options.whole_numbers else 2e-6)


@pytest.mark.parametrize(
    "change",
    [
        {"n_vertices": np.array([7], np.int32)},
        {"n_vertices": np.array([240, 240], np.int32)},
        {"vertices": np.array([240], np.int32)},
        {"vectors": np.zeros((1, 2, 3), np.float32)},
        {"scales": np.array([np.nan], np.float32)},
        {"names": np.zeros(300, np.int32) + 97},
        {"names": np.array([97, 0, 97], np.int32)},
        {"names": np.zeros(600, np.int32)},
        {"rest": np.zeros((1, 3), np.float32)},
        {"corners": np.array([10**6], np.int32)},
        {"normals": np.zeros((1, 3), np.float32)},
        {"columns_corrections": np.zeros((9, 1, 3), np.float32)},
    ],
)
def test_damaged_edits_of_a_file_are_refused(change: dict) -> None:
    model = with_own_normals(linear_blend())
    edited = with_edit(model, ("bump", bump(model), 1.0))
    arrays = edit_arrays(edited.character)
    shown = edited_model(edited)
    restore_edits(shown, arrays)
    if set(change) == {"names"} and len(change["names"]) == 300:
        assert edits_of(restore_edits(shown, arrays | change).character).names == ("a" * 300,)
        return
    with pytest.raises(GeometryError):
        restore_edits(shown, arrays | change)


CASES = {**DEFORMER_CASES, **{kind: case for kind, case in DISPLACEMENT_CASES.items() if kind != Edits.kind}}


@pytest.mark.parametrize("suffix", [".npz", ".glb", ".usdc"])
@pytest.mark.parametrize("kind", sorted(CASES))
def test_files_hold_edits_of_every_family(kind: str, suffix: str, tmp_path) -> None:
    model = CASES[kind]()
    edited = with_edit(model, ("bump", bump(model), 1.0))
    save_model(edited, tmp_path / f"edited{suffix}")
    again = load_model(tmp_path / f"edited{suffix}")
    assert type(again.deformer) is type(model.deformer)
    kinds = [d.kind for d in edited.character.displacements]
    assert [d.kind for d in again.character.displacements] == kinds
    assert np.array_equal(edits_of(again.character).basis, edits_of(edited.character).basis)
    assert_same_points(again.rest, model.rest)
    assert_same_points(pose_frames(again), pose_frames(edited), 3e-6)
    shown = [pose_normals(m, 3)[m.mesh.normal_of_vertex] for m in (edited, again)]
    assert_near(shown[1], shown[0], 1e-5)
