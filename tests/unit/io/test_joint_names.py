"""Joints of two files, matched by name."""

from __future__ import annotations

import pytest

from osteon.io.gltf.patch.joint_names import match_joints


@pytest.mark.parametrize(
    ("names", "wanted", "found"),
    [
        (["a", "b"], ["b", "a"], {0: 1, 1: 0}),
        (["mixamorig:Hips"], ["Hips"], {0: 0}),
        (["mixamorigHips"], ["mixamorig:Hips"], {0: 0}),
        (["mixamorig7:Hips"], ["mixamorig:Hips"], {0: 0}),
        (["Armature|hand.L"], ["Hand_L"], {0: 0}),
        (["Hips"], ["left:Hips", "right:Hips"], {}),  # which one?
        (["left:Hips", "right:Hips"], ["Hips"], {}),
        (["Hips", "mixamorig:Hips"], ["mixamorig:Hips"], {1: 0}),  # as it is before all else
        (["spine_01"], ["spine_02"], {}),
        (["", "a"], ["", "a"], {1: 1}),
        (["a", "a"], ["a"], {}),
        ([], ["a"], {}),
    ],
)
def test_matches(names, wanted, found):
    assert match_joints(names, wanted) == found
