"""glTF files made to harm: addresses that lead out of the folder, and small files that ask for much."""

from __future__ import annotations

import base64
import json
import os
import sys
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest

from osteon.core.errors import FileFormatError, GeometryError
from osteon.io import LoadOptions, holds_model, load_model, load_sequence
from osteon.io.load import source as limits

READERS = (load_sequence, load_model, holds_model)
_opened: list[str] | None = None


def _listen(event: str, arguments: tuple) -> None:
    """Every way to open a file in Python comes by here; modules that are imported late do too."""
    if _opened is not None and event == "open" and isinstance(arguments[0], (str, bytes, os.PathLike)):
        name = os.fsdecode(arguments[0])
        if not name.endswith((".py", ".pyc")):
            _opened.append(name)


sys.addaudithook(_listen)


@pytest.fixture(name="opened")
def _opened_files():
    """The paths of all files opened during a test."""
    global _opened
    _opened = []
    yield _opened
    _opened = None


def gltf(folder: Path, root: dict) -> Path:
    path = folder / "bad.gltf"
    path.write_text(json.dumps(root))
    return path


OUTSIDE = [
    "../secret.bin",
    "..%2Fsecret.bin",
    "%2e%2e/secret.bin",
    "%2E%2E%2Fsecret.bin",
    "./.././secret.bin",
    "sub/../../secret.bin",
    "sub/%2e%2e/%2e%2e/secret.bin",
    "link.bin",
    "out/secret.bin",
    "loop/x.bin",
    "/etc/hostname",
    "//etc/hostname",
    "%2Fetc%2Fhostname",
    "file:///etc/hostname",
    "FILE:///etc/hostname",
    "http://localhost/x.bin",
    "https://example.com/x.bin",
    "\\\\server\\x.bin",
    "..\\secret.bin",
    "%5C%5Cserver%5Cx.bin",
    "C:\\x.bin",
    "C:/x.bin",
    "a\0b",
    "a%00b",
    "\ud800",
]


@pytest.fixture(name="inner")
def _inner(tmp_path):
    """A folder with a secret beside it, and links that lead out or round in a circle."""
    folder = tmp_path / "input"
    (folder / "sub").mkdir(parents=True)
    (tmp_path / "secret.bin").write_bytes(bytes(36))
    (folder / "link.bin").symlink_to(tmp_path / "secret.bin")
    (folder / "out").symlink_to(tmp_path)
    (folder / "loop").symlink_to("loop")
    return folder


@pytest.mark.parametrize("kind", ["buffers", "images"])
@pytest.mark.parametrize("uri", OUTSIDE)
def test_nothing_outside_the_folder_is_opened(triangle_glb, inner, refused, opened, kind, uri):
    root = triangle_glb.json
    root["buffers"] = [{"byteLength": 36, "uri": "data:;base64," + base64.b64encode(bytes(36)).decode()}]
    root[kind] = [{"byteLength": 36, "uri": uri}]
    path = gltf(inner, root)
    opened.clear()
    for read in READERS:
        with refused(FileFormatError, "bad.gltf", "folder"):
            read(path)
    assert set(opened) <= {str(path), "/proc/meminfo"}


@pytest.mark.parametrize("uri", ["%252e%252e/secret.bin", "n" * 5000, "sub", "pipe", "missing.bin", "", ".", "sub/.."])
def test_addresses_of_nothing(triangle_glb, inner, refused, opened, uri):
    os.mkfifo(inner / "pipe")  # to open it would be to wait for ever
    triangle_glb.json["buffers"] = [{"byteLength": 36, "uri": uri}]
    path = gltf(inner, triangle_glb.json)
    for read in READERS[:2]:
        with refused(FileFormatError, "bad.gltf", "missing"):
            read(path)
    assert set(opened) <= {str(path), "/proc/meminfo"}


@pytest.mark.parametrize(
    ("uri", "says"),
    [
        ("data:", "truncated before"),
        ("data:;base64", "truncated before"),
        ("data:;base64,", "has 0"),
        ("data:;base64,AAA", "base64"),
        ("data:;base64,A A=", "base64"),
        ("data:;base64,äöü", "base64"),
        ("data:text/plain,abc", "has 3"),
        ("DATA:;base64,AAAA", "folder"),
    ],
)
def test_spoiled_data_addresses(triangle_glb, tmp_path, refused, uri, says):
    triangle_glb.json["buffers"] = [{"byteLength": 36, "uri": uri}]
    for read in READERS[:2]:
        with refused(FileFormatError, "bad.gltf", says):
            read(gltf(tmp_path, triangle_glb.json))


def test_a_key_that_occurs_twice(triangle_glb, tmp_path, refused):
    text = json.dumps(triangle_glb.json)
    (tmp_path / "bad.gltf").write_text(text[:-1] + ', "nodes": []}')
    for read in READERS:
        with refused(FileFormatError, "bad.gltf", "'nodes' twice"):
            read(tmp_path / "bad.gltf")


