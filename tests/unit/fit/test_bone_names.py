"""Names of bones: prefix, regions, sides."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from osteon.core.character import Skin
from osteon.core.errors import OptionError
from osteon.core.mesh import Asset, Mesh
from osteon.core.sequence import MeshSequence
from osteon.core.skin_options import SkinOptions
from osteon.core.transforms import rotation_from_axis_angle
from osteon.fit.naming import mirror_pairs, name_bones, sparse_weights
from osteon.io import load_model, load_sequence, save_model
from osteon.pipeline.skin import skin_sequence
from osteon.synth.creature import CreatureOptions, make_creature
from osteon.synth.figure import make_figure
from osteon.synth.shapes import Shape, join_shapes, make_ball, make_grid, make_sphere, make_tube

from ...subjects import bent_tube


def figure() -> tuple[Mesh, Skin, list[str]]:
    """An animal of two sides, a skin of its nearest sticks, and the name of each stick's far joint."""
    vertices, faces, sticks = make_figure(40)
    start, end = (sticks.joints[sticks.bones[:, i]] for i in (0, 1))
    along = np.clip(
        np.einsum("vbi,bi->vb", vertices[:, None] - start, end - start) / ((end - start) ** 2).sum(axis=1), 0, 1
    )
    far = np.linalg.norm(vertices[:, None] - start - along[..., None] * (end - start), axis=2)
    bones = far.argmin(axis=1)[:, None].astype(np.int32)
    names = [sticks.names[j] for j in sticks.bones[:, 1]]
    return Mesh(vertices, faces), Skin(bones, np.ones(bones.shape)), names


def lumps(*centers: tuple[float, float, float], parts: tuple[str, ...] = ()) -> tuple[Mesh, Skin]:
    """A ball a bone; each a part of its own if they have names."""
    balls = [make_sphere(2, 0.3).moved(center) for center in centers]
    shape = join_shapes(balls)
    asset = Asset()
    if parts:
        primitive = np.repeat(np.arange(len(balls)), [len(ball.faces) for ball in balls])
        asset = Asset(primitive_of_triangle=primitive.astype(np.int32), primitive_names=parts)
    bones = np.repeat(np.arange(len(balls)), [len(ball.vertices) for ball in balls])[:, None]
    return Mesh(shape.vertices, shape.faces, asset), Skin(bones.astype(np.int32), np.ones(bones.shape))


def pairs_of(mesh: Mesh, skin: Skin, n_bones: int) -> list[tuple[int, int]]:
    return mirror_pairs(mesh, sparse_weights(skin, n_bones))


def test_both_sides_of_a_figure_are_paired_and_left_is_plus_x():
    mesh, skin, names = figure()
    pairs = pairs_of(mesh, skin, len(names))
    expected = {(names.index(name), names.index(name[:-1] + "R")) for name in names if name.endswith(".L")}
    owned = set(np.unique(skin.bones))
    assert set(pairs) == {pair for pair in expected if set(pair) <= owned}
    assert len(pairs) >= 6
    named = name_bones(mesh, skin, len(names), "DEF-")
    assert len(set(named)) == len(names)
    for left, right in pairs:
        assert named[left].removesuffix("_L") == named[right].removesuffix("_R")
        assert named[left].startswith("DEF-")
    assert not any(name.endswith(("_L", "_R")) for b, name in enumerate(named) if b not in np.ravel(pairs))
    assert name_bones(mesh, skin, len(names), "DEF-") == named


@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e3])
def test_a_figure_that_stands_turned_and_elsewhere_keeps_its_pairs(scale):
    mesh, skin, names = figure()
    turn = rotation_from_axis_angle(np.array([0.2, 1.0, 0.1]), 0.6)
    moved = replace(mesh, rest=(scale * (mesh.rest @ turn.T + [3, 4, 5])).astype(np.float32))
    assert pairs_of(moved, skin, len(names)) == pairs_of(mesh, skin, len(names))


def test_what_one_hand_holds_does_not_hide_the_other():
    mesh, skin, names = figure()
    sword = make_tube(6, 6, 0.02, 0.5).moved((0.75, 0.73, 0.02))
    shape = join_shapes([Shape(mesh.rest.astype(np.float64), mesh.faces), sword])
    hand = names.index("hand.L")
    bones = np.concatenate([skin.bones, np.full((len(sword.vertices), 1), hand, np.int32)])
    held = Mesh(shape.vertices, shape.faces), Skin(bones, np.ones(bones.shape))
    assert len(pairs_of(*held, len(names))) >= 6


def test_a_shape_without_sides_has_no_pairs():
    creature = make_creature(CreatureOptions(frames=8, resolution=40))
    stride = np.where(creature.rest[:, 1] < 0.6, 0.3 * np.sign(creature.rest[:, 0]), 0)
    running = Mesh(creature.rest + stride[:, None] * [0, 0, 1], creature.faces)
    left = (creature.rest[:, 0] < 0).astype(np.int32)[:, None]
    halves = Skin(left, np.ones(left.shape))
    assert pairs_of(Mesh(creature.rest, creature.faces), halves, 2) == [(0, 1)]
    assert pairs_of(running, halves, 2) == []
    lopsided = lumps((1, 0, 0), (-1, 0, 0), (-1.5, 1, 0.7), (0.3, 2, 0))
    assert pairs_of(*lopsided, 4) == []
    sheet = make_grid(4, 4)
    assert (
        pairs_of(Mesh(sheet.vertices[:1].repeat(25, 0), sheet.faces), Skin(np.zeros((25, 1), int), np.ones((25, 1))), 1)
        == []
    )


