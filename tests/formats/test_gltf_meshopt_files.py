"""Files with compressed buffer views: gltfpack's, and ones that lie."""

from __future__ import annotations

import json
import struct
from pathlib import Path

import numpy as np
import pytest
from scipy.spatial import KDTree

from osteon.core.errors import FileFormatError, InputError
from osteon.core.sequence import MeshSequence
from osteon.deform.pose import pose_frames
from osteon.io import load_model, load_sequence, save_model
from tests.formats.node_packages import gltfpack
from tests.formats.test_gltf_own import own_model
from tests.subjects import bent_tube

PACKED = {
    "quantized": ("-c",),
    "filtered": ("-cc",),
    "later codec": ("-ce", "khr", "-cc"),
    "real numbers": ("-cc", "-vpf", "-vtf", "-vnf"),
    "as they are": ("-c", "-noq"),
}
EXTENSION = "EXT_meshopt_compression"

#: Three vertices and a triangle, compressed by hand: no difference is stored but those of the second and third vertex.
POSITIONS = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0]], "<f4")


def plain_stream(elements: np.ndarray) -> bytes:
    """Elements (n,stride) as a stream of version 0 in which all differences are whole bytes."""
    count, stride = elements.shape
    deltas = np.diff(elements.astype(np.int16), axis=0, prepend=elements[:1].astype(np.int16)).astype(np.int8)
    zigzag = ((deltas << 1) ^ (deltas >> 7)).astype(np.uint8)
    body = b"\xa0"
    for k in range(stride):
        body += b"\x03" + zigzag[:, k].tobytes() + bytes(16 - count)
    return body + bytes(max(0, 32 - stride)) + elements[0].tobytes()


@pytest.fixture(name="packed_glb")
def _packed_glb(triangle_glb):
    """The triangle with its positions compressed, and a buffer that only says how long they are."""
    root = triangle_glb.json
    stream = plain_stream(POSITIONS.view(np.uint8))
    stored = triangle_glb.view(stream)
    packed = {"buffer": 0, "byteLength": len(stream), "byteStride": 12, "count": 3, "mode": "ATTRIBUTES"}
    packed["byteOffset"] = root["bufferViews"][stored]["byteOffset"]
    root["bufferViews"][0] = {"buffer": 1, "byteLength": 36, "byteStride": 12, "extensions": {EXTENSION: packed}}
    root["buffers"] = [{"byteLength": len(triangle_glb.blob)}, {"byteLength": 36}]
    root["extensionsRequired"] = root["extensionsUsed"] = [EXTENSION]
    return triangle_glb


def test_compressed_by_hand(packed_glb, tmp_path):
    assert np.array_equal(load_sequence(packed_glb.save(tmp_path / "t.glb")).rest, POSITIONS)


def distance(first: MeshSequence, second: MeshSequence) -> float:
    """How far the corners of triangles are from each other at their farthest, in parts of the diagonal.

    gltfpack reorders, so each corner has the nearest in the same frame.
    """
    worst = 0.0
    for a, b in zip(first.frames, second.frames, strict=True):
        size = np.linalg.norm(np.ptp(a, axis=0))
        worst = max(worst, KDTree(a).query(b)[0].max() / size, KDTree(b).query(a)[0].max() / size)
    return worst


@pytest.mark.parametrize("flags", PACKED.values(), ids=PACKED)
def test_gltfpack(tmp_path, flags):
    """A model of ours, packed by gltfpack, plays as before."""
    model = bent_tube(3, 12).model
    save_model(model, tmp_path / "tube.glb")
    packed = gltfpack(tmp_path / "tube.glb", tmp_path / "packed.glb", "-af", "0", *flags)
    assert b"_meshopt_compression" in packed.read_bytes()
    before, after = load_sequence(tmp_path / "tube.glb"), load_sequence(packed)
    assert before.n_triangles == after.n_triangles
    assert before.n_frames == after.n_frames
    assert distance(before, after) < 2e-3
    assert distance(after, after.with_parts(frames=pose_frames(load_model(packed)))) < 1e-5


