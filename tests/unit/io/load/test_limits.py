"""What a file may unpack to."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from osteon.core.errors import FileFormatError
from osteon.io import load_sequence
from osteon.io.load import source as limits
from osteon.io.load.source import FEW_FRAMES, LARGEST_RATIO, LARGEST_UNPACKED, MOST_FRAMES, Claims, Source, check_frames
from osteon.io.meshes.mesh import MOST_CORNERS

SOURCE = Source(Path("bomb.npz"))


@pytest.fixture(autouse=True)
def _much_memory(monkeypatch):
    monkeypatch.setattr(limits, "free_memory", lambda: 1 << 50)


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
    with refused(FileFormatError, "bomb.npz", "its frames", "of memory that are free"):
        claims.sample((1 << 49) + 1, "its frames")


def test_absurd_claims_are_told_too(refused):
    with refused(FileFormatError, "bomb.npz", "unpacks to"):
        Claims(SOURCE, 1000).unpack(10**5000, "an accessor")


def peak_of(code: str) -> int:
    """Bytes that a process which runs the code had in memory at most, beyond what it had after its imports."""
    measured = f"""
import resource
import osteon, osteon.cli.info
from osteon.io.archives.archive import open_archive
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
{code}
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""
    found = subprocess.run([sys.executable, "-c", measured], capture_output=True, text=True, check=True)
    return int(found.stdout) << 10


@pytest.mark.skipif(sys.platform != "linux", reason="ru_maxrss is in kilobytes on Linux only")
@pytest.mark.parametrize("large", ["frames", "faces"])
def test_info_takes_little_more_memory_than_the_arrays(tmp_path, large):
    """An archive of a hundred kilobytes that unpacks to 120 MB."""
    frames = np.zeros((100, 100_000, 3) if large == "frames" else (2, 3, 3), np.float32)
    faces = np.tile(np.array([[0, 1, 2]], np.int32), (10_000_000 if large == "faces" else 1, 1))
    np.savez_compressed(tmp_path / "bomb.npz", frames=frames, faces=faces)
    file = str(tmp_path / "bomb.npz")
    peak = peak_of(f"osteon.cli.info.describe_sequence(osteon.load_sequence({file!r}))")
    assert peak < 2 * (frames.nbytes + faces.nbytes) + 100e6


def test_an_archive_that_is_larger_than_free_memory_is_one_line(tmp_path, monkeypatch, refused):
    np.savez_compressed(tmp_path / "bomb.npz", frames=np.zeros((10, 1000, 3), np.float32), faces=[[0, 1, 2]])
    monkeypatch.setattr(limits, "free_memory", lambda: 100_000)
    with refused(FileFormatError, "bomb.npz", "'frames'", "of memory that are free"):
        load_sequence(tmp_path / "bomb.npz")


def test_free_memory_is_a_part_of_all():
    assert limits.free_memory() > 0
    assert limits.free_memory() <= limits.MEMORY or sys.platform == "linux"  # there swap counts too


@pytest.mark.parametrize("suffix", [".obj", ".off", ".ply", ".npz"])
def test_a_polygon_of_too_many_corners_is_one_line(tmp_path, refused, suffix):
    count = MOST_CORNERS + 1
    corners = np.arange(count) % 3
    path = tmp_path / f"polygon{suffix}"
    if suffix == ".npz":
        np.savez(path, frames=np.eye(3, dtype=np.float32)[None], faces=corners[None])
    else:
        row = " ".join(map(str, corners + (suffix == ".obj")))
        text = {
            ".obj": f"v 0 0 0\nv 1 0 0\nv 0 1 0\nf {row}\n",
            ".off": f"OFF\n3 1 0\n0 0 0\n1 0 0\n0 1 0\n{count} {row}\n",
            ".ply": "ply\nformat ascii 1.0\nelement vertex 3\nproperty float x\nproperty float y\nproperty float z\n"
            "element face 1\nproperty list int int vertex_indices\nend_header\n"
            f"0 0 0\n1 0 0\n0 1 0\n{count} {row}\n",
        }[suffix]
        path.write_text(text)
    with refused(FileFormatError, path.name, f"face 0 has {count} corners", "triangulate"):
        load_sequence(path)


def test_a_pipe_is_not_waited_for(tmp_path, refused):
    os.mkfifo(tmp_path / "mesh.obj")
    with refused(FileFormatError, "mesh.obj", "pipe"):
        load_sequence(tmp_path / "mesh.obj")


def test_a_small_file_lasts_minutes_and_a_large_one_as_many_frames_as_it_has_bytes(refused):
    for stored, most in ((3000, FEW_FRAMES), (500_000, 500_000), (1 << 40, MOST_FRAMES)):
        check_frames(SOURCE, stored, most, "file")
        with refused(FileFormatError, "bomb.npz", f"{most + 1} frames", f"{most} are plausible", "key times"):
            check_frames(SOURCE, stored, most + 1, "file")


def test_who_names_a_rate_may_have_more_frames(refused):
    check_frames(SOURCE, 3000, MOST_FRAMES, 24.0)
    with refused(FileFormatError, "bomb.npz", "key times"):
        check_frames(SOURCE, 3000, MOST_FRAMES + 1, 24.0)
