"""Stick skeletons as JSON."""

from __future__ import annotations

import json

import pytest

from osteon.core.errors import FileFormatError, GeometryError
from osteon.io.skeletons import load_skeleton

JOINTS = {"hip": [0, 2, 0], "knee": [0, 1, 0], "foot": [0, 0, 0]}


def load(tmp_path, content):
    path = tmp_path / "s.json"
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    return load_skeleton(path)


@pytest.mark.parametrize(
    "content",
    [
        {"joints": JOINTS, "bones": [["hip", "knee"], ["knee", "foot"]], "root": "hip"},
        {"joints": JOINTS, "bones": [[0, 1], ["knee", 2]]},
        {"joints": JOINTS, "parents": {"knee": "hip", "foot": "knee"}},
        {"joints": JOINTS, "parents": {"hip": None, "knee": "hip", "foot": 1}},
        {"joints": JOINTS, "parents": [-1, 0, 1]},
    ],
)
def test_ways_to_tell_a_leg(tmp_path, content):
    leg = load(tmp_path, content)
    assert leg.names == ("hip", "knee", "foot")
    assert leg.bones.tolist() == [[0, 1], [1, 2]]
    assert leg.root == 0
    assert leg.joints[:, 1].tolist() == [2, 1, 0]


def test_joints_without_names_in_2d(tmp_path):
    flat = load(tmp_path, {"joints": [[0, 1], [2, 3]], "bones": [[0, 1]], "root": 1})
    assert flat.joints.tolist() == [[0, 1, 0], [2, 3, 0]]
    assert flat.names == ("joint0", "joint1")
    assert flat.root == 1


@pytest.mark.parametrize(
    ("content", "kind", "parts"),
    [
        ("", FileFormatError, ["empty"]),
        ("{", FileFormatError, ["line 1", "JSON"]),
        ('{"joints": {}, "joints": {}}', FileFormatError, ["'joints'", "twice"]),
        ("[" * 100_000, FileFormatError, ["parsed"]),
        ([], FileFormatError, ["object"]),
        ({"bones": []}, FileFormatError, ["no 'joints'"]),
        ({"joints": JOINTS}, FileFormatError, ["'bones' or 'parents'"]),
        ({"joints": {}, "parents": {}}, FileFormatError, ["'joints'", "none"]),
        ({"joints": JOINTS, "bones": []}, FileFormatError, ["'bones'", "empty"]),
        ({"joints": JOINTS, "bone": []}, FileFormatError, ["'bone'", "did you mean 'bones'"]),
        ({"joints": JOINTS, "bones": [["hip", "kne"]]}, FileFormatError, ["bone 1", "did you mean 'knee'"]),
        ({"joints": JOINTS, "bones": [["hip", 3]]}, FileFormatError, ["bone 1", "no joint 3"]),
        ({"joints": JOINTS, "bones": [["hip", True]]}, FileFormatError, ["bone 1", "True"]),
        ({"joints": JOINTS, "bones": [["hip"]]}, FileFormatError, ["bone 1", "two joints"]),
        ({"joints": JOINTS, "bones": [["hip", "hip"]]}, FileFormatError, ["bone 1", "itself"]),
        ({"joints": JOINTS, "bones": [[0, 1], [1, 0]]}, FileFormatError, ["bone 2", "twice"]),
        ({"joints": JOINTS, "parents": [-1, 0]}, FileFormatError, ["2 parents", "3 joints"]),
        ({"joints": JOINTS, "parents": {"hip": "foot", "foot": "hip"}}, FileFormatError, ["ancestor"]),
        ({"joints": JOINTS, "bones": [[0, 1]], "root": "hat"}, FileFormatError, ["'root'", "'hat'"]),
        ({"joints": {"a": [0, 0]}, "bones": [[0, 0]]}, FileFormatError, ["itself"]),
        ({"joints": {"a": [0]}, "bones": [[0, 0]]}, FileFormatError, ["'a'", "[x, y, z]"]),
        ({"joints": {"a": [0, 0, float("nan")]}, "bones": [[0, 0]]}, FileFormatError, ["'a'", "coordinate 3", "nan"]),
        ({"joints": {"a": [0, 0, "1"]}, "bones": [[0, 0]]}, FileFormatError, ["'a'", "coordinate 3"]),
        ({"joints": {"a\nb": [0, 0], "c": [1, 0]}, "bones": [[0, 1]]}, FileFormatError, ["name of a joint"]),
        ({"joints": {"a": [0, 0], "b": [0, 0, 1]}, "bones": [[0, 1]]}, FileFormatError, ["3 coordinates"]),
        ({"joints": {"a": [0, 0], "b": [0, 0]}, "bones": [[0, 1]]}, GeometryError, ["bone 1", "no length"]),
        ('{"joints": [[1' + "0" * 400 + ', 0], [0, 0]], "bones": [[0, 1]]}', FileFormatError, ["joint 1"]),
    ],
)
def test_bad_json(tmp_path, refused, content, kind, parts):
    with refused(kind, "s.json", *parts):
        load(tmp_path, content)
