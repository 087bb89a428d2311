"""Primitives that Draco compressed, by npm's encoder: every attribute, both methods, skins."""

from __future__ import annotations

import base64
import os
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

from osteon.core.errors import FileFormatError, InputError
from osteon.io import load_model, load_sequence
from osteon.io.gltf.read import draco
from tests.formats.node_packages import ask_script

DRACO = "KHR_draco_mesh_compression"
COMPONENTS = {"FLOAT": 5126, "UINT8": 5121, "UINT16": 5123}


@pytest.fixture(autouse=True)
def _package() -> None:
    """DracoPy is there; where CI=true it must be."""
    if find_spec("DracoPy") is None:
        (pytest.fail if os.environ.get("CI") == "true" else pytest.skip)("install the extra osteon[draco]")


def grid(n: int = 6) -> tuple[np.ndarray, dict[str, tuple[str, str, np.ndarray]]]:
    """A bent square of triangles, and all that a character's vertices can have."""
    u, v = (a.reshape(-1) / n for a in np.meshgrid(np.arange(n + 1), np.arange(n + 1)))
    at = (np.arange(n)[:, None] * (n + 1) + np.arange(n)).reshape(-1, 1)
    faces = np.concatenate([at + np.array([[0, 1, n + 2]]), at + np.array([[0, n + 2, n + 1]])])
    weights = np.stack([1 - u, u, 0 * u, 0 * u], axis=1)
    attributes = {
        "POSITION": ("FLOAT", "POSITION", np.stack([u, v, np.sin(3 * u) * v], axis=1)),
        "NORMAL": ("FLOAT", "NORMAL", np.tile([0.0, 0.0, 1.0], (len(u), 1))),
        "TEXCOORD_0": ("FLOAT", "TEX_COORD", np.stack([u, v * v], axis=1)),
        "COLOR_0": ("UINT8", "COLOR", np.round(255 * np.stack([u, v, 1 - u, 0.5 + v / 2], axis=1))),
        "JOINTS_0": ("UINT16", "GENERIC", np.tile([0, 1, 0, 0], (len(u), 1))),
        "WEIGHTS_0": ("FLOAT", "GENERIC", weights),
    }
    return faces, attributes


def skinned(glb, faces: np.ndarray, attributes: dict, stream: dict | None):
    """The grid with two joints that turn; with a stream its accessors hold no data."""
    root, named = glb.json, {}
    for name, (kind, _, values) in attributes.items():
        code = {"FLOAT": "f4", "UINT8": "u1", "UINT16": "u2"}[kind]
        number = glb.accessor(values, code, normalized=name == "COLOR_0")
        named[name] = number
    indices = glb.accessor(faces.reshape(-1), "u2")
    primitive = {"attributes": named, "indices": indices}
    if stream is not None:
        view = glb.view(base64.b64decode(stream["stream"]))
        for number in (*named.values(), indices):
            del root["accessors"][number]["bufferView"]
        primitive["extensions"] = {DRACO: {"bufferView": view, "attributes": stream["ids"]}}
        root["extensionsRequired"] = root["extensionsUsed"] = [DRACO]
    root["meshes"] = [{"primitives": [primitive]}]
    root["skins"] = [{"joints": [1, 2]}]
    root["nodes"] = [{"mesh": 0, "skin": 0}, {"children": [2]}, {}]
    times, turns = glb.accessor([0.0, 1.0]), glb.accessor([[0.0, 0, 0, 1], [0.0, 0.6, 0, 0.8]])
    channel = {"sampler": 0, "target": {"node": 2, "path": "rotation"}}
    root["animations"] = [{"samplers": [{"input": times, "output": turns}], "channels": [channel]}]
    return glb


def encode(method: str, speed: int, bits: int = 0) -> dict:
    faces, attributes = grid()
    described = {
        name: {
            "type": kind,
            "kind": role,
            "width": values.shape[1],
            "bits": bits if role == "POSITION" else 0,
            "values": values.reshape(-1).tolist(),
        }
        for name, (kind, role, values) in attributes.items()
    }
    task = {"method": method, "speed": speed, "faces": faces.reshape(-1).tolist(), "attributes": described}
    return ask_script("draco_streams.mjs", [task], "draco3d")[0]


