"""glTF files of Osteon: the model comes back, and notes that lie are refused."""

from __future__ import annotations

import json
import struct
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest

from osteon.core.animation import Clip
from osteon.core.character import Corrections, Skeleton
from osteon.core.errors import FileFormatError, GeometryError
from osteon.core.mesh import Asset, Image, Material
from osteon.core.model import SkinnedModel
from osteon.deform.pose import pose_frames
from osteon.io import SaveOptions, holds_model, load_model, load_sequence, save_model
from osteon.synth.baked import RandomOptions, bake_random_model
from tests.formats.agreement import assert_readers_agree
from tests.tolerance import assert_same_points

CHARACTERS = Path(__file__).resolve().parents[2].parent / "shared" / "data" / "characters"
PNG = b"\x89PNG\r\n\x1a\n picture"


def own_model(*, influences: int = 4, rank: int = 0, kind: str = "flexible", rich: bool = False) -> SkinnedModel:
    rng = np.random.default_rng(3)
    model = bake_random_model(1, options=RandomOptions(5, 12, 60, influences, kind)).model
    n, t = model.n_vertices, len(model.faces)
    model = model.with_mesh(name="dög").with_animation(clips=(Clip("walk", 0, 5, 24.0), Clip("run", 5, 12, 59.94)))
    if rank:
        bases = 0.01 * rng.normal(size=(2, rank, n, 3))
        model = model.with_corrections(Corrections(bases[0], rng.normal(size=(12, rank)), 10 * bases[1]))
    if not rich:
        return model
    looks = (("base_color", Image("skin", "image/png", PNG)), ("normal", Image("bump", "image/jpeg", b"\xff\xd8\xff.")))
    asset = Asset(
        uvs=rng.random((t, 3, 2)),
        colors=rng.random((n, 4)),
        materials=(
            Material("fur", (0.1, 0.2, 0.3, 0.4), 0.5, 0.6, True, (0.1, 0, 1), "MASK", 0.25, looks),
            Material("eye"),
        ),
        triangle_material=rng.integers(0, 2, t),
        polygon_of_triangle=np.arange(t) // 2,
        primitive_of_triangle=rng.integers(0, 3, t),
        primitive_names=("head", "body", "tail"),
    )
    placed = np.concatenate([np.tile(np.eye(3), (5, 1, 1)), rng.normal(size=(5, 3, 1))], axis=2)
    tree = Skeleton(("hip", "leg", "arm", "toe", "thumb"), np.array([-1, 0, 0, 1, 2]), placed)
    return model.with_mesh(asset=asset).with_character(skeleton=tree)


CASES = {
    "rigid": {"kind": "rigid"},
    "flexible": {},
    "two influences": {"influences": 2},
    "eight influences": {"influences": 8},
    "corrections": {"rank": 3},
    "everything": {"rank": 2, "rich": True},
}
ARRAYS = (
    *(
        "rest",
        "faces",
        "skin.bones",
        "skin.weights",
        "track.transforms",
        "corrections.basis",
        "corrections.normal_basis",
    ),
    *("corrections.coefficients", "skeleton.parents", "skeleton.world_from_joint", "asset.uvs", "asset.colors"),
    *("asset.triangle_material", "asset.polygon_of_triangle", "asset.primitive_of_triangle"),
)
WORDS = (
    "clips",
    "name",
    "track.names",
    "track.bone_type",
    "skeleton.names",
    "asset.materials",
    "asset.primitive_names",
)


def part(model, path):
    for name in path.split("."):
        model = None if model is None else getattr(model, name)
    return model


