"""Stick skeletons as text: .tgf and .skel."""

from __future__ import annotations

import numpy as np
import pytest

from osteon.core.errors import FileFormatError, GeometryError, OptionError
from osteon.core.sticks import StickSkeleton
from osteon.io.skeletons import load_skeleton, save_skeleton

#: Extra columns as other programs leave them: only the first three numbers after the index count.
ARM_TGF = """
   1 0 0.5 0 4.4e+291 nan 5e-324 1 1 0
   2 1 0.5 0 1e999 1 1
   3 2 0.5 0.25 7
#
   1    2  0 0 1
   2    3
#
   9 9
"""
LEG_SKEL = """4
0 2 0 hip root
0\t1\t0\tknee\thip

0 0 0 foot knee
0 0 1 toe foot
"""


def load(tmp_path, name, text):
    path = tmp_path / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return load_skeleton(path)


def test_tgf(tmp_path):
    arm = load(tmp_path, "arm.tgf", ARM_TGF)
    assert arm.joints.tolist() == [[0, 0.5, 0], [1, 0.5, 0], [2, 0.5, 0.25]]
    assert arm.bones.tolist() == [[0, 1], [1, 2]]
    assert (arm.names, arm.root, arm.name) == (("1", "2", "3"), 0, "arm")


def test_tgf_in_2d_with_labels_comments_and_any_index(tmp_path):
    text = "# a leg\r\n7 0 2 upper hip\r\n03 1 1 knee\r\nx 0 0 foot\r\n#\r\n7 3 hangs on\r\n3 x"
    leg = load(tmp_path, "leg.tgf", text)
    assert leg.joints.tolist() == [[0, 2, 0], [1, 1, 0], [0, 0, 0]]
    assert leg.names == ("upper hip", "knee", "foot")
    assert leg.bones.tolist() == [[0, 1], [1, 2]]


def test_tgf_labels_that_do_not_tell_joints_apart_are_no_names(tmp_path):
    assert load(tmp_path, "a.tgf", "1 0 0 0 joint\n2 1 0 0 joint\n#\n1 2").names == ("1", "2")
    assert load(tmp_path, "a.tgf", "1 0 0 0 hip\n2 1 0 0\n#\n1 2").names == ("1", "2")


def test_tgf_with_a_cycle(tmp_path):
    ring = load(tmp_path, "ring.tgf", "1 0 0 0\n2 1 0 0\n3 0 1 0\n#\n1 2\n2 3\n3 1\n")
    assert ring.n_bones == 3


@pytest.mark.parametrize(
    ("text", "kind", "parts"),
    [
        ("", FileFormatError, ["empty"]),
        (" \n \n", FileFormatError, ["blank"]),
        ("#\n1 2\n", FileFormatError, ["no joints"]),
        ("1 0 0 0\n2 1 0 0\n", FileFormatError, ["no bones"]),
        ("1 0 0 0\n2 1 0 0\n#\n", FileFormatError, ["no bones"]),
        ("1 0 0 0\n2 1\n#\n1 2", FileFormatError, ["line 2", "'2 1'"]),
        ("1 0 0 0\n2 1 0\n#\n1 2", FileFormatError, ["line 2", "2 coordinates", "line 1"]),
        ("1 0 0 0\n2 1 nan 0\n#\n1 2", GeometryError, ["line 2", "NaN"]),
        ("1 0 0 0\n2 1 1e300 0\n#\n1 2", GeometryError, ["line 2", "too large"]),
        ("1 0 0 0\n01 1 0 0\n#\n1 2", FileFormatError, ["line 2", "twice"]),
        ("1 0 0 0\n2 1 0 0\n#\n1 3", FileFormatError, ["line 4", "no joint '3'"]),
        ("1 0 0 0\n2 1 0 0\n#\n1", FileFormatError, ["line 4", "bone"]),
        ("1 0 0 0\n2 1 0 0\n#\n1 2\n\n2 2", FileFormatError, ["line 6", "itself"]),
        ("1 0 0 0\n2 1 0 0\n#\n1 2\n2 1", FileFormatError, ["line 5", "twice", "line 4"]),
        ("1 0 0 0\n2 1 0 0\n3 1 0 0\n#\n1 2\n2 3", GeometryError, ["line 6", "no length"]),
        (b"1 0 0\0 0", FileFormatError, ["binary"]),
        (b"\xff\xfe\x00", FileFormatError, ["UTF-8"]),
    ],
)
def test_bad_tgf(tmp_path, refused, text, kind, parts):
    with refused(kind, "bad.tgf", *parts):
        load(tmp_path, "bad.tgf", text)


def test_skel(tmp_path):
    leg = load(tmp_path, "leg.skel", LEG_SKEL)
    assert leg.names == ("hip", "knee", "foot", "toe")
    assert leg.joints[:, 1].tolist() == [2, 1, 0, 0]
    assert leg.bones.tolist() == [[0, 1], [1, 2], [2, 3]]


@pytest.mark.parametrize(
    ("text", "parents", "root"),
    [
        ("2\n0 0 0 a\n1 0 0 b a", {1: 0}, 0),
        ("2\n0 0 0 a -1\n1 0 0 b 0", {1: 0}, 0),
        ("3\n0 0 0 a c\n1 0 0 b c\n2 0 0 c root", {0: 2, 1: 2}, 2),
        ("2\n0 0 0 root root\n1 0 0 b root", {1: 0}, 0),
        ("# told elsewhere\n2\n0 0 a root\n1 0 b a", {1: 0}, 0),
        ("4\n0 0 0 a -1\n1 0 0 b a\n2 0 0 c -1\n3 0 0 d c", {1: 0, 3: 2}, 0),
    ],
)
def test_ways_to_tell_a_parent(tmp_path, text, parents, root):
    skeleton = load(tmp_path, "a.skel", text)
    assert {int(child): int(parent) for parent, child in skeleton.bones} == parents
    assert skeleton.root == root


