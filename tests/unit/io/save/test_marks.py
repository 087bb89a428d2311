"""Osteon knows its own files again, and takes no other for its own."""

from __future__ import annotations

import json

import numpy as np
import pytest

from osteon.core.asset import Asset, Image, Material
from osteon.core.errors import FileFormatError
from osteon.core.sequence import MeshSequence
from osteon.io import save_model, save_sequence
from osteon.io.save.marks import check_marked, is_ours
from osteon.io.skeletons import load_skeleton, save_skeleton
from osteon.report.picture import save_png
from osteon.synth.baked import bake_cylinder
from osteon.synth.figure import make_figure
from osteon_bench.record import COLUMNS

BAKED = bake_cylinder(2)
MODELS = (".npz", ".glb", ".gltf", ".usda", ".usdc", ".usdz")
SEQUENCES = (".npz", ".abc", ".usda", ".usdc", ".usdz")
FACES = np.array([[0, 1, 2]], np.int32)


@pytest.mark.parametrize("suffix", MODELS)
def test_models_carry_the_mark(tmp_path, suffix):
    if "usd" in suffix:
        pytest.importorskip("pxr")
    save_model(BAKED.model, tmp_path / f"a{suffix}")
    assert is_ours(tmp_path / f"a{suffix}")


@pytest.mark.parametrize("suffix", SEQUENCES)
def test_sequences_carry_the_mark(tmp_path, suffix):
    pytest.importorskip("alembic3d" if suffix == ".abc" else "pxr" if "usd" in suffix else "numpy")
    save_sequence(BAKED.sequence, tmp_path / f"a{suffix}")
    assert is_ours(tmp_path / f"a{suffix}")


def test_pictures_skeletons_and_records_carry_the_mark(tmp_path):
    save_png(np.zeros((4, 5, 3), np.uint8), tmp_path / "a.png")
    _, _, skeleton = make_figure()
    save_skeleton(skeleton, tmp_path / "a.json")
    (tmp_path / "a.csv").write_text(",".join(COLUMNS) + "\n")
    for name in ("a.png", "a.json", "a.csv"):
        assert is_ours(tmp_path / name), name
    assert load_skeleton(tmp_path / "a.json").n_bones == skeleton.n_bones


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("a.obj", b"# made by me, not written by Osteon\nv 0 0 0\n"),
        ("a.ply", b"ply\nformat ascii 1.0\ncomment mine\n"),
        ("a.json", json.dumps({"my": {"generator": "Osteon 1"}}).encode()),
        ("a.gltf", b'{"asset":{"version":"2.0","generator":"Khronos glTF Blender I/O"}}'),
        ("a.glb", b"glTF" + bytes(16) + b'{"asset":{"version":"2.0","generator":"THREE"}}'),
        ("a.html", b"<!doctype html><title>Osteon</title>"),
        ("a.png", b"\x89PNG\r\n\x1a\n" + bytes(60)),
        ("a.npz", b"PK\x03\x04 damaged"),
        ("a.usda", b"#usda 1.0\n(\n"),
        ("a.usdz", b"PK\x03\x04 damaged"),
        ("a.usdc", b"PXR-USDC damaged"),
        ("a.abc", b"Ogawa" + bytes(40)),
        ("a.js", b"console.log('Osteon')"),
        ("a.jpg", b"\xff\xd8\xff"),
        ("a.npy", b"\x93NUMPY"),
    ],
)
def test_files_of_others_do_not(tmp_path, name, data):
    (tmp_path / name).write_bytes(data)
    assert not is_ours(tmp_path / name)


def test_what_cannot_be_read_is_not_ours(tmp_path):
    assert not is_ours(tmp_path)
    assert not is_ours(tmp_path / "absent.obj")


def test_pictures_beside_frames_are_known_by_their_bytes(tmp_path, refused):
    coat = Image("coat", "image/png", b"\x89PNG somebody's own picture")
    asset = Asset(
        uvs=np.zeros((1, 3, 2), np.float32),
        materials=(Material("fur", textures=(("base_color", coat),)),),
        triangle_material=np.zeros(1, np.int32),
    )
    frames = np.arange(18, dtype=np.float32).reshape(2, 3, 3)
    sequence = MeshSequence(frames, FACES, frames[0], asset=asset)
    for _ in range(2):
        save_sequence(sequence, tmp_path / "out")
    check_marked(tmp_path / "out")
    (picture,) = (tmp_path / "out").glob("*.png")
    picture.write_bytes(b"\x89PNG retouched for a day")
    with refused(FileFormatError, picture.name, "did not write"):
        save_sequence(sequence, tmp_path / "out")
    assert picture.read_bytes().endswith(b"day")