@pytest.mark.parametrize("suffix", [".glb", ".gltf"])
@pytest.mark.parametrize("case", CASES)
def test_own_models_come_back(case, suffix, tmp_path):
    model = own_model(**CASES[case])
    path = tmp_path / f"dog{suffix}"
    save_model(model, path)
    assert holds_model(path)
    again = assert_readers_agree(path)
    for name in WORDS:
        assert part(again, name) == part(model, name), name
    for name in ARRAYS:
        one, other = part(model, name), part(again, name)
        assert (one is None) == (other is None), name
        if one is not None:
            assert one.shape == other.shape, name
            exact = name.startswith(("faces", "skin.", "asset.p", "asset.t", "skeleton.", "corrections.basis"))
            exact = exact or (name == "rest" and not model.rank)
            size = 0 if exact else 1e-6 * max(1.0, np.abs(one).max())
            np.testing.assert_allclose(other, one, rtol=0, atol=size, err_msg=name)
    assert_same_points(pose_frames(again), pose_frames(model))


@pytest.mark.parametrize("case", CASES)
def test_own_models_in_sixteen_bits(case, tmp_path):
    model = own_model(**CASES[case])
    save_model(model, tmp_path / "dog.glb", options=SaveOptions(quantize=True))
    again = assert_readers_agree(tmp_path / "dog.glb")
    assert np.array_equal(again.faces, model.faces)
    assert_same_points(pose_frames(again), pose_frames(model), 2e-4)


@pytest.mark.skipif(not CHARACTERS.is_dir(), reason="no shared data beside the repository")
@pytest.mark.parametrize("name", ["CesiumMan", "Fox", "Horse", "MorphStressTest", "Soldier"])
def test_characters_of_others_written_again(name, tmp_path):
    model = load_model(CHARACTERS / f"{name}.glb")
    save_model(model, tmp_path / "again.glb")
    again = assert_readers_agree(tmp_path / "again.glb")
    assert_same_points(pose_frames(again), pose_frames(model), 2e-6)
    for part_name in WORDS:
        assert part(again, part_name) == part(model, part_name) or part_name == "name", part_name


def own_json(tmp_path):
    save_model(own_model(rank=2, rich=True), tmp_path / "dog.gltf")
    return json.loads((tmp_path / "dog.gltf").read_text())


def test_a_file_that_another_program_changed_is_read_as_any_other(tmp_path):
    root = own_json(tmp_path)
    root["asset"]["generator"] = "some optimiser"
    (tmp_path / "dog.gltf").write_text(json.dumps(root))
    model = assert_readers_agree(tmp_path / "dog.gltf")
    assert model.n_vertices > own_model().n_vertices  # split where texture coordinates differ
    assert model.n_bones == 10  # both nodes of a flexible bone are joints


@pytest.mark.parametrize(
    "key",
    [
        "influences",
        "clips",
        "vertices",
        "triangles",
        "polygons",
        "primitives",
        "joints",
        "low",
        "span",
        "plain",
        "bone_joints",
    ],
)
def test_notes_that_do_not_fit(tmp_path, key):
    """Refused with the file's name, or harmless; never a crash."""
    root = own_json(tmp_path)
    told = []
    for nonsense in (-1, 0, 10**9, "x", [], [{}], [-1], {}, [{"name": "a", "frames": 10**9, "fps": 1}], 2.5):
        root["asset"]["extras"]["osteon"][key] = nonsense
        (tmp_path / "bad.gltf").write_text(json.dumps(root))
        for read in (load_model, load_sequence):
            with suppress(FileFormatError, GeometryError):
                read(tmp_path / "bad.gltf")
                continue
            told.append(nonsense)
    assert len(told) >= 8


def test_notes_of_another_release_are_left_alone(tmp_path):
    root = own_json(tmp_path)
    root["asset"]["extras"]["osteon"]["version"] = 99
    (tmp_path / "dog.gltf").write_text(json.dumps(root))
    assert_readers_agree(tmp_path / "dog.gltf")


def test_cut_binary(tmp_path, refused):
    save_model(own_model(rank=2, rich=True), tmp_path / "dog.glb")
    data = (tmp_path / "dog.glb").read_bytes()
    size = struct.unpack_from("<I", data, 12)[0]
    for stop in (4, 19, 20 + size // 2, 20 + size + 4, len(data) - 1):
        (tmp_path / "bad.glb").write_bytes(data[:stop])
        with refused(FileFormatError, "bad.glb"):
            load_model(tmp_path / "bad.glb")
