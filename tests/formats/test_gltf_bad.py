"""glTF files that lie, leak or break off."""

from __future__ import annotations

import copy
import json
import struct

import numpy as np
import pytest

from osteon.core.errors import FileFormatError, GeometryError, InputError
from osteon.io import load_model, load_sequence

READERS = (load_sequence, load_model)


@pytest.fixture(name="rich")
def _rich(triangle_glb):
    """A triangle with a skin, a morph target, a material and an animation."""
    root = triangle_glb.json
    primitive = root["meshes"][0]["primitives"][0]
    primitive["attributes"]["JOINTS_0"] = triangle_glb.accessor([[0, 1, 0, 0]] * 3, "u1")
    primitive["attributes"]["WEIGHTS_0"] = triangle_glb.accessor([[0.5, 0.5, 0, 0]] * 3)
    primitive["targets"] = [{"POSITION": triangle_glb.accessor(np.ones((3, 3)))}]
    primitive["indices"] = triangle_glb.accessor([0, 1, 2], "u2")
    primitive["material"] = 0
    root["materials"] = [{}]
    bind = triangle_glb.accessor(np.tile(np.eye(4).ravel(), (2, 1)), "f4", "MAT4")
    root["skins"] = [{"joints": [1, 2], "inverseBindMatrices": bind}]
    root["nodes"] = [{"mesh": 0, "skin": 0}, {"children": [2]}, {}]
    root["scenes"] = [{"nodes": [0, 1]}]
    samplers = [
        {"input": triangle_glb.accessor([0.0, 1.0]), "output": triangle_glb.accessor([[0, 0, 0], [1, 1, 1]])},
        {"input": 6, "output": triangle_glb.accessor([0.0, 1.0])},
    ]
    channels = [
        {"sampler": 0, "target": {"node": 1, "path": "translation"}},
        {"sampler": 1, "target": {"node": 0, "path": "weights"}},
    ]
    root["animations"] = [{"samplers": samplers, "channels": channels}]
    return triangle_glb


def put(*path_and_value):
    *path, value = path_and_value

    def change(root):
        for step in path[:-1]:
            root = root[step]
        if value is None:
            del root[path[-1]]
        else:
            root[path[-1]] = value

    return change


PRIMITIVE = ("meshes", 0, "primitives", 0)
ANIMATION = ("animations", 0)


def test_the_rich_file_is_fine(rich, tmp_path):
    assert load_sequence(rich.save(tmp_path / "ok.glb")).n_frames == 25


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (put("asset", None), "version"),
        (put("asset", "version", "1.0"), "1.0"),
        (put("extensionsRequired", ["EXT_unheard_of"]), "EXT_unheard_of"),
        (put("nodes", 7), "'nodes'"),
        (put("nodes", 0, "mesh", 5), "meshes '5'"),
        (put("nodes", 0, "mesh", "0"), "'mesh'"),
        (put("nodes", 0, "mesh", True), "'mesh'"),
        (put("nodes", 0, "skin", -1), "skins '-1'"),
        (put("nodes", 0, "rotation", [0, 0, 1]), "'rotation'"),
        (put("nodes", 0, "scale", "big"), "'scale'"),
        (put("nodes", 0, "weights", [1, 2]), "2 weights"),
        (put("nodes", 2, "children", [1]), "cycle"),
        (put("nodes", 2, "children", [2]), "both"),
        (put("nodes", 0, "children", [2]), "both"),
        (put("nodes", 0, "children", [9]), "nodes '9'"),
        (put("nodes", 0, "children", [0]), "cycle"),
        (put("nodes", 1, "children", [2, 2]), "both"),
        (put("scenes", 0, "nodes", [77]), "nodes '77'"),
        (put("scene", 3), "scenes '3'"),
        (put(*PRIMITIVE, "attributes", "POSITION", None), "no POSITION"),
        (put(*PRIMITIVE, "attributes", "POSITION", 99), "accessors '99'"),
        (put(*PRIMITIVE, "attributes", "POSITION", 1), "does not fit"),
        (put(*PRIMITIVE, "attributes", "JOINTS_0", 2), "expected integers"),
        (put(*PRIMITIVE, "attributes", "WEIGHTS_0", 0), "does not fit"),
        (put(*PRIMITIVE, "indices", 6), "holds floats"),
        (put(*PRIMITIVE, "material", 4), "materials '4'"),
        (put(*PRIMITIVE, "targets", 0, "POSITION", 7), "3 vertices"),
        (put("skins", 0, "joints", []), "no joints"),
        (put("skins", 0, "joints", [1]), "joint 1"),
        (put("skins", 0, "joints", [1, 50]), "nodes '50'"),
        (put("skins", 0, "joints", [1, 2, 0]), "2 inverse bind matrices for 3"),
        (put("accessors", 0, "count", 10**12), "1000000000000"),
        (put("accessors", 0, "count", 0), "empty"),
        (put("accessors", 0, "count", -1), "'count'"),
        (put("accessors", 0, "byteOffset", 4), "too short"),
        (put("accessors", 0, "componentType", 1), "componentType"),
        (put("accessors", 0, "componentType", None), "componentType"),
        (put("accessors", 0, "bufferView", 77), "bufferViews '77'"),
        (put("bufferViews", 0, "byteOffset", 10**9), "too short"),
        (put("bufferViews", 0, "byteLength", 10**9), "too short"),
        (put("bufferViews", 0, "byteStride", 4), "byteStride"),
        (put("bufferViews", 0, "buffer", 1), "buffers '1'"),
        (put("bufferViews", 0, "extensions", {"EXT_meshopt_compression": {}}), "meshopt"),
        (put("buffers", [{"byteLength": 10**9}]), "truncated"),
        (put("buffers", [{"byteLength": 4, "uri": "missing.bin"}]), "missing"),
        (put("buffers", [{"byteLength": 4, "uri": "data:;base64,?"}]), "base64"),
        (put("buffers", [{"byteLength": 4, "uri": 5}]), "not a string"),
        (put(*ANIMATION, "channels", 0, "sampler", 9), "sampler 9"),
        (put(*ANIMATION, "channels", 0, "target", "node", 9), "nodes '9'"),
        (put(*ANIMATION, "samplers", 0, "interpolation", "BEZIER"), "BEZIER"),
        (put(*ANIMATION, "samplers", 0, "interpolation", "CUBICSPLINE"), "expected 3 per key"),
        (put(*ANIMATION, "samplers", 0, "output", 0), "3 values"),
        (put(*ANIMATION, "samplers", 0, "output", None), "accessors 'None'"),
    ],
)
def test_spoiled_structure(rich, tmp_path, refused, change, says):
    change(rich.json)
    for read in READERS:
        with refused(FileFormatError, "bad.glb", says):
            read(rich.save(tmp_path / "bad.glb"))


