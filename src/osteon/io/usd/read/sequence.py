"""Reading USD as a mesh sequence: everything that is shown, merged and posed at every frame.

A stage that Osteon wrote lists its clips in a table. Any other has one clip, from its start to its end time code, or
from the first to the last sample where these are not authored, at the frame rate of the stage or the requested rate.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from osteon.core.animation import Clip, frame_times
from osteon.core.arrays import Float32, Float64
from osteon.core.mesh import Mesh
from osteon.io.formats.options import LoadOptions
from osteon.io.load.clips import select_names
from osteon.io.load.source import MOST_FRAMES, Source, check_frames
from osteon.io.meshes.mesh import merge_mesh_parts
from osteon.io.native.child import Outlet
from osteon.io.usd.metadata import MISFITS, clips_of_metadata, read_metadata, restore_asset
from osteon.io.usd.read.shown_meshes import ShownMesh, read_meshes, sample_codes
from osteon.io.usd.stage import open_stage


@dataclass(frozen=True, slots=True)
class PlannedClip:
    """A clip and the time codes of its frames."""

    clip: Clip
    codes: Float64  # (f,)


def plan_clips(
    stage: Any, metadata: dict[str, Any], samples: list[float], options: LoadOptions, source: Source
) -> list[PlannedClip]:
    """The selected clips, one after the other; `samples` are the time codes of all samples."""
    per_second = float(stage.GetTimeCodesPerSecond())
    spans = _clip_spans(stage, metadata, samples, per_second, options, source)
    chosen = select_names([name for name, *_ in spans], options.clips, source.path)
    planned: list[PlannedClip] = []
    stored = _stage_bytes(stage)
    for name, first, last, file_rate in (spans[i] for i in chosen):
        rate = file_rate if options.fps == "file" else options.frame_rate
        count = (last - first) * rate / per_second
        if not np.isfinite(count) or not 0 <= count <= MOST_FRAMES:
            raise source.format_error(f"lasts from time code {first:g} to {last:g}, not 0 … {MOST_FRAMES} frames")
        codes = np.asarray(first + np.arange(int(np.ceil(count - 0.02)) + 1) * (per_second / rate), np.float64)
        codes[-1] = last
        start = planned[-1].clip.stop if planned else 0
        planned.append(PlannedClip(Clip(name, start, start + len(codes), rate), codes))
        check_frames(source, stored, start + len(codes), options.fps)
    return planned


def _stage_bytes(stage: Any) -> int:
    """Bytes of all layers of a stage."""
    files = [Path(layer.realPath) for layer in stage.GetUsedLayers()]
    return sum(file.stat().st_size for file in files if file.is_file())


def planned_codes(planned: list[PlannedClip]) -> Float64:
    """(f,) the time codes of all frames."""
    return np.concatenate([p.codes for p in planned])


def _clip_spans(
    stage: Any, metadata: dict[str, Any], samples: list[float], per_second: float, options: LoadOptions, source: Source
) -> list[tuple[str, float, float, float]]:
    """Name, first and last time code, and frame rate of each clip."""
    table = clips_of_metadata(metadata)
    codes = frame_times(table, per_second) if table else np.zeros(1)
    same_end = abs(codes[-1] - stage.GetEndTimeCode()) <= 1e-3  # other programs may have changed the time range
    if table and same_end and abs(table[0].fps - per_second) <= 1e-6 * per_second:
        return [(c.name, float(codes[c.start]), float(codes[c.stop - 1]), c.fps) for c in table]
    if not samples:
        start = float(stage.GetStartTimeCode())
        return [("still", start, start, options.frame_rate)]
    authored = stage.HasAuthoredTimeCodeRange()
    first, last = (stage.GetStartTimeCode(), stage.GetEndTimeCode()) if authored else (min(samples), max(samples))
    rate = stage.GetFramesPerSecond() if stage.HasAuthoredMetadata("framesPerSecond") else per_second
    if not rate > 0 or not per_second > 0:
        raise source.format_error(f"has a frame rate of {rate:g}; set framesPerSecond")
    return [(source.path.stem, float(first), float(last), float(rate))]


def send_stage_frames(path: Path, options: LoadOptions, outlet: Outlet) -> tuple[Mesh, tuple[Clip, ...]]:
    """The meshes of the stage as one, with the clips that Osteon wrote or one clip named after the file.

    Frames are sent through the outlet, one after the other.
    """
    source = Source(path)
    with open_stage(path, outlet) as (pxr, stage):
        meshes = read_meshes(pxr, stage, source)
        if not meshes:
            raise source.geometry_error("has no polygons; export the stage with its meshes")
        metadata = read_metadata(stage) if len(meshes) == 1 else {}
        planned = plan_clips(stage, metadata, sample_codes(pxr, meshes), options, source)
        codes = planned_codes(planned).tolist()
        first = None
        for f, code in enumerate(codes):
            here = Source(path, f)
            frame = here.positions(np.concatenate([shown.points(pxr, code, here) for shown in meshes]))
            outlet.frames(f, len(codes), frame[None])
            first = frame if first is None else first
        assert first is not None
        rest = source.positions(_rest(pxr, meshes, first))
        faces, asset = merge_mesh_parts([shown.part for shown in meshes])
        if metadata:
            with suppress(*MISFITS):
                asset = restore_asset(asset, metadata, meshes[0].mesh).checked(len(first), len(faces))
    with source.naming():
        name = str(metadata.get("name", path.stem))
        return Mesh(rest, faces, asset, name), tuple(p.clip for p in planned)


def _rest(pxr: Any, meshes: list[ShownMesh], first: Float32) -> Float32:
    """The default points, which have no time or skin, where authored; else the first frame."""
    rest, start = np.array(first), 0
    for shown in meshes:
        stop = start + shown.part.n_vertices
        stored = shown.mesh.GetPointsAttr().Get(pxr.Usd.TimeCode.Default())
        if stored is not None and len(stored) == shown.part.n_vertices:
            rest[start:stop] = shown.rest(pxr, np.array(stored, np.float64))
        start = stop
    return rest
