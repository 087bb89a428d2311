"""Names of joints by anatomy, by direction where there is none, and in the standards of humanoids."""

from __future__ import annotations

import numpy as np
import pytest

from osteon.core.errors import GeometryError
from osteon.fit.anatomy import find_body, standard_names
from osteon.fit.naming import name_joints

# Hips, spine, chest, neck, head; arms with shoulder; legs with foot.
HUMAN = {
    "hips": ("", (0, 1.0, 0)),
    "spine": ("hips", (0, 1.1, 0)),
    "spine_2": ("spine", (0, 1.3, 0)),
    "neck": ("spine_2", (0, 1.5, 0)),
    "head": ("neck", (0, 1.6, 0)),
    "shoulder_L": ("spine_2", (0.05, 1.45, 0)),
    "upper_arm_L": ("shoulder_L", (0.2, 1.45, 0)),
    "forearm_L": ("upper_arm_L", (0.5, 1.45, 0)),
    "hand_L": ("forearm_L", (0.75, 1.45, 0)),
    "upper_leg_L": ("hips", (0.1, 0.9, 0)),
    "lower_leg_L": ("upper_leg_L", (0.1, 0.5, 0)),
    "foot_L": ("lower_leg_L", (0.1, 0.1, 0)),
}
QUADRUPED = {
    "hips": ("", (0, 1.0, -0.8)),
    "spine": ("hips", (0, 1.0, 0)),
    "spine_2": ("spine", (0, 1.0, 0.6)),
    "neck": ("spine_2", (0, 1.2, 0.9)),
    "head": ("neck", (0, 1.5, 1.1)),
    "ear_L": ("head", (0.1, 1.6, 1.1)),
    "tail": ("hips", (0, 1.0, -1.0)),
    "tail_2": ("tail", (0, 0.9, -1.3)),
    "front_upper_leg_L": ("spine_2", (0.2, 0.8, 0.6)),
    "front_lower_leg_L": ("front_upper_leg_L", (0.2, 0.4, 0.6)),
    "front_foot_L": ("front_lower_leg_L", (0.2, 0.1, 0.6)),
    "hind_upper_leg_L": ("hips", (0.2, 0.8, -0.8)),
    "hind_lower_leg_L": ("hind_upper_leg_L", (0.2, 0.4, -0.8)),
}
Tree = tuple[tuple[str, ...], np.ndarray, np.ndarray, np.ndarray, list[str]]


def tree_of(body: dict[str, tuple[str, tuple[float, float, float]]], *, up: int = 1, root: str = "hips") -> Tree:
    """Expected names, joints, ends, parents and sides of a body with both sides; ends are where the bones go."""
    whole = {}
    for name, (parent, place) in body.items():
        whole[name] = (parent, np.array(place, float))
        if name.endswith("_L"):
            above = parent[:-2] + "_R" if parent.endswith("_L") else parent
            whole[name[:-2] + "_R"] = (above, np.array(place) * [-1.0, 1, 1])
    names = [root] + [name for name in whole if name != root]
    parents = np.array([names.index(whole[name][0]) if whole[name][0] else -1 for name in names])
    joints = np.stack([whole[name][1] for name in names])
    if up == 2:
        joints = joints[:, [0, 2, 1]] * [1, -1, 1]
    ends = joints.copy()
    for j in range(len(names)):
        children = np.flatnonzero(parents == j)
        step = joints[j] - joints[parents[j]] if parents[j] >= 0 else np.zeros(3)
        ends[j] = joints[children[0]] if len(children) else joints[j] + 0.4 * step
    sides = [name[-2:] if name[-2:] in ("_L", "_R") else "" for name in names]
    return tuple(names), joints, ends, parents, sides


@pytest.mark.parametrize("up", [1, 2])
@pytest.mark.parametrize(("kind", "body"), [("humanoid", HUMAN), ("quadruped", QUADRUPED)])
def test_bodies_are_named_by_their_anatomy(kind: str, body: dict, up: int) -> None:
    names, *tree = tree_of(body, up=up)
    found = find_body(*tree)
    assert found is not None
    assert found.kind == kind
    assert dict(zip(names, found.names, strict=True)) == {name: name for name in names}


