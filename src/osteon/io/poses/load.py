"""Loading poses: files of any kind, one after the other, joined to one track of a skeleton.

A pose is JSON, a second skeleton with the same bones, or the animation of a rig.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from osteon.core.animation import DEFAULT_FPS, Clip, distinct_names
from osteon.core.arrays import Float64
from osteon.core.errors import FileFormatError, GeometryError, OptionError
from osteon.core.kinematics import align_rotations
from osteon.core.pose_track import ControlLine, LineTrack, PinTrack, PoseTrack
from osteon.core.sticks import StickSkeleton
from osteon.core.transforms import nearest_rotation
from osteon.io.formats.options import LoadOptions
from osteon.io.load.source import PathLike, Source, numbered, quote
from osteon.io.poses.pose_json import read_pose_json
from osteon.io.skeletons.files import RIG_SUFFIXES, TEXT_FORMATS, read_rig_motions
from osteon.io.skeletons.parsing import LARGEST, nearest_of, read_json
from osteon.io.skeletons.rig import RigMotion, follow_ends, match_rig
from osteon.io.skeletons.skeleton_json import holds_skeleton, skeleton_of_json

POSE_SUFFIXES = (*TEXT_FORMATS, *RIG_SUFFIXES)


def load_poses(
    paths: Sequence[PathLike],
    skeleton: StickSkeleton | None,
    *,
    fps: float | None = None,
    clips: tuple[str, ...] = (),
) -> PoseTrack:
    """All poses of all files in order; `fps` overrides theirs, `clips` picks animations of rigs by name (() all).

    Without a skeleton only control lines and pins can be given. Files with one pose each become one clip.
    """
    if isinstance(paths, str) or not len(paths):
        raise OptionError("poses: expected a list of at least one file")
    if clips and not any(Path(path).suffix.lower() in RIG_SUFFIXES for path in paths):
        raise OptionError(f"clips: {paths[0]} has no clips to choose from; name a file with animations, or omit it")
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


def joints_of_pose(posed: StickSkeleton, skeleton: StickSkeleton, source: Source) -> Float64:
    """(j,3) the posed joints in the order of `skeleton`; refused with what differs if the bones are others."""
    order = _order(posed, skeleton, source)
    number = np.empty(posed.n_joints, np.int32)
    number[order] = np.arange(len(order))
    ours = {(min(a, b), max(a, b)): i for i, (a, b) in enumerate(skeleton.bones.tolist())}
    theirs = {(min(a, b), max(a, b)): i for i, (a, b) in enumerate(number[posed.bones].tolist())}
    for ends in [*ours, *theirs]:
        if ends not in theirs:
            missing = quote(skeleton.bone_name(ours[ends]))
            raise source.geometry_error(f"is a pose of another skeleton: it has no bone {missing}")
        if ends not in ours:
            extra = quote(posed.bone_name(theirs[ends]))
            raise source.geometry_error(
                f"is a pose of another skeleton: it has a bone {extra}, {skeleton.name} has not"
            )
    out: Float64 = posed.joints[order]
    return out


def _order(posed: StickSkeleton, skeleton: StickSkeleton, source: Source) -> list[int]:
    """(j,) the joint of the pose for each joint of the skeleton: by name, or by order if a file only numbers them."""
    if posed.n_joints != skeleton.n_joints:
        counts = f"{numbered(posed.n_joints, 'joint')}, {skeleton.name} has {skeleton.n_joints}"
        raise source.geometry_error(f"is a pose of another skeleton: it has {counts}")
    number = {name: j for j, name in enumerate(posed.names)}
    if set(number) != set(skeleton.names) and (_only_numbers(posed) or _only_numbers(skeleton)):
        return list(range(posed.n_joints))
    for name in skeleton.names:
        if name not in number:
            raise source.geometry_error(
                f"is a pose of another skeleton: it has no joint {quote(name)}; {nearest_of(name, posed.names)}"
            )
    return [number[name] for name in skeleton.names]


def _only_numbers(skeleton: StickSkeleton) -> bool:
    return all(name.removeprefix("joint").isdigit() for name in skeleton.names)


def join_tracks(tracks: list[PoseTrack], sources: list[Source], skeleton: StickSkeleton | None) -> PoseTrack:
    """The concatenated tracks; consecutive single poses become one clip."""
    if len(tracks) == 1:
        return tracks[0]
    joints = np.concatenate([track.joints for track in tracks])
    n_bones = 0 if skeleton is None else skeleton.n_bones
    return PoseTrack(
        joints,
        cross_scale=_joined([t.cross_scale for t in tracks], [np.ones((t.n_frames, n_bones)) for t in tracks]),
        twist=_joined([t.twist for t in tracks], [np.zeros((t.n_frames, n_bones, 2)) for t in tracks]),
        rotations=_joined([t.rotations for t in tracks], [np.zeros((t.n_frames, n_bones, 3, 3)) for t in tracks]),
        turned=np.concatenate([_has_rotations(t) for t in tracks]),
        lines=_joined_lines(tracks),
        pins=_joined_pins(tracks, sources),
        clips=_joined_clips(tracks),
        fps=tracks[0].fps,
    )


def _joined(values: list[Float64 | None], otherwise: list[Float64]) -> Float64 | None:
    """The values of all frames; None if no file has any."""
    if all(value is None for value in values):
        return None
    return np.concatenate([o if v is None else v for v, o in zip(values, otherwise, strict=True)])


def _has_rotations(track: PoseTrack) -> NDArray[np.bool_]:
    """(f,) the poses whose rotations are known."""
    if track.rotations is None:
        return np.zeros(track.n_frames, bool)
    return np.ones(track.n_frames, bool) if track.turned is None else track.turned


def _joined_lines(tracks: list[PoseTrack]) -> LineTrack:
    """The lines of all files; a line is at rest in the frames of files without it."""
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


def read_rig_poses(path: Path, skeleton: StickSkeleton, options: LoadOptions) -> PoseTrack:
    """A pose for each frame of each requested clip, from the first skin that has all joints of the skeleton."""
    source = Source(path)
    motions = [follow_ends(motion, skeleton) for motion in read_rig_motions(path, options)]
    fitting = [m for m in motions if set(skeleton.names) <= set(m.rig.names)]
    motion = fitting[0] if fitting else max(motions, key=lambda m: len(set(skeleton.names) & set(m.rig.names)))
    joints, carriers = match_rig(motion.rig, skeleton, source)
    _check_finite(motion, joints, source)
    return _follow(motion, skeleton, np.array(joints), np.array(carriers))


def _check_finite(motion: RigMotion, joints: list[int], source: Source) -> None:
    """Refuse the first frame with a number that is NaN or too large."""
    size = np.abs(motion.transforms).max(axis=(1, 2, 3))
    reach = max(1.0, float(np.abs(motion.rig.places[joints]).max()))
    bad = ~(size <= LARGEST / reach)
    if bad.any():
        frame = Source(source.path, int(bad.argmax()))
        raise frame.geometry_error("a joint is moved to a place that is NaN or too large; repair that key")


def _follow(motion: RigMotion, skeleton: StickSkeleton, joints: np.ndarray, carriers: np.ndarray) -> PoseTrack:
    linear, shift = motion.transforms[..., :3], motion.transforms[..., 3]
    places: Float64 = np.einsum("fjik,jk->fji", linear[:, joints], motion.rig.places[joints]) + shift[:, joints]
    rotations = nearest_rotation(linear[:, carriers])
    aligned = align_rotations(skeleton, places, rotations)
    return PoseTrack(places, rotations=aligned, clips=motion.clips, fps=motion.clips[0].fps)
