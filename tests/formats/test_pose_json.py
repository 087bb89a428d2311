"""Poses as JSON."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from osteon.core.animation import Clip
from osteon.core.errors import FileFormatError, GeometryError, OptionError
from osteon.core.pose_track import Domain
from osteon.core.sticks import StickSkeleton
from osteon.io.poses import load_poses

FLAT = StickSkeleton(np.array([[0, 2, 0], [0, 1, 0], [0, 0, 0]], float), [[0, 1], [1, 2]], ("hip", "knee", "foot"))
SOLID = StickSkeleton(np.array([[0, 2, 0], [0, 1, 0], [0, 0, 1]], float), [[0, 1], [1, 2]], ("hip", "knee", "foot"))
LINE = {"name": "ear", "rest": [[0, 0, 0], [0, 0, 1]], "domain": {"tube": 0.5}}


def load(tmp_path, content, skeleton=SOLID, **options):
    path = tmp_path / "p.json"
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    return load_poses([path], skeleton, **options)


def test_joints_are_put_in_their_places(tmp_path):
    track = load(tmp_path, {"joints": {"foot": [5, 6, 7]}})
    assert track.joints.tolist() == [[[0, 2, 0], [0, 1, 0], [5, 6, 7]]]
    assert track.rotations is None
    assert track.twist is None
    assert track.cross_scale is None
    assert track.clips == (Clip("p", 0, 1),)


def test_an_empty_pose_is_the_rest_pose(tmp_path):
    assert np.array_equal(load(tmp_path, {}).joints[0], SOLID.joints)


def test_turns_in_the_plane_are_plain_numbers(tmp_path, refused):
    track = load(tmp_path, {"rotate": {"knee": 90}}, FLAT)
    assert np.allclose(track.joints[0], [[0, 2, 0], [0, 1, 0], [1, 1, 0]])
    assert np.allclose(track.rotations[0], [np.eye(3), [[0, -1, 0], [1, 0, 0], [0, 0, 1]]])
    with refused(FileFormatError, "p.json", "'rotate', 'knee'", '"axis"'):
        load(tmp_path, {"rotate": {"knee": 90}})


def test_a_turn_about_the_bone_moves_no_joint_but_is_kept(tmp_path):
    track = load(tmp_path, {"rotate": {"hip": {"axis": [0, 1, 0], "degrees": 90}}})
    assert np.allclose(track.joints[0], [[0, 2, 0], [0, 1, 0], [1, 0, 0]])
    assert np.allclose(track.rotations[0, 0], [[0, 0, 1], [0, 1, 0], [-1, 0, 0]])
    assert np.allclose(track.rotations[0, 1], track.rotations[0, 0])


def test_an_axis_may_be_a_bone(tmp_path, refused):
    told = load(tmp_path, {"rotate": {"knee": {"axis": [0, -1, 1], "degrees": 40}}})
    named = load(tmp_path, {"rotate": {"knee": {"axis": "knee-foot", "degrees": 40}}})
    back = load(tmp_path, {"rotate": {"knee": {"axis": "foot-knee", "degrees": -40}}})
    assert np.allclose(named.rotations, told.rotations)
    assert np.allclose(back.rotations, told.rotations)
    with refused(FileFormatError, "p.json", "'axis'", "no bone 'knee-fot'", "did you mean 'knee-foot'"):
        load(tmp_path, {"rotate": {"knee": {"axis": "knee-fot", "degrees": 40}}})


def test_joints_put_in_one_place(tmp_path, refused):
    with refused(FileFormatError, "p.json", "pose 2", "'joints'", "'knee-foot' has no length"):
        load(tmp_path, {"poses": [{}, {"joints": {"foot": [0, 1, 0]}}]})


def test_clips_of_files_without_clips(tmp_path, refused):
    with refused(OptionError, "clips", "p.json"):
        load(tmp_path, {}, clips=("walk",))


def test_several_turns_of_a_joint_are_done_in_turn(tmp_path):
    turns = [{"axis": [1, 0, 0], "degrees": 90}, {"axis": [0, 0, 1], "degrees": 90}]
    track = load(tmp_path, {"rotate": {"hip": turns}})
    assert np.allclose(track.joints[0, 1], [0, 2, -1])  # -y goes to -z, which the second turn leaves


def test_turned_shifted_and_then_moved_by_hand(tmp_path):
    pose = {"rotate": {"hip": 90}, "translate": [10, 0], "joints": {"foot": [11, 0]}}
    track = load(tmp_path, pose, FLAT)
    assert np.allclose(track.joints[0], [[10, 2, 0], [11, 2, 0], [11, 0, 0]])
    quarter = np.array([[0.0, -1, 0], [1, 0, 0], [0, 0, 1]])
    assert np.allclose(track.rotations[0], [quarter, np.eye(3)])  # the least rotation back, on top of the turn


def test_bones(tmp_path):
    bones = {"hip-knee": {"stretch": 2, "cross_scale": 0.5, "twist": 90}, "foot-knee": {"twist": [30, 60]}}
    track = load(tmp_path, {"bones": bones})
    assert np.allclose(track.joints[0], [[0, 2, 0], [0, 0, 0], [0, -1, 1]])
    assert track.cross_scale.tolist() == [[0.5, 1]]
    assert np.allclose(np.rad2deg(track.twist), [[[0, 90], [-60, -30]]])  # told from the other end
    assert track.rotations is None


def test_frames(tmp_path):
    content = {
        "fps": 30,
        "name": "kick",
        "poses": [{}, {"rotate": {"knee": 30}}, {"bones": {"hip-knee": {"twist": 9}}}],
    }
    track = load(tmp_path, content, FLAT)
    assert track.clips == (Clip("kick", 0, 3, 30.0),)
    assert track.fps == 30
    assert track.rotations.shape == (3, 2, 3, 3)
    assert np.allclose(track.rotations[[0, 2]], np.eye(3))
    assert np.allclose(track.twist[:2], 0)
    assert load(tmp_path, content, FLAT, fps=12).clips == (Clip("kick", 0, 3, 12.0),)


def test_lines_are_told_once(tmp_path):
    moved = {"name": "ear", "posed": [[1, 0, 0], [2, 0, 0]], "cross_scale": 2, "twist": [0, 180]}
    track = load(tmp_path, {"lines": [LINE], "poses": [{}, {"lines": [moved]}]}, None)
    assert track.joints.shape == (2, 0, 3)
    (line,) = track.lines.lines
    assert (line.name, line.start, line.stop) == ("ear", (0, 0, 0), (0, 0, 1))
    assert line.domain == Domain(tube=0.5)
    assert track.lines.ends.tolist() == [[[[0, 0, 0], [0, 0, 1]]], [[[1, 0, 0], [2, 0, 0]]]]
    assert track.lines.cross_scale.tolist() == [[1], [2]]
    assert np.allclose(track.lines.twist, [[[0, 0]], [[0, np.pi]]])


def test_lines_in_the_first_pose_without_names(tmp_path):
    rest = {
        "rest": [[0, 0], [1, 0]],
        "twist": 10,
        "domain": {"box": [[0, 0], [1, 1]], "triangles": [3, 4], "distance": 2},
    }
    track = load(tmp_path, {"poses": [{"lines": [rest]}, {"lines": [{"posed": [[0, 0], [0, 2]]}]}]}, FLAT)
    assert [line.name for line in track.lines.lines] == ["line 1"]
    box = ((0.0, 0.0, 0.0), (1.0, 1.0, 0.0))
    assert track.lines.lines[0].domain == Domain(distance=2, box=box, triangles=(3, 4))
    assert track.lines.ends[1, 0].tolist() == [[0, 0, 0], [0, 2, 0]]
    assert track.lines.twist[1].tolist() == [[0, 0]]


def test_pins(tmp_path):
    track = load(
        tmp_path, {"poses": [{"pins": {"7": [1, 2, 3], "2": [0, 0, 0]}}, {"pins": {"2": [1, 1, 1], "7": [4, 5, 6]}}]}
    )
    assert track.pins.vertices.tolist() == [2, 7]
    assert track.pins.targets.tolist() == [[[0, 0, 0], [1, 2, 3]], [[1, 1, 1], [4, 5, 6]]]


def poses(*content):
    return {"poses": list(content)}


@pytest.mark.parametrize(
    ("content", "parts"),
    [
        ([], ["object"]),
        ("{", ["line 1", "JSON"]),
        (poses(), ["'poses'", "empty"]),
        (poses({}, 3), ["pose 2", "object"]),
        (poses({}, {"rotat": {}}), ["pose 2", "'rotat'", "did you mean 'rotate'"]),
        ({"posses": []}, ["'posses'", "unknown"]),
        ({"joints": {}, "poses": [{}]}, ["'joints'", "unknown"]),
        ({"fps": 0}, ["'fps'", "above 0"]),
        ({"fps": "24"}, ["'fps'", "number"]),
        (poses({"joints": {"knie": [0, 0, 0]}}), ["pose 1", "'joints'", "did you mean 'knee'"]),
        (poses({"joints": {"knee": [0, 0]}}), ["pose 1", "'joints', 'knee'", "[x, y, z]"]),
        ('{"joints": {"knee": [0, 0, NaN]}}', ["'knee'", "coordinate 3", "nan"]),
        ('{"joints": {"knee": [0, 0, 1e999]}}', ["'knee'", "coordinate 3", "inf"]),
        (poses({"rotate": {"hipp": {}}}), ["pose 1", "'rotate'", "did you mean 'hip'"]),
        (poses({"rotate": {"hip": []}}), ["pose 1", "'rotate', 'hip'", "empty"]),
        (poses({"rotate": {"hip": {"axis": [0, 0, 1]}}}), ["'rotate', 'hip'", "'degrees'"]),
        (poses({"rotate": {"hip": {"axis": [0, 0, 0], "degrees": 1}}}), ["'hip', 'axis'", "direction"]),
        (poses({"rotate": {"hip": {"axis": [0, 0, 1], "radians": 1}}}), ["'hip'", "'radians'"]),
        (poses({"translate": 3}), ["'translate'", "[x, y, z]"]),
        (poses({"bones": {"hip-foot": {}}}), ["'bones'", "no bone 'hip-foot'"]),
        (poses({"bones": {"hip-knee": {"stretch": 0}}}), ["'hip-knee', 'stretch'", "above 0"]),
        (poses({"bones": {"hip-knee": {"cross_scale": -1}}}), ["'cross_scale'", "above 0"]),
        (poses({"bones": {"hip-knee": {"twist": [1, 2, 3]}}}), ["'twist'", "two angles"]),
        (poses({"bones": {"hip-knee": {}, "knee-hip": {}}}), ["one bone"]),
        (poses({"lines": []}), ["pose 1", "'lines'", "empty"]),
        (poses({"lines": [{"name": "ear"}]}), ["pose 1", "line 1", "'ear'", "'rest'"]),
        (poses({"lines": [LINE, LINE]}), ["pose 1", "line 2", "twice"]),
        (poses({"lines": [LINE]}, {"lines": [LINE | {"rest": [[0, 0, 0], [1, 0, 0]]}]}), ["pose 2", "defined before"]),
        (poses({"lines": [LINE]}, {"lines": [{"name": "eear"}]}), ["pose 2", "did you mean 'ear'"]),
        (poses({"lines": [{"rest": [[0, 0, 0], [0, 0, 0]]}]}), ["line 1", "two different points"]),
        (poses({"lines": [LINE | {"posed": [[1, 0, 0], [1, 0, 0]]}]}), ["line 1", "'posed'", "two different points"]),
        (poses({"lines": [LINE | {"domain": {"tube": 0}}]}), ["'domain', 'tube'", "above 0"]),
        (poses({"lines": [LINE | {"domain": {"cube": 0}}]}), ["'domain'", "'cube'"]),
        (poses({"lines": [LINE | {"domain": {"triangles": []}}]}), ["'triangles'", "empty"]),
        (poses({"lines": [LINE | {"domain": {"triangles": [0.5]}}]}), ["triangle 1", "whole"]),
        (poses({"lines": [LINE | {"domain": {"box": [[1, 1, 1], [0, 0, 0]]}}]}), ["'domain'", "box"]),
        ({"lines": [LINE | {"twist": 3}], "poses": [{}]}, ["'lines', line 1", "'twist'"]),
        (poses({"pins": {"x": [0, 0, 0]}}), ["pose 1", "'pins'", "'x'"]),
        (poses({"pins": {"-1": [0, 0, 0]}}), ["pose 1", "'pins'", "'-1'"]),
        (poses({"pins": {"1": [0, 0, 0], "01": [0, 0, 0]}}), ["pose 1", "vertex 1", "twice"]),
        (poses({"pins": {"1": [0, 0, 0]}}, {}), ["pose 2", "does not pin vertex 1"]),
        (poses({"pins": {"1": [0, 0, 0]}}, {"pins": {"1": [0, 0, 0], "2": [0, 0, 0]}}), ["pose 2", "pins vertex 2"]),
    ],
)
def test_bad_poses(tmp_path, refused, content, parts):
    with refused(FileFormatError, "p.json", *parts):
        load(tmp_path, content)


def test_stretches_beyond_all_bounds(tmp_path, refused):
    chain = StickSkeleton(np.arange(12.0).reshape(4, 3), [[0, 1], [1, 2], [2, 3]])
    far = {f"joint{i}-joint{i + 1}": {"stretch": 1e100} for i in range(3)}
    with refused(FileFormatError, "p.json", "'bones'", "too far"):
        load(tmp_path, {"bones": far}, chain)


def test_without_a_skeleton_only_lines_and_pins(tmp_path, refused):
    with refused(FileFormatError, "p.json", "pose 1, 'rotate'", "none is given"):
        load(tmp_path, poses({"rotate": {}}), None)
    assert load(tmp_path, {"pins": {"0": [0, 1]}}, None).pins.targets.tolist() == [[[0, 1, 0]]]


def test_a_bone_that_closes_a_cycle_has_no_stretch_of_its_own(tmp_path, refused):
    ring = StickSkeleton(np.eye(3), [[0, 1], [1, 2], [2, 0]], ("a", "b", "c"))
    with refused(FileFormatError, "'b-c', 'stretch'", "cycle"):
        load(tmp_path, {"bones": {"b-c": {"stretch": 2}}}, ring)
    assert load(tmp_path, {"bones": {"c-b": {"twist": 2}}}, ring).twist[0, 1, 0] < 0


def test_bone_names_that_can_be_read_in_several_ways(tmp_path, refused):
    names = ("a-b", "c", "a", "b-c")
    skeleton = StickSkeleton(np.eye(4, 3), [[0, 1], [2, 3]], names)
    with refused(FileFormatError, "'bones'", "'a-b-c'", "rename"):
        load(tmp_path, {"bones": {"a-b-c": {"twist": 2}}}, skeleton)


def test_options(tmp_path, refused):
    with refused(OptionError, "at least one file"):
        load_poses([], SOLID)
    with refused(OptionError, "at least one file"):
        load_poses("pose.json", SOLID)
    with refused(OptionError, "fps"):
        load(tmp_path, {}, fps=-1)
    with refused(FileFormatError, "a.bvh", ".json"):
        load_poses([Path("a.bvh")], SOLID)


def test_the_same_vertices_are_pinned_in_all_files(tmp_path, refused):
    paths = []
    for vertex in (1, 2):
        paths.append(tmp_path / f"{vertex}.json")
        paths[-1].write_text(json.dumps({"pins": {vertex: [0, 0, 0]}}))
    with refused(GeometryError, "2.json", "1.json", "other vertices"):
        load_poses(paths, None)
