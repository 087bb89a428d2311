"""Alembic in: all meshes of the file merged, placed by their transforms, and sampled at a frame rate.

The structure of the file is checked here, then the library reads it in a child process, which runs `answer`. About one
damaged file of nine hundred passes the check and still crashes the library.

With `fps="file"` a frame is taken at every sample of a uniform clock, and once per cycle of a cyclic one (its other
samples are the shutter's). Acyclic samples have the lowest common rate on which all of them fall. Another rate samples
the same span of time, with linear interpolation between samples.
"""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from osteon.core.animation import Clip, frame_times, key_rate
from osteon.core.arrays import Float32, Float64
from osteon.core.progress import report_progress
from osteon.core.sequence import MeshSequence
from osteon.io.alembic.meshes import (
    AlembicMesh,
    array_of,
    library_errors,
    merge_alembic_meshes,
    metadata_of,
    read_alembic_meshes,
)
from osteon.io.alembic.ogawa import check_ogawa
from osteon.io.formats.format_types import find_extra, load_extra
from osteon.io.formats.options import LoadOptions, ReadRequest
from osteon.io.load.clips import select_names
from osteon.io.load.source import MOST_FRAMES, Claims, Source, check_frames, numbered
from osteon.io.metadata.asset import unpack_clips
from osteon.io.native.child import Arrays, Outlet
from osteon.io.native.client import NativeTask, pack_sequence, read_sequence_in_child


def read_alembic_sequence(path: Path, request: ReadRequest) -> MeshSequence:
    """The meshes in `path` as one, with the clips that Osteon wrote or one clip named after the file."""
    source = Source(path)
    parts = [part for part in read_alembic_meshes(path) if len(part.polygons.sizes)]
    if not parts:
        raise source.geometry_error("holds no polygons; export the scene with its meshes")
    with library_errors(source):
        metadata = metadata_of(parts[0]) if len(parts) == 1 else {}
        spans = _spans(parts, metadata, request.options, source)
        chosen = select_names([name for name, _, _ in spans], request.options.clips, path)
        frames, clips = _sample([spans[i] for i in chosen], parts, request, source)
        rest = _rest(parts, frames)
        faces, asset = merge_alembic_meshes(parts, metadata, source)
    with source.naming():
        return MeshSequence(frames, faces, rest, clips, asset, str(metadata.get("name", path.stem)))


def _spans(
    parts: list[AlembicMesh], metadata: dict[str, Any], options: LoadOptions, source: Source
) -> list[tuple[str, float, Float64]]:
    """Name, rate and moments of each clip."""
    clocks = [times for part in parts for times in part.clocks]
    if not clocks:
        return [(source.path.stem, options.frame_rate, np.array([float(parts[0].positions.times[0])]))]
    table = _table(metadata, len(max(clocks, key=len)))
    if table:
        times = frame_times(table)
        return [(c.name, *_moments(times[c.start], times[c.stop - 1], c.fps, options, source)) for c in table]
    start, end = min(t[0] for t in clocks), max(t[-1] for t in clocks)
    return [(source.path.stem, *_moments(start, end, _rate(parts, clocks), options, source))]


def _table(metadata: dict[str, Any], n_samples: int) -> tuple[Clip, ...]:
    """The clips Osteon wrote, if they still fit the samples."""
    try:
        clips = unpack_clips(metadata.get("clips", []))
    except (KeyError, TypeError, ValueError):
        return ()
    return clips if clips and clips[-1].stop == n_samples else ()


def _rate(parts: list[AlembicMesh], clocks: list[Float64]) -> float:
    """The frame rate of the file."""
    sampled = [part.schema.getPositionsProperty() for part in parts]
    kinds = [s.getTimeSampling().getTimeSamplingType() for s in sampled if s.getNumSamples() > 1]
    for kind in kinds:
        if (kind.isUniform() or kind.isCyclic()) and kind.getTimePerCycle() > 0:
            return float(1 / kind.getTimePerCycle())
    steps = np.concatenate([np.diff(times) for times in clocks])
    if steps.max() - steps.min() <= 0.02 * steps.max():
        return float(len(steps) / steps.sum())
    return key_rate(np.concatenate(clocks))


