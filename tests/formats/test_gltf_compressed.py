"""Files of `--compress`: the model comes back in its own order, and no vertex moves farther than promised."""

from __future__ import annotations

import json
import struct
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from osteon.core.animation import BoneTrack
from osteon.core.character import Corrections, Skeleton, Skin
from osteon.core.model import SkinnedModel
from osteon.deform.linear_blend import linear_blend_model
from osteon.deform.pose import pose_frames
from osteon.io import SaveOptions, load_model, load_sequence, save_model
from osteon.io.gltf.read.accessors import read_floats, read_indices
from osteon.io.gltf.read.document import open_document
from osteon.io.gltf.write.buffer import MESHOPT
from osteon.io.gltf.write.precision import COMPRESS_ERROR
from osteon.synth.baked import BakeOptions, RandomOptions, bake_cylinder, bake_random_model
from tests.formats.agreement import assert_readers_agree
from tests.formats.test_gltf_own import CASES, WORDS, own_model, part
from tests.subjects import bent_tube
from tests.tolerance import diagonal

COMPRESSED = SaveOptions(compress=True)
#: What comes back to the last digit.
EXACT = ("faces", "asset.triangle_material", "asset.polygon_of_triangle", "asset.primitive_of_triangle")
DEGREES = 1.0  # that a normal may turn by


def read_json(path: Path) -> dict:
    data = path.read_bytes()
    return json.loads(data[20 : 20 + struct.unpack("<I", data[12:16])[0]])


def moved(model: SkinnedModel, path: Path) -> float:
    """The farthest that a vertex of the file is off, as part of the diagonal."""
    apart = np.linalg.norm(pose_frames(load_model(path)).astype(float) - pose_frames(model), axis=2)
    return float(apart.max() / diagonal(model.rest))


def saved(model: SkinnedModel, folder: Path, options: SaveOptions = COMPRESSED) -> Path:
    save_model(model, folder / "small.glb", options=options)
    return folder / "small.glb"


@pytest.mark.parametrize("suffix", [".glb", ".gltf"])
@pytest.mark.parametrize("case", CASES)
def test_models_come_back(case, suffix, tmp_path):
    model = own_model(**CASES[case])
    path = tmp_path / f"small{suffix}"
    save_model(model, path, options=COMPRESSED)
    again = assert_readers_agree(path)
    for name in WORDS:
        assert part(again, name) == part(model, name), name
    for name in EXACT:
        assert np.array_equal(part(again, name), part(model, name)), name
    assert again.skin.bones.shape == model.skin.bones.shape
    assert np.allclose(again.skin.weights, model.skin.weights, atol=1e-2)
    if model.asset.uvs is not None:
        assert np.abs(again.asset.uvs - model.asset.uvs).max() <= 1 / 65535
        assert np.abs(again.asset.colors - model.asset.colors).max() <= 1 / 65535
    assert moved(model, path) <= COMPRESS_ERROR


def test_views_are_compressed(tmp_path):
    root = read_json(saved(own_model(rank=2), tmp_path))
    assert {MESHOPT, "KHR_mesh_quantization"} <= set(root["extensionsRequired"]) <= set(root["extensionsUsed"])
    packed = [view["extensions"][MESHOPT] for view in root["bufferViews"] if "extensions" in view]
    assert {view["mode"] for view in packed} >= {"ATTRIBUTES", "TRIANGLES"}
    assert {view.get("filter") for view in packed} == {None, "OCTAHEDRAL", "QUATERNION", "EXPONENTIAL"}
    assert root["buffers"][1]["extensions"] == {MESHOPT: {"fallback": True}}
    assert "uri" not in root["buffers"][1]
    assert len(packed) == len(root["bufferViews"])
    for view in root["bufferViews"]:
        inner = view.get("extensions", {}).get(MESHOPT)
        assert inner is None or inner["count"] * inner["byteStride"] == view["byteLength"]


def test_pictures_stay_as_they_are(tmp_path):
    root = read_json(saved(own_model(rank=2, rich=True), tmp_path))
    plain = [number for number, view in enumerate(root["bufferViews"]) if "extensions" not in view]
    assert plain == [image["bufferView"] for image in root["images"]]


def test_files_are_small(tmp_path):
    model = bake_cylinder(3, options=BakeOptions(frames=40)).model
    sizes = [saved(model, tmp_path, options).stat().st_size for options in (SaveOptions(quantize=True), COMPRESSED)]
    assert sizes[1] < 0.45 * sizes[0]


def test_the_same_model_is_the_same_file(tmp_path):
    first = saved(own_model(rank=2), tmp_path).read_bytes()
    assert first == saved(own_model(rank=2), tmp_path).read_bytes()


@pytest.mark.parametrize("size", [1e-4, 1.0, 1e4])
def test_size_does_not_matter(size, tmp_path):
    """The promise is a part of the diagonal."""
    model = own_model(rank=2)
    transforms = model.track.transforms.copy()
    transforms[..., 3] *= size
    scaled = replace(model.corrections, basis=size * model.corrections.basis)
    rest = (size * model.rest).astype(np.float32)
    grown = (
        model.with_corrections(None)
        .with_mesh(rest=rest)
        .with_animation(track=BoneTrack(transforms, "flexible"))
        .with_corrections(scaled)
    )
    assert moved(grown, saved(grown, tmp_path)) <= COMPRESS_ERROR


