"""Skeletons and poses from skinned files: glTF by hand, Osteon's own models, real characters."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from osteon.core.animation import BoneTrack, Clip
from osteon.core.character import Skeleton, Skin
from osteon.core.errors import GeometryError, OptionError, OsteonError
from osteon.core.transforms import identity, rotation_from_axis_angle
from osteon.deform.linear_blend import linear_blend_model
from osteon.io import load_model, save_model
from osteon.io.poses import load_poses
from osteon.io.skeletons import load_skeleton, save_skeleton

DATA = Path(__file__).resolve().parents[2].parent / "shared" / "data"
QUARTER = [0.0, 0.0, np.sqrt(0.5), np.sqrt(0.5)]  # about z
TURN = np.array([[0.0, -1, 0], [1, 0, 0], [0, 0, 1]])


def leg(glb, binds=None):
    """hip (0,2,0), a joint in the same place that turns by a quarter, knee (0,1,0) and foot (0,0,0)."""
    root = glb.json
    attributes = root["meshes"][0]["primitives"][0]["attributes"]
    attributes |= {
        "JOINTS_0": glb.accessor([[0, 0, 0, 0]] * 3, "u1"),
        "WEIGHTS_0": glb.accessor([[1.0, 0, 0, 0]] * 3),
    }
    down = {"translation": [0, -1, 0]}
    root["nodes"] = [
        {"mesh": 0, "skin": 0},
        {"name": "hip", "translation": [0, 2, 0], "children": [2]},
        {"name": "twist", "children": [3]},
        {"name": "knee", **down, "children": [4]},
        {"name": "foot", **down},
    ]
    root["scenes"] = [{"nodes": [0, 1]}]
    places = np.array([[0, 2, 0], [0, 2, 0], [0, 1, 0], [0, 0, 0]], float)
    if binds is None:
        binds = np.tile(np.eye(4), (4, 1, 1))
        binds[:, :3, 3] = -places
    matrices = glb.accessor([b.T.ravel() for b in binds], "f4", "MAT4")
    root["skins"] = [{"name": "body", "joints": [1, 2, 3, 4], "inverseBindMatrices": matrices}]
    sampler = {"input": glb.accessor([0.0, 0.5]), "output": glb.accessor([[0, 0, 0, 1], QUARTER])}
    channel = {"sampler": 0, "target": {"node": 2, "path": "rotation"}}
    root["animations"] = [{"name": "kick", "samplers": [sampler], "channels": [channel]}]
    return glb


def test_a_leg(triangle_glb, tmp_path):
    path = leg(triangle_glb).save(tmp_path / "leg.glb")
    skeleton = load_skeleton(path)
    assert skeleton.names == ("hip", "knee", "foot")
    assert skeleton.joints.tolist() == [[0, 2, 0], [0, 1, 0], [0, 0, 0]]
    assert skeleton.bones.tolist() == [[0, 1], [1, 2]]
    track = load_poses([path], skeleton)
    assert track.clips == (Clip("kick", 0, 13, 24.0),)
    assert np.allclose(track.joints[-1], [[0, 2, 0], [1, 2, 0], [2, 2, 0]])
    assert np.allclose(track.rotations[0], np.eye(3))
    assert np.allclose(track.rotations[-1], TURN)  # of the twist joint, which carries the bone hip-knee
    assert load_poses([path], skeleton, fps=2, clips=("kick",)).n_frames == 2


def test_the_mesh_in_other_units_than_its_joints(triangle_glb, tmp_path):
    """A mesh in centimetres below joints in metres: joints come out where the model's vertices are, in metres."""
    binds = np.tile(np.diag([0.01, 0.01, 0.01, 1.0]), (4, 1, 1))
    binds[:, 1, 3] = [-2, -2, -1, 0]
    path = leg(triangle_glb, binds).save(tmp_path / "leg.glb")
    skeleton = load_skeleton(path)
    assert np.allclose(skeleton.joints, [[0, 2, 0], [0, 1, 0], [0, 0, 0]])
    assert np.allclose(load_poses([path], skeleton).rotations[-1], TURN)