def test_a_quadruped_with_its_root_at_the_shoulders() -> None:
    body = {
        **QUADRUPED,
        "spine_2": ("", (0, 1.0, 0.6)),
        "spine": ("spine_2", (0, 1.0, 0)),
        "hips": ("spine", (0, 1, -0.8)),
    }
    names, *tree = tree_of(body, root="spine_2")
    found = find_body(*tree)
    assert found is not None
    assert found.names == names


def test_an_arm_without_a_shoulder_begins_with_the_upper_arm() -> None:
    body = {name: entry for name, entry in HUMAN.items() if name != "shoulder_L"}
    body["upper_arm_L"] = ("spine_2", HUMAN["upper_arm_L"][1])
    names, *tree = tree_of(body)
    assert find_body(*tree).names == names


def test_fingers_and_other_parts_are_named_after_where_they_are() -> None:
    body = {
        **HUMAN,
        "a_L": ("hand_L", (0.85, 1.45, 0)),
        "b_L": ("hand_L", (0.8, 1.4, 0.1)),
        "flap": ("hips", (0, 0.9, -0.2)),
    }
    names, *tree = tree_of(body)
    found = dict(zip(names, find_body(*tree).names, strict=True))
    assert {found["a_L"], found["b_L"]} == {"finger_1_L", "finger_2_L"}
    assert found["flap"] == "hips_part_1"
    assert len(set(found.values())) == len(found)


def test_standards_of_humanoids() -> None:
    names, *_ = tree_of(HUMAN)
    number = {name: j for j, name in enumerate(names)}
    mixamo, vrm, unreal = (standard_names(names, standard) for standard in ("mixamo", "vrm", "unreal"))
    expected = {
        "hips": ("mixamorig:Hips", "hips", "pelvis"),
        "spine_2": ("mixamorig:Spine1", "chest", "spine_02"),
        "neck": ("mixamorig:Neck", "neck", "neck_01"),
        "shoulder_R": ("mixamorig:RightShoulder", "rightShoulder", "clavicle_r"),
        "forearm_L": ("mixamorig:LeftForeArm", "leftLowerArm", "lowerarm_l"),
        "upper_leg_R": ("mixamorig:RightUpLeg", "rightUpperLeg", "thigh_r"),
        "foot_L": ("mixamorig:LeftFoot", "leftFoot", "foot_l"),
    }
    for name, standards in expected.items():
        assert (mixamo[number[name]], vrm[number[name]], unreal[number[name]]) == standards
    assert standard_names(names, "plain") == names
    more = (*names, "spine_2_part_1", "neck_part_1")  # parts of the spine are no further joints of it
    assert standard_names(more, "mixamo")[-2:] == more[-2:]


def test_a_standard_is_refused_for_other_trees() -> None:
    names, *_ = tree_of(QUADRUPED)
    with pytest.raises(GeometryError, match=r"--names vrm: expected a humanoid .* without upper_arm_L"):
        standard_names(names, "vrm")


def test_shapes_that_are_no_body_are_named_by_direction() -> None:
    """Hips and arms alone, then without sides."""
    joints = np.array([[0.0, 1, 0], [0, 1.5, 0], [0.2, 1.5, 0], [0.5, 1.5, 0], [-0.2, 1.5, 0], [-0.5, 1.5, 0]])
    parents = np.array([-1, 0, 1, 2, 1, 4])
    ends = joints + np.array([0, 0.05, 0])
    names = name_joints(joints, ends, parents, ["", "", "_L", "_L", "_R", "_R"])
    assert names == ("root", "upper_1", "limb_1_L", "limb_2_L", "limb_1_R", "limb_2_R")
    plain = name_joints(joints, ends, parents, [""] * 6)
    assert {name.split("_")[0] for name in plain} <= {"root", "upper", "lower", "left", "right", "front", "back"}
    assert len(set(plain)) == len(plain)


def test_a_name_that_the_mesh_has_is_left_to_it() -> None:
    assert name_joints(np.zeros((1, 3)), np.ones((1, 3)), np.array([-1]), [""], taken="root") == ("root_joint",)
