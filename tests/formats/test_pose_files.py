"""Poses that are skeletons, and several files as one track."""

from __future__ import annotations

import json

import numpy as np

from osteon.core.animation import Clip
from osteon.core.errors import GeometryError, OptionError
from osteon.core.sticks import StickSkeleton
from osteon.io.poses import load_poses
from osteon.io.skeletons import load_skeleton, save_skeleton

JOINTS = np.array([[0, 2, 0], [0, 1, 0], [0, 0, 1]], float)
LEG = StickSkeleton(JOINTS, [[0, 1], [1, 2]], ("hip", "knee", "foot"), name="leg")


def save(skeleton, path):
    save_skeleton(skeleton, path)
    return path


def save_json(path, content):
    path.write_text(json.dumps(content))
    return path


def test_joints_go_by_name(tmp_path):
    posed = StickSkeleton(JOINTS[::-1] + 1, [[1, 0], [1, 2]], ("foot", "knee", "hip"))
    for suffix in (".tgf", ".skel", ".json"):
        track = load_poses([save(posed, tmp_path / f"p{suffix}")], LEG)
        assert np.array_equal(track.joints[0], JOINTS + 1), suffix
        assert track.rotations is None


def test_joints_of_a_tgf_may_go_by_number(tmp_path):
    numbers = tmp_path / "n.tgf"
    numbers.write_text("0 1 1 1\n1 2 2 2\n2 3 3 3\n#\n0 1\n1 2\n")
    assert load_poses([numbers], LEG).joints[0, :, 0].tolist() == [1, 2, 3]
    assert load_poses([numbers], load_skeleton(numbers)).joints[0, :, 0].tolist() == [1, 2, 3]


def test_another_skeleton(tmp_path, refused):
    two = StickSkeleton(JOINTS[:2], [[0, 1]], ("hip", "knee"))
    with refused(GeometryError, "p.skel", "another skeleton", "2 joints", "leg has 3"):
        load_poses([save(two, tmp_path / "p.skel")], LEG)
    named = StickSkeleton(JOINTS, LEG.bones, ("hip", "kneee", "foot"))
    with refused(GeometryError, "p.skel", "another skeleton", "'knee'", "did you mean 'kneee'"):
        load_poses([save(named, tmp_path / "p.skel")], LEG)
    joined = StickSkeleton(JOINTS, [[0, 1], [0, 2]], LEG.names)
    with refused(GeometryError, "p.skel", "another skeleton", "no bone 'knee-foot'"):
        load_poses([save(joined, tmp_path / "p.skel")], LEG)
    ring = StickSkeleton(JOINTS, [[0, 1], [1, 2], [2, 0]], LEG.names)
    with refused(GeometryError, "p.json", "another skeleton", "a bone 'foot-hip'"):
        load_poses([save(ring, tmp_path / "p.json")], LEG)
    with refused(OptionError, "p.json", "none is given"):
        load_poses([tmp_path / "p.json"], None)


def test_single_poses_become_one_clip(tmp_path):
    paths = [save(StickSkeleton(JOINTS + i, LEG.bones, LEG.names), tmp_path / f"p{i}.skel") for i in range(3)]
    track = load_poses(paths, LEG)
    assert track.joints[:, 0, 0].tolist() == [0, 1, 2]
    assert track.clips == (Clip("poses", 0, 3),)
    assert load_poses(paths[:1], LEG).clips == (Clip("p0", 0, 1),)


def test_files_with_frames_are_a_clip_each(tmp_path):
    single = save(LEG, tmp_path / "rest.tgf")
    walk = save_json(tmp_path / "walk.json", {"fps": 10, "poses": [{}, {"translate": [1, 0, 0]}]})
    track = load_poses([walk, single, single, walk, single], LEG)
    names = [(clip.name, clip.n_frames, clip.fps) for clip in track.clips]
    assert names == [("walk", 2, 10), ("poses", 2, 24), ("walk_", 2, 10), ("rest", 1, 24)]
    assert track.joints.shape == (7, 3, 3)


def test_what_one_file_tells_and_another_does_not(tmp_path):
    turned = save_json(tmp_path / "turn.json", {"rotate": {"hip": {"axis": [1, 0, 0], "degrees": 180}}})
    moved = save(StickSkeleton(JOINTS * [1, -1, -1], LEG.bones, LEG.names), tmp_path / "moved.skel")
    scaled = save_json(tmp_path / "scale.json", {"bones": {"hip-knee": {"cross_scale": 2, "twist": 180}}})
    track = load_poses([turned, moved, scaled], LEG)
    assert track.cross_scale.tolist() == [[1, 1], [1, 1], [2, 1]]
    assert np.allclose(track.twist[2, 0], [0, np.pi])
    posed = track.joints[:, LEG.bones[:, 1]] - track.joints[:, LEG.bones[:, 0]]
    assert np.allclose(np.einsum("bij,bj->bi", track.rotations[0], LEG.vectors), posed[0])
    assert track.turned.tolist() == [True, False, False]


def test_lines_of_one_file_go_on_in_the_next(tmp_path):
    first = save_json(tmp_path / "a.json", {"lines": [{"name": "ear", "rest": [[0, 0, 0], [0, 0, 1]], "twist": 90}]})
    second = save_json(tmp_path / "b.json", {"lines": [{"name": "ear", "posed": [[0, 0, 0], [0, 0, 2]]}]})
    third = save_json(tmp_path / "c.json", {"lines": [{"name": "tail", "rest": [[0, 0, 0], [1, 0, 0]], "twist": 8}]})
    track = load_poses([first, second, third], None)
    assert [line.name for line in track.lines.lines] == ["ear", "tail"]
    assert track.lines.ends[:, 0, 1, 2].tolist() == [1, 2, 1]
    assert np.allclose(np.rad2deg(track.lines.twist[:, :, 1]), [[90, 0], [0, 0], [0, 8]])