@pytest.mark.parametrize("change", [put("nodes", []), put("meshes", 0, "primitives", []), put(*PRIMITIVE, "mode", 1)])
def test_nothing_to_show(triangle_glb, tmp_path, refused, change):
    change(triangle_glb.json)
    triangle_glb.json["scenes"] = []
    for read in READERS:
        with refused(GeometryError, "bad.glb", "no triangles"):
            read(triangle_glb.save(tmp_path / "bad.glb"))


def test_indices_out_of_range(rich, tmp_path, refused):
    primitive = rich.json["meshes"][0]["primitives"][0]
    primitive["indices"] = rich.accessor([0, 1, 3], "u4")
    with refused(FileFormatError, "bad.glb", "vertex 3 of 3"):
        load_sequence(rich.save(tmp_path / "bad.glb"))


def test_key_times(rich, tmp_path, refused):
    for times, says in (([1.0, 0.0], "ascend"), ([0.0, np.nan], "NaN"), ([0.0, 1e30], "lasts")):
        rich.json["animations"][0]["samplers"][0]["input"] = rich.accessor(times)
        with refused(FileFormatError, "bad.glb", says):
            load_sequence(rich.save(tmp_path / "bad.glb"))


def test_accessor_of_a_trillion_zeros(triangle_glb, tmp_path, refused):
    triangle_glb.json["accessors"][0] = {"componentType": 5126, "count": 10**12, "type": "VEC3"}
    with refused(FileFormatError, "bad.glb", "1000000000000"):
        load_sequence(triangle_glb.save(tmp_path / "bad.glb"))


@pytest.mark.parametrize(("count", "index"), [(9, 0), (1, 3)])
def test_spoiled_sparse_parts(triangle_glb, tmp_path, refused, count, index):
    indices = triangle_glb.view(np.array([index], "<u2").tobytes())
    values = triangle_glb.view(bytes(12))
    triangle_glb.json["accessors"][0]["sparse"] = {
        "count": count,
        "indices": {"bufferView": indices, "componentType": 5123},
        "values": {"bufferView": values},
    }
    with refused(FileFormatError, "bad.glb", "replaces"):
        load_sequence(triangle_glb.save(tmp_path / "bad.glb"))
    del triangle_glb.json["accessors"][0]["sparse"]["values"]
    with refused(FileFormatError, "bad.glb"):
        load_sequence(triangle_glb.save(tmp_path / "bad.glb"))


def test_broken_containers(triangle_glb, tmp_path, refused):
    good = triangle_glb.bytes()
    deep = b'{"asset": ' + b"[" * 200_000
    cases = [
        (b"", "empty"),
        (good[:16], "truncated"),
        (good[:-8], "truncated"),
        (good[:4] + struct.pack("<I", 1) + good[8:], "version 1"),
        (good[:12] + struct.pack("<I", 10**6) + good[16:], "chunk"),
        (good[:16] + b"JUNK" + good[20:], "no JSON"),
        (b"not json", "JSON"),
        (b"\xff\xfe{}", "JSON"),
        (b"[]", "object"),
        (b'{"asset": NaN}', "JSON"),
        (deep, "JSON"),
    ]
    for data, says in cases:
        (tmp_path / "bad.glb").write_bytes(data)
        with refused(FileFormatError, "bad.glb", says):
            load_sequence(tmp_path / "bad.glb")


def test_missing_binary_chunk(triangle_glb, tmp_path, refused):
    triangle_glb.json["buffers"] = [{"byteLength": 36}]
    (tmp_path / "bad.gltf").write_text(json.dumps(triangle_glb.json))
    with refused(FileFormatError, "bad.gltf", "no data"):
        load_sequence(tmp_path / "bad.gltf")


def leaves(value, path=()):
    if isinstance(value, dict):
        for key in value:
            yield (*path, key)
            yield from leaves(value[key], (*path, key))
    elif isinstance(value, list):
        for i, item in enumerate(value):
            yield (*path, i)
            yield from leaves(item, (*path, i))


def test_every_field_may_be_nonsense(rich, tmp_path):
    """Each value in turn is replaced by values of wrong type or size: a file is read or refused, never crashed on."""
    original = copy.deepcopy(rich.json)
    paths = list(leaves(original))
    assert len(paths) > 100
    refusals = 0
    for path in paths:
        for nonsense in ("x", -1, 2.5, 10**15, [], {}, [[]], True):
            rich.json = copy.deepcopy(original)
            put(*path, nonsense)(rich.json)
            rich.save(tmp_path / "odd.glb")
            for read in READERS:
                try:
                    read(tmp_path / "odd.glb")
                except InputError:
                    refusals += 1
    assert refusals > 1000
