"""Real meshes and sequences, where the data folder beside the repository exists."""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np
import pytest

from osteon.io import load_sequence, write_sequence

DATA = Path(__file__).resolve().parents[2].parent / "shared" / "data"
pytestmark = pytest.mark.skipif(not DATA.is_dir(), reason="no shared data beside the repository")


def read_line_by_line(path: Path) -> tuple[np.ndarray, np.ndarray]:
    """The slow way, to compare with."""
    vertices, faces = [], []
    for line in path.read_text().splitlines():
        word, *rest = line.split() or [""]
        if word == "v":
            vertices.append([float(x) for x in rest[:3]])
        elif word == "f":
            corners = [int(x.split("/")[0]) - 1 for x in rest]
            faces += [[corners[0], corners[i], corners[i + 1]] for i in range(1, len(corners) - 1)]
    return np.array(vertices, np.float32), np.array(faces)


@pytest.mark.parametrize("name", ["alligator", "arm", "armadillo", "woody"])
def test_obj_meshes(name):
    path = DATA / "meshes" / f"{name}.obj"
    start = time.perf_counter()
    sequence = load_sequence(path)
    seconds = time.perf_counter() - start
    vertices, faces = read_line_by_line(path)
    assert np.array_equal(sequence.frames[0], vertices)
    assert np.array_equal(sequence.faces, faces)
    assert seconds < 2  # 43,243 vertices take 0.1 s; a loop over lines would not


def test_off_mesh():
    sequence = load_sequence(DATA / "meshes" / "armadillo_LR3.off")
    assert (sequence.n_vertices, sequence.n_triangles) == (5189, 10374)


@pytest.mark.parametrize("path", sorted((DATA / "sequences").glob("*.npz")), ids=lambda p: p.stem)
def test_sequences(path):
    with np.load(path) as stored:
        frames, faces, rest = stored["frames"], stored["faces"], stored["rest"]
    sequence = load_sequence(path)
    assert np.array_equal(sequence.frames, frames.astype(np.float32))
    assert np.array_equal(sequence.faces, faces)
    assert np.array_equal(sequence.rest, rest.astype(np.float32))


@pytest.mark.parametrize("suffix", [".obj", ".ply"])
def test_horse_through_files(tmp_path, suffix):
    horse = load_sequence(DATA / "sequences" / "horse.npz")
    write_sequence(horse.frames[:6], horse.faces, tmp_path / "horse", suffix=suffix)
    again = load_sequence(tmp_path / "horse")
    assert np.array_equal(again.frames, horse.frames[:6])
    assert np.array_equal(again.faces, horse.faces)
