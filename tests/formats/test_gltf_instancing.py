"""Meshes that one node shows many times."""

from __future__ import annotations

import numpy as np
import pytest

from osteon.core.errors import FileFormatError
from osteon.io import load_model, load_sequence
from tests.formats.node_packages import gltfpack

INSTANCING = "EXT_mesh_gpu_instancing"
TRIANGLE = np.array([[0.0, 0, 0], [1, 0, 0], [0, 1, 0]])
SHIFTS = np.array([[0.0, 0, 0], [5, 0, 0], [0, 5, 0]])
HALF = np.sqrt(0.5)


@pytest.fixture(name="many")
def _many(triangle_glb):
    """The triangle three times below a node that stands at z = 2."""
    attributes = {"TRANSLATION": triangle_glb.accessor(SHIFTS)}
    node = triangle_glb.json["nodes"][0]
    node |= {"name": "leaf", "translation": [0, 0, 2], "extensions": {INSTANCING: {"attributes": attributes}}}
    triangle_glb.json["extensionsRequired"] = [INSTANCING]
    return triangle_glb


def attributes_of(glb) -> dict:
    return glb.json["nodes"][0]["extensions"][INSTANCING]["attributes"]


def test_each_becomes_a_part(many, tmp_path):
    for read in (load_sequence, load_model):
        found = read(many.save(tmp_path / "many.glb"))
        expected = (TRIANGLE + SHIFTS[:, None] + [0, 0, 2]).reshape(-1, 3)
        assert np.allclose(found.rest, expected)
        assert np.array_equal(found.faces, np.arange(9).reshape(3, 3))
        assert found.asset.primitive_names == ("leaf_0", "leaf_1", "leaf_2")


def test_turned_scaled_and_mirrored(many, tmp_path):
    turns = [[0, 0, 0, 1], [0, 0, HALF, HALF], [0, 0, 0, 1]]
    attributes_of(many)["ROTATION"] = many.accessor(np.round(np.array(turns) * 32767), "i2", normalized=True)
    attributes_of(many)["SCALE"] = many.accessor([[1, 1, 1], [2, 2, 2], [-1, 1, 1]])
    found = load_sequence(many.save(tmp_path / "many.glb"))
    assert np.allclose(found.rest[3:6], [[5, 0, 2], [5, 2, 2], [3, 0, 2]], atol=1e-3)
    assert np.allclose(found.rest[6:], [[0, 5, 2], [-1, 5, 2], [0, 6, 2]])
    assert found.faces[2].tolist() == [8, 7, 6]  # a mirrored triangle is turned round


def test_they_move_with_their_node(many, tmp_path):
    sampler = {"input": many.accessor([0.0, 1.0]), "output": many.accessor([[0.0, 0, 2], [0, 0, 3]])}
    channel = {"sampler": 0, "target": {"node": 0, "path": "translation"}}
    many.json["animations"] = [{"samplers": [sampler], "channels": [channel]}]
    found = load_sequence(many.save(tmp_path / "many.glb"))
    assert np.allclose(found.frames[-1] - found.frames[0], [0, 0, 1])
    assert load_model(tmp_path / "many.glb").track.n_bones == 1


def test_morph_targets_are_placed(many, tmp_path):
    primitive = many.json["meshes"][0]["primitives"][0]
    primitive["targets"] = [{"POSITION": many.accessor(np.tile([1.0, 0, 0], (3, 1)))}]
    attributes_of(many)["SCALE"] = many.accessor([[1, 1, 1], [2, 2, 2], [3, 3, 3]])
    many.json["meshes"][0]["weights"] = [1]
    path = many.save(tmp_path / "many.glb")
    moved = load_sequence(path).frames[0, ::3] - SHIFTS - [0, 0, 2]
    assert np.allclose(moved, [[1, 0, 0], [2, 0, 0], [3, 0, 0]])
    assert np.allclose(load_model(path).corrections.basis[0, ::3], [[1, 0, 0], [2, 0, 0], [3, 0, 0]])


def test_refused(many, tmp_path, refused):
    attributes_of(many)["SCALE"] = many.accessor([[1, 1, 1]])
    with refused(FileFormatError, "bad.glb", "differ in number: 1, 3"):
        load_sequence(many.save(tmp_path / "bad.glb"))
    del attributes_of(many)["SCALE"]
    many.json["skins"] = [{"joints": [0]}]
    many.json["nodes"][0]["skin"] = 0
    with refused(FileFormatError, "bad.glb", INSTANCING, "skinned"):
        load_sequence(many.save(tmp_path / "bad.glb"))


def test_nothing_to_place_shows_once(many, tmp_path):
    attributes_of(many).clear()
    assert load_sequence(many.save(tmp_path / "once.glb")).n_triangles == 1


def test_gltfpack_makes_instances(triangle_glb, tmp_path):
    """The same mesh at several nodes, which gltfpack joins into instances of one."""
    turns = [[0, 0, 0, 1], [0, 0, HALF, HALF], [HALF, 0, 0, HALF]]
    nodes = [{"mesh": 0, "translation": s.tolist(), "rotation": r} for s, r in zip(SHIFTS, turns, strict=True)]
    triangle_glb.json |= {"nodes": nodes, "scenes": [{"nodes": [0, 1, 2]}]}
    expected = load_sequence(triangle_glb.save(tmp_path / "nodes.glb"))
    packed = gltfpack(tmp_path / "nodes.glb", tmp_path / "packed.glb", "-mi", "-c", "-noq")
    assert INSTANCING.encode() in packed.read_bytes()
    found = load_sequence(packed)
    order = np.argsort(found.rest[found.faces[:, 0]] @ [1, 10, 100])
    corners = np.sort(found.rest[found.faces][order].reshape(3, 9), axis=1)
    wanted = np.argsort(expected.rest[expected.faces[:, 0]] @ [1, 10, 100])
    assert np.allclose(corners, np.sort(expected.rest[expected.faces][wanted].reshape(3, 9), axis=1), atol=1e-3)
