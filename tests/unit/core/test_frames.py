from __future__ import annotations

import pickle
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from osteon.core import arrays, frames
from osteon.core.animation import Clip
from osteon.core.errors import GeometryError
from osteon.core.frames import (
    ArrayFrames,
    FrameSource,
    JoinedFrames,
    ReaderFrames,
    each_frame,
    frame_blocks,
    frame_centers,
    frame_source,
    join_frames,
    mean_frame,
    vertex_tracks,
)
from osteon.core.sequence import MeshSequence, frames_of, join_clips

FACES = np.array([[0, 1, 2], [0, 2, 3]], np.int32)
VALUES = np.random.default_rng(0).normal(size=(9, 4, 3)).astype(np.float32)


def memory_map(folder: Path, values: np.ndarray = VALUES, order: str = "C") -> np.ndarray:
    """The values in a file, mapped."""
    path = folder / f"{values.dtype}-{len(values)}-{order}.npy"
    np.save(path, np.asarray(values, order=order))
    return np.load(path, mmap_mode="r")


class Reader:
    """Gives frames of an array, and counts how many it was asked for."""

    def __init__(self, values: np.ndarray = VALUES) -> None:
        self.values, self.given = values, 0

    def __call__(self, start: int, stop: int) -> np.ndarray:
        self.given += stop - start
        return self.values[start:stop].copy()

    def source(self) -> ReaderFrames:
        return ReaderFrames(len(self.values), self.values.shape[1], self)


@pytest.fixture(params=["array", "map", "map64", "map_fortran", "reader", "joined", "taken"])
def source(request, tmp_path) -> FrameSource:
    """The same frames from every kind of source."""
    halves = (frame_source(memory_map(tmp_path, VALUES[:4])), Reader(VALUES[4:]).source())
    backwards = frame_source(memory_map(tmp_path, VALUES[::-1]))
    kinds = {
        "array": lambda: frame_source(VALUES),
        "map": lambda: frame_source(memory_map(tmp_path)),
        "map64": lambda: frame_source(memory_map(tmp_path, VALUES.astype(np.float64))),
        "map_fortran": lambda: frame_source(memory_map(tmp_path, VALUES, "F")),
        "reader": lambda: Reader().source(),
        "joined": lambda: JoinedFrames(halves),
        "taken": lambda: backwards.take(np.arange(9)[::-1]),
    }
    return kinds[request.param]()


def sequence(values: object = VALUES, **parts: object) -> MeshSequence:
    return MeshSequence(values, FACES, VALUES[0], **parts)


def test_every_source_hands_out_the_same(source):
    assert isinstance(source, FrameSource)
    assert (source.n_frames, source.n_vertices) == (9, 4)
    for start, stop in [(0, 9), (0, 1), (3, 6), (8, 9), (5, 5)]:
        found = source.read(start, stop)
        assert np.array_equal(found, VALUES[start:stop])
        assert found.dtype == np.float32
        assert found.flags.c_contiguous
        assert not found.flags.writeable


@pytest.mark.parametrize("chosen", [[3, 1], [2, 3, 4], [0, 0, 8, 8], [-1, 0], list(range(9)), []])
def test_take_from_every_source(source, chosen):
    taken = source.take(np.array(chosen, np.int64))
    assert np.array_equal(taken.read(0, len(chosen)), VALUES[chosen])
    assert np.array_equal(taken.take([len(chosen) - 1]).read(0, 1), VALUES[chosen[-1:]]) if chosen else True


def test_take_with_a_mask_and_beyond_the_end(source, refused):
    mask = np.arange(9) % 2 == 0
    assert np.array_equal(source.take(mask).read(0, 5), VALUES[mask])
    with refused(GeometryError, "frames", "0 … 8", "9"):
        source.take([3, 9])


@pytest.mark.parametrize("values", [1, 12, 30, 0])
def test_blocks_cover_all_frames_in_order(source, values):
    blocks = list(frame_blocks(source, values))
    assert [b.start for b in blocks] == [0, *(b.stop for b in blocks[:-1])]
    assert np.array_equal(np.concatenate([b.frames for b in blocks]), VALUES)
    assert len(blocks) == {1: 9, 12: 9, 30: 5, 0: 1}[values]
    assert np.array_equal(np.stack(list(each_frame(source))), VALUES)


def test_walks_give_what_numpy_gives(source):
    assert np.array_equal(mean_frame(source), VALUES.mean(axis=0, dtype=np.float64))
    assert np.array_equal(frame_centers(source), VALUES.mean(axis=1, dtype=np.float64))
    assert np.array_equal(vertex_tracks(source, np.array([2, 0])), VALUES[:, [2, 0]].transpose(1, 0, 2).reshape(2, -1))


def test_sequence_of_every_source(source):
    one = sequence(source, clips=(Clip("a", 0, 4), Clip("b", 4, 9)))
    assert (one.n_frames, one.n_vertices) == (9, 4)
    assert np.array_equal(one.frames, VALUES)
    assert np.array_equal(one.frame(5), VALUES[5])
    assert np.array_equal(one.frame(-1), VALUES[-1])
    with pytest.raises(IndexError):
        one.frame(9)
    assert np.array_equal(np.concatenate([b.frames for b in one.blocks(24)]), VALUES)
    assert np.array_equal(one.take_frames(np.array([3, 1])).frames, VALUES[[3, 1]])
    assert frames_of(one) is frames_of(source) is source
    assert np.array_equal(pickle.loads(pickle.dumps(one)).frames, VALUES)