@pytest.mark.parametrize(
    ("text", "kind", "parts"),
    [
        ("0 0 0 a root\n", FileFormatError, ["line 1", "number of joints"]),
        ("0\n", FileFormatError, ["line 1", "number of joints"]),
        ("# nothing\n", FileFormatError, ["comments"]),
        ("3\n0 0 0 a root\n1 0 0 b a", FileFormatError, ["3 joints", "holds 2"]),
        ("1\n0 0 0 a root\n1 0 0 b a", FileFormatError, ["1 joint", "holds 2"]),
        ("999999999\n0 0 0 a root", FileFormatError, ["999999999"]),
        ("2\n0 0 0 a root\n1 0 0", FileFormatError, ["line 3"]),
        ("2\n0 0 0 a root\n1 x 0 b a", FileFormatError, ["line 3"]),
        ("2\n0 0 0 a root\n1 0 0 b a more", FileFormatError, ["line 3"]),
        ("2\n0 0 0 left root\n1 0 0 b lefd", FileFormatError, ["line 3", "'lefd'", "did you mean 'left'"]),
        ("2\n0 0 0 a root\n1 0 0 b 2", FileFormatError, ["line 3", "'2'"]),
        ("2\n0 0 0 a root\n1 0 0 a a", FileFormatError, ["line 3", "twice", "line 2"]),
        ("2\n0 0 0 a root\n1 0 0 b b", FileFormatError, ["line 3", "ancestor"]),
        ("3\n0 0 0 a root\n1 0 0 b c\n2 0 0 c b", FileFormatError, ["line 3", "ancestor"]),
        ("1\n0 0 0 a root", FileFormatError, ["no bones"]),
        ("2\n0 0 0 a root\n0 0 0 b a", GeometryError, ["line 3", "no length"]),
        ("2\n0 0 inf a root\n0 0 0 b a", GeometryError, ["line 2", "NaN"]),
    ],
)
def test_bad_skel(tmp_path, refused, text, kind, parts):
    with refused(kind, "bad.skel", *parts):
        load(tmp_path, "bad.skel", text)


def test_unknown_suffixes_and_missing_files(tmp_path, refused):
    with refused(FileFormatError, "a.bvh", ".tgf"):
        load_skeleton(tmp_path / "a.bvh")
    with refused(FileFormatError, "a.skel", "no such file"):
        load_skeleton(tmp_path / "a.skel")
    with refused(FileFormatError, "a.glb", ".json"):
        save_skeleton(load(tmp_path, "leg.skel", LEG_SKEL), tmp_path / "a.glb")


RING = StickSkeleton(np.eye(3), np.array([[0, 1], [2, 1], [0, 2]]), ("a", "b", "c"), 1)
TREE = StickSkeleton(np.eye(3) / 3, np.array([[2, 0], [2, 1]]), ("left arm", "right arm", "körper"), 2)


@pytest.mark.parametrize("suffix", [".tgf", ".json"])
@pytest.mark.parametrize("skeleton", [RING, TREE], ids=["ring", "tree"])
def test_what_is_saved_is_loaded(tmp_path, suffix, skeleton):
    save_skeleton(skeleton, tmp_path / f"s{suffix}")
    assert_same(load_skeleton(tmp_path / f"s{suffix}"), skeleton)


@pytest.mark.parametrize("suffix", [".tgf", ".skel", ".json"])
@pytest.mark.parametrize("names", [(), ("3", "1", "2"), ("root", "a-b", "#c")], ids=str)
def test_names_come_back(tmp_path, suffix, names):
    skeleton = StickSkeleton(np.eye(3) * 0.1, np.array([[0, 1], [1, 2]]), names)
    save_skeleton(skeleton, tmp_path / f"s{suffix}")
    assert_same(load_skeleton(tmp_path / f"s{suffix}"), skeleton)


def assert_same(found, expected):
    """The same joints by name, the same bones, the same root; text formats put the root first."""
    order = [found.names.index(name) for name in expected.names]
    assert np.array_equal(found.joints[order], expected.joints)
    assert found.names[found.root] == expected.names[expected.root]
    ends = lambda s: {frozenset(s.names[j] for j in bone) for bone in s.bones}  # noqa: E731
    assert ends(found) == ends(expected)


def test_what_cannot_be_saved(tmp_path, refused):
    with refused(OptionError, "r.skel", "cycle", ".json"):
        save_skeleton(RING, tmp_path / "r.skel")
    with refused(OptionError, "t.skel", "'left arm'"):
        save_skeleton(TREE, tmp_path / "t.skel")
    twins = StickSkeleton(np.eye(2, 3), np.array([[0, 1]]), ("a", "a"))
    with refused(OptionError, "t.json", "rename"):
        save_skeleton(twins, tmp_path / "t.json")
    numbers = StickSkeleton(np.eye(2, 3), np.array([[0, 1]]), ("1e3 m", "b"))
    with refused(OptionError, "n.tgf", "'1e3 m'"):
        save_skeleton(numbers, tmp_path / "n.tgf")
    assert not list(tmp_path.iterdir())
