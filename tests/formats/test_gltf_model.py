"""glTF in as a skinned model: files of other programs, and that both readers show the same."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from osteon.core.animation import Clip
from osteon.core.errors import OptionError
from osteon.io import LoadOptions, holds_model, load_model, load_sequence
from tests.formats.agreement import assert_readers_agree
from tests.tolerance import assert_same_points

CHARACTERS = Path(__file__).resolve().parents[2].parent / "shared" / "data" / "characters"
TRIANGLE = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0]], float)
QUARTER = [0.0, 0.0, np.sqrt(0.5), np.sqrt(0.5)]  # 90 degrees about z


@pytest.mark.skipif(not CHARACTERS.is_dir(), reason="no shared data beside the repository")
@pytest.mark.parametrize(
    ("name", "bones", "rank", "joints"),
    [
        ("CesiumMan", 19, 0, 19),
        ("Fox", 24, 0, 24),
        ("Horse", 1, 15, 0),
        ("MorphStressTest", 1, 8, 0),
        ("RiggedFigure", 19, 0, 19),
        ("RiggedSimple", 2, 0, 2),
        ("Soldier", 49, 0, 49),
        ("FpsArms", 50, 0, 50),
    ],
)
def test_characters(name, bones, rank, joints):
    path = CHARACTERS / f"{name}.glb"
    assert holds_model(path)
    model = assert_readers_agree(path)
    assert (model.n_bones, model.rank, model.track.bone_type) == (bones, rank, "rigid")
    assert (0 if model.skeleton is None else len(model.skeleton.names)) == joints
    assert_same_points(model.rest, load_sequence(path).rest, 1e-5)


@pytest.mark.skipif(not CHARACTERS.is_dir(), reason="no shared data beside the repository")
def test_a_skeleton_is_the_tree_of_joints():
    fox = load_model(CHARACTERS / "Fox.glb")
    assert fox.skeleton.names == fox.track.names
    assert fox.skeleton.names[0] == "_rootJoint"
    assert fox.skeleton.parents[0] == -1
    assert (fox.skeleton.parents[1:] >= 0).all()
    head = fox.skeleton.names.index("b_Head_05")
    assert fox.skeleton.names[fox.skeleton.parents[head]] == "b_Neck_04"
    assert (np.abs(fox.skeleton.world_from_joint[:, :, 3]) < fox.rest.max()).all()


def skinned(glb, joints, weights, binds=None):
    """A triangle on joints 1 and 2, the second below the first."""
    root = glb.json
    primitive = root["meshes"][0]["primitives"][0]
    for n in range(len(joints)):
        primitive["attributes"] |= {
            f"JOINTS_{n}": glb.accessor(joints[n], "u1"),
            f"WEIGHTS_{n}": glb.accessor(weights[n]),
        }
    root["skins"] = [{"joints": [1, 2]}]
    if binds is not None:
        root["skins"][0]["inverseBindMatrices"] = glb.accessor([b.T.ravel() for b in binds], "f4", "MAT4")
    root["nodes"] = [{"mesh": 0, "skin": 0}, {"name": "hip", "children": [3]}, {"name": "foot"}, {"children": [2]}]
    root["scenes"] = [{"nodes": [0, 1]}]
    return glb


def turn_foot(glb):
    sampler = {"input": glb.accessor([0.0, 0.5]), "output": glb.accessor([[0, 0, 0, 1], QUARTER])}
    channel = {"sampler": 0, "target": {"node": 2, "path": "rotation"}}
    glb.json["animations"] = [{"name": "kick", "samplers": [sampler], "channels": [channel]}]
    return glb


def test_one_skin(triangle_glb, tmp_path):
    skinned(triangle_glb, [[[0, 1, 0, 0]] * 3], [[[1, 0, 0, 0], [0.5, 0.5, 0, 0], [0, 3, 0, 0]]])
    model = assert_readers_agree(turn_foot(triangle_glb).save(tmp_path / "t.glb"))
    assert model.clips == (Clip("kick", 0, 13, 24.0),)
    assert model.track.names == ("hip", "foot")
    assert model.skin.weights.tolist() == [[1, 0, 0, 0], [0.5, 0.5, 0, 0], [0, 1, 0, 0]]
    assert model.skin.bones[:, :2].tolist() == [[0, 0], [0, 1], [0, 1]]
    assert model.track.bone_type == "rigid"
    assert np.allclose(model.track.transforms[-1, 1], [[0, -1, 0, 0], [1, 0, 0, 0], [0, 0, 1, 0]])
    assert model.skeleton.names == ("hip", "foot")
    assert model.skeleton.parents.tolist() == [-1, 0]  # a node between them that is no joint is passed over


def test_skins_that_share_joints(triangle_glb, tmp_path):
    """Two skins on the same joints are one rig: a joint is one bone unless its binds differ."""
    skinned(triangle_glb, [[[0, 1, 0, 0]] * 3], [[[0.5, 0.5, 0, 0]] * 3], [np.eye(4), np.eye(4)])
    root, moved = triangle_glb.json, np.eye(4)
    moved[0, 3] = 1.0
    second = triangle_glb.accessor([b.T.ravel() for b in (np.eye(4), moved)], "f4", "MAT4")
    root["skins"].append({"joints": [2, 1], "inverseBindMatrices": second})
    root["nodes"].append({"mesh": 0, "skin": 1})
    root["scenes"][0]["nodes"].append(4)
    model = assert_readers_agree(turn_foot(triangle_glb).save(tmp_path / "t.glb"))
    assert model.track.names == ("hip", "foot", "hip_")
    assert model.skin.bones[:, :2].tolist() == [[0, 1]] * 3 + [[1, 2]] * 3
    assert model.skeleton.parents.tolist() == [-1, 0, -1]
    assert model.track.bone_type == "rigid"


def test_units_of_the_mesh_go_into_the_rest_pose(triangle_glb, tmp_path):
    """A mesh in centimetres, bound to joints in metres: the model is in metres and its bones stay rigid."""
    centimetres = np.diag([0.01, 0.01, 0.01, 1.0])
    skinned(triangle_glb, [[[0, 1, 0, 0]] * 3], [[[0.5, 0.5, 0, 0]] * 3], [centimetres, centimetres])
    model = assert_readers_agree(turn_foot(triangle_glb).save(tmp_path / "t.glb"))
    assert_same_points(model.rest, TRIANGLE * 0.01)
    assert model.track.bone_type == "rigid"
    assert np.allclose(model.skeleton.world_from_joint, np.eye(4)[:3])


def test_a_file_saved_in_the_middle_of_a_movement(triangle_glb, tmp_path):
    skinned(triangle_glb, [[[0, 1, 0, 0]] * 3], [[[0.5, 0.5, 0, 0]] * 3])
    turn_foot(triangle_glb)
    triangle_glb.json["nodes"][2]["rotation"] = QUARTER
    triangle_glb.json["nodes"][1]["translation"] = [0, 0, 5]
    model = assert_readers_agree(triangle_glb.save(tmp_path / "t.glb"))
    assert_same_points(model.rest, TRIANGLE + np.array([0, 0, 5]))


def test_more_than_eight_influences_keep_the_largest(triangle_glb, tmp_path):
    weights = np.array([5, 1, 1, 1, 1, 1, 1, 1, 4, 0.5, 0.5, 0.5]) / 17.5
    instances = [[row.tolist()] * 3 for row in weights.reshape(3, 4)]
    joints = [[[0, 1, 0, 1]] * 3] * 3
    model = load_model(skinned(triangle_glb, joints, instances).save(tmp_path / "t.glb"))
    assert model.skin.n_influences == 8
    expected = np.array([5, 4, 1, 1, 1, 1, 1, 1]) / 15
    assert np.allclose(model.skin.weights[0], expected)


def test_morph_targets_are_corrections_and_nodes_are_bones(triangle_glb, tmp_path):
    glb = triangle_glb
    primitive = glb.json["meshes"][0]["primitives"][0]
    up, wide = np.zeros((3, 3)), np.zeros((3, 3))
    up[:, 2], wide[1, 0] = 1, 2
    primitive["targets"] = [
        {"POSITION": glb.accessor(up), "NORMAL": glb.accessor(-up)},
        {"POSITION": glb.accessor(wide)},
    ]
    glb.json["nodes"] = [
        {"mesh": 0, "name": "a", "weights": [0.25, 0], "rotation": QUARTER, "scale": [2, 2, 2]},
        {"mesh": 0, "name": "b", "translation": [9, 0, 0]},
    ]
    glb.json["scenes"] = [{"nodes": [0, 1]}]
    times = glb.accessor([0.0, 1.0])
    samplers = [
        {"input": times, "output": glb.accessor([0.0, 0, 1, 0.5])},
        {"input": times, "output": glb.accessor([[1.0, 1, 1], [3, 1, 1]])},
    ]
    channels = [
        {"sampler": 0, "target": {"node": 1, "path": "weights"}},
        {"sampler": 1, "target": {"node": 1, "path": "scale"}},
    ]
    glb.json["animations"] = [{"samplers": samplers, "channels": channels}]
    model = assert_readers_agree(glb.save(tmp_path / "t.glb"))
    assert model.track.names == ("a", "b")
    assert model.track.bone_type == "scaled"
    assert model.skeleton is None
    assert model.corrections.coefficients[[0, -1]].tolist() == [[0.25, 0, 0, 0], [0.25, 0, 1, 0.5]]
    assert np.allclose(model.corrections.basis[0], np.concatenate([2 * up, 0 * up]))
    assert np.allclose(model.corrections.basis[3], np.concatenate([0 * wide, wide]))
    assert np.allclose(model.corrections.normal_basis[0], np.concatenate([-up, 0 * up]))


def test_a_node_that_is_flat_at_rest(triangle_glb, tmp_path):
    glb = triangle_glb
    glb.json["nodes"] = [{"mesh": 0, "scale": [0, 0, 0]}]
    sampler = {"input": glb.accessor([0.0, 1.0]), "output": glb.accessor([[0.0, 0, 0], [1, 1, 1]])}
    glb.json["animations"] = [
        {"samplers": [sampler], "channels": [{"sampler": 0, "target": {"node": 0, "path": "scale"}}]}
    ]
    model = assert_readers_agree(glb.save(tmp_path / "t.glb"))
    assert model.rest.tolist() == TRIANGLE.tolist()


def test_primitives_that_share_vertices_stay_joined(glb, tmp_path):
    attributes = {"POSITION": glb.accessor(np.arange(12.0).reshape(4, 3) ** 1.5)}
    primitives = [
        {"attributes": dict(attributes), "indices": glb.accessor(row, "u2"), "material": m}
        for m, row in enumerate(([0, 1, 2], [2, 1, 3]))
    ]
    glb.json |= {"meshes": [{"name": "box", "primitives": primitives}], "nodes": [{"mesh": 0}], "materials": [{}, {}]}
    sequence = load_sequence(glb.save(tmp_path / "t.glb"))
    assert sequence.n_vertices == 4
    assert sequence.faces.tolist() == [[0, 1, 2], [2, 1, 3]]
    assert sequence.asset.triangle_material.tolist() == [0, 1]
    assert sequence.asset.primitive_names == ("box_0", "box_1")


def test_rate_and_clips_of_ones_own(triangle_glb, tmp_path, refused):
    skinned(triangle_glb, [[[0, 1, 0, 0]] * 3], [[[0.5, 0.5, 0, 0]] * 3])
    path = turn_foot(triangle_glb).save(tmp_path / "t.glb")
    model = assert_readers_agree(path, LoadOptions(fps=10, clips=("kick",)))
    assert model.clips == (Clip("kick", 0, 6, 10.0),)
    with refused(OptionError, "t.glb", "'punch'", "'kick'"):
        load_model(path, options=LoadOptions(clips=("punch",)))


def test_what_is_no_model(triangle_glb, tmp_path):
    path = triangle_glb.save(tmp_path / "t.glb")
    assert not holds_model(path)
    still = load_model(path)
    assert still.clips == (Clip("still", 0, 1, 24.0),)
    assert still.n_bones == 1
    assert still.rest.tolist() == TRIANGLE.tolist()
