"""Precomputed light in files: the same when it is read, the model too, with levels, and as stock players see it."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

from osteon.apply.light.model_light import ModelLight
from osteon.apply.light.options import LightColorOptions
from osteon.core.character import Corrections
from osteon.core.errors import OptionError
from osteon.core.model import StoredLight
from osteon.deform.pose import pose_frames
from osteon.io import load_model, load_stored_levels, load_stored_light, save_model, save_stored_light
from osteon.io.formats.options import SaveOptions
from osteon.pipeline.light import fit_light, shown_colors
from tests.leveled import make_levels
from tests.light_models import ENVIRONMENTS, SMALL, lit_body, moving_body
from tests.tolerance import assert_same_points


def stored_light(light: ModelLight, *, morphed: bool = True) -> StoredLight:
    shown = shown_colors(moving_body(), light, LightColorOptions(), morphed=morphed)
    return replace(light.stored(), shown=shown)


def document(path) -> dict:
    data = path.read_bytes()
    return json.loads(data[20 : 20 + int.from_bytes(data[12:16], "little")])


FILES = [
    (".npz", {}),
    (".gltf", {}),
    (".glb", {}),
    (".glb", {"quantize": True}),
    (".glb", {"compress": True, "engine": "web"}),
]


@pytest.mark.parametrize(("suffix", "options"), FILES)
def test_light_and_model_are_read_as_they_were(tmp_path, suffix, options):
    path, model, light = tmp_path / f"lit{suffix}", moving_body(), lit_body(baked=True)
    save_stored_light(model, stored_light(light), path, options=SaveOptions(**options))
    again = ModelLight.from_stored(load_stored_light(path))
    assert again.header() == light.header()
    for name, array in light.arrays().items():
        np.testing.assert_array_equal(again.arrays()[name], array)
    found = load_model(path)
    again.check_fit(found)
    assert found.corrections is None
    assert found.asset.colors is None
    assert_same_points(pose_frames(found), pose_frames(model), 5e-4 if options else 2e-6)


def test_a_model_with_colours_and_corrections_keeps_them(tmp_path):
    model, rng = moving_body(), np.random.default_rng(0)
    basis = rng.normal(size=(2, model.n_vertices, 3)) * 0.01
    corrections = Corrections(basis.astype("f4"), rng.random((model.n_frames, 2)).astype("f4"))
    colors = rng.random((model.n_vertices, 4)).astype("f4")
    model = model.with_corrections(corrections).with_mesh(asset=replace(model.asset, colors=colors))
    path = tmp_path / "lit.glb"
    save_stored_light(model, stored_light(lit_body(baked=True)), path)
    found = load_model(path)
    np.testing.assert_allclose(found.asset.colors, colors, atol=1e-6)
    assert found.n_columns == 2
    np.testing.assert_allclose(found.corrections.coefficients, corrections.coefficients, atol=1e-5)
    assert_same_points(pose_frames(found), pose_frames(model), 2e-6)
    primitive = document(path)["meshes"][0]["primitives"][0]
    assert [sorted(target) for target in primitive["targets"]] == [["COLOR_0", "POSITION"]] * 6


def test_stock_players_see_unlit_colours(tmp_path):
    morphed, static = tmp_path / "morphed.glb", tmp_path / "static.glb"
    light = lit_body(baked=True)
    save_stored_light(moving_body(), stored_light(light), morphed)
    save_stored_light(moving_body(), stored_light(light, morphed=False), static)
    for path, targets in ((morphed, 4), (static, 0)):
        root = document(path)
        primitive = root["meshes"][0]["primitives"][0]
        assert "COLOR_0" in primitive["attributes"]
        assert len(primitive.get("targets", [])) == targets
        assert root["extensionsUsed"] == ["KHR_materials_unlit"]
        assert all("KHR_materials_unlit" in material["extensions"] for material in root["materials"])
    occlusion = tmp_path / "occlusion.glb"
    save_stored_light(moving_body(), stored_light(lit_body(occlusion=True)), occlusion)
    assert "extensionsUsed" not in document(occlusion)  # the player's own light, times the occlusion


@pytest.mark.parametrize("suffix", [".glb", ".npz"])
def test_levels_and_light_are_in_one_file(tmp_path, suffix):
    model = moving_body()
    levels = make_levels(model)
    light = fit_light(model, ENVIRONMENTS, options=replace(SMALL, baked=True), levels=levels)
    path = tmp_path / f"all{suffix}"
    save_stored_light(model, stored_light(light), path, levels=levels)
    again, coarse = ModelLight.from_stored(load_stored_light(path)), load_stored_levels(path).coarse
    assert len(again.coarse) == len(coarse) == 2
    for one, character in zip(again.coarse, coarse, strict=True):
        assert one.mean.shape[0] == character.mesh.n_normals
        assert character.mesh.asset.colors is None
    load_model(path)


def test_a_file_without_light_has_none(tmp_path):
    for name in ("plain.glb", "plain.npz"):
        save_model(moving_body(), tmp_path / name)
        assert load_stored_light(tmp_path / name) is None
    with pytest.raises(OptionError, match="no place for precomputed light"):
        save_stored_light(moving_body(), stored_light(lit_body()), tmp_path / "a.usda")
