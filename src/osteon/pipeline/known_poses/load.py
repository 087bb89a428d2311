"""Poses of a rig from files: a list of poses, a sequence of one of its clips, its morph targets."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from osteon.core.errors import OptionError
from osteon.core.model import SkinnedModel
from osteon.core.progress import Progress
from osteon.io.formats.options import LoadOptions
from osteon.io.load.rig_files import play_motion
from osteon.io.load.sequences import load_sequence
from osteon.io.poses.pose_list import holds_pose_list
from osteon.io.poses.pose_set import load_listed_poses
from osteon.io.poses.target_list import read_target_list
from osteon.io.skeletons.files import sticks_of_model
from osteon.pipeline.eigenskin import rig_poses_of
from osteon.pipeline.known_poses.clip_sequence import poses_of_sequence
from osteon.pipeline.known_poses.listed_poses import poses_of_moments
from osteon.pipeline.known_poses.options import ClipPoseOptions
from osteon.pipeline.known_poses.rig_poses import RigPoses, join_rig_poses
from osteon.pipeline.known_poses.target_poses import poses_of_targets, targets_of_joints


@dataclass(frozen=True, slots=True)
class PoseFiles:
    """Where the poses of a rig are."""

    poses: Path | None = None  # a folder with a poses.json, or a sequence
    targets: Path | None = None  # poses of morph targets
    motion: Path | None = None  # a file with the clip, in place of the rig's own
    clip: str | None = None


def load_rig_poses(
    rig: SkinnedModel, path: Path, files: PoseFiles, options: ClipPoseOptions, progress: Progress | None = None
) -> RigPoses:
    """All poses that the files have for a rig, which was read from `path`."""
    notes: tuple[str, ...] = ()
    moving = rig
    if files.motion is not None:
        played = play_motion(path, files.motion)
        moving, notes = played.model, played.notes
    parts: list[RigPoses] = []
    if files.poses is not None and holds_pose_list(files.poses):
        typed, timed = load_listed_poses(files.poses, sticks_of_model(rig, path), progress=progress)
        parts += [] if typed is None else [rig_poses_of(rig.character, typed)]
        parts += [] if timed is None else [poses_of_moments(moving, timed)]
    elif files.poses is not None:
        sequence = load_sequence(files.poses, options=LoadOptions(), progress=progress)
        parts.append(poses_of_sequence(moving, sequence, files.clip, options))
    if files.targets is not None:
        names = _target_names(path)
        wanted = read_target_list(files.targets, sticks_of_model(rig, path), names)
        parts.append(poses_of_targets(moving, names, wanted))
    if not parts:
        raise OptionError(_no_poses(rig, path))
    joined = join_rig_poses(parts)
    return RigPoses(
        joined.known, joined.kinds, joined.frames, joined.clip, (*notes, *joined.notes), joined.used_targets
    )


def _target_names(path: Path) -> tuple[str, ...]:
    from osteon.io.gltf.read.document import open_document
    from osteon.io.gltf.read.target_names import read_target_names

    if path.suffix.lower() not in (".glb", ".gltf"):
        raise OptionError(f"--targets: names of morph targets are read from .glb and .gltf, and {path} is neither")
    names = read_target_names(open_document(path))
    if not names:
        raise OptionError(f"--targets: {path} has no morph targets")
    return names


def _no_poses(rig: SkinnedModel, path: Path) -> str:
    found = {}
    if rig.rank and path.suffix.lower() in (".glb", ".gltf"):
        found = targets_of_joints(rig, _target_names(path))
    if found:
        named = ", ".join(f"{target} ({joint})" for target, joint in list(found.items())[:3])
        return f"no poses are named; {path} has morph targets of joints ({named}): name their poses with --targets FILE"
    return "no poses are named; name a folder with a poses.json, a sequence of a clip, or --targets FILE"