def test_a_turn_about_the_bone_is_known(triangle_glb, tmp_path):
    path = leg(triangle_glb)
    path.json["nodes"][4]["translation"] = [1, 0, 0]  # the foot stands out, so that its place shows the turn
    about_y = [0.0, np.sqrt(0.5), 0.0, np.sqrt(0.5)]
    path.json["animations"][0]["samplers"][0]["output"] = path.accessor([[0, 0, 0, 1], about_y])
    path = path.save(tmp_path / "leg.glb")
    skeleton = load_skeleton(path)
    track = load_poses([path], skeleton)
    turn = rotation_from_axis_angle(np.array([0.0, 1, 0]), np.pi / 2)
    assert np.allclose(track.joints[-1, 1], [0, 1, 0])
    assert np.allclose(track.rotations[-1, 0], turn, atol=1e-6)


def test_poses_for_the_same_sticks_in_another_file(triangle_glb, tmp_path, refused):
    path = leg(triangle_glb).save(tmp_path / "leg.glb")
    save_skeleton(load_skeleton(path), tmp_path / "leg.skel")
    sticks = load_skeleton(tmp_path / "leg.skel")
    assert np.allclose(load_poses([path], sticks).joints[-1, 2], [2, 2, 0])
    (tmp_path / "arm.skel").write_text("2\n0 0 0 hip root\n0 1 0 elbow hip\n")
    with refused(GeometryError, "leg.glb", "another skeleton", "'elbow'"):
        load_poses([path], load_skeleton(tmp_path / "arm.skel"))
    with refused(OptionError, "leg.glb", "'walk'", "'kick'"):
        load_poses([path], sticks, clips=("walk",))
    with refused(OptionError, "leg.glb", "none is given"):
        load_poses([path], None)


def limb(glb):
    """The leg, whose foot moves a vertex of its own and turns by a quarter."""
    glb = leg(glb)
    glb.json["meshes"][0]["primitives"][0]["attributes"] |= {
        "POSITION": glb.accessor([[0.0, 2, 0], [0, 1, 0], [2, 0, 0]]),
        "JOINTS_0": glb.accessor([[0, 0, 0, 0], [2, 0, 0, 0], [3, 0, 0, 0]], "u1"),
    }
    glb.json["animations"][0]["channels"][0]["target"]["node"] = 4
    return glb


def test_the_last_joint_turns_what_it_moves(triangle_glb, tmp_path):
    path = limb(triangle_glb).save(tmp_path / "limb.glb")
    skeleton = load_skeleton(path)
    assert skeleton.names == ("hip", "knee", "foot", "foot.end")
    assert np.allclose(skeleton.joints[3], [1.8, 0, 0])
    track = load_poses([path], skeleton)
    assert np.allclose(track.joints[-1], [[0, 2, 0], [0, 1, 0], [0, 0, 0], [0, 1.8, 0]])
    assert np.allclose(track.rotations[-1], [np.eye(3), np.eye(3), TURN])


def test_ends_follow_the_motion_of_a_file_without_them(triangle_glb, tmp_path):
    path = limb(triangle_glb).save(tmp_path / "limb.glb")
    sticks = tmp_path / "limb.skel"
    save_skeleton(load_skeleton(path), sticks)
    glb = limb(triangle_glb)
    glb.json["meshes"][0]["primitives"][0]["attributes"]["JOINTS_0"] = glb.accessor([[0, 0, 0, 0]] * 3, "u1")
    bare = glb.save(tmp_path / "bare.glb")
    assert load_skeleton(bare).n_joints == 3
    assert np.allclose(load_poses([bare], load_skeleton(sticks)).joints[-1, 3], [0, 1.8, 0])


def test_files_without_joints(triangle_glb, tmp_path, refused):
    path = triangle_glb.save(tmp_path / "plain.glb")
    with refused(GeometryError, "plain.glb", "no skin"):
        load_skeleton(path)


def test_a_joint_that_was_bound_flat(triangle_glb, tmp_path, refused):
    path = leg(triangle_glb, np.tile(np.diag([1.0, 1, 0, 1]), (4, 1, 1))).save(tmp_path / "flat.glb")
    with refused(GeometryError, "flat.glb", "'hip'", "flat"):
        load_skeleton(path)


