"""Several pose files as one track."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from osteon.core.animation import Clip, distinct_names
from osteon.core.arrays import Float64
from osteon.core.errors import GeometryError
from osteon.core.pose_track import ControlLine, LineTrack, PinTrack, PoseTrack
from osteon.core.sticks import StickSkeleton
from osteon.io.load.source import Source

__all__ = ["join_tracks"]


def join_tracks(tracks: list[PoseTrack], sources: list[Source], skeleton: StickSkeleton | None) -> PoseTrack:
    """One after the other: a clip for each clip, but single poses that follow each other are one clip."""
    if len(tracks) == 1:
        return tracks[0]
    joints = np.concatenate([track.joints for track in tracks])
    n_bones = 0 if skeleton is None else skeleton.n_bones
    return PoseTrack(
        joints,
        cross_scale=_joined([t.cross_scale for t in tracks], [np.ones((t.n_frames, n_bones)) for t in tracks]),
        twist=_joined([t.twist for t in tracks], [np.zeros((t.n_frames, n_bones, 2)) for t in tracks]),
        rotations=_joined([t.rotations for t in tracks], [np.zeros((t.n_frames, n_bones, 3, 3)) for t in tracks]),
        turned=np.concatenate([_turned(t) for t in tracks]),
        lines=_joined_lines(tracks),
        pins=_joined_pins(tracks, sources),
        clips=_joined_clips(tracks),
        fps=tracks[0].fps,
    )


def _joined(told: list[Float64 | None], otherwise: list[Float64]) -> Float64 | None:
    """All frames, if some file tells something."""
    if all(value is None for value in told):
        return None
    return np.concatenate([o if v is None else v for v, o in zip(told, otherwise, strict=True)])


def _turned(track: PoseTrack) -> NDArray[np.bool_]:
    """(f,) the poses whose rotations are known."""
    if track.rotations is None:
        return np.zeros(track.n_frames, bool)
    return np.ones(track.n_frames, bool) if track.turned is None else track.turned


def _joined_lines(tracks: list[PoseTrack]) -> LineTrack:
    """Every line of every file; where a file does not know it, it rests."""
    lines: dict[str, ControlLine] = {line.name: line for track in tracks for line in track.lines.lines}
    rest = np.array([(line.start, line.stop) for line in lines.values()], float).reshape(len(lines), 2, 3)
    n_frames = sum(track.n_frames for track in tracks)
    ends = np.tile(rest, (n_frames, 1, 1, 1))
    scale, twist = np.ones((n_frames, len(lines))), np.zeros((n_frames, len(lines), 2))
    column = {name: i for i, name in enumerate(lines)}
    start = 0
    for track in tracks:
        now = slice(start, start + track.n_frames)
        for i, line in enumerate(track.lines.lines):
            at = column[line.name]
            ends[now, at], twist[now, at] = track.lines.ends[:, i], track.lines.twist[:, i]
            scale[now, at] = track.lines.cross_scale[:, i]
        start = now.stop
    return LineTrack(tuple(lines.values()), ends, scale, twist)


def _joined_pins(tracks: list[PoseTrack], sources: list[Source]) -> PinTrack:
    first = tracks[0].pins.vertices
    for track, source in zip(tracks, sources, strict=True):
        if not np.array_equal(track.pins.vertices, first):
            raise GeometryError(f"{source}: pins other vertices than {sources[0]}; pin the same vertices in each pose")
    return PinTrack(first, np.concatenate([track.pins.targets for track in tracks]))


def _joined_clips(tracks: list[PoseTrack]) -> tuple[Clip, ...]:
    clips: list[Clip] = []
    growing = False  # the last clip is a run of single poses
    start = 0
    for track in tracks:
        single = track.n_frames == 1
        if single and growing:
            clips[-1] = replace(clips[-1], name="poses", stop=clips[-1].stop + 1)
        else:
            clips += [replace(clip, start=start + clip.start, stop=start + clip.stop) for clip in track.clips]
        growing = single
        start += track.n_frames
    names = distinct_names(clip.name for clip in clips)
    return tuple(replace(clip, name=name) for clip, name in zip(clips, names, strict=True))
