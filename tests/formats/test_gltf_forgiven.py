"""What is not quite glTF but has one meaning, and is read as other programs read it; numbers in every type."""

from __future__ import annotations

import json

import numpy as np
import pytest

from osteon.core.errors import FileFormatError
from osteon.io import load_model, load_sequence

TRIANGLE = np.array([[0.0, 0, 0], [1, 0, 0], [0, 1, 0]])
LIMITS = {"i1": 127, "u1": 255, "i2": 32767, "u2": 65535}


def rest_of(glb, folder) -> np.ndarray:
    return load_sequence(glb.save(folder / "t.glb")).rest


def with_points(root: dict) -> bytes:
    """The file as JSON with every whole number written as 3.0."""
    if isinstance(root, dict):
        return b"{" + b",".join(json.dumps(k).encode() + b":" + with_points(v) for k, v in root.items()) + b"}"
    if isinstance(root, list):
        return b"[" + b",".join(map(with_points, root)) + b"]"
    return json.dumps(float(root) if isinstance(root, int) and not isinstance(root, bool) else root).encode()


@pytest.mark.parametrize("read", [load_sequence, load_model])
def test_whole_numbers_with_a_point(triangle_glb, tmp_path, read):
    """5126.0, as programs write that know real numbers only: in counts, indices and codes."""
    root = triangle_glb.json
    primitive = root["meshes"][0]["primitives"][0]
    primitive |= {"indices": triangle_glb.accessor([0, 1, 2], "u2"), "mode": 4, "material": 0}
    primitive["attributes"]["JOINTS_0"] = triangle_glb.accessor([[0, 1, 0, 0]] * 3, "u1")
    primitive["attributes"]["WEIGHTS_0"] = triangle_glb.accessor([[0.5, 0.5, 0, 0]] * 3)
    root |= {"materials": [{"pbrMetallicRoughness": {"baseColorTexture": {"index": 0}}}], "textures": [{"source": 0}]}
    root["images"] = [{"bufferView": triangle_glb.view(b"\x89PNG\r\n\x1a\n")}]
    root |= {"skins": [{"joints": [1, 2]}], "scene": 0}
    root["nodes"] = [{"mesh": 0, "skin": 0}, {"children": [2]}, {}]
    root["scenes"] = [{"nodes": [0, 1]}]
    sampler = {"input": triangle_glb.accessor([0.0, 1.0]), "output": triangle_glb.accessor([[0, 0, 0], [1, 1, 1]])}
    channel = {"sampler": 0, "target": {"node": 1, "path": "translation"}}
    root["animations"] = [{"samplers": [sampler], "channels": [channel]}]
    expected = read(triangle_glb.save(tmp_path / "whole.glb"))
    (tmp_path / "t.bin").write_bytes(triangle_glb.blob)
    root["buffers"] = [{"byteLength": len(triangle_glb.blob), "uri": "t.bin"}]
    (tmp_path / "points.gltf").write_bytes(with_points(root))
    found = read(tmp_path / "points.gltf")
    assert np.array_equal(found.rest, expected.rest)
    assert found.n_frames == expected.n_frames
    assert len(found.asset.materials[0].textures) == 1


def test_half_numbers_are_no_indices(triangle_glb, tmp_path, refused):
    triangle_glb.json["nodes"][0]["mesh"] = 0.5
    with refused(FileFormatError, "t.glb", "'mesh'"):
        rest_of(triangle_glb, tmp_path)


def test_codes_as_texts(triangle_glb, tmp_path):
    triangle_glb.json["accessors"][0]["componentType"] = "5126"
    triangle_glb.json["meshes"][0]["primitives"][0]["mode"] = "4"
    assert np.array_equal(rest_of(triangle_glb, tmp_path), TRIANGLE)


@pytest.mark.parametrize(
    ("key", "value"), [("componentType", "float"), ("componentType", True), ("componentType", "²")]
)
def test_texts_that_are_no_codes(triangle_glb, tmp_path, refused, key, value):
    triangle_glb.json["accessors"][0][key] = value
    with refused(FileFormatError, "t.glb", key):
        rest_of(triangle_glb, tmp_path)