def seen(model) -> np.ndarray:
    """(t,…) every triangle with all that its corners carry, in an order of their own: Draco reorders."""
    asset = model.asset
    weights = np.zeros((model.n_vertices, 2))
    for k in range(model.skin.n_influences):
        np.add.at(weights, (np.arange(model.n_vertices), model.skin.bones[:, k]), model.skin.weights[:, k])
    rows = np.concatenate([model.rest, asset.colors, weights], axis=1)[model.faces]
    rows = np.concatenate([rows, asset.uvs], axis=2).round(6)
    first = np.lexsort(rows.transpose(2, 0, 1)[::-1], axis=-1)[:, 0]
    rows = np.stack([np.roll(row, -start, axis=0) for row, start in zip(rows, first, strict=True)])
    flat = rows.reshape(len(rows), -1)
    return flat[np.lexsort(flat.T[::-1])]


METHODS = [
    ("MESH_SEQUENTIAL_ENCODING", 10),
    ("MESH_SEQUENTIAL_ENCODING", 3),
    ("MESH_EDGEBREAKER_ENCODING", 5),
    ("MESH_EDGEBREAKER_ENCODING", 0),
]


@pytest.mark.parametrize(("method", "speed"), METHODS)
def test_everything_comes_back(glb, tmp_path, method, speed):
    faces, attributes = grid()
    plain = load_model(skinned(type(glb)(), faces, attributes, None).save(tmp_path / "plain.glb"))
    packed = load_model(skinned(glb, faces, attributes, encode(method, speed)).save(tmp_path / "packed.glb"))
    assert packed.skin.n_influences == plain.skin.n_influences
    assert np.allclose(seen(packed), seen(plain), atol=2e-6)
    assert np.allclose(packed.track.transforms, plain.track.transforms)


def test_quantized_positions(glb, tmp_path):
    faces, attributes = grid()
    file = skinned(glb, faces, attributes, encode("MESH_EDGEBREAKER_ENCODING", 5, bits=12)).save(
        tmp_path / "packed.glb"
    )
    rest = load_sequence(file).rest
    assert np.allclose(np.sort(rest[:, 0]), np.sort(attributes["POSITION"][2][:, 0]), atol=1e-3)


def test_plain_data_go_first(glb, tmp_path, monkeypatch):
    """A file with both is read without the package."""
    monkeypatch.setattr(draco, "find_spec", lambda name: None)
    faces, attributes = grid()
    file = skinned(glb, faces, attributes, None)
    file.json["meshes"][0]["primitives"][0]["extensions"] = {DRACO: {"bufferView": 0, "attributes": {}}}
    assert load_sequence(file.save(tmp_path / "both.glb")).n_triangles == len(faces)


@pytest.fixture(name="packed")
def _packed(glb):
    return skinned(glb, *grid(), encode("MESH_EDGEBREAKER_ENCODING", 5))


def test_without_the_package(packed, tmp_path, refused, monkeypatch):
    monkeypatch.setattr(draco, "find_spec", lambda name: None)
    with refused(FileFormatError, "bad.glb", "pip install 'osteon[draco]'"):
        load_sequence(packed.save(tmp_path / "bad.glb"))


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"bufferView": 0}, "damaged"),
        ({"bufferView": 99}, "bufferViews '99'"),
        ({"bufferView": None}, "'bufferView'"),
        ({"attributes": {"POSITION": 77}}, "no POSITION"),
        ({"attributes": {"POSITION": 2}}, "no POSITION"),
        ({"attributes": {"POSITION": "0"}}, "'POSITION'"),
        ({"attributes": 5}, "not an object"),
    ],
)
def test_lies(packed, tmp_path, refused, change, says):
    packed.json["meshes"][0]["primitives"][0]["extensions"][DRACO] |= change
    with refused(FileFormatError, "bad.glb", says):
        load_sequence(packed.save(tmp_path / "bad.glb"))


def test_spoiled_streams(packed, tmp_path):
    """Bytes changed anywhere in the stream: it is read, or refused with an error of ours."""
    view = packed.json["bufferViews"][packed.json["meshes"][0]["primitives"][0]["extensions"][DRACO]["bufferView"]]
    rng = np.random.default_rng(0)
    whole = bytes(packed.blob)
    for i in range(12):
        packed.blob[:] = whole
        start = view["byteOffset"] + (5 if i % 2 else 0)
        for at in rng.integers(start, start + (12 if i % 3 else view["byteLength"] - 5), 3):
            packed.blob[at] = rng.integers(0, 256)
        path = Path(tmp_path, "bad.glb")
        try:
            load_sequence(packed.save(path))
        except InputError:
            continue
