"""Second and later sets of texture coordinates and colours: kept by glTF and .npz, named where they are lost."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from osteon.core.mesh import Asset, Image, Material
from osteon.core.model import SkinnedModel
from osteon.io import SaveOptions, load_model, load_sequence, save_model, save_sequence
from osteon.io.models import note_lost, note_lost_sets
from osteon.lod.options import LodOptions
from osteon.pipeline.levels import fit_levels

from ..subjects import bent_tube

PNG = Image("paint", "image/png", b"\x89PNG\r\n\x1a\n and so on")
LIGHTS = Image("lights", "image/png", b"\x89PNG\r\n\x1a\n of another kind")


@pytest.fixture(scope="module")
def model() -> SkinnedModel:
    """A tube with two sets of coordinates, three of colours, and a picture on each set of coordinates."""
    tube = bent_tube().model
    rng = np.random.default_rng(0)
    place = tube.rest[tube.faces][..., :2].astype(np.float32)
    further = np.round(rng.random((len(tube.faces), 3, 2)), 2).astype(np.float32)  # seams of its own, everywhere
    colors = [(rng.integers(0, 256, (tube.n_vertices, 4)) / np.float32(255)).astype(np.float32) for _ in range(3)]
    material = Material("skin", textures=(("base_color", PNG), ("occlusion", LIGHTS)), uv_sets=(("occlusion", 1),))
    return tube.with_mesh(
        asset=Asset(
            uvs=place,
            colors=colors[0],
            more_uvs=(further,),
            more_colors=tuple(colors[1:]),
            materials=(material,),
            triangle_material=np.zeros(len(tube.faces), np.int32),
        )
    )


def assert_same_sets(found: Asset, expected: Asset) -> None:
    np.testing.assert_allclose(found.uvs, expected.uvs, atol=1e-6)
    assert len(found.more_uvs) == len(expected.more_uvs)
    for mine, theirs in zip(found.more_uvs, expected.more_uvs, strict=True):
        np.testing.assert_allclose(mine, theirs, atol=1e-6)
    for mine, theirs in zip((found.colors, *found.more_colors), (expected.colors, *expected.more_colors), strict=True):
        np.testing.assert_allclose(mine, theirs, atol=1e-6)
    assert found.materials[0].uv_sets == (("occlusion", 1),)
    assert found.materials[0].texture("occlusion") == LIGHTS


@pytest.mark.parametrize("name", ["a.glb", "a.gltf", "a.npz"])
def test_models_keep_all_sets(model: SkinnedModel, tmp_path: Path, name: str) -> None:
    save_model(model, tmp_path / name)
    assert_same_sets(load_model(tmp_path / name).asset, model.asset)
    assert note_lost(model, tmp_path / name) == ()


def test_compressed_files_keep_all_sets(model: SkinnedModel, tmp_path: Path) -> None:
    save_model(model, tmp_path / "a.glb", options=SaveOptions(compress=True))
    found = load_model(tmp_path / "a.glb").asset
    np.testing.assert_allclose(found.more_uvs[0], model.asset.more_uvs[0], atol=1e-3)
    np.testing.assert_allclose(found.more_colors[1], model.asset.more_colors[1], atol=1e-2)


def test_the_file_says_which_set_a_texture_lies_on(model: SkinnedModel, tmp_path: Path) -> None:
    save_model(model, tmp_path / "a.gltf")
    root = json.loads((tmp_path / "a.gltf").read_text())
    attributes = root["meshes"][0]["primitives"][0]["attributes"]
    assert {"TEXCOORD_0", "TEXCOORD_1", "COLOR_0", "COLOR_1", "COLOR_2"} <= set(attributes)
    (material,) = root["materials"]
    assert material["occlusionTexture"]["texCoord"] == 1
    assert "texCoord" not in material["pbrMetallicRoughness"]["baseColorTexture"]


def test_a_sequence_reads_and_stores_all_sets(model: SkinnedModel, tmp_path: Path) -> None:
    save_model(model, tmp_path / "a.glb")
    root = load_sequence(tmp_path / "a.glb")
    assert_same_sets(root.asset, model.asset)
    save_sequence(root, tmp_path / "b.npz")
    assert_same_sets(load_sequence(tmp_path / "b.npz").asset, model.asset)


@pytest.mark.parametrize("name", ["a.usdc", "frames", "a.abc"])
def test_other_formats_keep_the_first_set_and_the_rest_is_named(model: SkinnedModel, tmp_path: Path, name: str) -> None:
    (note,) = note_lost_sets(model.asset, name)
    assert note == (
        f"{name}: holds one set of texture coordinates and of colours; 1 further set of texture coordinates and "
        "2 further sets of colours and 1 texture on them left out"
    )
    if name.endswith(".usdc"):
        pytest.importorskip("pxr")
        save_model(model, tmp_path / name)
        found = load_model(tmp_path / name).asset
        assert [role for role, _ in found.materials[0].textures] == ["base_color"]
        np.testing.assert_allclose(found.uvs, model.asset.uvs, atol=1e-6)


def test_levels_of_detail_carry_all_sets(model: SkinnedModel) -> None:
    found = fit_levels(model, options=LodOptions(levels=2))
    assert found.meshes
    for mesh in found.meshes:
        asset = mesh.model.asset
        assert [uvs.shape for uvs in asset.more_uvs] == [asset.uvs.shape]
        assert [colors.shape for colors in asset.more_colors] == [asset.colors.shape] * 2


def test_authored_tangents_are_named(triangle_glb, tmp_path: Path) -> None:
    tangents = np.tile([1.0, 0, 0, 1], (3, 1)).astype(np.float32)
    triangle_glb.json["meshes"][0]["primitives"][0]["attributes"]["TANGENT"] = triangle_glb.accessor(tangents)
    sequence = load_sequence(triangle_glb.save(tmp_path / "t.glb"))
    (said,) = sequence.asset.origin.lost
    assert said.startswith("authored tangents (TANGENT) are omitted")


def test_textures_that_are_not_carried_are_named(triangle_glb, tmp_path: Path) -> None:
    root = triangle_glb.json
    root["meshes"][0]["primitives"][0]["material"] = 0
    root["materials"] = [{"name": "fur", "pbrMetallicRoughness": {"baseColorTexture": {"index": 0}}}]
    root["textures"], root["images"] = [{"source": 0}], [{"uri": "gone.png"}]
    (said,) = load_sequence(triangle_glb.save(tmp_path / "t.glb")).asset.origin.lost
    assert said == (
        "the base color texture of material 'fur' has an image that is missing or of an unknown format; it is omitted"
    )


def test_a_texture_on_coordinates_that_the_mesh_lacks_is_named(triangle_glb, tmp_path: Path) -> None:
    root = triangle_glb.json
    root["meshes"][0]["primitives"][0]["material"] = 0
    root["materials"] = [{"name": "fur", "pbrMetallicRoughness": {"baseColorTexture": {"index": 0, "texCoord": 1}}}]
    root["textures"], root["images"] = [{"source": 0}], [{"bufferView": triangle_glb.view(PNG.data)}]
    asset = load_sequence(triangle_glb.save(tmp_path / "t.glb")).asset
    assert asset.materials[0].textures == asset.materials[0].uv_sets == ()
    (said,) = asset.origin.lost
    assert said == (
        "the base color texture of material 'fur' uses texture coordinates 1, which the mesh does not have; "
        "it is omitted"
    )
