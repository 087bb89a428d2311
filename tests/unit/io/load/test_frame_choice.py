"""Frames by number, and every N-th of each clip."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from osteon.core.animation import Clip
from osteon.core.errors import OptionError
from osteon.core.sequence import MeshSequence
from osteon.io import LoadOptions, load_model, load_sequence, save_model, save_sequence
from osteon.io.load.clips import choose_sequence_frames, clips_of_frames
from osteon.synth.baked import BakeOptions, bake_cylinder

CLIPS = (Clip("walk", 0, 7, 24.0), Clip("run", 7, 12, 30.0))


@pytest.fixture
def sequence() -> MeshSequence:
    baked = bake_cylinder(1, options=BakeOptions(frames=12)).sequence
    return baked.with_parts(clips=CLIPS)


def test_a_run_of_frames_keeps_its_clips(sequence: MeshSequence) -> None:
    chosen = choose_sequence_frames(sequence, "5:9", 1)
    assert chosen.clips == (Clip("walk", 0, 2, 24.0), Clip("run", 2, 4, 30.0))
    assert np.array_equal(chosen.frames, sequence.frames[5:9])
    assert np.array_equal(chosen.rest, sequence.rest)


def test_every_third_frame_of_each_clip_at_a_third_of_the_rate(sequence: MeshSequence) -> None:
    chosen = choose_sequence_frames(sequence, None, 3)
    assert chosen.clips == (Clip("walk", 0, 3, 8.0), Clip("run", 3, 5, 10.0))
    assert np.array_equal(chosen.frames, sequence.frames[[0, 3, 6, 7, 10]])


def test_both_at_once(sequence: MeshSequence) -> None:
    chosen = choose_sequence_frames(sequence, "1:", 4)
    assert np.array_equal(chosen.frames, sequence.frames[[1, 5, 7, 11]])


def test_all_frames_are_the_sequence_itself(sequence: MeshSequence) -> None:
    assert choose_sequence_frames(sequence, None, 1) is sequence
    assert clips_of_frames(CLIPS, range(12)) == CLIPS


def test_in_a_file(sequence: MeshSequence, tmp_path: Path) -> None:
    save_sequence(sequence, tmp_path / "s.npz")
    chosen = load_sequence(tmp_path / "s.npz", options=LoadOptions(frames="-2:", step=1))
    assert np.array_equal(chosen.frames, sequence.frames[-2:])
    with pytest.raises(OptionError, match="beyond the 12 frames"):
        load_sequence(tmp_path / "s.npz", options=LoadOptions(frames="40:"))
    with pytest.raises(OptionError, match="1 or more"):
        LoadOptions(step=0)


def test_a_model_refuses_it(tmp_path: Path) -> None:
    save_model(bake_cylinder(1, options=BakeOptions(frames=4)).model, tmp_path / "m.npz")
    with pytest.raises(OptionError, match="frames"):
        load_model(tmp_path / "m.npz", options=LoadOptions(frames="0:2"))