def test_odd_but_harmless(triangle_glb, tmp_path):
    """A stride of nothing, bounds as whole numbers, targets of buffer views left out or unknown, empty lists."""
    root = triangle_glb.json
    root["bufferViews"][0] |= {"byteStride": 0, "target": "ARRAY_BUFFER"}
    root["accessors"][0] |= {"min": [0, 0, 0], "max": [1, 1, 0]}
    root["meshes"][0]["primitives"][0]["targets"] = []
    root["meshes"][0]["weights"] = []
    root["nodes"][0]["children"] = []
    root |= {"animations": [], "skins": [], "materials": [], "textures": [], "images": [], "extensionsUsed": []}
    assert np.array_equal(rest_of(triangle_glb, tmp_path), TRIANGLE)


def test_a_primitive_without_triangles(triangle_glb, tmp_path):
    """Indices of which there are none show nothing; what else there is stays."""
    primitives = triangle_glb.json["meshes"][0]["primitives"]
    empty = triangle_glb.accessor([0, 1, 2], "u2")
    triangle_glb.json["accessors"][empty]["count"] = 0
    primitives.append({**primitives[0], "indices": empty})
    assert load_sequence(triangle_glb.save(tmp_path / "t.glb")).n_triangles == 1


@pytest.mark.parametrize("code", ["u1", "i1", "u2", "i2", "u4", "f4"])
def test_sparse_indices_of_any_type(triangle_glb, tmp_path, code):
    places, values = triangle_glb.accessor([1, 2], code), triangle_glb.accessor([[7, 0, 0], [0, 7, 0]])
    stored = triangle_glb.json["accessors"]
    triangle_glb.json["accessors"][0]["sparse"] = {
        "count": 2,
        "indices": {key: stored[places][key] for key in ("bufferView", "componentType")},
        "values": {"bufferView": stored[values]["bufferView"]},
    }
    assert np.array_equal(rest_of(triangle_glb, tmp_path), 7 * TRIANGLE)


def test_joints_as_real_numbers(triangle_glb, tmp_path):
    attributes = triangle_glb.json["meshes"][0]["primitives"][0]["attributes"]
    attributes["JOINTS_0"] = triangle_glb.accessor([[0.0, 1, 0, 0]] * 3)
    attributes["WEIGHTS_0"] = triangle_glb.accessor([[0.5, 0.5, 0, 0]] * 3)
    triangle_glb.json["skins"] = [{"joints": [1, 2]}]
    triangle_glb.json["nodes"] = [{"mesh": 0, "skin": 0}, {"children": [2]}, {}]
    assert load_model(triangle_glb.save(tmp_path / "t.glb")).track.n_bones == 2


@pytest.mark.parametrize("normalized", [False, True])
@pytest.mark.parametrize("code", LIMITS)
def test_quantized(triangle_glb, tmp_path, code, normalized):
    """KHR_mesh_quantization: positions, coordinates and morph targets in 8 and 16 bits, with elements on 4 bytes."""
    root = triangle_glb.json
    root["extensionsRequired"] = root["extensionsUsed"] = ["KHR_mesh_quantization"]
    signed = code[0] == "i"
    stored = np.array([[0, 100, 3], [-100 if signed else 50, 0, 1], [LIMITS[code], 7, 0]])
    deltas = np.array([[1, 2, 3], [-4 if signed else 4, 5, 6], [7, 8, 9]])
    uvs = np.array([[0, 1], [100, 50], [LIMITS[code], 0]])

    def accessor(values: np.ndarray) -> int:
        size = int(code[1])
        wide = np.zeros((3, -(-values.shape[1] * size // 4) * 4 // size), f"<{code}")
        wide[:, : values.shape[1]] = values
        number = triangle_glb.accessor(values, code, normalized=normalized)
        view = triangle_glb.view(wide.tobytes(), byteStride=wide.shape[1] * size)
        root["accessors"][number]["bufferView"] = view
        return number

    primitive = root["meshes"][0]["primitives"][0]
    primitive["attributes"] = {"POSITION": accessor(stored), "NORMAL": accessor(deltas), "TEXCOORD_0": accessor(uvs)}
    primitive["targets"] = [{"POSITION": accessor(deltas)}]
    unit = 1 / LIMITS[code] if normalized else 1
    model = load_model(triangle_glb.save(tmp_path / "t.glb"))
    assert np.allclose(model.rest, stored * unit)
    assert np.allclose(model.corrections.basis[0], deltas * unit)
    assert np.allclose(model.asset.uvs[0], uvs * unit * [1, -1] + [0, 1])