def test_one_joint(triangle_glb, tmp_path, refused):
    glb = leg(triangle_glb)
    glb.json["skins"][0]["joints"] = [1]
    with refused(GeometryError, "one.glb", "only the joint 'hip'"):
        load_skeleton(glb.save(tmp_path / "one.glb"))


def own_model(skeleton=True):
    """Two rigid bones of Osteon's, the second turns."""
    transforms = np.tile(identity(), (3, 2, 1, 1))
    transforms[2, 1, :, :3] = TURN
    places = np.tile(identity(), (2, 1, 1))
    places[1, :, 3] = [0, 1, 0]
    transforms[2, 1, :, 3] = places[1, :, 3] - TURN @ places[1, :, 3]
    return linear_blend_model(
        rest=np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0]]),
        faces=np.array([[0, 1, 2]]),
        skin=Skin(np.array([[0], [0], [1]]), np.ones((3, 1))),
        track=BoneTrack(transforms, "rigid", ("upper", "lower")),
        skeleton=Skeleton(("upper", "lower"), np.array([-1, 0]), places) if skeleton else None,
    )


@pytest.mark.parametrize("suffix", [".npz", ".glb", ".usda"])
def test_models_of_our_own(tmp_path, refused, suffix):
    path = tmp_path / f"own{suffix}"
    save_model(own_model(), path)
    skeleton = load_skeleton(path)
    assert skeleton.names == ("upper", "lower")
    assert np.allclose(skeleton.joints, [[0, 0, 0], [0, 1, 0]])
    track = load_poses([path], skeleton)
    assert np.allclose(track.joints, skeleton.joints, atol=1e-6)
    assert np.allclose(track.rotations, np.eye(3), atol=1e-6)
    save_model(own_model(skeleton=False), path)
    with refused(GeometryError, path.name, "no tree"):
        load_skeleton(path)


def test_spoiled_files_are_read_or_refused(triangle_glb, tmp_path):
    """Numbers of the JSON and of the buffers changed at random: joints are finite, or one line says why not."""
    whole = leg(triangle_glb).bytes()
    skeleton = load_skeleton(_saved(tmp_path, whole))
    rng = np.random.default_rng(5)
    refused = 0
    for _ in range(150):
        data = bytearray(whole)
        for at in rng.integers(20, len(data), 3):
            data[at] = rng.choice(np.frombuffer(b"0123456789-e\x7f\xff", np.uint8))
        path = _saved(tmp_path, bytes(data))
        for load in (load_skeleton, lambda p: load_poses([p], skeleton)):
            try:
                assert np.isfinite(load(path).joints).all()
            except OsteonError as error:
                refused += "spoiled.glb" in str(error) and "\n" not in str(error)
    assert refused > 50


def _saved(folder, data):
    path = folder / "spoiled.glb"
    path.write_bytes(data)
    return path


@pytest.mark.skipif(not DATA.is_dir(), reason="no shared data beside the repository")
@pytest.mark.parametrize("name", ["CesiumMan", "Fox", "RiggedFigure", "RiggedSimple", "Soldier"])
def test_real_characters(name):
    """Joints go where the model's bones take them, and rotations agree with the directions of the bones."""
    path = DATA / "characters" / f"{name}.glb"
    skeleton = load_skeleton(path)
    track = load_poses([path], skeleton)
    model = load_model(path)
    bone = [model.track.names.index(joint.removesuffix(".end")) for joint in skeleton.names]
    transforms = model.track.transforms[:, bone].astype(np.float64)
    expected = np.einsum("fjik,jk->fji", transforms[..., :3], skeleton.joints) + transforms[..., 3]
    size = np.linalg.norm(np.ptp(skeleton.joints, axis=0))
    assert np.abs(track.joints - expected).max() < 1e-5 * size
    assert [clip.name for clip in track.clips] == [clip.name for clip in model.clips]
    posed = track.joints[:, skeleton.bones[:, 1]] - track.joints[:, skeleton.bones[:, 0]]
    turned = np.einsum("fbij,bj->fbi", track.rotations, skeleton.vectors)
    assert np.abs(np.cross(turned, posed)).max() < 1e-9 * size**2
    assert (np.einsum("fbi,fbi->fb", turned, posed) > 0).all()
