"""Clips without a mesh on a character of another size, unit, pose or armature; what is appended, byte by byte."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from osteon.core.errors import GeometryError
from osteon.deform.pose import pose_frames
from osteon.io import LoadOptions, load_model
from osteon.io.formats.options import ClipOptions
from osteon.io.gltf.read.bones import rest_pose
from osteon.io.load.rig_files import PlayedClips, play_on_rig, save_clips_on_rig
from osteon.pipeline.rig_match import size_of_rest
from osteon_bench.kept_reader import changed_bytes, read_plain, write_clips_alone

from ..tolerance import assert_near
from .kept_character import read_glb, strange_character, write_glb, write_text


@pytest.fixture
def clips(tmp_path: Path) -> Path:
    """The clips of the character, as a library has them."""
    whole = strange_character().save(tmp_path / "whole.glb")
    write_clips_alone(read_plain(whole), tmp_path / "clips.glb")
    return tmp_path / "clips.glb"


def played(rig: Path, clips: Path, **options: object) -> PlayedClips:
    found = play_on_rig(rig, [clips], clip_options=ClipOptions(**options))
    assert found is not None
    return found


def test_not_a_byte_changes_besides_what_is_appended(clips, tmp_path):
    root, blob = read_glb(tmp_path / "whole.glb")
    root["buffers"] = [{"byteLength": len(blob)}]
    text = json.dumps(root, indent=1).replace('"yfov": 1.0', '"yfov": 1.0e+0').replace('"body"', '"b\\u006fdy"')
    rig = write_text(tmp_path / "rig.glb", text, blob)
    out = tmp_path / "out.glb"
    save_clips_on_rig(played(rig, clips), out)
    before, after = read_plain(rig), read_plain(out)
    assert "1.0e+0" in after.text
    assert changed_bytes(before, after) == 0
    assert [a["name"] for a in after.root["animations"]] == ["bend", "walk", "bend_", "walk_"]
    frames = pose_frames(load_model(out))
    assert np.array_equal(frames[:50], frames[50:])


@pytest.mark.parametrize("size", [0.5, 2.0, 100.0])
@pytest.mark.parametrize("scaled_root", [1.0, 0.01])
def test_a_larger_body_moves_as_the_smaller_one(clips, tmp_path, size, scaled_root):
    """All lengths have one ratio: each frame is the same shape, so many times as large."""
    rig = strange_character(size, scaled_root=scaled_root, clips=False).save(tmp_path / "rig.glb")
    found = played(rig, clips)
    own = pose_frames(load_model(tmp_path / "whole.glb"))
    assert_near(pose_frames(found.model) / size, own, 1e-5)
    assert size_of_rest(found.model, rest_pose(found.character.scene)) < 1.5
    assert [m.ratio.lengths for m in found.matched] == [pytest.approx(size)]
    (note,) = found.notes
    assert "translations are scaled" in note
    assert "--keep-translations" in note
    save_clips_on_rig(found, tmp_path / "out.glb")
    assert_near(pose_frames(load_model(tmp_path / "out.glb")) / size, own, 1e-5)


def test_translations_are_kept_where_that_is_asked(clips, tmp_path):
    rig = strange_character(100.0, clips=False).save(tmp_path / "rig.glb")
    found = played(rig, clips, keep_translations=True)
    assert found.notes == ()
    moved = pose_frames(found.model)
    assert np.ptp(moved[-1], axis=0).max() < 0.9 * np.ptp(found.model.rest, axis=0).max()  # the joints fell together


def test_a_root_goes_by_hip_height_where_proportions_differ(clips, tmp_path):
    """Legs twice as long, all else as it was: steps are twice as long, the trunk keeps its size."""
    root, blob = read_glb(tmp_path / "whole.glb")
    del root["animations"]
    for library in (root,):
        library["nodes"][1]["translation"][1] *= 2
    feet = {"name": "foot", "translation": [0, -1.0, 0]}
    joints = json.loads(json.dumps(root))
    joints["nodes"][1]["children"].append(len(joints["nodes"]))
    joints["nodes"].append(feet | {"translation": [0, -2.0, 0]})
    rig = write_glb(tmp_path / "tall.glb", joints, blob)
    library, blob = read_glb(clips)
    library["nodes"][1]["children"].append(len(library["nodes"]))
    library["nodes"].append(feet)
    for animation in library["animations"]:
        channel = dict(animation["channels"][0])
        animation["channels"].append(channel | {"target": {"node": len(library["nodes"]) - 1, "path": "rotation"}})
    found = played(rig, write_glb(tmp_path / "steps.glb", library, blob))
    (matched,) = found.matched
    assert matched.ratio.root == pytest.approx(2)
    assert matched.ratio.lengths == pytest.approx(1)
    walk = found.added[1]
    root_shift = next(c for c in walk.channels if (c.node, c.path) == (1, "translation"))
    assert_near(root_shift.values[:, 2], [0, 0.6, 1.2], 1e-6)
    spine = next(c for c in walk.channels if (c.node, c.path) == (2, "translation"))
    assert_near(spine.values, np.tile([0, 1, 0], (3, 1)), 1e-6)


def test_an_armature_that_is_turned_from_z_up(clips, tmp_path):
    rig = strange_character(turned=True, scaled_root=0.01).save(tmp_path / "rig.glb")
    found = played(rig, clips)
    assert_near(pose_frames(found.model), pose_frames(load_model(tmp_path / "whole.glb")), 1e-5)


def test_a_character_that_is_turned_in_its_scene_keeps_its_direction(clips, tmp_path):
    """The joints stand as the clip's do, below a node that faces elsewhere."""
    root, blob = read_glb(tmp_path / "whole.glb")
    del root["animations"]
    root["nodes"][0]["rotation"] = [0, 1, 0, 0]
    found = played(write_glb(tmp_path / "rig.glb", root, blob), clips)
    walk = next(c for c in found.added[1].channels if (c.node, c.path) == (1, "translation"))
    assert_near(walk.values[-1], [0, 1, 0.6], 1e-6)


def test_more_than_a_fifth_missing_is_refused(clips, tmp_path):
    root, blob = read_glb(clips)
    root["nodes"][4]["name"] = "wing"
    strange = write_glb(tmp_path / "strange.glb", root, blob)
    rig = tmp_path / "whole.glb"
    with pytest.raises(GeometryError, match=r"strange.glb: 1 of the 4 joints .*'wing'.*--partial"):
        played(rig, strange)
    found = played(rig, strange, partial=True)
    assert (found.matched[0].n_matched, found.matched[0].n_joints) == (3, 4)


def test_another_rate_writes_a_key_for_each_frame(clips, tmp_path):
    found = play_on_rig(tmp_path / "whole.glb", [clips], options=LoadOptions(fps=4.0, clips=("walk",)))
    assert found is not None
    save_clips_on_rig(found, tmp_path / "out.glb")
    root, _ = read_glb(tmp_path / "out.glb")
    keys = root["accessors"][root["animations"][-1]["samplers"][0]["input"]]
    assert (keys["count"], keys["max"]) == (5, [1.0])
