"""Geometry caches beside an FBX: a 3ds Max .pc2 written here by hand, read, missed, foreign and damaged."""

from __future__ import annotations

import struct
from pathlib import Path

import numpy as np
import pytest

from osteon.core.errors import FileFormatError
from osteon.io import load_outline, load_sequence

from .test_fbx import BAR, Bar, posed, write_bar

pytest.importorskip("ufbx")

FRAMES = 25  # one second at 24 frames per second


def waves(n_vertices: int = len(BAR)) -> np.ndarray:
    """(f,v,3) a bar whose vertices move as no skin or blend shape moves them."""
    rest = np.resize(BAR, (n_vertices, 3))
    lift = np.sin(np.arange(FRAMES)[:, None] / 4 + np.arange(n_vertices))
    return np.asarray(rest + lift[..., None] * [0, 0, 1])


def write_pc2(path: Path, frames: np.ndarray) -> Path:
    path.parent.mkdir(exist_ok=True)
    head = b"POINTCACHE2\0" + struct.pack("<iiffi", 1, frames.shape[1], 0.0, 1.0, len(frames))
    path.write_bytes(head + frames.astype("<f4").tobytes())
    return path


def write_cached(path: Path, cache: str, bar: Bar | None = None) -> Path:
    """A bar that a geometry cache of this name moves, seen from the folder of the FBX."""
    text = write_bar(path, bar or Bar(skinned=False, animated=False)).read_text()
    deformer = (
        'Deformer: 80, "Deformer::points", "VertexCacheDeformer" {\nProperties70: {\n'
        'P: "Active", "bool", "", "", 1\nP: "ChannelName", "KString", "", "", ""\n}\n}\n'
        'Cache: 81, "Cache::points", "" {\nProperties70: {\n'
        f'P: "CacheFileName", "KString", "", "", "{cache}"\nP: "CacheAbsoluteFileName", "KString", "", "", "{cache}"\n'
        'P: "CacheFileType", "enum", "", "", 1\n}\n}\n'
    )
    stack = (
        'AnimationStack: 90, "AnimStack::take", "" {\nProperties70: {\nP: "LocalStart", "KTime", "Time", "", 0\n'
        'P: "LocalStop", "KTime", "Time", "", 46186158000\n}\n}\nAnimationLayer: 91, "AnimLayer::base", "" {\n}\n'
    )
    added = deformer + (stack if bar is None else "")
    links = 'C: "OO",80,10\nC: "OO",81,80\n' + ('C: "OO",91,90\n' if bar is None else "")
    text = text.replace("Objects: {\n", "Objects: {\n" + added)
    path.write_text(text.replace("Connections: {\n", "Connections: {\n" + links))
    return path


def test_a_cache_beside_the_file_moves_the_mesh(tmp_path: Path) -> None:
    write_pc2(tmp_path / "bar_fpc" / "bar.pc2", waves())
    sequence = load_sequence(write_cached(tmp_path / "bar.fbx", "bar_fpc\\bar.pc2"))
    assert [(c.name, c.n_frames, c.fps) for c in sequence.clips] == [("take", FRAMES, 24.0)]
    np.testing.assert_allclose(sequence.frames, waves(), atol=1e-5)
    np.testing.assert_allclose(sequence.rest, BAR, atol=1e-6)
    assert load_outline([tmp_path / "bar.fbx"]).clips == sequence.clips


@pytest.mark.parametrize(
    ("cache", "said"),
    [
        ("gone.pc2", "names the geometry cache 'gone.pc2', which is not beside it"),
        ("../elsewhere/bar.pc2", "names the geometry cache 'bar.pc2' outside its folder"),
        ("other.pc2", "names the geometry cache 'other.pc2' of 5 vertices for a mesh of 7"),
        ("damaged.pc2", "names the geometry cache 'damaged.pc2', which cannot be read"),
    ],
)
def test_a_cache_that_cannot_be_read_is_named(tmp_path: Path, cache: str, said: str) -> None:
    write_pc2(tmp_path / "elsewhere" / "bar.pc2", waves())
    folder = tmp_path / "scene"
    write_pc2(folder / "other.pc2", waves(5))
    (folder / "damaged.pc2").write_bytes(b"POINTCACHE2\0" + b"\xff" * 9)
    path = write_cached(folder / "bar.fbx", cache)
    for read in (load_sequence, lambda path: load_outline([path])):
        with pytest.raises(FileFormatError) as caught:
            read(path)
        assert str(caught.value).startswith(f"{path}: {said}")
        assert "\n" not in str(caught.value)


def test_what_moves_without_its_cache_is_read_and_the_cache_named(tmp_path: Path) -> None:
    path = write_cached(tmp_path / "bar.fbx", "gone.pc2", Bar())
    sequence = load_sequence(path)
    np.testing.assert_allclose(sequence.frames[12], posed(45), atol=1e-5)
    (said,) = sequence.asset.origin.lost
    assert "'gone.pc2', which is not beside it" in said
    assert load_outline([path]).mesh.asset.origin.lost == (said,)