def test_across_x_comes_before_other_planes():
    mesh, skin = lumps((1, 0, 1), (-1, 0, 1), (1, 0, -1), (-1, 0, -1))
    assert pairs_of(mesh, skin, 4) == [(0, 1), (2, 3)]
    mesh, skin = lumps((0, 0, 1), (0, 0, -1), (1, 1, 0))
    assert pairs_of(mesh, skin, 3) == [(0, 1)]  # across z, whose positive side counts as left


def test_a_region_gives_its_name_and_pairs_share_it():
    mesh, skin = lumps((0, 0, 0), (1, 0, 0), (-1, 0, 0), (0, 1, 0), parts=("body", "arm", "arm", "bone_7"))
    assert name_bones(mesh, skin, 4, "") == ("body", "arm_L", "arm_R", "bone_0")
    assert name_bones(mesh, skin, 4, "x-") == ("x-body", "x-arm_L", "x-arm_R", "x-0")
    told = replace(mesh, asset=replace(mesh.asset, primitive_names=("body", "LeftArm", "RightArm", " head\n")))
    assert name_bones(told, skin, 4, "") == ("body", "LeftArm", "RightArm", "head")
    one = replace(mesh, asset=Asset(primitive_of_triangle=0 * mesh.asset.primitive_of_triangle, primitive_names=("a",)))
    assert name_bones(one, skin, 4, "") == ("bone_0", "bone_1_L", "bone_1_R", "bone_2")


def test_several_bones_of_a_region_are_numbered_and_a_bone_between_two_is_of_none():
    mesh, skin = lumps((0, 0, 0), (0, 2, 0.5), (0.4, 4, 0), parts=("body", "body", "hat"))
    assert name_bones(mesh, skin, 3, "") == ("body_1", "body_2", "hat")
    both = Skin(np.zeros((mesh.n_vertices, 1), int), np.ones((mesh.n_vertices, 1)))
    parts = replace(mesh, asset=replace(mesh.asset, primitive_names=("a", "b", "c")))
    assert name_bones(parts, both, 1, "") == ("bone_0",)


def test_names_differ_from_each_other_and_from_nodes_of_the_file():
    mesh, skin = lumps((0, 0, 0), (0, 2, 0.5), (0.4, 4, 0), (3, 3, 3), parts=("armature", "fox", "hat_affine", "hat"))
    names = name_bones(replace(mesh, name="fox"), skin, 4, "")
    assert names == ("armature_1", "fox_1", "hat_affine", "hat_1")


def test_joints_of_a_character_name_the_bones_that_take_their_place(tmp_path):
    model = bent_tube(3, 8).model
    named = model.with_animation(track=replace(model.track, names=("hip", "knee", "foot")))
    save_model(named, tmp_path / "limb.glb")
    sequence = load_sequence(tmp_path / "limb.glb")
    assert sequence.asset.joint_of_vertex is not None
    assert set(sequence.asset.joint_names) == {"hip", "knee", "foot"}
    fit = skin_sequence(sequence, options=SkinOptions(bones=3, rounds=4, threads=1, prefix="new_"))
    assert set(fit.model.track.names) == {"new_hip", "new_knee", "new_foot"}


@pytest.mark.parametrize("suffix", [".glb", ".gltf", ".npz", ".usda", ".usdc"])
def test_names_are_asked_for_and_survive_files(tmp_path, suffix):
    ball = make_ball(120)
    frames = np.stack([ball.vertices, ball.vertices * [1, 1.2, 1], ball.vertices * [1.3, 1, 1]])
    sequence = MeshSequence(frames, ball.faces, ball.vertices)
    plain = skin_sequence(sequence, options=SkinOptions(bones=3, rounds=2, threads=1)).model
    assert plain.track.names == ("bone_0", "bone_1", "bone_2")
    model = skin_sequence(sequence, options=SkinOptions(bones=3, rounds=2, threads=1, prefix="DEF é-")).model
    assert all(name.startswith("DEF é-") for name in model.track.names)
    assert np.array_equal(model.track.transforms, plain.track.transforms)
    save_model(model, tmp_path / f"named{suffix}")
    assert load_model(tmp_path / f"named{suffix}").track.names == model.track.names


def test_a_prefix_is_refused_that_has_no_effect_or_cannot_be_shown():
    baked = bent_tube(3, 8)
    with pytest.raises(OptionError, match="prefix: a rig keeps the names of its joints"):
        skin_sequence(baked.sequence, rig=baked.model, options=SkinOptions(prefix="a"))
    for text in ("a\nb", "x" * 41):
        with pytest.raises(OptionError, match="prefix: expected at most 40 printable characters"):
            SkinOptions(prefix=text)