def test_arrays_stay_views():
    one = sequence()
    assert np.shares_memory(one.frames, VALUES)
    assert all(np.shares_memory(block.frames, VALUES) for block in one.blocks(12))
    assert np.shares_memory(one.take_frames(np.arange(2, 5)).frames, VALUES)
    assert np.shares_memory(replace(one, name="other").frames, VALUES)


def test_memory_map_is_never_copied(tmp_path):
    mapped = memory_map(tmp_path)
    one = sequence(mapped)
    both = join_clips([one, sequence(mapped, name="other")])
    assert np.shares_memory(one.frames, mapped)
    assert np.shares_memory(both.source.read(9, 12), mapped)
    assert np.shares_memory(one.take_frames(np.arange(2, 5)).frames, mapped)
    assert np.array_equal(both.frames, np.concatenate([VALUES, VALUES]))


def test_what_was_computed_from_a_map_is_checked_at_once(tmp_path, refused):
    with refused(GeometryError, "(0, 0, 0)"):
        frame_source(memory_map(tmp_path) * np.nan)


def test_nothing_is_read_before_it_is_asked_for():
    reader = Reader()
    one = sequence(reader.source())
    changed = replace(one, name="other", rest=VALUES[1], clips=(Clip("a", 0, 9),))
    both = join_clips([one.take_frames(np.array([1, 2, 5])), changed, one.take_frames(np.array([8]))])
    assert reader.given == 0
    assert np.array_equal(both.frame(3), VALUES[0])
    assert reader.given == 1
    assert np.array_equal(both.frames, VALUES[[1, 2, 5, *range(9), 8]])


def spoiled(frame: int) -> np.ndarray:
    values = VALUES.copy()
    values[frame, 2, 1] = np.nan
    return values


@pytest.mark.parametrize("kind", ["map", "reader"])
def test_bad_values_are_found_when_they_are_read(kind, tmp_path, refused):
    values = spoiled(6)
    one = sequence(memory_map(tmp_path, values) if kind == "map" else Reader(values).source())
    joined = join_clips([one, replace(one, name="again")])
    taken = one.take_frames(np.array([6, 0]))
    assert np.array_equal(one.source.read(0, 6), VALUES[:6])
    for _ in range(2):  # one that was found is found again
        for wrong in (one, joined, taken):
            with refused(GeometryError, "frames", "(6, 2, 1)"):
                list(wrong.blocks())
    with refused(GeometryError, "frames", "(6, 2, 1)"):
        _ = one.frames


def test_bad_values_of_an_array_are_found_at_once(refused):
    with refused(GeometryError, "frames", "(6, 2, 1)"):
        sequence(spoiled(6))


@pytest.mark.parametrize("kind", ["array", "map", "reader"])
def test_a_frame_is_checked_once(kind, tmp_path, monkeypatch):
    checks: list[int] = []
    original = arrays.check_finite

    def counted(name: str, array: np.ndarray, start: int = 0) -> None:
        if name == "frames":
            checks.append(len(array))
        original(name, array, start)

    monkeypatch.setattr(arrays, "check_finite", counted)
    monkeypatch.setattr(frames, "check_finite", counted)
    values = {"array": lambda: VALUES, "map": lambda: memory_map(tmp_path), "reader": lambda: Reader().source()}[kind]()
    one = sequence(values)
    for _ in range(3):
        assert len(list(one.blocks(24))) == 5
    others = [replace(one, name="x"), one.take_frames(np.array([4, 0, 2])), one.take_frames(np.arange(3, 7))]
    for other in (*others, join_clips([one, *others]), replace(one, frames=one.source)):
        assert len(list(other.blocks(24))) > 1
    if kind != "reader":  # what a reader gave may not be what it gives next
        list(replace(one, frames=one.frames).blocks())
    assert sum(checks) == 9


def test_reader_must_give_what_it_says(refused):
    with refused(GeometryError, "(2, 4, 3)", "3 … 5", "(1, 4, 3)"):
        ReaderFrames(9, 4, lambda start, stop: VALUES[:1]).read(3, 5)
    with refused(GeometryError, "frames", "(4, 0, 0)"):
        ReaderFrames(9, 4, lambda start, stop: np.full((stop - start, 4, 3), 1e300)).read(4, 5)


def test_wrong_shapes_of_maps(tmp_path, refused):
    with refused(GeometryError, "frames", "(any, any, 3)", "(9, 12)"):
        ArrayFrames(memory_map(tmp_path, VALUES.reshape(9, 12)))


def test_join_of_arrays_is_one_array():
    joined = join_frames([frame_source(VALUES[:2]), frame_source(VALUES[2:])])
    assert isinstance(joined, ArrayFrames)
    assert np.array_equal(joined.read(0, 9), VALUES)


def test_parts_may_come_as_source_and_mesh():
    one = sequence(name="one")
    two = MeshSequence(source=one.source, mesh=one.mesh, name="two")
    assert (two.name, two.mesh.rest is one.mesh.rest, two.source is one.source) == ("two", True, True)
    with pytest.raises(TypeError, match="frames"):
        MeshSequence(mesh=one.mesh)
    with pytest.raises(TypeError, match="faces and rest"):
        MeshSequence(VALUES)
