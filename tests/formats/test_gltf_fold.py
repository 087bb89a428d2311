"""Files that programs with sliders, quaternions as they come and no idea of metal show right all the same."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from osteon.core.animation import BoneTrack, Clip
from osteon.core.character import Corrections, Skin
from osteon.core.mesh import Asset, Material
from osteon.core.model import SkinnedModel
from osteon.deform.linear_blend import linear_blend_model
from osteon.deform.normals import rest_normals
from osteon.deform.pose import pose_frames
from osteon.io import LoadOptions, SaveOptions, load_model, load_sequence, save_model
from osteon.io.gltf import channels as channels_module
from osteon.io.gltf.quantize import REAL_NUMBERS, Grid, pack_mesh, quantize_rotations, quantize_signed
from osteon.io.gltf.read.animations import read_animations
from osteon.io.gltf.read.document import open_document
from osteon.io.gltf.read.metadata import read_metadata
from osteon.io.gltf.read.restored import rest_of_file
from osteon.io.gltf.read.scene import read_scene
from osteon.synth.baked import BakeOptions, RandomOptions, bake_cylinder, bake_random_model
from tests.tolerance import assert_same_points

BOTH = pytest.mark.parametrize("quantize", [False, True], ids=["plain", "quantised"])
#: What 16 bits leave of a position, as part of the diagonal.
SHORT = 1e-4


def corrected(turns: float = 0.1, size: float = 0.05) -> SkinnedModel:
    """Coefficients of both signs, all positive, all negative, all zero and constant."""
    model = bake_random_model(3, options=RandomOptions(5, 10, 150, 4, "flexible")).model
    rng = np.random.default_rng(0)
    bases = rng.normal(size=(2, 5, model.n_vertices, 3))
    coefficients = 2 * rng.normal(size=(model.n_frames, 5))
    coefficients[:, 1:3] = [1, -1] * np.abs(coefficients[:, 1:3])
    coefficients[:, 3:] = [0, -3]
    corrections = Corrections(size * bases[0], coefficients, turns * bases[1])
    return (
        model.with_corrections(None)
        .with_animation(clips=(Clip("a", 0, 4), Clip("b", 4, 10)))
        .with_corrections(corrections)
    )


def saved(model: SkinnedModel, folder, **options) -> tuple[dict, object]:
    """The JSON of a file and its path."""
    path = folder / "m.gltf"
    save_model(model, path, options=SaveOptions(**options))
    return json.loads(path.read_text()), path


@BOTH
def test_morph_weights_lie_between_0_and_1(quantize, tmp_path):
    root, path = saved(corrected(), tmp_path, quantize=quantize)
    scene = read_scene(open_document(path))
    tracks = read_animations(open_document(path), scene.target_counts())
    weights = np.concatenate([c.values for a in tracks for c in a.channels if c.path == "weights"])
    assert weights.shape == (10, 5)
    assert weights.min() >= 0
    assert weights.max() <= 1
    assert all(0 <= w <= 1 for w in root["meshes"][0]["weights"])


@BOTH
@pytest.mark.parametrize("size", [0.05, 2.0])
def test_all_ranks_come_back(quantize, size, tmp_path):
    """Also where corrections are larger than the mesh."""
    model = corrected(size=size)
    _, path = saved(model, tmp_path, quantize=quantize)
    again = load_model(path)
    for rank in range(6):
        allowed = SHORT * max(1, 10 * size) if quantize else 2e-6
        assert_same_points(pose_frames(again.truncate(rank)), pose_frames(model.truncate(rank)), allowed)
    assert np.abs(again.rest - model.rest).max() <= (SHORT * max(1, 10 * size) if quantize else 2e-6)
    if not quantize:
        assert np.array_equal(again.corrections.basis, model.corrections.basis)


@BOTH
def test_without_animation_corrections_are_at_rest(quantize, tmp_path):
    model = corrected()
    root, path = saved(model, tmp_path, quantize=quantize)
    del root["animations"], root["asset"]["extras"]
    path.write_text(json.dumps(root))
    assert_same_points(load_sequence([path]).frames[0], model.rest, SHORT if quantize else 1e-6)


def test_a_program_may_leave_out_targets_as_the_format_says(tmp_path):
    """Added at their weights of the rest pose they leave the model of the lower rank."""
    model = corrected()
    _, path = saved(model, tmp_path)
    scene, kept = read_scene(open_document(path)), 2
    part = scene.instances[0]
    points = part.geometry.positions + np.tensordot(part.weights[kept:], part.geometry.deltas[kept:], axes=1)
    lower = model.truncate(kept)
    shown = pack_mesh(lower, None).points
    assert_same_points(points, shown, 1e-6)


@BOTH
@pytest.mark.parametrize("turns", [0.1, 0.6])
def test_normals_point_where_they_did(quantize, turns, tmp_path):
    """Also where their targets do not fit into 8 bits."""
    model = corrected(turns)
    packed = pack_mesh(model, rest_normals(model.mesh), Grid.of([model]) if quantize else REAL_NUMBERS)
    assert np.allclose(np.linalg.norm(packed.normals, axis=1), 1)
    base, targets = packed.normals, packed.normal_targets
    if quantize:
        assert np.abs(targets).max() <= 1
        base, targets = quantize_signed(base, np.int8) / 127, quantize_signed(targets, np.int8) / 127
    shown = base + np.einsum("fr,rvi->fvi", packed.morph_range.weights(model.corrections.coefficients), targets)
    stored = model.corrections
    exact = rest_normals(model.mesh) + np.einsum("fr,rvi->fvi", stored.coefficients, stored.normal_basis)
    cosine = (unit(shown) * unit(exact)).sum(axis=-1).clip(-1, 1)
    angles = np.degrees(np.arccos(cosine))
    assert angles.mean() <= (0.05 if not quantize else 1.5 if turns == 0.1 else 12)
    again = load_model(saved(model, tmp_path)[1])
    assert np.abs(again.corrections.normal_basis - stored.normal_basis).max() <= 1e-4 * turns


def unit(vectors: np.ndarray) -> np.ndarray:
    return vectors / np.linalg.norm(vectors, axis=-1, keepdims=True)


def test_quaternions_of_sixteen_bits_have_length_one():
    turns = unit(np.random.default_rng(0).normal(size=(20, 300, 4)))
    turns[0, 0] = [0, 0, 0, 1]
    stored = quantize_rotations(turns) / 32767
    typical, plain = (np.sqrt((stretch(q) ** 2).mean()) for q in (stored, quantize_signed(turns, np.int16) / 32767))
    assert typical <= plain / 5
    assert np.abs(unit(stored) - turns).max() <= 2 / 32767
    assert (stored[0, 0] == [0, 0, 0, 1]).all()


def stretch(q: np.ndarray) -> np.ndarray:
    """How far a matrix is off that was made of a quaternion as it comes."""
    return np.abs(np.linalg.norm(q, axis=-1) ** 2 - 1) * 2 * np.linalg.norm(q[..., :3], axis=-1)


def bar(axis: np.ndarray) -> SkinnedModel:
    """One bone that turns round an axis through its middle."""
    rest = np.array([[-1.0, 0, 0], [1, 0, 0], [1, 0.1, 0], [-1, 0.1, 0.1]])
    turns = Rotation.from_rotvec(np.linspace(0, 3, 40)[:, None] * unit(axis)).as_matrix()
    track = BoneTrack(np.concatenate([turns, np.zeros((40, 3, 1))], axis=2)[:, None], "rigid")
    return linear_blend_model(rest, [[0, 1, 2], [0, 2, 3]], Skin(np.zeros((4, 1), np.int32), np.ones((4, 1))), track)


@pytest.mark.parametrize(("axis", "kind"), [([0, 0, 1.0], 5126), ([0.3, 0.5, 0.4], 5122)])
def test_bones_that_sixteen_bits_would_stretch_keep_float32(axis, kind, tmp_path):
    root, path = saved(bar(np.array(axis)), tmp_path, quantize=True, short_rotations=True)
    channels, samplers = root["animations"][0]["channels"], root["animations"][0]["samplers"]
    turning = next(c["sampler"] for c in channels if c["target"]["path"] == "rotation")
    assert root["accessors"][samplers[turning]["output"]]["componentType"] == kind
    channels = read_animations(open_document(path), {})[0].channels
    stored = next(c.values for c in channels if c.path == "rotation")
    assert stored.shape == (40, 4)
    assert 0.5 * stretch(stored).max() <= 5e-6


@pytest.mark.parametrize("error", [1e-4, 1e-3, 1e-2])
def test_fewer_keys_do_for_programs_that_turn_straight(error, tmp_path, monkeypatch):
    """Blender interpolates the four numbers of a quaternion and normalises: as near, and near the arc."""
    chain = bake_cylinder(3, options=BakeOptions(frames=120)).model
    smooth = chain.with_animation(clips=(Clip("slow", 0, 120, 60.0),))
    save_model(smooth, tmp_path / "m.glb", options=SaveOptions(key_error=error))
    along_arcs = load_sequence([tmp_path / "m.glb"], options=LoadOptions(fps=60)).frames
    monkeypatch.setattr(channels_module, "slerp", lambda a, b, u: a * (1 - u)[:, None] + b * u[:, None])
    straight = load_sequence([tmp_path / "m.glb"], options=LoadOptions(fps=60)).frames
    assert_same_points(along_arcs, pose_frames(smooth), error)
    assert_same_points(straight, pose_frames(smooth), error)
    assert_same_points(straight, along_arcs, 1e-5)


def test_no_joint_is_named_as_the_skeleton(tmp_path):
    """Blender would read the inverse bind matrices, which also hold the 16 bits, as placements of joints."""
    assert "skeleton" not in saved(corrected(), tmp_path, quantize=True)[0]["skins"][0]


@pytest.mark.parametrize("materials", [(), (Material("unused"),)])
@pytest.mark.parametrize("colored", [False, True])
def test_a_mesh_without_material_is_no_metal_and_comes_back_without(materials, colored, tmp_path):
    model = corrected()
    colors = np.ones((model.n_vertices, 4), np.float32) if colored else None
    root, path = saved(model.with_mesh(asset=Asset(materials=materials, colors=colors)), tmp_path)
    used = root["materials"][root["meshes"][0]["primitives"][0]["material"]]
    assert used["pbrMetallicRoughness"]["metallicFactor"] == 0
    assert used["pbrMetallicRoughness"]["baseColorFactor"][0] == (1.0 if colored else 0.8)
    for asset in (load_model(path).asset, load_sequence([path]).asset):
        assert asset.materials == materials
        assert asset.triangle_material is None


def test_weights_within_0_and_1_change_nothing(tmp_path):
    model = corrected()
    positive = np.random.default_rng(1).random((10, 5))
    corrections = replace(model.corrections, coefficients=positive)
    root, path = saved(model.with_corrections(corrections), tmp_path)
    assert root["meshes"][0]["weights"] == [0.0] * 5
    metadata = read_metadata(open_document(path))
    assert not {"low", "span"} & set(metadata.entries)
    assert (rest_of_file(metadata) == np.eye(4)).all()
    again = load_model(path)
    assert np.array_equal(again.rest, model.rest)
    assert np.array_equal(again.corrections.coefficients, corrections.coefficients)
