"""Names of joints by where they are."""

from __future__ import annotations

import numpy as np

from osteon.fit.naming import name_joints

# Hips, spine, head; arms of two joints, legs of two joints.
PLACES = np.array(
    [
        *[[0.0, 1.0, 0], [0, 1.3, 0], [0, 1.6, 0]],
        *[[0.2, 1.5, 0], [0.5, 1.5, 0], [-0.2, 1.5, 0], [-0.5, 1.5, 0]],
        *[[0.1, 0.9, 0], [0.1, 0.5, 0], [-0.1, 0.9, 0], [-0.1, 0.5, 0]],
    ]
)
PARENTS = np.array([-1, 0, 1, 1, 3, 1, 5, 0, 7, 0, 9])
SIDES = ["", "", "", "_L", "_L", "_R", "_R", "_L", "_L", "_R", "_R"]
ENDS = PLACES + np.array([0, 0.05, 0])


def test_limbs_have_sides_and_places() -> None:
    names = name_joints(PLACES, ENDS, PARENTS, SIDES)
    assert names[0] == "root"
    assert names[3:7] == ("upper_limb_1_L", "upper_limb_2_L", "upper_limb_1_R", "upper_limb_2_R")
    assert names[7:] == ("lower_limb_1_L", "lower_limb_2_L", "lower_limb_1_R", "lower_limb_2_R")
    assert names[1].startswith("upper")
    assert len(set(names)) == len(names)


def test_without_sides_joints_are_named_by_the_way_they_go() -> None:
    names = name_joints(PLACES, ENDS, PARENTS, [""] * len(PARENTS))
    assert {name.split("_")[0] for name in names} <= {"root", "upper", "lower", "left", "right", "front", "back"}
    assert len(set(names)) == len(names)


def test_a_name_that_the_mesh_has_is_left_to_it() -> None:
    assert name_joints(PLACES[:1], ENDS[:1], PARENTS[:1], [""], taken="root") == ("root_joint",)
