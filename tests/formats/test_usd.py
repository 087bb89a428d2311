"""USD in: what Osteon wrote comes back, and stages of others read as UsdSkel and UsdGeom mean them."""

from __future__ import annotations

from dataclasses import fields, replace
from pathlib import Path

import numpy as np
import pytest

from osteon.core.animation import Clip
from osteon.core.errors import GeometryError
from osteon.core.mesh import Asset
from osteon.core.model import SkinnedModel
from osteon.core.sequence import MeshSequence
from osteon.deform.pose import pose_frames
from osteon.io import LoadOptions, SaveOptions, holds_model, load_model, load_sequence, save_model, save_sequence

from ..tolerance import assert_same_points
from .usd_models import MODELS, corrected, flexible, painted, played, rigid, textured, tree, two_clips

KINDS = [".usda", ".usdc", ".usdz"]

pytestmark = pytest.mark.usefixtures("quick_children")


def assert_same_asset(got: Asset, wanted: Asset) -> None:
    for key in (field.name for field in fields(Asset) if field.compare):
        np.testing.assert_array_equal(getattr(got, key), getattr(wanted, key), err_msg=key)


def assert_same_model(got: SkinnedModel, wanted: SkinnedModel) -> None:
    assert (got.clips, got.name, got.track.names) == (wanted.clips, wanted.name, wanted.track.names)
    assert got.track.bone_type == wanted.track.bone_type
    for key in ("rest", "faces"):
        np.testing.assert_array_equal(getattr(got, key), getattr(wanted, key), err_msg=key)
    np.testing.assert_array_equal(got.skin.bones, wanted.skin.bones)
    np.testing.assert_allclose(got.skin.weights, wanted.skin.weights, atol=1e-7)
    np.testing.assert_allclose(got.track.transforms, wanted.track.transforms, atol=1e-6)
    assert (got.corrections is None) == (wanted.corrections is None)
    if got.corrections is not None and wanted.corrections is not None:
        for key in ("basis", "coefficients", "normal_basis"):
            np.testing.assert_array_equal(getattr(got.corrections, key), getattr(wanted.corrections, key))
    assert (got.skeleton is None) == (wanted.skeleton is None)
    if got.skeleton is not None and wanted.skeleton is not None:
        assert got.skeleton.names == wanted.skeleton.names
        np.testing.assert_array_equal(got.skeleton.parents, wanted.skeleton.parents)
        np.testing.assert_array_equal(got.skeleton.world_from_joint, wanted.skeleton.world_from_joint)


@pytest.mark.parametrize("suffix", KINDS)
@pytest.mark.parametrize("kind", MODELS)
def test_the_model_comes_back(tmp_path: Path, kind: str, suffix: str) -> None:
    model = MODELS[kind]()
    path = tmp_path / f"model{suffix}"
    save_model(model, path)
    assert holds_model(path)
    got = load_model(path)
    assert_same_model(got, model)
    polygons = got.asset.polygon_of_triangle if kind == "quads" else None  # numbered anew, the same polygons
    wanted = replace(model.asset, polygon_of_triangle=polygons)
    assert_same_asset(got.asset, wanted)


def test_quads_are_quads_in_the_file(tmp_path: Path) -> None:
    from pxr import Usd

    model = MODELS["quads"]()
    save_model(model, tmp_path / "a.usdc")
    stage = Usd.Stage.Open(str(tmp_path / "a.usdc"))
    mesh = stage.GetDefaultPrim().GetChild("Mesh")
    counts = np.array(mesh.GetAttribute("faceVertexCounts").Get())
    assert (counts == 4).any()
    assert (counts - 2).sum() == len(model.faces)


def test_a_file_that_changed_is_read_anew(tmp_path: Path) -> None:
    save_model(rigid(), tmp_path / "a.usda")
    first = load_model(tmp_path / "a.usda")
    save_model(flexible(), tmp_path / "a.usda")
    assert load_model(tmp_path / "a.usda").track.bone_type != first.track.bone_type