def animate(glb, node, path, values):
    sampler = {"input": glb.accessor([0.0, 1.0]), "output": glb.accessor(values)}
    channel = {"sampler": 0, "target": {"node": node, "path": path}}
    glb.json["animations"] = [{"name": "move\nme", "samplers": [sampler], "channels": [channel]}]
    return glb


def test_a_very_deep_chain_of_nodes(triangle_glb, tmp_path):
    depth = 20_000
    triangle_glb.json["nodes"] = [{"children": [i + 1]} for i in range(depth)] + [{"mesh": 0}]
    animate(triangle_glb, 0, "translation", [[0.0, 0, 0], [0, 0, 1]])
    path = triangle_glb.save(tmp_path / "deep.glb")
    assert load_sequence(path).frames[-1, :, 2].tolist() == [1, 1, 1]
    assert load_model(path).track.transforms[-1, 0, 2].tolist() == [0, 0, 1, 1]


def test_numbers_that_grow_beyond_all_bounds(triangle_glb, tmp_path, refused):
    for scale in (1e30, 1e200):
        triangle_glb.json["nodes"] = [{"children": [i + 1], "scale": [scale] * 3} for i in range(8)] + [{"mesh": 0}]
        triangle_glb.json["scenes"] = [{"nodes": [0]}]
        for read in READERS[:2]:
            with refused(GeometryError, "bad.glb"):
                read(triangle_glb.save(tmp_path / "bad.glb"))


def test_movements_that_grow_beyond_all_bounds(triangle_glb, tmp_path, refused):
    animate(triangle_glb, 0, "scale", [[1, 1, 1], [3e38, 1, 1]])
    triangle_glb.json["nodes"] = [{"mesh": 0, "translation": [2e299, 0, 0]}]
    for read in READERS[:2]:
        with refused(GeometryError, "bad.glb"):
            read(triangle_glb.save(tmp_path / "bad.glb"))


def test_negative_joints(triangle_glb, tmp_path, refused):
    attributes = triangle_glb.json["meshes"][0]["primitives"][0]["attributes"]
    attributes["JOINTS_0"] = triangle_glb.accessor([[0, -1, 0, 0]] * 3, "i1")
    attributes["WEIGHTS_0"] = triangle_glb.accessor([[0.5, 0.5, 0, 0]] * 3)
    triangle_glb.json |= {"skins": [{"joints": [0]}], "nodes": [{"mesh": 0, "skin": 0}]}
    for read in READERS[:2]:
        with refused(FileFormatError, "bad.glb", "negative"):
            read(triangle_glb.save(tmp_path / "bad.glb"))


@pytest.mark.parametrize("matrix", [np.zeros(16), np.ones(16), np.diag([1.0, 1, 1, 0]).ravel(), np.full(16, 3e38)])
def test_bind_matrices_that_cannot_be_undone(triangle_glb, tmp_path, matrix):
    """A flat skin is drawn flat; one that grows beyond all bounds is refused."""
    attributes = triangle_glb.json["meshes"][0]["primitives"][0]["attributes"]
    attributes["JOINTS_0"] = triangle_glb.accessor([[0, 0, 0, 0]] * 3, "u1")
    attributes["WEIGHTS_0"] = triangle_glb.accessor([[1.0, 0, 0, 0]] * 3)
    bind = triangle_glb.accessor([matrix], "f4", "MAT4")
    triangle_glb.json["skins"] = [{"joints": [0], "inverseBindMatrices": bind}]
    triangle_glb.json["nodes"] = [{"mesh": 0, "skin": 0}]
    path = triangle_glb.save(tmp_path / "flat.glb")
    for read in READERS[:2]:
        with suppress(GeometryError):
            assert np.isfinite(read(path).rest).all()


@pytest.mark.parametrize("what", ["targets", "nodes", "primitives", "animations"])
def test_small_files_that_ask_for_much(triangle_glb, tmp_path, refused, monkeypatch, what):
    """The same numbers named again and again: refused before the memory is taken."""
    monkeypatch.setattr(limits, "free_memory", lambda: 1 << 20)
    root = triangle_glb.json
    primitive = root["meshes"][0]["primitives"][0]
    if what == "targets":
        primitive["targets"] = [{} for _ in range(20_000)]
    elif what == "nodes":
        root["nodes"] = [{"mesh": 0} for _ in range(20_000)]
        root["scenes"] = []
    elif what == "primitives":
        other = [{"attributes": {"POSITION": 0, f"_{i}": 0}} for i in range(20_000)]
        root["meshes"][0]["primitives"] = other
    else:
        animate(triangle_glb, 0, "translation", [[0.0, 0, 0], [0, 0, 1]])
        root["animations"][0]["samplers"][0]["input"] = triangle_glb.accessor([0.0, 30_000.0])
    path = triangle_glb.save(tmp_path / "bad.glb")
    assert path.stat().st_size < 2 << 20
    for read in READERS[:2]:
        with refused(FileFormatError, "bad.glb", "of memory that are free"):
            read(path)


