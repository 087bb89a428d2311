"""Levels of detail in files: they come back beside the same model, and files without them are as before."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

from osteon.core.errors import FileFormatError, GeometryError, OptionError
from osteon.core.model import MOST_COARSE, StoredLevels, coarse_model
from osteon.deform.pose import pose_frames
from osteon.io import SaveOptions, load_model, load_stored_levels, save_model, save_stored_levels
from tests.contract.families import dual_quaternion
from tests.formats.test_gltf_own import ARRAYS, WORDS, own_model, part
from tests.leveled import make_levels
from tests.tolerance import assert_same_points

MODELS = {
    "rigid": lambda: own_model(kind="rigid"),
    "flexible": own_model,
    "eight influences": lambda: own_model(influences=8),
    "everything": lambda: own_model(rank=2, rich=True),
    "dual quaternions": dual_quaternion,
}


def written_json(model, levels, folder):
    save_stored_levels(model, levels, folder / "dog.gltf")
    return json.loads((folder / "dog.gltf").read_text())


@pytest.mark.parametrize("suffix", [".glb", ".gltf", ".npz"])
@pytest.mark.parametrize("case", MODELS)
def test_levels_come_back(case, suffix, tmp_path):
    model = MODELS[case]()
    levels, path = make_levels(model), tmp_path / f"dog{suffix}"
    save_stored_levels(model, levels, path)
    again, beside = load_stored_levels(path), load_model(path)
    assert again.header == levels.header
    assert again.coverage == levels.coverage
    for name, array in levels.arrays.items():
        np.testing.assert_array_equal(again.arrays[name], array)
    again.check_fit(beside)
    for one, other in zip(levels.coarse, again.coarse, strict=True):
        expected, found = coarse_model(model, one), coarse_model(beside, other)
        for name in ("faces", "skin.bones", "skin.weights", "asset.triangle_material", "asset.polygon_of_triangle"):
            np.testing.assert_array_equal(part(found, name), part(expected, name), err_msg=name)
        assert found.asset.materials == expected.asset.materials
        assert_same_points(pose_frames(found), pose_frames(expected))


@pytest.mark.parametrize("suffix", [".glb", ".npz"])
def test_the_model_is_the_same_with_levels(suffix, tmp_path):
    model = own_model(rank=2, rich=True)
    save_model(model, tmp_path / f"plain{suffix}")
    save_stored_levels(model, make_levels(model), tmp_path / f"leveled{suffix}")
    plain, leveled = (load_model(tmp_path / f"{name}{suffix}") for name in ("plain", "leveled"))
    for name in WORDS:
        assert part(leveled, name) == part(plain, name), name
    for name in ARRAYS:
        np.testing.assert_array_equal(part(leveled, name), part(plain, name), err_msg=name)
    assert load_stored_levels(tmp_path / f"plain{suffix}") is None


@pytest.mark.parametrize(
    "options", [SaveOptions(quantize=True), SaveOptions(compress=True), SaveOptions(key_error=1e-3)]
)
def test_levels_in_small_files(options, tmp_path):
    model, path = own_model(rank=2, rich=True), tmp_path / "dog.glb"
    levels = make_levels(model)
    save_stored_levels(model, levels, path, options=options)
    again, beside = load_stored_levels(path), load_model(path)
    for one, other in zip(levels.coarse, again.coarse, strict=True):
        found, expected = pose_frames(coarse_model(beside, other)), pose_frames(coarse_model(model, one))
        assert np.abs(found - expected).max() < 2e-3 * model.diagonal
    np.testing.assert_array_equal(again.arrays["errors"], levels.arrays["errors"])


def test_levels_without_coarse_meshes(tmp_path):
    model = own_model()
    for suffix in (".glb", ".npz"):
        save_stored_levels(model, make_levels(model, ()), tmp_path / f"dog{suffix}")
        assert load_stored_levels(tmp_path / f"dog{suffix}").coarse == ()
    root = written_json(model, make_levels(model, ()), tmp_path)
    assert "extensionsUsed" not in root
    assert "extensions" not in root["nodes"][0]


def test_a_stock_player_is_shown_the_model_alone(tmp_path):
    model = own_model(rank=2)
    root = written_json(model, make_levels(model), tmp_path)
    assert root["scenes"] == [{"nodes": [0, 1]}]
    ids = root["nodes"][0]["extensions"]["MSFT_lod"]["ids"]
    assert root["extensionsUsed"] == ["MSFT_lod"]
    assert root["nodes"][0]["extras"]["MSFT_screencoverage"] == [0.3, 0.1, 0.0]
    assert [root["nodes"][n]["name"] for n in ids] == ["dög_LOD1", "dög_LOD2"]
    assert {root["nodes"][n]["skin"] for n in (0, *ids)} == {0}
    assert not {child for node in root["nodes"] for child in node.get("children", [])} & set(ids)


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"coarse": [{"node": 99}]}, "nodes"),
        ({"coarse": [{}]}, "node"),
        ({"coarse": [{"node": 1}]}, "triangles"),
        ({"coarse": 5}, "list of objects"),
        ({"coarse": [{"node": 0}] * (MOST_COARSE + 1)}, "at most"),
        ({"coverage": [0.1, 0.2, 0.3]}, "never rise"),
        ({"coverage": []}, "coverage"),
        ({"arrays": {"order": {"accessor": 0}}}, "shape"),
        ({"arrays": {"order": {"accessor": 10**6, "shape": [1]}}}, "accessors"),
        ({"arrays": []}, "object"),
        ({"header": 7}, "object"),
    ],
)
def test_notes_that_lie_are_refused(change, told, tmp_path):
    model, path = own_model(), tmp_path / "dog.gltf"
    root = written_json(model, make_levels(model), tmp_path)
    root["asset"]["extras"]["osteon"]["levels"] |= change
    path.write_text(json.dumps(root))
    with pytest.raises((FileFormatError, GeometryError), match=told) as caught:
        load_stored_levels(path)
    assert str(path) in str(caught.value)
    load_model(path)


def test_a_damaged_archive_is_refused(tmp_path):
    model, path = own_model(), tmp_path / "dog.npz"
    save_stored_levels(model, make_levels(model), path)
    with np.load(path) as archive:
        arrays = dict(archive)
    for change in ({"coarse": 3}, {"coarse": [{"name": 3}]}, {"coverage": "x"}, {"header": 4}):
        header = json.loads(str(arrays["header"]))
        header["levels"] |= change
        np.savez(path, **(arrays | {"header": np.array(json.dumps(header))}))
        with pytest.raises((FileFormatError, GeometryError), match=str(path)):
            load_stored_levels(path)


def test_coarse_meshes_of_another_model_are_refused(tmp_path):
    plain, rich = own_model(), own_model(rank=2, rich=True)
    for one, other in ((plain, rich), (rich, plain)):
        with pytest.raises(GeometryError, match="are not the model's"):
            save_stored_levels(one, make_levels(other), tmp_path / "dog.glb")
    levels = make_levels(plain)
    with pytest.raises(GeometryError, match="coverage"):
        replace(levels, coverage=(0.1,))
    with pytest.raises(GeometryError, match="at most"):
        StoredLevels({}, {}, levels.coarse[:1] * (MOST_COARSE + 1), (0.0,) * (MOST_COARSE + 2))


def test_usd_has_no_place_for_levels(tmp_path):
    model = own_model()
    with pytest.raises(OptionError, match="no place for levels of detail; write a "):
        save_stored_levels(model, make_levels(model), tmp_path / "dog.usdc")
