"""Sources of the frames of a sequence: an array, a memory map, or a function that reads some frames at a time.

A source returns runs of frames, `read(start, stop)`, as read-only float32 (n,v,3). An array is checked when the source
is made; a memory map and a reader are checked frame by frame when a frame is first read, and never again: all
sequences that are made from one another share their source and the list of frames that were checked.

`frame_blocks` iterates over all frames, a few million values at a time. The blocks depend on the number of vertices
alone, so results are the same for every kind of source.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from osteon.core.arrays import Bool, Float32, Float64, Int64, check_finite, checked, remember_checked, was_checked
from osteon.core.errors import GeometryError

SHAPE = (None, None, 3)


@runtime_checkable
class FrameSource(Protocol):
    """Frames that are read in runs. Only one thread may read at a time."""

    @property
    def n_frames(self) -> int: ...

    @property
    def n_vertices(self) -> int: ...

    def read(self, start: int, stop: int) -> Float32:
        """(n,v,3) frames start … stop, read-only; of an array a view."""
        ...

    def take(self, frames: ArrayLike) -> FrameSource:
        """Only the given frames, in the order given."""
        ...


class ArrayFrames:
    """Frames (f,v,3) of an array, checked at once, or of a memory map of any float type, checked when it is read."""

    __slots__ = ("_array", "_good", "_mapped")

    def __init__(self, array: ArrayLike) -> None:
        self._mapped = _is_mapped(array)
        known = not self._mapped or was_checked(array)
        self._array: NDArray[Any] = _map_view(array) if self._mapped else checked("frames", array, SHAPE)
        self._good: Bool = np.full(len(self._array), known)

    @property
    def n_frames(self) -> int:
        return int(self._array.shape[0])

    @property
    def n_vertices(self) -> int:
        return int(self._array.shape[1])

    @property
    def in_memory(self) -> bool:
        return not self._mapped

    def read(self, start: int, stop: int) -> Float32:
        """A view; a copy only of what a memory map does not hold as C-ordered float32."""
        whole = (start, stop) == (0, self.n_frames)
        found = _float32(self._array if whole else self._array[start:stop])
        if not self._good[start:stop].all():
            check_finite("frames", found, start)
            self._good[start:stop] = True
        return remember_checked(found) if whole and not was_checked(found) else found

    def take(self, frames: ArrayLike) -> FrameSource:
        """A view where the frames follow each other; otherwise a copy, but never one of a memory map."""
        chosen = _frame_numbers(frames, self.n_frames)
        run = _as_run(chosen)
        if run is not None and (run.start, run.stop) == (0, self.n_frames):
            return self
        if run is None and self._mapped:
            return TakenFrames(self, chosen)
        array = self._array[chosen if run is None else run]
        part = ArrayFrames(array if self._mapped else remember_checked(array))
        if run is not None:
            part._good = self._good[run]  # a view, so that both share the list of checked frames
        return part


class ReaderFrames:
    """Frames of a function that returns frames start … stop. Frames are not kept in memory."""

    __slots__ = ("_good", "_n_vertices", "_reader")

    def __init__(self, n_frames: int, n_vertices: int, read: Callable[[int, int], ArrayLike]) -> None:
        self._n_vertices, self._reader = n_vertices, read
        self._good: Bool = np.zeros(n_frames, np.bool_)

    @property
    def n_frames(self) -> int:
        return len(self._good)

    @property
    def n_vertices(self) -> int:
        return self._n_vertices

    def read(self, start: int, stop: int) -> Float32:
        """The frames that the function returns; refuses a wrong shape, and invalid values in frames not read before."""
        found = _float32(np.asarray(self._reader(start, stop)))
        wanted = (stop - start, self.n_vertices, 3)
        if found.shape != wanted:
            raise GeometryError(f"frames: expected shape {wanted} of frames {start} … {stop}, got {found.shape}")
        if not self._good[start:stop].all():
            check_finite("frames", found, start)
            self._good[start:stop] = True
        return found

    def take(self, frames: ArrayLike) -> FrameSource:
        return TakenFrames(self, _frame_numbers(frames, self.n_frames))


class TakenFrames:
    """Some frames of another source, read on demand."""

    __slots__ = ("_chosen", "_source")

    def __init__(self, source: FrameSource, chosen: Int64) -> None:
        self._source, self._chosen = source, chosen

    @property
    def n_frames(self) -> int:
        return len(self._chosen)

    @property
    def n_vertices(self) -> int:
        return self._source.n_vertices

    def read(self, start: int, stop: int) -> Float32:
        """Neighbours are read together."""
        chosen = self._chosen[start:stop]
        begins = np.flatnonzero(np.diff(chosen, prepend=-2) != 1)
        runs = [(int(run[0]), int(run[-1]) + 1) for run in np.split(chosen, begins[1:]) if len(run)]
        return _concatenated([self._source.read(*run) for run in runs], self.n_vertices)

    def take(self, frames: ArrayLike) -> FrameSource:
        return TakenFrames(self._source, self._chosen[_frame_numbers(frames, self.n_frames)])


class JoinedFrames:
    """Several sources, one after the other."""

    __slots__ = ("_sources", "_starts")

    def __init__(self, sources: Sequence[FrameSource]) -> None:
        self._sources = tuple(sources)
        self._starts = np.cumsum([0, *(source.n_frames for source in sources)])

    @property
    def n_frames(self) -> int:
        return int(self._starts[-1])

    @property
    def n_vertices(self) -> int:
        return self._sources[0].n_vertices

    def read(self, start: int, stop: int) -> Float32:
        """Frames from all sources that the run covers; a run within one source is not copied."""
        parts = []
        for source, first in zip(self._sources, self._starts.tolist(), strict=False):
            low, high = max(start - first, 0), min(stop - first, source.n_frames)
            if low < high:
                parts.append(source.read(low, high))
        return _concatenated(parts, self.n_vertices)

    def take(self, frames: ArrayLike) -> FrameSource:
        return TakenFrames(self, _frame_numbers(frames, self.n_frames))


def frame_source(frames: ArrayLike | FrameSource) -> FrameSource:
    """A source as it is, or the source of an array (f,v,3)."""
    return frames if isinstance(frames, FrameSource) else ArrayFrames(frames)


def join_frames(sources: Sequence[FrameSource]) -> FrameSource:
    """One source for several: an array if all are arrays in memory; otherwise nothing is copied."""
    if len(sources) == 1:
        return sources[0]
    if not all(isinstance(source, ArrayFrames) and source.in_memory for source in sources):
        return JoinedFrames(sources)
    return ArrayFrames(remember_checked(np.concatenate([source.read(0, source.n_frames) for source in sources])))


def _float32(array: NDArray[Any]) -> Float32:
    """The array itself if it is C-ordered float32, otherwise a copy; what does not fit becomes infinite."""
    with np.errstate(over="ignore", invalid="ignore"):
        found = np.ascontiguousarray(array, np.float32)
    if found.flags.writeable:
        found = found.view()
        found.flags.writeable = False
    return found


def _is_mapped(value: object) -> bool:
    """Whether an array is a view of a memory map; results computed from one have its type but are in memory."""
    while isinstance(value, np.ndarray) and getattr(value, "_mmap", None) is None:
        value = value.base
    return isinstance(value, np.memmap)


def _map_view(array: ArrayLike) -> NDArray[Any]:
    """A plain read-only view of a memory map of the right shape, none of which is read."""
    view = np.asarray(array)
    if view.ndim != len(SHAPE) or view.shape[2] != 3:
        raise GeometryError(f"frames: expected shape (any, any, 3), got {view.shape}")
    if not was_checked(view):
        view = view.view()
        view.flags.writeable = False
    return view


def _frame_numbers(frames: ArrayLike, n_frames: int) -> Int64:
    """Frame numbers, those below zero counted from the end."""
    chosen = np.asarray(frames)
    if chosen.dtype == np.bool_:
        chosen = np.flatnonzero(chosen)
    chosen = chosen.astype(np.int64)
    if chosen.size and not -n_frames <= chosen.min() <= chosen.max() < n_frames:
        raise GeometryError(f"frames: expected numbers in 0 … {n_frames - 1}, got {chosen.min()} … {chosen.max()}")
    return np.where(chosen < 0, chosen + n_frames, chosen)


def _as_run(chosen: Int64) -> slice | None:
    """The slice that frames are which follow each other, if they do."""
    if not len(chosen) or (np.diff(chosen) != 1).any():
        return None
    return slice(int(chosen[0]), int(chosen[-1]) + 1)


def _concatenated(parts: list[Float32], n_vertices: int) -> Float32:
    if len(parts) == 1:
        return parts[0]
    return _float32(np.concatenate(parts) if parts else np.empty((0, n_vertices, 3), np.float32))


#: Values that a block of frames holds: 16 MB as float32.
BLOCK_VALUES = 4_000_000


@dataclass(frozen=True, slots=True)
class FrameBlock:
    """A run of frames, start <= f < stop."""

    start: int
    stop: int
    frames: Float32  # (stop-start,v,3)


def frame_blocks(source: FrameSource, values: int = 0) -> Iterator[FrameBlock]:
    """All frames in order, about `values` numbers at a time; 0: as many as a block holds."""
    step = max(1, (values or BLOCK_VALUES) // max(1, 3 * source.n_vertices))
    for start in range(0, source.n_frames, step):
        stop = min(start + step, source.n_frames)
        yield FrameBlock(start, stop, source.read(start, stop))


def each_frame(source: FrameSource) -> Iterator[Float32]:
    """(v,3) of every frame in order."""
    for block in frame_blocks(source):
        yield from block.frames


def mean_frame(source: FrameSource) -> Float64:
    """(v,3) the mean over all frames."""
    total = np.zeros((source.n_vertices, 3))
    for frame in each_frame(source):  # one after another, so that the result does not depend on the block size
        total += frame
    total /= source.n_frames
    return total


def frame_centers(source: FrameSource) -> Float64:
    """(f,3) the mean of the vertices of every frame."""
    out = np.empty((source.n_frames, 3))
    for block in frame_blocks(source):
        out[block.start : block.stop] = block.frames.mean(axis=1, dtype=np.float64)
    return out


def vertex_tracks(source: FrameSource, vertices: NDArray[np.integer[Any]]) -> Float32:
    """(n,3f) all frames of some vertices, one row per vertex."""
    out = np.empty((len(vertices), source.n_frames, 3), np.float32)
    for block in frame_blocks(source):
        out[:, block.start : block.stop] = block.frames.transpose(1, 0, 2)[vertices]
    return out.reshape(len(vertices), -1)
