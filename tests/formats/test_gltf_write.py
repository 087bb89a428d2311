"""Models out to glTF: players see what Osteon computed, and the file says no more than it must."""

from __future__ import annotations

import base64
import json
import struct
from dataclasses import replace

import numpy as np
import pytest

from osteon.core.animation import BoneTrack, Clip
from osteon.core.character import Corrections, Skeleton, Skin
from osteon.core.errors import GeometryError
from osteon.core.mesh import Asset, Image, Material
from osteon.core.model import SkinnedModel
from osteon.deform.linear_blend import LinearBlend, linear_blend_model
from osteon.deform.pose import pose_frames
from osteon.io import LoadOptions, SaveOptions, load_model, load_sequence, save_model
from osteon.io.gltf.quantize import quantize_weights
from osteon.io.gltf.write.mesh import vertex_tangents
from osteon.synth.baked import BakeOptions, RandomOptions, bake_cylinder, bake_random_model

PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)
#: What 16 bits leave of a position, as part of the diagonal.
SHORT = 1e-4


def flexible(**changes: object) -> SkinnedModel:
    options = RandomOptions(bones=6, frames=12, vertices=200, bone_type="flexible", **changes)
    return bake_random_model(3, options=options).model


def corrected(normals: bool = True) -> SkinnedModel:
    model, rng = flexible(), np.random.default_rng(0)
    basis = 0.05 * rng.normal(size=(3, model.n_vertices, 3))
    basis[1] = 0  # a column may be empty
    turns = 0.1 * rng.normal(size=basis.shape) if normals else None
    return model.with_corrections(Corrections(basis, 2 * rng.normal(size=(model.n_frames, 3)), turns))