def test_without_normals(tmp_path: Path) -> None:
    from pxr import Usd

    save_model(corrected(), tmp_path / "a.usda", options=SaveOptions(normals=False))
    stage = Usd.Stage.Open(str(tmp_path / "a.usda"))
    mesh = stage.GetDefaultPrim().GetChild("Mesh")
    assert not mesh.GetAttribute("normals").HasAuthoredValue()
    got = load_model(tmp_path / "a.usda").corrections
    assert got is not None
    assert got.normal_basis is None


def test_one_clip_of_a_model_at_another_rate(tmp_path: Path) -> None:
    model = two_clips()
    save_model(model, tmp_path / "a.usdc")
    got = load_model(tmp_path / "a.usdc", options=LoadOptions(fps=48, clips=("run",)))
    assert got.clips == (Clip("run", 0, 9, 48.0),)
    assert_same_points(pose_frames(got)[::2], pose_frames(model, 3, 8), 1e-5)


@pytest.mark.parametrize("kind", MODELS)
def test_the_frames_of_a_model_are_a_sequence(tmp_path: Path, kind: str) -> None:
    model = MODELS[kind]()
    save_model(model, tmp_path / "model.usdc")
    sequence = load_sequence(tmp_path / "model.usdc")
    assert sequence.clips == model.clips
    assert_same_points(sequence.frames, pose_frames(model), 1e-5)
    np.testing.assert_allclose(sequence.rest, model.rest, atol=1e-6)


@pytest.mark.parametrize("suffix", [*KINDS, ".usd"])
def test_a_sequence_comes_back(tmp_path: Path, suffix: str) -> None:
    model = textured()
    frames = pose_frames(model)
    clips = (Clip("a", 0, 3, 25.0), Clip("b", 3, 8, 50.0))
    sequence = MeshSequence(frames, model.faces, model.rest, clips, model.asset, "a name")
    path = tmp_path / f"mesh{suffix}"
    save_sequence(sequence, path)
    assert not holds_model(path)
    got = load_sequence(path)
    assert (got.clips, got.name) == (clips, "a name")
    for key in ("frames", "faces", "rest"):
        np.testing.assert_array_equal(getattr(got, key), getattr(sequence, key))
    assert_same_asset(got.asset, model.asset)


def foreign(path: Path, model: SkinnedModel, suffix: str = ".usda") -> Path:
    """The stage of `model` as another program would leave it: without notes, and moved by a parent that walks."""
    from pxr import Gf, Usd, UsdGeom

    save_model(model, path.with_name("own" + suffix))
    stage = Usd.Stage.Open(str(path.with_name("own" + suffix)))
    root = stage.GetDefaultPrim()
    root.ClearCustomData()
    move = UsdGeom.Xformable(root).AddTranslateOp()
    for f in range(model.n_frames):
        move.Set(Gf.Vec3d(f, 0, 0), f)
    stage.GetRootLayer().Export(str(path))
    return path


@pytest.mark.parametrize("make", [rigid, flexible, corrected, painted, tree])
def test_stages_of_others_play_as_usd_plays_them(tmp_path: Path, make) -> None:
    model = make()
    path = foreign(tmp_path / "other.usda", model)
    walk = np.arange(model.n_frames)[:, None, None] * np.array([1.0, 0, 0])
    got = load_model(path)
    assert got.clips == (Clip("other", 0, model.n_frames, 24.0),)
    assert_same_points(pose_frames(got), pose_frames(model) + walk, 1e-5)
    assert_same_points(load_sequence(path).frames, played(path) + walk, 1e-5)
    assert got.skeleton is not None
    assert len(got.skeleton.names) == got.n_bones
    assert got.track.bone_type == model.track.bone_type


