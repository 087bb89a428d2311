"""Files that survive importers: the rules of docs/engines.md, one test each."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from osteon.core.animation import BoneTrack, Clip, bone_type_of
from osteon.core.character import Corrections
from osteon.core.errors import OptionError
from osteon.core.model import SkinnedModel
from osteon.core.transforms import matrices_from_quaternions
from osteon.deform.linear_blend import LinearBlend
from osteon.deform.pose import pose_frames
from osteon.io import LoadOptions, SaveOptions, load_model, load_sequence, save_model
from osteon.io.gltf import channels as channels_module
from osteon.synth.baked import BakeOptions, RandomOptions, bake_cylinder, bake_random_model
from tests.scaled_models import scaled_model, with_tree
from tests.tolerance import assert_same_points


def flexible_model() -> SkinnedModel:
    return bake_random_model(3, options=RandomOptions(6, 12, 200, 4, "flexible")).model


def ranked(model: SkinnedModel, rank: int) -> SkinnedModel:
    rng = np.random.default_rng(1)
    basis = 0.02 * rng.normal(size=(2, rank, model.n_vertices, 3))
    return model.with_corrections(Corrections(basis[0], rng.normal(size=(model.n_frames, rank)), basis[1]))


MODELS = {
    "rigid": bake_cylinder(3, options=BakeOptions(frames=9)).model,
    "rigid tree": with_tree(bake_random_model(3, options=RandomOptions(6, 12, 200, 4, "rigid")).model),
    "scaled": scaled_model(),
    "scaled tree": with_tree(scaled_model()),
    "children first": with_tree(scaled_model(), last_first=True),
    "flexible": flexible_model(),
    "flexible tree": with_tree(flexible_model()),
    "corrections": ranked(scaled_model(), 5),
    "two clips": scaled_model().with_animation(clips=(Clip("walk", 0, 7, 24.0), Clip("run", 7, 12, 30.0))),
}
EVERY = pytest.mark.parametrize("name", MODELS)


def saved(model: SkinnedModel, folder: Path, **options: object) -> tuple[dict, Path]:
    path = folder / "m.gltf"
    save_model(model, path, options=SaveOptions(**options))
    return json.loads(path.read_text()), path


def numbers(path: Path, root: dict, accessor: int) -> np.ndarray:
    from osteon.io.gltf.read.accessors import read_floats
    from osteon.io.gltf.read.document import open_document

    width = {"SCALAR": 1, "VEC3": 3, "VEC4": 4, "MAT4": 16}[root["accessors"][accessor]["type"]]
    return read_floats(open_document(path), accessor, (width,), "test")


def parents_of(root: dict) -> dict[int, int]:
    return {child: node for node, entry in enumerate(root["nodes"]) for child in entry.get("children", [])}


@EVERY
def test_every_node_that_moves_is_a_joint_after_its_parent(name, tmp_path):
    root, _ = saved(MODELS[name], tmp_path)
    joints = root["skins"][0]["joints"]
    moved = {c["target"]["node"] for a in root["animations"] for c in a["channels"] if c["target"]["path"] != "weights"}
    assert moved <= set(joints)
    assert len(set(joints)) == len(joints)
    above = parents_of(root)
    places = {node: place for place, node in enumerate(joints)}
    assert all(places.get(above[node], -1) < place for node, place in places.items())
    assert "skeleton" not in root["skins"][0]


@EVERY
def test_nodes_stand_where_the_inverse_bind_matrices_say(name, tmp_path):
    """raylib takes nodes at rest for the bind pose and ignores the matrices."""
    root, path = saved(MODELS[name], tmp_path)
    above, world = parents_of(root), {}

    def place(node: int) -> np.ndarray:
        if node not in world:
            entry, local = root["nodes"][node], np.eye(4)
            turn = matrices_from_quaternions(np.array(entry.get("rotation", [0, 0, 0, 1.0])))
            local[:3, :3] = turn * entry.get("scale", [1.0, 1.0, 1.0])
            local[:3, 3] = entry.get("translation", [0.0, 0.0, 0.0])
            world[node] = place(above[node]) @ local if node in above else local
        return world[node]

    bind = numbers(path, root, root["skins"][0]["inverseBindMatrices"]).reshape(-1, 4, 4).transpose(0, 2, 1)
    for node, matrix in zip(root["skins"][0]["joints"], bind, strict=True):
        assert np.abs(place(node) @ matrix - np.eye(4)).max() <= 2e-6


@pytest.mark.parametrize("name", ["scaled", "scaled tree", "children first", "corrections", "two clips"])
def test_a_scaled_bone_is_one_node_with_positive_scales(name, tmp_path):
    root, path = saved(MODELS[name], tmp_path)
    assert len(root["nodes"]) == 2 + MODELS[name].n_bones
    assert len(root["skins"][0]["joints"]) == MODELS[name].n_bones
    for animation in root["animations"]:
        for channel in animation["channels"]:
            if channel["target"]["path"] == "scale":
                sampler = animation["samplers"][channel["sampler"]]
                assert numbers(path, root, sampler["output"]).min() > 0


def test_nothing_hangs_below_a_joint_that_scales(tmp_path):
    """One joint of a tree stretches: its children hang on the one above; the tree itself comes back."""
    rigid, stretching = MODELS["rigid tree"], MODELS["scaled tree"]
    transforms = rigid.track.transforms.copy()
    transforms[:, 1] = stretching.track.transforms[:, 1]
    model = rigid.with_animation(track=BoneTrack(transforms, "scaled"))
    root, path = saved(model, tmp_path)
    names, above = [node["name"] for node in root["nodes"]], parents_of(root)
    tree = {names[child]: names[parent] for child, parent in above.items()}
    assert (tree["joint 1"], tree["joint 2"], tree["joint 5"]) == ("joint 0", "joint 0", "joint 2")
    assert (tree["joint 3"], tree["joint 4"]) == ("joint 0", "joint 0")
    assert len(root["nodes"]) == 2 + model.n_bones
    again = load_model(path)
    assert np.array_equal(again.skeleton.parents, model.skeleton.parents)
    assert np.array_equal(again.skeleton.world_from_joint, model.skeleton.world_from_joint)
    assert_same_points(pose_frames(again), pose_frames(model), 1e-6)


@EVERY
@pytest.mark.parametrize("suffix", [".glb", ".gltf", ".usdc", ".npz"])
def test_models_come_back(name, suffix, tmp_path):
    """The same bones, in their order, with their names and their type, wherever joints stand in the file."""
    if suffix == ".usdc":
        pytest.importorskip("pxr")
    model = MODELS[name]
    save_model(model, tmp_path / f"m{suffix}")
    again = load_model(tmp_path / f"m{suffix}")
    assert again.track.bone_type == model.track.bone_type
    assert again.track.names == model.track.names
    assert np.abs(again.track.transforms - model.track.transforms).max() <= 1e-6 * model.diagonal
    assert bone_type_of(again.track.transforms) == bone_type_of(model.track.transforms)
    assert np.array_equal(again.skin.dense(model.n_bones), model.skin.dense(model.n_bones)) or suffix == ".usdc"
    if model.skeleton is not None:
        assert again.skeleton.names == model.skeleton.names
        assert np.array_equal(again.skeleton.parents, model.skeleton.parents)


def test_scales_of_flexible_bones_are_positive_too(tmp_path):
    """Two singular values that change their sign together would be the shorter way, but no scale may be negative."""
    transforms = np.tile(np.eye(3, 4), (5, 2, 1, 1))
    transforms[:, :, 0, 1] = 0.2
    for f, size in enumerate([1.0, 0.5, 0.1, -0.4, -0.9]):
        transforms[f, 0, 0, 0] = transforms[f, 0, 1, 1] = size
    assert (np.linalg.det(transforms[..., :3]) > 0).all()
    model = flexible_model()
    skin = replace(model.skin, bones=model.skin.bones % 2)
    model = model.with_character(deformer=LinearBlend(skin)).with_animation(
        track=BoneTrack(transforms.astype(np.float32)), clips=()
    )
    root, path = saved(model, tmp_path)
    scales = [
        numbers(path, root, a["samplers"][c["sampler"]]["output"])
        for a in root["animations"]
        for c in a["channels"]
        if c["target"]["path"] == "scale"
    ]
    assert scales
    assert min(values.min() for values in scales) > 0
    assert_same_points(pose_frames(load_model(path)), pose_frames(model), 1e-6)


def test_names_that_importers_would_confuse(tmp_path):
    """A model, joints and an armature named like clips, corrections or each other; all come back as they were."""
    model = with_tree(ranked(flexible_model(), 2))
    names = ("walk", "armature", "walk", "correction_1", "", "bone_affine")
    model = (
        model.with_mesh(name="run")
        .with_character(skeleton=replace(model.skeleton, names=names))
        .with_animation(
            track=replace(model.track, names=tuple("abcdef")), clips=(Clip("walk", 0, 6), Clip("run", 6, 12))
        )
    )
    root, path = saved(model, tmp_path)
    clips = [animation["name"] for animation in root["animations"]]
    nodes = [node["name"] for node in root["nodes"]]
    assert clips == ["walk", "run"]
    assert not set(clips) & {*nodes, *(mesh["name"] for mesh in root["meshes"])}
    assert len(set(nodes)) == len(nodes)
    assert not set(nodes) & set(root["meshes"][0]["extras"]["targetNames"])
    again = load_model(path)
    assert (again.name, again.skeleton.names, again.track.names) == ("run", names, tuple("abcdef"))
    assert again.clips == model.clips


def test_names_stay_where_nothing_confuses_them(tmp_path):
    root, _ = saved(MODELS["rigid tree"].with_mesh(name="dog"), tmp_path)
    assert [node["name"] for node in root["nodes"]] == ["dog", "armature", *MODELS["rigid tree"].skeleton.names]
    assert "joint_names" not in root["asset"]["extras"]["osteon"]


@pytest.mark.parametrize("noise", [0.0, 1e-6])
def test_tracks_that_stay_at_rest_are_left_out(noise, tmp_path):
    """Rigid bones do not scale, whatever float32 and the files of others have left of that."""
    model = MODELS["rigid tree"]
    scales = 1 + noise * np.random.default_rng(0).uniform(-1, 1, (model.n_frames, model.n_bones, 1, 1))
    transforms = model.track.transforms.copy()
    transforms[..., :3] *= scales.astype(np.float32)
    root, path = saved(model.with_animation(track=BoneTrack(transforms, "rigid")), tmp_path)
    paths = [c["target"]["path"] for a in root["animations"] for c in a["channels"]]
    assert set(paths) == {"translation", "rotation"}
    assert_same_points(pose_frames(load_model(path)), pose_frames(model), 2e-6)


def test_a_track_that_stands_still_elsewhere_has_two_keys(tmp_path):
    """raylib does not read a single one. In the second clip the bone is back at rest and has no track."""
    model = MODELS["rigid"]
    transforms = model.track.transforms.copy()
    transforms[:, 0] = np.eye(3, 4)
    transforms[:5, 0, 0, 3] = 0.3
    clips = (Clip("aside", 0, 5), Clip("back", 5, model.n_frames))
    root, path = saved(model.with_animation(track=BoneTrack(transforms, "rigid"), clips=clips), tmp_path)
    first, second = (
        {
            c["target"]["path"]: root["accessors"][a["samplers"][c["sampler"]]["output"]]["count"]
            for c in a["channels"]
            if c["target"]["node"] == 2
        }
        for a in root["animations"]
    )
    assert (first, second) == ({"translation": 2}, {})
    assert np.abs(load_model(path).track.transforms - transforms).max() <= 1e-6


def test_a_clip_in_which_nothing_moves_keeps_one_track(tmp_path):
    model = MODELS["rigid"]
    still = np.tile(np.eye(3, 4, dtype=np.float32), (4, model.n_bones, 1, 1))
    root, path = saved(
        model.with_animation(track=BoneTrack(still, "rigid"), clips=(Clip("wait", 0, 4, 10.0),)), tmp_path
    )
    (animation,) = root["animations"]
    assert len(animation["channels"]) == 1
    assert animation["channels"][0]["target"]["node"] in root["skins"][0]["joints"]
    assert root["accessors"][animation["samplers"][0]["input"]]["max"] == pytest.approx([0.3])
    assert load_model(path).n_frames == 4


def test_rotations_are_float32_unless_asked(tmp_path):
    def kinds(**options: object) -> set[int]:
        root, _ = saved(MODELS["scaled"], tmp_path, **options)
        turning = [
            a["samplers"][c["sampler"]]["output"]
            for a in root["animations"]
            for c in a["channels"]
            if c["target"]["path"] == "rotation"
        ]
        return {root["accessors"][accessor]["componentType"] for accessor in turning}

    assert kinds() == kinds(quantize=True) == {5126}
    assert 5122 in kinds(short_rotations=True)
    with pytest.raises(OptionError, match=r"^short_rotations: 16-bit rotations are read by web"):
        SaveOptions(short_rotations=True, engine="cesium")
    with pytest.raises(OptionError, match=r"^quantize: 16-bit positions are read by web"):
        SaveOptions(quantize=True, engine="godot")


@pytest.mark.parametrize(
    ("engine", "rank", "normals"),
    [("any", 7, True), ("cesium", 6, True), ("cesium", 7, False), ("web", 7, True)],
)
def test_normals_of_corrections_only_where_there_is_room(engine, rank, normals, tmp_path):
    """A vertex has 16 attributes in Cesium: position, normal, joints, weights, and two for each correction."""
    model = ranked(scaled_model(), rank)
    root, path = saved(model, tmp_path, engine=engine)
    targets = root["meshes"][0]["primitives"][0]["targets"]
    assert [("NORMAL" in target) for target in targets] == [normals] * rank
    assert_same_points(pose_frames(load_model(path)), pose_frames(model), 1e-6)


@pytest.mark.parametrize("rate", [24.0, 30.0, 60.0])
@pytest.mark.parametrize("name", ["rigid", "rigid tree", "scaled", "scaled tree", "corrections"])
def test_engines_that_blend_otherwise_show_the_same_between_frames(name, rate, tmp_path, monkeypatch):
    """Sampled at any rate, rotations that go straight instead of along the arc: within 0.1 % of the diagonal."""
    model = MODELS[name]
    save_model(model, tmp_path / "m.glb")
    assert_no_keys_between(model, tmp_path)
    along_arcs = load_sequence([tmp_path / "m.glb"], options=LoadOptions(fps=rate)).frames
    monkeypatch.setattr(channels_module, "slerp", lambda a, b, u: a * (1 - u)[:, None] + b * u[:, None])
    straight = load_sequence([tmp_path / "m.glb"], options=LoadOptions(fps=rate)).frames
    assert_same_points(straight, along_arcs, 1e-3)


def assert_no_keys_between(model: SkinnedModel, folder: Path) -> None:
    root, path = saved(model, folder)
    for animation, clip in zip(root["animations"], model.clips, strict=True):
        for sampler in animation["samplers"]:
            moments = numbers(path, root, sampler["input"])[:, 0] * clip.fps
            assert np.abs(moments - np.rint(moments)).max() <= 1e-4


def test_quaternions_go_the_short_way_and_axes_stay(tmp_path):
    """A bone that turns right round, step by step, and stretches: no key is on the other side of the one before."""
    model = scaled_model(bones=4, frames=40)
    turns = np.linspace(0, 4 * np.pi, 40)
    spin = np.zeros((40, 3, 3))
    spin[:, 0, 0] = spin[:, 1, 1] = np.cos(turns)
    spin[:, 1, 0], spin[:, 0, 1], spin[:, 2, 2] = np.sin(turns), -np.sin(turns), 1
    transforms = model.track.transforms.astype(np.float64)
    transforms[:, 1] = spin @ transforms[:, 1]
    root, path = saved(model.with_animation(track=BoneTrack(transforms.astype(np.float32), "scaled")), tmp_path)
    for animation in root["animations"]:
        for channel in animation["channels"]:
            values = numbers(path, root, animation["samplers"][channel["sampler"]]["output"])
            if channel["target"]["path"] == "rotation":
                assert (values[1:] * values[:-1]).sum(axis=1).min() > 0.9
            if channel["target"]["path"] == "scale":
                assert np.abs(np.diff(np.log(values), axis=0)).max() < 0.25


def test_a_body_that_plays_smaller_than_it_rests_has_nodes_of_scale_one(tmp_path):
    """Meshes in centimetres below bones of scale 0.01: the scale is in the inverse bind matrices."""
    model = MODELS["scaled"]
    rest = 100 * model.rest
    transforms = model.track.transforms.copy()
    transforms[..., :3] /= 100
    small = model.with_mesh(rest=rest).with_animation(track=BoneTrack(transforms, "scaled"))
    root, path = saved(small, tmp_path)
    assert len(root["nodes"]) == 2 + model.n_bones
    assert_same_points(pose_frames(load_model(path)), pose_frames(model), 1e-6)