def test_a_rest_pose_far_larger_than_what_plays(tmp_path):
    model = own_model(rank=2)
    small = model.with_animation(track=BoneTrack(model.track.transforms * np.float32(0.01), "flexible"))
    played = diagonal(pose_frames(small)[0])
    assert moved(small, saved(small, tmp_path)) * diagonal(model.rest) <= 1.2 * COMPRESS_ERROR * played


def test_far_from_the_origin(tmp_path):
    model = own_model(rank=0)
    transforms = model.track.transforms.copy()
    transforms[..., 3] += [30, -20, 5]
    far = model.with_animation(track=BoneTrack(transforms, "flexible"))
    assert moved(far, saved(far, tmp_path)) <= COMPRESS_ERROR


def test_a_long_chain_of_joints(tmp_path):
    """What a joint turns too far is carried by all below it."""
    model = bake_cylinder(12, options=BakeOptions(frames=20)).model
    n = model.n_bones
    placed = np.concatenate([np.tile(np.eye(3), (n, 1, 1)), np.zeros((n, 3, 1))], axis=2)
    tree = Skeleton(tuple(f"j{b}" for b in range(n)), np.arange(-1, n - 1), placed.astype(np.float32))
    chain = model.with_character(skeleton=tree)
    assert moved(chain, saved(chain, tmp_path)) <= COMPRESS_ERROR


def test_with_fewer_keys(tmp_path):
    model = bake_cylinder(3, options=BakeOptions(frames=40)).model
    path = saved(model, tmp_path, SaveOptions(compress=True, key_error=1e-3))
    assert moved(model, path) <= 1e-3 + COMPRESS_ERROR


def test_with_sixteen_bits_positions_are_finer(tmp_path):
    model = own_model(rank=2)
    steps = []
    for options in (SaveOptions(compress=True, quantize=True), COMPRESSED):
        path = saved(model, tmp_path, options)
        assert moved(model, path) <= COMPRESS_ERROR
        steps.append(read_json(path)["asset"]["extras"]["osteon"]["dequantize"][0])
    assert steps[0] < steps[1]


def normals_of(path: Path) -> np.ndarray:
    """(v,3) unit normals of the model's vertices, as the file has them."""
    document = open_document(path)
    root, stored = document.root, document.root["asset"]["extras"]["osteon"]
    number = root["meshes"][0]["primitives"][0]["attributes"]["NORMAL"]
    normals = read_floats(document, number, (3,), "NORMAL")
    if "vertices" in stored:
        normals = normals[np.argsort(read_indices(document, stored["vertices"], (1,), "vertices")[:, 0])]
    return normals / np.linalg.norm(normals, axis=1, keepdims=True)


def test_normals_keep_their_direction(tmp_path):
    model = bent_tube(3, 12).model
    save_model(model, tmp_path / "plain.glb")
    plain, small = normals_of(tmp_path / "plain.glb"), normals_of(saved(model, tmp_path))
    assert np.degrees(np.arccos((plain * small).sum(axis=1).clip(-1, 1))).max() < DEGREES


def test_one_still_triangle(tmp_path):
    rest = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0]], np.float32)
    still = np.tile(np.eye(3, 4, dtype=np.float32), (1, 1, 1, 1))
    skin = Skin(np.zeros((3, 1), np.int32), np.ones((3, 1), np.float32))
    model = linear_blend_model(rest, np.array([[1, 2, 0]], np.int32), skin, BoneTrack(still, "rigid"))
    path = saved(model, tmp_path)
    assert np.array_equal(load_model(path).faces, model.faces)
    assert moved(model, path) <= COMPRESS_ERROR


def test_vertices_that_no_triangle_uses(tmp_path):
    model = bake_random_model(1, options=RandomOptions(3, 5, 40, 2, "rigid")).model
    fewer = model.with_mesh(faces=model.faces[5:7])
    path = saved(fewer, tmp_path)
    assert np.array_equal(load_model(path).faces, fewer.faces)
    assert load_sequence(path).n_vertices == model.n_vertices
    assert moved(fewer, path) <= COMPRESS_ERROR


def test_a_frame_between_those_that_are_tried(tmp_path):
    """Weights that are 0 and 1 in all frames but one: what is rounded there is seen all the same."""
    model = bake_cylinder(3, options=BakeOptions(frames=61)).model
    basis = 0.3 * np.sin(np.arange(2 * model.rest.size)).reshape(2, -1, 3).astype(np.float32)
    coefficients = np.zeros((61, 2), np.float32)
    coefficients[::2, 0], coefficients[31, 1] = 1, 0.37
    morphing = model.with_corrections(Corrections(basis, coefficients))
    assert moved(morphing, saved(morphing, tmp_path)) <= COMPRESS_ERROR