def _moments(start: float, end: float, file_rate: float, options: LoadOptions, source: Source) -> tuple[float, Float64]:
    rate = file_rate if options.fps == "file" else options.frame_rate
    count = (end - start) * rate
    if not np.isfinite(count) or count > MOST_FRAMES:
        raise source.format_error(f"lasts {end - start:g} s, more than {MOST_FRAMES} frames")
    moments = start + np.arange(int(np.ceil(count - 0.02)) + 1) / rate
    moments[-1] = end
    return rate, moments


def _sample(
    spans: list[tuple[str, float, Float64]], parts: list[AlembicMesh], request: ReadRequest, source: Source
) -> tuple[Float32, tuple[Clip, ...]]:
    n_vertices = [len(part.positions.values[0]) for part in parts]
    moments = np.concatenate([times for _, _, times in spans])
    what, stored = f"its {len(moments)} frames of {sum(n_vertices)} vertices", source.path.stat().st_size
    check_frames(source, stored, len(moments), request.options.fps)
    Claims(source, stored).sample(12 * len(moments) * sum(n_vertices), what)
    frames = np.empty((len(moments), sum(n_vertices), 3), np.float32)
    for f, moment in enumerate(moments):
        start = 0
        for part, count in zip(parts, n_vertices, strict=True):
            frames[f, start : start + count] = _posed(part, float(moment), count, Source(source.path, f))
            start += count
        report_progress(request.progress, "load", (f + 1) / len(moments))
    clips: list[Clip] = []
    for name, rate, times in spans:
        first = clips[-1].stop if clips else 0
        clips.append(Clip(name, first, first + len(times), rate))
    return frames, tuple(clips)


def _posed(part: AlembicMesh, moment: float, count: int, source: Source) -> Float32:
    try:
        points = part.positions.at(moment)
    except ValueError as error:  # two neighbouring samples of different length
        raise source.geometry_error(f"mesh '{part.name}' changes its number of vertices") from error
    if points.shape != (count, 3):
        raise source.geometry_error(
            f"mesh '{part.name}' has {numbered(len(points), 'vertex')}, frame 0 has {count}; "
            "all frames must share one mesh"
        )
    for transform in reversed(part.above):
        matrix = transform.at(moment)
        points = points @ matrix[:3, :3].T + matrix[:3, 3]
    return source.positions(points)


def _rest(parts: list[AlembicMesh], frames: Float32) -> Float32:
    """The rest pose stored as Pref, if there is one mesh, unmoved by transforms; else the first frame."""
    about = parts[0].schema.getArbGeomParams()
    if len(parts) == 1 and not parts[0].above and about.valid():
        abc = import_module("alembic3d").Abc
        names = [h.getName() for h in about.propertyheaders if abc.IP3fArrayProperty.matches(h)]
        if "Pref" in names:
            stored = array_of(abc.IP3fArrayProperty(about, "Pref").samples[0])
            if stored.shape == frames.shape[1:] and np.isfinite(stored).all():
                return np.asarray(stored, np.float32)
    return np.asarray(frames[0])


def prepare() -> None:
    """Loads the library, before the clock and the limits begin."""
    load_extra("alembic3d", "alembic", Path("scene.abc"))


def answer(request: dict[str, Any], outlet: Outlet) -> tuple[Any, Arrays]:
    """The sequence; every sampled frame resets the child's timeout."""
    path = Path(request["path"])
    outlet.alive(path.stat().st_size)
    options = LoadOptions(fps=request["fps"], clips=tuple(request["clips"]))
    sequence = read_alembic_sequence(path, ReadRequest(options, progress=lambda event: outlet.alive()))
    for f, frame in enumerate(sequence.frames):
        outlet.frames(f, sequence.n_frames, frame[None])
    return pack_sequence(sequence.mesh, sequence.clips)


ALEMBIC_TASK = NativeTask("Alembic", "osteon.io.alembic.read")


def read_alembic(path: Path, request: ReadRequest) -> MeshSequence:
    """The meshes in `path` as one, with the clips that Osteon wrote or one clip named after the file."""
    source = Source(path)
    check_ogawa(source)
    find_extra("alembic3d", "alembic", path)
    return read_sequence_in_child(ALEMBIC_TASK, source, request)