def test_gltfpack_keeps_what_is_seen(tmp_path):
    """Colours, pictures and the texture coordinates that gltfpack moves into the material."""
    save_model(own_model(rich=True, rank=2), tmp_path / "own.glb")
    packed = gltfpack(tmp_path / "own.glb", tmp_path / "packed.glb", "-c", "-kn", "-km", "-af", "0", "-vt", "16")
    before, after = load_sequence(tmp_path / "own.glb").asset, load_sequence(packed).asset
    looks = {material.name: [role for role, _ in material.textures] for material in after.materials}
    assert looks["fur"] == [role for role, _ in before.materials[0].textures]
    assert np.allclose(
        np.sort(after.uvs[..., 0], axis=None)[[0, -1]], [before.uvs[..., 0].min(), before.uvs[..., 0].max()], atol=0.2
    )
    assert after.uvs.min() > -1e-3
    assert after.uvs.max() < 1 + 1e-3


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"count": 10**9}, "declares 36 bytes"),
        ({"count": 2}, "declares 36 bytes"),
        ({"byteStride": 10}, "do not fit ATTRIBUTES"),
        ({"byteStride": 260}, "do not fit ATTRIBUTES"),
        ({"byteStride": 0}, "do not fit ATTRIBUTES"),
        ({"mode": "TRIANGLES"}, "do not fit TRIANGLES"),
        ({"mode": "INDICES", "byteStride": 4, "count": 9}, "first byte"),
        ({"mode": "STRIPS"}, "'STRIPS'"),
        ({"filter": "CUBIC"}, "'CUBIC'"),
        ({"filter": "QUATERNION"}, "do not fit"),
        ({"buffer": 7}, "buffers '7'"),
        ({"buffer": 1}, "buffer 1 has no data"),
        ({"byteOffset": 10**6}, "beyond the end"),
        ({"byteLength": 10**6}, "beyond the end"),
        ({"byteLength": 0}, "beyond the end"),
        ({"byteLength": 40}, "more than its compressed data can hold"),
        ({"byteLength": 230}, "damaged"),
        ({"byteOffset": 0}, "first byte"),
        ({"count": "3"}, "'count'"),
    ],
)
def test_lies(packed_glb, tmp_path, refused, change, says):
    packed_glb.json["bufferViews"][0]["extensions"][EXTENSION] |= change
    with refused(FileFormatError, "bad.glb", says):
        load_sequence(packed_glb.save(tmp_path / "bad.glb"))


def test_nothing_huge_is_made(packed_glb, tmp_path, refused):
    """A view that declares a terabyte, in the extension and beside it."""
    view = packed_glb.json["bufferViews"][0]
    view["extensions"][EXTENSION]["count"] = 10**11
    view["byteLength"] = 12 * 10**11
    with refused(FileFormatError, "bad.glb", "more than its compressed data can hold"):
        load_sequence(packed_glb.save(tmp_path / "bad.glb"))


def test_spoiled_files(tmp_path):
    """Bytes changed anywhere in a packed file: it is read, or refused with an error of ours."""
    save_model(bent_tube(2, 4).model, tmp_path / "tube.glb")
    data = gltfpack(tmp_path / "tube.glb", tmp_path / "packed.glb", "-cc").read_bytes()
    (length,) = struct.unpack_from("<I", data, 12)
    assert json.loads(data[20 : 20 + length])
    rng = np.random.default_rng(0)
    refusals = 0
    for i in range(120):
        spoiled = bytearray(data)
        for at in rng.integers(20 if i % 3 else 28 + length, len(data), 4):
            spoiled[at] = rng.integers(0, 256)
        path = Path(tmp_path, "bad.glb")
        path.write_bytes(spoiled)
        try:
            load_sequence(path)
        except InputError:
            refusals += 1
    assert refusals > 10
