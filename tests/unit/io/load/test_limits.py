"""What a file may unpack to."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from osteon.core.errors import FileFormatError
from osteon.io import load_sequence
from osteon.io.load import limits
from osteon.io.load.limits import FEW_FRAMES, LARGEST_RATIO, LARGEST_UNPACKED, MOST_FRAMES, Claims, check_frames
from osteon.io.load.source import Source

SOURCE = Source(Path("bomb.npz"))


@pytest.fixture(autouse=True)
def _much_memory(monkeypatch):
    monkeypatch.setattr(limits, "MEMORY", 1 << 50)


def test_up_to_a_size_every_ratio_is_fine(refused):
    claims = Claims(SOURCE, 1)
    claims.unpack(LARGEST_UNPACKED, "'frames'")
    with refused(FileFormatError, "bomb.npz", "unpacks to"):
        claims.unpack(1, "'rest'")


def test_up_to_a_ratio_every_size_is_fine(refused):
    claims = Claims(SOURCE, LARGEST_UNPACKED)
    claims.unpack(LARGEST_RATIO * LARGEST_UNPACKED, "'frames'")
    with refused(FileFormatError, "bomb.npz", "'rest'", "unpacks to", "100 times"):
        claims.unpack(1, "'rest'")


def test_claims_add_up(refused):
    claims = Claims(SOURCE, 1000)
    for _ in range(1024):
        claims.unpack(LARGEST_UNPACKED // 1024, "a node")
    with refused(FileFormatError, "a node"):
        claims.unpack(1, "a node")


def test_what_is_sampled_may_be_more_but_not_more_than_there_is(refused):
    claims = Claims(SOURCE, 1000)
    claims.sample(1 << 49, "its frames")
    with refused(FileFormatError, "bomb.npz", "its frames", "more than this machine has"):
        claims.sample((1 << 49) + 1, "its frames")


def test_absurd_claims_are_told_too(refused):
    with refused(FileFormatError, "bomb.npz", "unpacks to"):
        Claims(SOURCE, 1000).unpack(10**5000, "an accessor")


def test_a_pipe_is_not_waited_for(tmp_path, refused):
    os.mkfifo(tmp_path / "mesh.obj")
    with refused(FileFormatError, "mesh.obj", "pipe"):
        load_sequence(tmp_path / "mesh.obj")


def test_a_small_file_lasts_minutes_and_a_large_one_as_many_frames_as_it_has_bytes(refused):
    for stored, most in ((3000, FEW_FRAMES), (500_000, 500_000), (1 << 40, MOST_FRAMES)):
        check_frames(SOURCE, stored, most, "file")
        with refused(FileFormatError, "bomb.npz", f"{most + 1} frames", f"{most} are believed", "key times"):
            check_frames(SOURCE, stored, most + 1, "file")


def test_who_names_a_rate_may_have_more_frames(refused):
    check_frames(SOURCE, 3000, MOST_FRAMES, 24.0)
    with refused(FileFormatError, "bomb.npz", "key times"):
        check_frames(SOURCE, 3000, MOST_FRAMES + 1, 24.0)