def test_names_cannot_break_a_message_or_a_terminal(triangle_glb, tmp_path, refused):
    triangle_glb.json["nodes"][0]["name"] = "half \ud800 a pair"
    path = triangle_glb.save(tmp_path / "odd.glb")
    assert load_model(path).track.names == ("half ? a pair",)
    animate(triangle_glb, 0, "translation", [[0.0, 0, 0], [0, 0, 1]])
    triangle_glb.json["animations"][0]["samplers"][0]["input"] = triangle_glb.accessor([0.0, 1e9])
    for read in READERS[:2]:
        with refused(FileFormatError, "bad.glb", "lasts"):
            read(triangle_glb.save(tmp_path / "bad.glb"))


def test_one_damaged_key_makes_no_hours(triangle_glb, tmp_path, refused):
    animate(triangle_glb, 0, "translation", [[0.0, 0, 0], [0, 0, 1]])
    triangle_glb.json["animations"][0]["samplers"][0]["input"] = triangle_glb.accessor([0.0, 32_000.0])
    path = triangle_glb.save(tmp_path / "bad.glb")
    for read in READERS[:2]:
        with refused(FileFormatError, "bad.glb", "768001 frames", "key times"):
            read(path)
    assert load_sequence(path, options=LoadOptions(fps=0.01)).n_frames == 321


@pytest.mark.parametrize("source", [[0], {}, True, "0", 1])
def test_a_texture_names_a_picture_by_its_number(triangle_glb, tmp_path, refused, source):
    root = triangle_glb.json
    root["materials"] = [{"pbrMetallicRoughness": {"baseColorTexture": {"index": 0}}}]
    root["meshes"][0]["primitives"][0]["material"] = 0
    root["textures"], root["images"] = [{"source": source}], [{"uri": "data:,"}]
    with refused(FileFormatError, "bad.glb", "texture 0 refers to images"):
        load_sequence(triangle_glb.save(tmp_path / "bad.glb"))


def test_many_parts_of_one_name(triangle_glb, tmp_path):
    count = 5000
    triangle_glb.json["nodes"] = [{"mesh": 0, "name": "leaf"} for _ in range(count)]
    triangle_glb.json["scenes"] = []
    names = load_sequence(triangle_glb.save(tmp_path / "tree.glb")).asset.primitive_names
    assert names[:6] == ("leaf", "leaf_", "leaf__", "leaf___", "leaf_4", "leaf_5")
    assert len(set(names)) == count


def test_types_that_say_too_much(triangle_glb, tmp_path, refused):
    for key, value in (("type", "V" * 10_000), ("componentType", [[1] * 5000])):
        kept = triangle_glb.json["accessors"][0][key]
        triangle_glb.json["accessors"][0][key] = value
        with refused(FileFormatError, "bad.glb"):
            load_model(triangle_glb.save(tmp_path / "bad.glb"))
        triangle_glb.json["accessors"][0][key] = kept


def test_spoiled_images(triangle_glb, tmp_path, refused):
    root = triangle_glb.json
    root["meshes"][0]["primitives"][0]["material"] = 0
    root["materials"] = [{"pbrMetallicRoughness": {"baseColorTexture": {"index": 0}}}]
    root["textures"] = [{"source": 0}]
    for image, says in (({"bufferView": 9}, "bufferViews"), ({}, "bufferViews"), ({"uri": 5}, "not a string")):
        root["images"] = [image]
        with refused(FileFormatError, "bad.glb", says):
            load_sequence(triangle_glb.save(tmp_path / "bad.glb"))
    root["bufferViews"].append({"buffer": 0, "byteOffset": 8, "byteLength": 10**12})
    root["images"] = [{"bufferView": 1}]
    with refused(FileFormatError, "bad.glb", "beyond the end"):
        load_sequence(triangle_glb.save(tmp_path / "bad.glb"))


def test_flat_and_tiny_placements(triangle_glb, tmp_path):
    for scale in ([0, 0, 0], [1, 0, 1], [1e-30, 1e-30, 1e-30], [1e-200, 1, 1], [5e-310, 5e-310, 5e-310]):
        triangle_glb.json["nodes"][0] = {"mesh": 0, "scale": scale}
        path = triangle_glb.save(tmp_path / "flat.glb")
        assert np.isfinite(load_sequence(path).frames).all()
        assert np.isfinite(load_model(path).track.transforms).all()
