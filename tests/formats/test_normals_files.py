"""Authored normals in files: hard edges of OBJ, PLY and USD, and models that come back with their normals."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from osteon.core.model import SkinnedModel
from osteon.core.normals import angles_between
from osteon.core.sequence import MeshSequence
from osteon.core.skin_options import SkinOptions
from osteon.deform.normals import pose_normals
from osteon.deform.pose import pose_frames
from osteon.io import load_model, load_sequence, save_model, save_sequence
from osteon.io.formats.options import SaveOptions
from osteon.pipeline.skin import skin_sequence
from osteon.synth.cloth import ClothOptions, make_cloth

from ..cube import CORNERS, NORMALS, OF_CORNER, SIDES, hard_normals, sheared_cube, turning_cube
from ..tolerance import assert_near

OBJ_NORMALS = "".join(f"vn {x:g} {y:g} {z:g}\n" for x, y, z in NORMALS)


def obj_text(points: np.ndarray, corner: str) -> str:
    """The cube as OBJ; `corner` has the form of a corner of a face."""
    lines = "".join(f"v {x:.9g} {y:.9g} {z:.9g}\n" for x, y, z in points)
    sides = "".join(
        "f " + " ".join(corner.format(v=v + 1, n=side + 1) for v in corners) + "\n"
        for side, corners in enumerate(SIDES.tolist())
    )
    return lines + OBJ_NORMALS + "vt 0 0\n" + sides


def shaded(sequence: MeshSequence | SkinnedModel) -> np.ndarray:
    """(t,3,3) the normals of all corners."""
    own = sequence.asset.normals
    assert own is not None
    return np.asarray(own.values[own.of_corner])


@pytest.mark.parametrize("corner", ["{v}//{n}", "{v}/1/{n}"])
def test_obj_keeps_hard_edges(tmp_path, corner):
    path = tmp_path / "cube.obj"
    path.write_text(obj_text(CORNERS, corner))
    found = load_sequence(path)
    assert len(found.asset.normals.values) == 24
    side = [int(np.flatnonzero((face[0] == SIDES).any(1) & (face[1] == SIDES).any(1) & (face[2] == SIDES).any(1))[0])
            for face in found.faces]  # fmt: skip
    assert_near(shaded(found), np.repeat(NORMALS[side][:, None], 3, axis=1), 0)


@pytest.mark.parametrize(
    ("old", "new"),
    [("//1 ", " "), ("vn 1 0 0", "vn 1 0 -nan(ind)"), ("vn 1 0 0", "vn 0 0 0"), ("//6", "//9"), ("vn 1 0 0", "vn 1 0")],
)
def test_obj_normals_that_make_no_sense_are_left_out(tmp_path, old, new):
    """They only shade: the mesh is read without them."""
    path = tmp_path / "cube.obj"
    text = obj_text(CORNERS, "{v}//{n}")
    assert old in text
    path.write_text(text.replace(old, new))
    found = load_sequence(path)
    assert found.asset.normals is None
    assert len(found.faces) == 12


def test_obj_without_normals_has_none(tmp_path):
    path = tmp_path / "cube.obj"
    path.write_text(obj_text(CORNERS, "{v}"))
    assert load_sequence(path).asset.normals is None


@pytest.mark.parametrize("named", [True, False])
def test_ply_normals_are_by_vertex(tmp_path, named):
    names = ["nx", "ny", "nz"] if named else ["a", "b", "c"]
    header = "ply\nformat ascii 1.0\nelement vertex 8\nproperty float x\nproperty float y\nproperty float z\n{}"
    header = header.format("".join(f"property float {name}\n" for name in names))
    header += "element face 6\nproperty list uchar int vertex_indices\nend_header\n"
    out = (CORNERS - 0.5) / np.linalg.norm(CORNERS - 0.5, axis=1, keepdims=True)
    rows = "".join(" ".join(f"{x:.9g}" for x in row) + "\n" for row in np.concatenate([CORNERS, 2 * out], axis=1))
    path = tmp_path / "cube.ply"
    path.write_text(header + rows + "".join("4 " + " ".join(map(str, side)) + "\n" for side in SIDES.tolist()))
    found = load_sequence(path)
    assert (found.asset.normals is not None) == named
    if named:
        assert_near(shaded(found), out[found.faces], 1e-6)


@pytest.mark.parametrize("suffix", [".usda", ".usdc"])
def test_usd_sequences_keep_hard_edges(tmp_path, suffix):
    pytest.importorskip("pxr")
    cube = sheared_cube()
    path = tmp_path / f"cube{suffix}"
    save_sequence(cube, path)
    again = load_sequence(path)
    assert np.array_equal(again.faces, cube.faces)
    assert_near(shaded(again), shaded(cube), 1e-6)
    plain = cube.with_parts(asset=replace(cube.asset, normals=None))
    save_sequence(plain, tmp_path / f"plain{suffix}")
    assert load_sequence(tmp_path / f"plain{suffix}").asset.normals is None


def fitted_cube(**asset) -> SkinnedModel:
    return skin_sequence(turning_cube(**asset), options=SkinOptions(bones=1)).model


MODELS = [".glb", ".gltf", ".npz", ".usdc"]


@pytest.mark.parametrize("suffix", MODELS)
def test_hard_edges_of_a_model_come_back(tmp_path, suffix):
    if suffix == ".usdc":
        pytest.importorskip("pxr")
    model = fitted_cube()
    assert_near(shaded(model), NORMALS[OF_CORNER], 1e-4)
    path = tmp_path / f"cube{suffix}"
    save_model(model, path)
    assert_near(shaded(load_model(path)), shaded(model), 1e-6)


@pytest.mark.parametrize("suffix", MODELS)
def test_a_faceted_model_stays_faceted(tmp_path, suffix):
    if suffix == ".usdc":
        pytest.importorskip("pxr")
    model = fitted_cube(normals=None, faceted=True)
    assert model.asset.faceted
    path = tmp_path / f"cube{suffix}"
    save_model(model, path)
    again = load_model(path)
    assert again.asset.faceted
    assert again.asset.normals is None


@pytest.fixture(scope="module")
def cloth() -> MeshSequence:
    return make_cloth(ClothOptions(frames=12, columns=10, rows=7))


@pytest.fixture(scope="module")
def model(cloth) -> SkinnedModel:
    return skin_sequence(cloth, options=SkinOptions(bones=4, rank=2, normal_rank=3, rounds=6)).model


def degrees_apart(one: SkinnedModel, two: SkinnedModel) -> float:
    """Largest angle between the shading of two models, corner by corner."""
    worst = 0.0
    for f in range(one.n_frames):
        shown = [pose_normals(m, f)[m.asset.normals.of_corner].reshape(-1, 3) for m in (one, two)]
        worst = max(worst, float(angles_between(*shown).max()))
    return worst


FORMS = [
    (".glb", {}, 0.05),
    (".gltf", {}, 0.05),
    (".npz", {}, 0.01),
    (".usdc", {}, 0.05),
    (".glb", {"quantize": True}, 1.5),
    (".glb", {"compress": True}, 1.5),
]


@pytest.mark.parametrize(("suffix", "form", "most"), FORMS)
def test_columns_of_normals_come_back(tmp_path, model, suffix, form, most):
    if suffix == ".usdc":
        pytest.importorskip("pxr")
    path = tmp_path / f"cloth{suffix}"
    save_model(model, path, options=SaveOptions(**form))
    again = load_model(path)
    assert (again.rank, again.normal_rank) == (2, 3)
    assert np.array_equal(again.faces, model.faces)
    assert degrees_apart(again, model) <= most
    cut = again.truncate(0)
    assert (cut.rank, cut.normal_rank) == (0, 3)
    assert degrees_apart(cut, model) <= most


def test_usd_omits_columns_of_vertices_with_several_normals(tmp_path):
    pytest.importorskip("pxr")
    model = skin_sequence(sheared_cube(), options=SkinOptions(bones=1, normal_rank=2)).model
    assert model.normal_rank == 2
    path = tmp_path / "cube.usdc"
    save_model(model, path)
    again = load_model(path)
    assert again.normal_rank == 0
    assert_near(shaded(again), shaded(model), 1e-6)
    assert_near(pose_frames(again), pose_frames(model), 1e-5)


def test_the_cube_has_24_vertices_in_gltf(tmp_path):
    import json

    model = fitted_cube()
    path = tmp_path / "cube.gltf"
    save_model(model, path)
    root = json.loads(path.read_text())
    primitive = root["meshes"][0]["primitives"][0]
    assert root["accessors"][primitive["attributes"]["POSITION"]]["count"] == 24
    faceted = fitted_cube(normals=None, faceted=True)
    save_model(faceted, path)
    root = json.loads(path.read_text())
    primitive = root["meshes"][0]["primitives"][0]
    assert "NORMAL" not in primitive["attributes"]
    assert root["accessors"][primitive["attributes"]["POSITION"]]["count"] == 8
    assert hard_normals().values.shape == (24, 3)