def test_a_mesh_below_a_moving_parent(tmp_path: Path) -> None:
    (tmp_path / "a.usda").write_text("""#usda 1.0
( timeCodesPerSecond = 10 )
def Xform "parent" {
    double3 xformOp:translate.timeSamples = { 1: (0, 0, 0), 3: (2, 0, 0) }
    uniform token[] xformOpOrder = ["xformOp:translate"]
    def Mesh "left" {
        uniform token orientation = "leftHanded"
        point3f[] points = [(0, 0, 0), (1, 0, 0), (1, 1, 0), (0, 1, 0)]
        int[] faceVertexCounts = [4]
        int[] faceVertexIndices = [0, 3, 2, 1]
        texCoord2f[] primvars:st = [(0, 0), (1, 0), (1, 1), (0, 1)] (interpolation = "vertex")
    }
}
def Mesh "hidden" {
    token visibility = "invisible"
    point3f[] points = [(9, 9, 9), (1, 0, 0), (1, 1, 0)]
    int[] faceVertexCounts = [3]
    int[] faceVertexIndices = [0, 1, 2]
}
def Mesh "right" {
    point3f[] points.timeSamples = { 1: [(0, 0, 0), (1, 0, 0), (1, 1, 0)], 3: [(0, 0, 2), (1, 0, 2), (1, 1, 2)] }
    int[] faceVertexCounts = [3]
    int[] faceVertexIndices = [0, 1, 2]
}
""")
    got = load_sequence(tmp_path / "a.usda")
    assert got.clips == (Clip("a", 0, 3, 10.0),)
    assert got.asset.primitive_names == ("left", "right")
    assert got.faces.tolist() == [[0, 1, 2], [0, 2, 3], [4, 5, 6]]
    assert got.frames[:, 0, 0].tolist() == [0, 1, 2]
    assert got.frames[:, 4, 2].tolist() == [0, 1, 2]
    assert got.asset.uvs is not None
    assert got.asset.uvs[1].tolist() == [[0, 0], [1, 1], [0, 1]]
    assert not holds_model(tmp_path / "a.usda")


def test_a_layer_beside_the_file_is_read(tmp_path: Path) -> None:
    save_model(rigid(), tmp_path / "inner.usdc")
    (tmp_path / "outer.usda").write_text('#usda 1.0\ndef "a" (references = @./inner.usdc@) {}\n')
    assert_same_points(load_sequence(tmp_path / "outer.usda").frames[0], pose_frames(rigid())[0], 1e-5)


def test_inbetweens_count(tmp_path: Path) -> None:
    from pxr import Gf, Usd, UsdSkel, Vt

    path = foreign(tmp_path / "a.usda", corrected())
    stage = Usd.Stage.Open(str(path))
    mesh = stage.GetDefaultPrim().GetChild("Mesh")
    between = UsdSkel.BlendShape(mesh.GetChild("correction_0")).CreateInbetween("half")
    between.SetWeight(0.5)
    between.SetOffsets(Vt.Vec3fArray([Gf.Vec3f(0, 0.5, 0)] * corrected().n_vertices))
    stage.GetRootLayer().Save()
    walk = np.arange(8)[:, None, None] * np.array([1.0, 0, 0])
    assert_same_points(pose_frames(load_model(path)), played(path) + walk, 1e-5)


def test_changing_faces_are_refused(tmp_path: Path, refused) -> None:
    (tmp_path / "a.usda").write_text("""#usda 1.0
def Mesh "m" {
    point3f[] points = [(0, 0, 0), (1, 0, 0), (1, 1, 0), (0, 1, 0)]
    int[] faceVertexCounts = [3]
    int[] faceVertexIndices.timeSamples = { 1: [0, 1, 2], 2: [0, 1, 3] }
}
""")
    with refused(GeometryError, "a.usda", "time code 2"):
        load_sequence(tmp_path / "a.usda")


def test_a_stage_without_skins_is_no_model(tmp_path: Path, refused) -> None:
    (tmp_path / "a.usda").write_text('#usda 1.0\ndef Xform "a" {}\n')
    with refused(GeometryError, "a.usda", "has no skinned mesh"):
        load_model(tmp_path / "a.usda")
    with refused(GeometryError, "a.usda", "has no polygons"):
        load_sequence(tmp_path / "a.usda")


def test_a_stage_that_others_shortened_loses_its_table_of_clips(tmp_path: Path) -> None:
    from pxr import Usd

    save_model(two_clips(), tmp_path / "own.usda")
    stage = Usd.Stage.Open(str(tmp_path / "own.usda"))
    stage.SetEndTimeCode(2)
    stage.GetRootLayer().Export(str(tmp_path / "a.usda"))
    got = load_model(tmp_path / "a.usda")
    assert got.clips == (Clip("a", 0, 3, 30.0),)
    assert_same_points(pose_frames(got), pose_frames(two_clips(), 0, 3), 1e-5)
