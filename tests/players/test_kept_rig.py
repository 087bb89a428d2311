"""A character with `--rig` in three.js: it holds what it held, and plays what was fitted; Khronos' validator agrees."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from osteon.core.skin_options import SkinOptions
from osteon.io.load.rig_files import open_character, play_on_rig, save_clips_on_rig, save_on_rig
from osteon.io.save.sequences import played_sequence
from osteon.pipeline.skin import skin_sequence
from osteon_bench.kept_reader import read_plain, write_clips_alone, write_resized
from osteon_bench.rig_kept import APART, _apart, _extent, _held_rows, _last_moments

from ..formats.kept_character import strange_character


@pytest.fixture
def path(tmp_path):
    return strange_character().save(tmp_path / "character.glb")


@pytest.mark.parametrize("options", [{}, {"helpers": 2}, {"rank": 2}])
def test_what_was_fitted_plays(path, tmp_path, three, messages, options):
    character = open_character(path)
    frames = played_sequence(character.model.take_frames(np.arange(0, 50, 7, dtype=np.int32)))
    chosen = SkinOptions(bone_type="rigid", rounds=3, threads=1, **options)
    fit = skin_sequence(frames, rig=character.model, options=chosen, limits=character.limits())
    out = tmp_path / "out.glb"
    save_on_rig(fit.model, character, out)
    three.open(path)
    held = three.describe()
    three.open(out)
    assert three.clips == ("bend", "walk", "clip")
    if not options:
        assert [row.metric for row in _held_rows("", held, three.describe()) if not row.ok] == []
    assert _apart(out, three) < APART
    before, after = (Counter(m.code for m in found) for found in messages([path, out]))
    assert not after - before


@pytest.mark.parametrize("size", [0.5, 2.0, 100.0])
def test_clips_on_another_size(path, tmp_path, three, messages, size):
    write_clips_alone(read_plain(path), tmp_path / "clips.glb")
    write_resized(read_plain(path), tmp_path / "rig.glb", size)
    played = play_on_rig(tmp_path / "rig.glb", [tmp_path / "clips.glb"])
    assert played is not None
    save_clips_on_rig(played, tmp_path / "out.glb")
    three.open(tmp_path / "out.glb")
    rest = _extent(three.positions(None, [0.0]))
    assert max(_extent(_last_moments(three, clip)) for clip in range(2)) < 1.5 * rest
    assert messages([tmp_path / "out.glb"]) == [[]]


def test_the_comparison_sees_what_is_wrong(path, tmp_path, three):
    """A joint that was renamed, and one that rests elsewhere."""
    glb = strange_character()
    glb.json["nodes"][2]["name"] = "neck"
    glb.json["nodes"][3]["translation"] = [0, 1.5, 0]
    glb.json["materials"][0]["name"] = "silk"
    three.open(path)
    held = three.describe()
    three.open(glb.save(tmp_path / "other.glb"))
    wrong = [row.metric for row in _held_rows("", held, three.describe()) if not row.ok]
    assert wrong == [
        "three.js: nodes whose name, parent or order changed",
        "three.js: nodes whose local rest changed",
        "three.js: materials that changed",
        "three.js: clips that changed",
    ]
