"""One way in for poses: files of any kind, one after the other, for one skeleton."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from osteon.core.animation import DEFAULT_FPS, Clip
from osteon.core.errors import FileFormatError, OptionError
from osteon.core.pose_track import ControlLine, PoseTrack
from osteon.core.sticks import StickSkeleton
from osteon.io.formats.options import LoadOptions
from osteon.io.load.source import PathLike, Source
from osteon.io.poses.join import join_tracks
from osteon.io.poses.other_skeleton import joints_of_pose
from osteon.io.poses.pose_json import read_pose_json
from osteon.io.poses.rig_motion import read_rig_poses
from osteon.io.skeletons.checked_json import read_json
from osteon.io.skeletons.files import TEXT_FORMATS
from osteon.io.skeletons.rig_files import RIG_SUFFIXES
from osteon.io.skeletons.skeleton_json import holds_skeleton, skeleton_of_json

__all__ = ["POSE_SUFFIXES", "load_poses"]

POSE_SUFFIXES = (*TEXT_FORMATS, *RIG_SUFFIXES)


def load_poses(
    paths: Sequence[PathLike],
    skeleton: StickSkeleton | None,
    *,
    fps: float | None = None,
    clips: tuple[str, ...] = (),
) -> PoseTrack:
    """All poses of all files in order; `fps` overrides theirs, `clips` picks animations of rigs by name (() all).

    Without a skeleton only control lines and pins can be told. Files with one pose each become one clip.
    """
    if isinstance(paths, str) or not len(paths):
        raise OptionError("poses: expected a list of at least one file")
    if clips and not any(Path(path).suffix.lower() in RIG_SUFFIXES for path in paths):
        raise OptionError(
            f"clips: {paths[0]} has no clips to choose from; name a file with animations, or leave it out"
        )
    options = LoadOptions("file" if fps is None else fps, clips=clips)
    lines: dict[str, ControlLine] = {}
    tracks: list[PoseTrack] = []
    for path in paths:
        track = _load_file(Path(path), skeleton, options, lines)
        lines = {line.name: line for line in track.lines.lines} or lines
        tracks.append(track)
    joined = join_tracks(tracks, [Source(Path(path)) for path in paths], skeleton)
    if fps is None:
        return joined
    return replace(joined, fps=float(fps), clips=tuple(replace(clip, fps=float(fps)) for clip in joined.clips))


def _load_file(
    path: Path, skeleton: StickSkeleton | None, options: LoadOptions, lines: dict[str, ControlLine]
) -> PoseTrack:
    source = Source(path)
    suffix = path.suffix.lower()
    if suffix not in POSE_SUFFIXES:
        raise FileFormatError(f"{path}: not a suffix for poses; known are {', '.join(POSE_SUFFIXES)}")
    if suffix == ".json":
        json_value = read_json(source)
        if not holds_skeleton(json_value):
            return read_pose_json(json_value, skeleton, lines)
        return _skeleton_pose(skeleton_of_json(json_value), skeleton, source)
    if suffix in TEXT_FORMATS:
        return _skeleton_pose(TEXT_FORMATS[suffix].read(source), skeleton, source)
    return read_rig_poses(path, _needed(skeleton, source), options)


def _needed(skeleton: StickSkeleton | None, source: Source) -> StickSkeleton:
    if skeleton is None:
        raise OptionError(f"{source}: moves a skeleton, but none is given; name the skeleton that it poses")
    return skeleton


def _skeleton_pose(posed: StickSkeleton, skeleton: StickSkeleton | None, source: Source) -> PoseTrack:
    joints = joints_of_pose(posed, _needed(skeleton, source), source)
    return PoseTrack(joints[None], clips=(Clip(source.path.stem, 0, 1, DEFAULT_FPS),))
