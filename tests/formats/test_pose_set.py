"""Folders of meshes in known poses: written and read again, and written by hand."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest

import osteon
from osteon.core.errors import FileFormatError, GeometryError, OptionError
from osteon.core.kinematics import JointLimit, hinge_axes
from osteon.core.mesh import Asset, Material, Mesh
from osteon.core.sequence import MeshSequence
from osteon.core.sticks import StickSkeleton
from osteon.core.transforms import apply, rotation_from_axis_angle
from osteon.io import save_sequence
from osteon.io.poses import PoseSet, load_pose_set, save_pose_set
from osteon.io.poses.pose_list import limits_as_json, load_limits

LEG = StickSkeleton(np.array([[0, 2, 0], [0, 1, 0], [0, 0, 0.5]]), [[0, 1], [1, 2]], ("hip", "knee", "foot"))
SQUARE = np.array([[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0]], np.float32)
X = np.array([1.0, 0, 0])


def made(**changed) -> PoseSet:
    asset = Asset(
        polygon_of_triangle=np.zeros(2, np.int32), materials=(Material("skin"),), triangle_material=np.zeros(2, int)
    )
    turns = np.tile(np.eye(3), (3, 3, 1, 1))
    turns[0, 1] = rotation_from_axis_angle(X, np.radians(40))
    turns[1, 1] = rotation_from_axis_angle(X, np.radians(-30))
    turns[2, 0] = rotation_from_axis_angle(np.array([1.0, 2, 3]), 0.7)
    turns[2, 1] = turns[0, 1]
    parts = {
        "mesh": Mesh(SQUARE, [[0, 1, 2], [0, 2, 3]], asset),
        "skeleton": LEG,
        "frames": SQUARE + np.arange(1, 4, dtype=np.float32)[:, None, None] / 3,
        "turns": turns,
        "kinds": ("train", "train", "validate"),
        "names": ("knee_+40", "knee_-30", "both"),
        "shifts": np.array([[0, 0, 0], [0, 0, 0], [0.1, 0.2, -0.3]]),
        "hinges": np.array([[0, 0, 0], X, [0, 0, 0]]),
    }
    return PoseSet(**(parts | changed))


@pytest.mark.parametrize("suffix", [".obj", ".ply"])
def test_saved_and_loaded_is_the_same(tmp_path, suffix):
    poses = made()
    save_pose_set(poses, tmp_path / "poses", suffix=suffix)
    again = load_pose_set(tmp_path / "poses")
    assert np.array_equal(again.frames, poses.frames)
    np.testing.assert_allclose(again.turns, poses.turns, atol=1e-9)
    np.testing.assert_allclose(again.shifts, poses.shifts)
    assert (again.kinds, again.names) == (poses.kinds, poses.names)
    assert np.array_equal(again.hinges, poses.hinges)
    assert np.array_equal(again.mesh.asset.polygon_of_triangle, [0, 0])
    assert np.array_equal(again.skeleton.joints, LEG.joints)
    assert again.skeleton.names == LEG.names
    listed = json.loads((tmp_path / "poses" / "poses.json").read_text())
    assert listed["poses"][0]["rotate"] == {"knee": 40.0}
    assert set(listed["poses"][2]["rotate"]["hip"]) == {"axis", "degrees"}
    save_pose_set(poses, tmp_path / "poses", suffix=suffix)  # what is ours is replaced


def test_what_a_set_tells_of_its_joints():
    poses = made()
    assert poses.parents.tolist() == [-1, 0, 1]
    assert poses.turned().tolist() == [[False, True, False], [False, True, False], [True, True, False]]
    degrees = poses.hinge_degrees()
    np.testing.assert_allclose(degrees[:, 1], [40, -30, 40])
    assert np.isnan(degrees[:, [0, 2]]).all()
    assert poses.of_kind("validate").tolist() == [2]
    learned = poses.take(poses.of_kind("train", "pair"))
    assert learned.names == ("knee_+40", "knee_-30")
    transforms = poses.bone_transforms()
    shin = apply(transforms[0, 1], LEG.joints[1:])
    np.testing.assert_allclose(shin[0], LEG.joints[1], atol=1e-12)  # the knee stays where it is
    np.testing.assert_allclose(shin[1], LEG.joints[1] + poses.turns[0, 1] @ LEG.vectors[1])
    np.testing.assert_allclose(apply(transforms[2, 0], LEG.joints[:1])[0], LEG.joints[0] + [0.1, 0.2, -0.3])


def by_hand(tmp_path, **changed):
    """A list as people write it, with meshes beside it."""
    for name in ("rest", "a", "b"):
        save_sequence(MeshSequence(SQUARE[None], [[0, 1, 2], [0, 2, 3]], SQUARE), tmp_path / f"{name}.obj")
    skeleton = {"joints": dict(zip(LEG.names, LEG.joints.tolist(), strict=True))}
    skeleton["parents"] = {"knee": "hip", "foot": "knee"}
    listed = {
        "rest": "rest.obj",
        "skeleton": skeleton,
        "hinges": {"knee": [2, 0, 0]},
        "poses": [
            {"file": "a.obj", "rotate": {"knee": 40}},
            {"file": "b.obj", "kind": "pair", "rotate": {"knee": 20, "hip": {"axis": "hip-knee", "degrees": 10}}},
        ],
    } | changed
    path = tmp_path / "poses.json"
    path.write_text(json.dumps({key: value for key, value in listed.items() if value is not None}))
    return path


def test_written_by_hand(tmp_path):
    poses = load_pose_set(by_hand(tmp_path))
    assert poses.kinds == ("train", "pair")
    assert poses.names == ("a", "b")
    np.testing.assert_allclose(poses.hinge_degrees()[:, 1], [40, 20])
    np.testing.assert_allclose(poses.turns[1, 0], rotation_from_axis_angle(np.array([0.0, -1, 0]), np.radians(10)))


def test_one_file_for_all_poses(tmp_path):
    frames = made().frames[:2]
    save_sequence(MeshSequence(frames, [[0, 1, 2], [0, 2, 3]], SQUARE), tmp_path / "all.npz")
    poses = [{"name": "one", "rotate": {"knee": 1}}, {"rotate": {"knee": 2}}]
    found = load_pose_set(by_hand(tmp_path, frames="all.npz", poses=poses))
    assert np.array_equal(found.frames, frames)
    assert found.names == ("one", "pose 2")


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"rest": None}, "no 'rest'"),
        ({"poses": []}, "empty"),
        ({"poses": [{"rotate": {"knee": 1}}]}, "pose 1: needs the 'file'"),
        ({"poses": [{"file": "a.obj", "rotate": {"kne": 1}}]}, "did you mean 'knee'"),
        ({"poses": [{"file": "a.obj", "rotate": {"hip": 30}}]}, '{"axis": [x, y, z], "degrees": d}'),
        ({"poses": [{"file": "a.obj", "kind": "trian"}]}, "did you mean 'train'"),
        ({"poses": [{"file": "a.obj"}, {"file": "sub/a.obj"}]}, "two poses have the name 'a'"),
        ({"poses": [{"file": "a.obj", "translate": [0, 1]}]}, "a place [x, y, z]"),
        ({"hinges": {"knee": [0, 0, 0]}}, "needs a direction"),
        ({"pose": 1}, "the key 'pose' is unknown"),
        ({"poses": [{"file": "a.obj", "simulation": 3}]}, "an object"),
        ({"poses": [{"file": "none.obj"}]}, "there is no such file"),
    ],
)
def test_bad_lists_are_named(tmp_path, refused, changed, said):
    path = by_hand(tmp_path, **changed)
    with refused(FileFormatError, tmp_path, said):
        load_pose_set(path)


def test_a_mesh_of_another_size_is_named(tmp_path, refused):
    path = by_hand(tmp_path)
    save_sequence(MeshSequence(SQUARE[None, :3], [[0, 1, 2]], SQUARE[:3]), tmp_path / "b.obj")
    with refused(GeometryError, "b.obj", "3 vertices", "4"):
        load_pose_set(path)
    save_sequence(MeshSequence(SQUARE[None], [[0, 1, 2]], SQUARE), tmp_path / "one.npz")
    with refused(GeometryError, "one.npz", "1 frame of 4 vertices", "expected 2 of 4"):
        load_pose_set(by_hand(tmp_path, frames="one.npz", poses=[{}, {"name": "x"}]))


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"turns": np.ones((3, 3, 3, 3))}, "no rotations"),
        ({"frames": np.full((3, 4, 3), np.nan)}, "not finite"),
        ({"kinds": ("train", "other", "pair")}, "'other'"),
        ({"names": ("a",)}, "names: expected one for each of 3"),
        ({"shifts": np.zeros((2, 3))}, "shifts"),
    ],
)
def test_bad_sets_are_refused(refused, changed, said):
    with refused(GeometryError, said):
        made(**changed)


@pytest.mark.parametrize("names", [("a", "a", "b"), ("a/b", "c", "d"), ("rest", "c", "d")])
def test_names_must_be_names_of_files(tmp_path, refused, names):
    with refused(OptionError, tmp_path):
        save_pose_set(made(names=names), tmp_path / "poses")


def test_a_folder_of_others_is_not_replaced(tmp_path, refused):
    (tmp_path / "mine.obj").write_text("v 0 0 0\n")
    with refused(FileFormatError, "mine.obj"):
        save_pose_set(made(), tmp_path)


def test_limits(tmp_path, refused):
    limits = (JointLimit("knee", (2, 0, 0), -5, 80), JointLimit("hip", (1, 0, 0), -20, 70, "bend"))
    limits += (JointLimit("hip", (0, 0, 1), -30, 30, "spread"),)
    assert limits[0].axis == (1, 0, 0)
    np.testing.assert_allclose(limits[0].rotation(40), rotation_from_axis_angle(X, np.radians(40)))
    assert list(hinge_axes(limits)) == ["knee"]
    path = tmp_path / "limits.json"
    path.write_text(json.dumps({"limits": limits_as_json(limits)}))
    assert load_limits(path, LEG) == limits
    bad = {
        "knee": {"axis": [1, 0, 0]},
        "kne": {"axis": [1, 0, 0], "degrees": [0, 1]},
        "foot": [{"axis": [1, 0, 0], "degrees": [0, 9]}, {"axis": [0, 1, 0], "degrees": [0, 9]}],
    }
    for (joint, told), said in zip(bad.items(), ("'degrees'", "did you mean 'knee'", "a 'name' each"), strict=True):
        path.write_text(json.dumps({"limits": {joint: told}}))
        with refused(FileFormatError, path, said):
            load_limits(path, LEG)
    path.write_text(json.dumps({"limits": {"knee": {"axis": [1, 0, 0], "degrees": [5, -5]}}}))
    with refused(GeometryError, path, "'knee'", "[5, -5]"):
        load_limits(path, LEG)
    path.write_text("{}")
    with refused(FileFormatError, path, "'limits'"):
        load_limits(path, LEG)


def test_the_examples_of_the_documentation(tmp_path, monkeypatch):
    page = Path(__file__).resolve().parents[2] / "docs" / "simulate.md"
    blocks = re.findall(
        r"^```(json|python) ?(\w*)\n(.*?)^```", page.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL
    )
    texts = {name or kind: text for kind, name, text in blocks}
    assert set(texts) == {"limits", "poses", "python"}
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "poses"
    folder.mkdir()
    (folder / "poses.json").write_text(texts["poses"])
    for pose in ["rest.obj", *(pose["file"] for pose in json.loads(texts["poses"])["poses"])]:
        save_sequence(MeshSequence(SQUARE[None], [[0, 1, 2], [0, 2, 3]], SQUARE), folder / pose)
    exec(texts["python"], known := {"osteon": osteon})
    assert known["learned"].kinds == ("train", "train", "pair")
    assert load_pose_set("learned").names == known["learned"].names
    (tmp_path / "limits.json").write_text(texts["limits"])
    assert [limit.joint for limit in load_limits("limits.json", LEG)] == ["knee", "hip", "hip"]