def dressed() -> SkinnedModel:
    model, rng = flexible(), np.random.default_rng(0)
    n = len(model.faces)
    image = Image("skin", "image/png", PNG)
    materials = (
        Material("red", (1.0, 0.0, 0.0, 1.0), textures=(("base_color", image), ("normal", image))),
        Material("glass", (0.5, 0.5, 0.5, 0.5), 0.1, 0.2, True, (0.1, 0.2, 0.3), "MASK", 0.25),
    )
    per_vertex = np.round(255 * rng.random((model.n_vertices, 2)), 0) / 255
    uvs = per_vertex[model.faces]
    uvs[: n // 4] = rng.random((n // 4, 3, 2))  # a seam
    asset = Asset(
        uvs=uvs,
        colors=rng.integers(0, 256, (model.n_vertices, 4)) / np.float32(255),
        materials=materials,
        triangle_material=rng.integers(0, 2, n),
        polygon_of_triangle=np.arange(n) // 2,
        primitive_of_triangle=np.arange(n) * 3 // n,
        primitive_names=("body", "visor", "tail"),
    )
    return model.with_mesh(asset=asset, name="diver")


def chained(affine: float = 0.0) -> SkinnedModel:
    model = bake_cylinder(4, options=BakeOptions(frames=10)).model
    placed = np.zeros((5, 3, 4))
    placed[:, :, :3] = np.eye(3) + affine * np.random.default_rng(1).normal(size=(5, 3, 3))
    placed[:, 0, 3] = 0.6 * np.arange(5)
    return model.with_character(skeleton=Skeleton(("hip", "a", "b", "c", "tip"), np.arange(5) - 1, placed))


def wild() -> SkinnedModel:
    """Bones that vanish, are mirrored, and change sides."""
    model = flexible()
    transforms = model.track.transforms.copy()
    transforms[5:8, 0, :, :3] = 0
    transforms[:, 1, :, 0] *= -1
    transforms[6:, 2, :, 1] *= -1
    return model.with_animation(track=BoneTrack(transforms))


SUBJECTS = {
    "rigid": bake_cylinder(2, options=BakeOptions(frames=8)).model,
    "flexible": flexible(),
    "corrected": corrected(),
    "corrected, no normals": corrected(normals=False),
    "clips": corrected().with_animation(clips=(Clip("walk", 0, 5), Clip("stop", 5, 6, 30.0), Clip("run", 6, 12, 25.0))),
    "eight influences": flexible(influences=6),
    "one influence": flexible(influences=1),
    "dressed": dressed(),
    "chain": chained(),
    "affine chain": chained(0.2),
    "wild": wild(),
}


def read_json(path) -> dict:
    data = path.read_bytes()
    length = struct.unpack_from("<I", data, 12)[0]
    return json.loads(data[20 : 20 + length])


def diagonal(model: SkinnedModel) -> float:
    return float(np.linalg.norm(np.ptp(model.rest, axis=0)))


def off(frames: np.ndarray, model: SkinnedModel) -> float:
    """The farthest that a vertex of the frames is from the model's, as part of the diagonal."""
    expected = pose_frames(model)
    assert frames.shape == expected.shape
    return float(np.linalg.norm(frames.astype(np.float64) - expected, axis=-1).max()) / diagonal(model)


@pytest.mark.parametrize("name", SUBJECTS)
@pytest.mark.parametrize("suffix", [".glb", ".gltf"])
def test_plays_as_computed(name, suffix, tmp_path):
    model, path = SUBJECTS[name], tmp_path / f"model{suffix}"
    save_model(model, path)
    assert [p.name for p in tmp_path.iterdir()] == [path.name]
    again = load_model(path)
    assert off(pose_frames(again), model) <= 1e-6
    assert off(load_sequence([path]).frames, model) <= 1e-6
    assert np.abs(again.rest - model.rest).max() <= 1e-6 * diagonal(model)
    assert again.clips == model.clips


@pytest.mark.parametrize("name", SUBJECTS)
def test_sixteen_bits_stay_close(name, tmp_path):
    model, path = SUBJECTS[name], tmp_path / "model.glb"
    save_model(model, path, options=SaveOptions(quantize=True))
    assert off(load_sequence([path]).frames, model) <= SHORT
    root = read_json(path)
    assert root["extensionsRequired"] == ["KHR_mesh_quantization"]
    assert all(view.get("byteStride", 4) % 4 == 0 for view in root["bufferViews"])
    save_model(model, tmp_path / "plain.glb")
    assert path.stat().st_size < 0.85 * (tmp_path / "plain.glb").stat().st_size


@pytest.mark.parametrize("name", SUBJECTS)
@pytest.mark.parametrize("allowed", [1e-4, 1e-2])
def test_fewer_keys_keep_their_promise(name, allowed, tmp_path):
    model, path = SUBJECTS[name], tmp_path / "model.glb"
    save_model(model, path, options=SaveOptions(key_error=allowed))
    assert off(pose_frames(load_model(path)), model) <= allowed


def test_a_long_smooth_clip_loses_most_keys(tmp_path):
    model = bake_cylinder(3, options=BakeOptions(frames=240)).model.with_animation(clips=(Clip("slow", 0, 240, 60.0),))
    sizes = []
    for allowed in (0.0, 1e-4, 1e-3):
        path = tmp_path / f"{allowed}.glb"
        save_model(model, path, options=SaveOptions(key_error=allowed))
        assert off(load_sequence([path], options=LoadOptions(fps=60)).frames, model) <= max(allowed, 1e-6)
        sizes.append(sum(a["count"] for a in keys_of(read_json(path))))
    assert sizes[0] == 2 * model.n_bones * model.n_frames  # nothing scales, so there are no such tracks to lose
    assert sizes[1] < 0.75 * sizes[0]
    assert sizes[2] < 0.5 * sizes[1]


def keys_of(root: dict) -> list[dict]:
    return [root["accessors"][s["output"]] for a in root["animations"] for s in a["samplers"]]


@pytest.mark.parametrize("name", ["flexible", "corrected", "eight influences", "wild", "affine chain"])
def test_no_detour_between_frames(name, tmp_path):
    """Halfway, no bone's vertices are farther from a frame than the farthest of them moves."""
    model, path = SUBJECTS[name], tmp_path / "model.glb"
    save_model(model, path)
    shown = load_sequence([path], options=LoadOptions(fps=2 * model.clips[0].fps)).frames.astype(np.float64)
    assert len(shown) == 2 * model.n_frames - 1
    frames, middle = shown[::2], shown[1::2]
    owner = np.take_along_axis(model.skin.bones, model.skin.weights.argmax(axis=1)[:, None], axis=1)[:, 0]
    for b in np.unique(owner):
        mine = owner == b
        moved = np.linalg.norm(frames[1:, mine] - frames[:-1, mine], axis=-1).max(axis=1)
        for end in (frames[:-1, mine], frames[1:, mine]):
            reach = np.linalg.norm(middle[:, mine] - end, axis=-1).max(axis=1)
            assert (reach <= moved + 3e-6 * diagonal(model)).all()


def test_a_bone_without_depth_takes_no_detour(tmp_path):
    """A flat strip does not say what its bone does across it; whatever that is, the strip goes the straight way."""
    rng = np.random.default_rng(0)
    rest = np.stack(np.meshgrid(np.linspace(0, 1, 9), np.linspace(0, 0.1, 3), [0.0]), axis=-1).reshape(-1, 3)
    faces = np.array([[i, i + 1, i + 9] for i in range(8)] + [[i + 9, i + 10, i + 18] for i in range(8)])
    transforms = np.tile(np.eye(3, 4), (8, 1, 1, 1))
    transforms[:, 0, :, 2] = rng.normal(size=(8, 3))
    transforms[:, 0, :, 3] = 0.01 * rng.normal(size=(8, 3))
    skin = Skin(np.zeros((len(rest), 1), np.int32), np.ones((len(rest), 1)))
    model = linear_blend_model(rest, faces, skin, BoneTrack(transforms))
    save_model(model, tmp_path / "strip.glb")
    shown = load_sequence([tmp_path / "strip.glb"], options=LoadOptions(fps=48.0)).frames
    assert off(shown[::2], model) <= 1e-6
    moved = np.linalg.norm(shown[2::2] - shown[:-2:2], axis=-1).max(axis=1)
    for end in (shown[:-2:2], shown[2::2]):
        assert (np.linalg.norm(shown[1::2] - end, axis=-1).max(axis=1) <= moved + 3e-6).all()
    assert off(pose_frames(load_model(tmp_path / "strip.glb")), model) <= 1e-6


def test_everything_comes_back(tmp_path):
    model = dressed().with_corrections(corrected().corrections)
    save_model(model, tmp_path / "m.glb")
    again = load_model(tmp_path / "m.glb")
    assert (again.name, again.track.names, again.track.bone_type) == ("diver", model.track.names, "flexible")
    assert np.array_equal(again.faces, model.faces)
    assert np.abs(again.rest - model.rest).max() <= 2e-7
    assert np.array_equal(again.skin.weights, model.skin.weights)
    assert np.array_equal(again.skin.dense(6), model.skin.dense(6))
    assert np.abs(again.track.transforms - model.track.transforms).max() <= 2e-6
    assert np.abs(again.asset.uvs - model.asset.uvs).max() <= 1e-7
    assert np.abs(again.asset.colors - model.asset.colors).max() <= 1e-6
    assert again.asset.materials == model.asset.materials
    assert again.asset.primitive_names == model.asset.primitive_names
    for name in ("triangle_material", "polygon_of_triangle", "primitive_of_triangle"):
        assert np.array_equal(getattr(again.asset, name), getattr(model.asset, name)), name
    assert np.array_equal(again.corrections.basis, model.corrections.basis)
    assert np.abs(again.corrections.normal_basis - model.corrections.normal_basis).max() <= 1e-6
    assert np.abs(again.corrections.coefficients - model.corrections.coefficients).max() <= 1e-6


def test_the_skeleton_comes_back(tmp_path):
    model = chained(0.2).with_animation(track=replace(chained().track, names=("p", "q", "r", "s", "t")))
    save_model(model, tmp_path / "m.glb")
    again = load_model(tmp_path / "m.glb")
    assert again.skeleton.names == model.skeleton.names
    assert again.track.names == model.track.names
    assert np.array_equal(again.skeleton.parents, model.skeleton.parents)
    assert np.array_equal(again.skeleton.world_from_joint, model.skeleton.world_from_joint)


def test_rigid_bones_are_one_node_each(tmp_path):
    save_model(SUBJECTS["rigid"], tmp_path / "m.glb")
    root = read_json(tmp_path / "m.glb")
    assert len(root["nodes"]) == 2 + 3
    assert not [c for a in root["animations"] for c in a["channels"] if c["target"]["path"] == "scale"]
    assert root["scenes"] == [{"nodes": [0, 1]}]
    assert root["asset"]["generator"].startswith("Osteon ")


def test_flexible_bones_are_two_nodes_each(tmp_path):
    save_model(SUBJECTS["flexible"], tmp_path / "m.glb")
    root = read_json(tmp_path / "m.glb")
    assert len(root["nodes"]) == 2 + 2 * 6
    both = [name for b in range(6) for name in (f"bone_{b}_affine", f"bone_{b}")]
    assert [root["nodes"][j]["name"] for j in root["skins"][0]["joints"]] == both


def test_a_chain_hangs_together(tmp_path):
    save_model(chained(), tmp_path / "m.glb")
    nodes = read_json(tmp_path / "m.glb")["nodes"]
    names = {node["name"]: [nodes[c]["name"] for c in node.get("children", [])] for node in nodes}
    assert names["armature"] == ["hip"]
    assert (names["hip"], names["a"], names["c"], names["tip"]) == (["a"], ["b"], ["tip"], [])


def test_nobody_hangs_below_a_joint_that_vanishes(tmp_path):
    model = chained()
    transforms = model.track.transforms.copy()
    transforms[4, 2, :, :3] = 0
    model = model.with_animation(track=BoneTrack(transforms))
    save_model(model, tmp_path / "m.glb")
    assert off(load_sequence([tmp_path / "m.glb"]).frames, model) <= 1e-6
    assert np.array_equal(load_model(tmp_path / "m.glb").skeleton.parents, model.skeleton.parents)


def test_still_bones_have_no_channels_but_the_clip_lasts(tmp_path):
    model = flexible()
    model = model.with_animation(track=BoneTrack(np.tile(np.eye(3, 4), (12, 6, 1, 1))))
    save_model(model, tmp_path / "m.glb")
    root = read_json(tmp_path / "m.glb")
    assert [c["target"]["node"] for c in root["animations"][0]["channels"]] == [2]  # a joint
    times = root["accessors"][root["animations"][0]["samplers"][0]["input"]]
    assert times["max"] == pytest.approx([11 / 24])
    assert off(load_sequence([tmp_path / "m.glb"], options=LoadOptions(fps=24)).frames, model) <= 1e-6


def test_without_animation_the_rest_pose_is_shown(tmp_path):
    for name in ("flexible", "affine chain"):
        model = SUBJECTS[name]
        save_model(model, tmp_path / "m.gltf")
        root = json.loads((tmp_path / "m.gltf").read_text())
        del root["animations"], root["asset"]["extras"]
        (tmp_path / "still.gltf").write_text(json.dumps(root))
        shown = load_sequence([tmp_path / "still.gltf"]).frames
        assert np.abs(shown[0] - model.rest).max() <= 1e-6 * diagonal(model)


def test_weights_of_sixteen_bits_sum_exactly():
    rng = np.random.default_rng(0)
    weights = rng.random((500, 8)) ** 4
    weights[::3, 4:] = 0
    weights /= weights.sum(axis=1, keepdims=True)
    stored = quantize_weights(weights)
    assert (stored.astype(int).sum(axis=1) == 65535).all()
    assert np.abs(stored / 65535 - weights).max() <= 1 / 65535
    assert (stored[::3, 4:] == 0).all()


def test_a_bone_named_twice_counts_once(tmp_path):
    model = flexible()
    bones = np.zeros((model.n_vertices, 3), np.int32)
    bones[:, 2] = 1
    skin = Skin(bones, np.tile([0.25, 0.25, 0.5], (model.n_vertices, 1)))
    model = model.with_character(deformer=LinearBlend(skin))
    save_model(model, tmp_path / "m.glb")
    assert off(load_sequence([tmp_path / "m.glb"]).frames, model) <= 1e-6


def test_vertices_are_split_only_at_seams(tmp_path):
    model = dressed()
    save_model(model, tmp_path / "m.glb")
    root = read_json(tmp_path / "m.glb")
    corners = np.concatenate([model.faces.reshape(-1, 1), model.asset.uvs.reshape(-1, 2)], axis=1)
    primitives = root["meshes"][0]["primitives"]
    position = {p["attributes"]["POSITION"] for p in primitives}
    assert len(position) == 1
    assert root["accessors"][position.pop()]["count"] == len(np.unique(corners, axis=0))
    assert {p["material"] for p in primitives} == {0, 1}
    assert len(root["images"]) == 1


def test_normals_may_be_left_out(tmp_path):
    model = dressed().with_corrections(corrected().corrections)
    save_model(model, tmp_path / "m.glb", options=SaveOptions(normals=False))
    root = read_json(tmp_path / "m.glb")
    primitive = root["meshes"][0]["primitives"][0]
    assert not {"NORMAL", "TANGENT"} & set(primitive["attributes"])
    assert [list(target) for target in primitive["targets"]] == [["POSITION"]] * 3
    assert "normalTexture" not in root["materials"][0]


def test_tangents_point_along_u_and_the_picture_stands_upright():
    points = np.array([[0.0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0]])
    uvs = np.array([[0.0, 1], [1, 1], [1, 0], [0, 0]])  # v grows downwards
    corners = np.array([[0, 1, 2], [0, 2, 3]], np.int32)
    normals = np.tile([0.0, 0, 1], (4, 1))
    assert np.allclose(vertex_tangents(points, normals, uvs, corners), [1, 0, 0, 1])
    assert np.allclose(vertex_tangents(points, normals, uvs * [-1, 1], corners), [-1, 0, 0, -1])
    nowhere = vertex_tangents(points, normals, 0 * uvs, corners)
    assert np.allclose(np.linalg.norm(nowhere[:, :3], axis=1), 1)
    assert np.allclose(nowhere[:, 2], 0)


def test_equal_models_give_equal_bytes(tmp_path):
    for name in ("a.glb", "b.glb"):
        save_model(SUBJECTS["dressed"], tmp_path / name)
    assert (tmp_path / "a.glb").read_bytes() == (tmp_path / "b.glb").read_bytes()


def test_sixteen_bit_files_are_small(tmp_path):
    """Thirty flexible bones on a mesh of 8431 vertices and 48 frames: a twelfth of the float32 positions."""
    baked = bake_random_model(0, options=RandomOptions(30, 48, 8431, 4, "flexible"))
    save_model(baked.model, tmp_path / "m.glb", options=SaveOptions(quantize=True, short_rotations=True))
    assert 12 * (tmp_path / "m.glb").stat().st_size <= baked.sequence.frames.nbytes


JOINT = Skeleton(("a",), np.array([-1]), np.zeros((1, 3, 4)))


def with_weights(model: SkinnedModel, weights: np.ndarray) -> SkinnedModel:
    return model.with_character(deformer=LinearBlend(Skin(model.skin.bones, weights)))


def nine_influences(model: SkinnedModel) -> Skin:
    bones = np.tile(np.arange(9), (model.n_vertices, 1))
    return Skin(bones, np.full(bones.shape, 1 / 9))


@pytest.mark.parametrize(
    ("spoil", "says"),
    [
        (lambda m: with_weights(m, m.skin.weights * 2 - [0, 1, 0, 0]), "negative"),
        (lambda m: m.with_mesh(faces=np.zeros((0, 3), np.int32)), "no triangles"),
        (lambda m: m.with_character(skeleton=JOINT), "1 joints for 6 bones"),
    ],
)
def test_what_gltf_cannot_hold_is_refused(spoil, says, tmp_path, refused):
    model = flexible()
    ones = Skin(np.zeros((model.n_vertices, 4), np.int32), np.tile([1.0, 0, 0, 0], (model.n_vertices, 1)))
    with refused(GeometryError, says):
        save_model(spoil(model.with_character(deformer=LinearBlend(ones))), tmp_path / "m.glb")
    assert not list(tmp_path.iterdir())


def test_numbers_beyond_float32_are_refused(tmp_path, refused):
    model = flexible()
    with refused(GeometryError, "float32"):
        save_model(
            model.with_mesh(rest=100 * model.rest).with_animation(track=BoneTrack(model.track.transforms * 5e37)),
            tmp_path / "m.glb",
        )
    assert not list(tmp_path.iterdir())


def test_more_than_eight_influences_are_refused(tmp_path, refused):
    options = RandomOptions(bones=10, frames=2, vertices=50)
    model = bake_random_model(0, options=options).model
    with refused(GeometryError, "follows 9 bones", "fit fewer influences"):
        save_model(model.with_character(deformer=LinearBlend(nine_influences(model))), tmp_path / "m.glb")
