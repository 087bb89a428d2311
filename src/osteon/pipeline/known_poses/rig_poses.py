"""Poses of a rig's bones with a mesh for each, whatever they came from, and frames of its clips."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from osteon.core.animation import Clip
from osteon.core.arrays import Float64, FloatArray, Int64
from osteon.core.character import Skeleton
from osteon.core.errors import GeometryError, OptionError
from osteon.core.model import SkinnedModel
from osteon.deform.pose import pose_points
from osteon.deform.pose_skeleton import joint_rotations_of_transforms, transforms_of_joint_rotations
from osteon.fit.eigenskin.fit_eigenskin import KnownPoses
from osteon.io.load.source import quote
from osteon.io.poses.pose_list import ClipMoment, PoseKind
from osteon.io.skeletons.parsing import nearest_of

#: A time within this part of a frame is that frame.
ON_FRAME = 0.02


@dataclass(frozen=True, slots=True)
class RigPoses:
    """Poses of a rig, and where they are in a clip."""

    known: KnownPoses
    kinds: tuple[PoseKind, ...]  # (p,)
    frames: Int64  # (p,) frame of the clip, -1 for poses of no clip
    clip: Float64  # (f,b,3,4) posed_from_rest of all frames of the clip; none: no pose is from a clip
    notes: tuple[str, ...] = ()
    used_targets: tuple[int, ...] = field(default=())  # columns of the rig's morph targets that became poses

    def __post_init__(self) -> None:
        if len(self.kinds) != len(self.known.names) or len(self.frames) != len(self.known.names):
            raise GeometryError(f"kinds: expected one for each of {len(self.known.names)} poses")

    def of_kind(self, *kinds: PoseKind) -> KnownPoses | None:
        """The poses of these kinds; None if there are none."""
        chosen = np.flatnonzero([kind in kinds for kind in self.kinds])
        return self.known.take(chosen) if len(chosen) else None


def without_clip(known: KnownPoses, kinds: Sequence[PoseKind], notes: Sequence[str] = ()) -> RigPoses:
    """Poses that are in no clip."""
    none = np.zeros((0, *known.transforms.shape[1:]))
    return RigPoses(known, tuple(kinds), np.full(len(known.names), -1), none, tuple(notes))


def join_rig_poses(parts: Sequence[RigPoses]) -> RigPoses:
    """All poses in order, under distinct names; frames are known of the first part that has a clip."""
    from osteon.core.animation import distinct_names

    if len(parts) == 1:
        return parts[0]
    knowns = [part.known for part in parts]
    hinges = knowns[0].hinges.copy()
    for known in knowns[1:]:
        new = ~hinges.any(axis=1)
        hinges[new] = known.hinges[new]
    known = KnownPoses(
        np.concatenate([one.frames for one in knowns]),
        np.concatenate([one.transforms for one in knowns]),
        distinct_names(name for one in knowns for name in one.names),
        hinges,
    )
    first = next((part for part in parts if len(part.clip)), parts[0])
    frames = [part.frames if part is first else np.full(len(part.kinds), -1) for part in parts]
    return RigPoses(
        known,
        tuple(kind for part in parts for kind in part.kinds),
        np.concatenate(frames),
        first.clip,
        tuple(note for part in parts for note in part.notes),
        tuple(column for part in parts for column in part.used_targets),
    )


def clip_named(rig: SkinnedModel, name: str | None) -> Clip:
    """A clip of the rig; without a name its only one."""
    clips = {clip.name: clip for clip in rig.clips}
    if name is None:
        if len(clips) > 1:
            raise OptionError(f"--clip: '{rig.name}' has {len(clips)} clips ({', '.join(clips)}); name one of them")
        return rig.clips[0]
    if name not in clips:
        raise OptionError(f"--clip: '{rig.name}' has no clip {quote(name)}; {nearest_of(name, clips)}")
    return clips[name]


def skeleton_of(rig: SkinnedModel) -> Skeleton:
    """Refuses a rig without joints."""
    skeleton = rig.character.skeleton
    if skeleton is None or not len(skeleton.names):
        raise GeometryError(f"'{rig.name}': its bones have no skeleton; find one with osteon rig")
    return skeleton


def transforms_at(rig: SkinnedModel, moment: ClipMoment) -> tuple[Float64, int]:
    """(b,3,4) of a frame of a clip, and its number among all frames; -1 between two frames, which are interpolated."""
    clip = clip_named(rig, moment.clip)
    place = float(moment.frame) if moment.time is None else moment.time * clip.fps
    if not place <= clip.n_frames - 1 + ON_FRAME:
        last = f"frame {clip.n_frames - 1}" if moment.time is None else f"{(clip.n_frames - 1) / clip.fps:.4g} s"
        raise OptionError(f"clip '{clip.name}' of '{rig.name}' ends with {last}; there is no {_text(moment)}")
    near = round(place)
    transforms = rig.track.transforms.astype(np.float64)
    if abs(place - near) <= ON_FRAME:
        found: Float64 = transforms[clip.start + near]
        return found, clip.start + near
    return _between(skeleton_of(rig), transforms[clip.start + int(place) :][:2], place - int(place)), -1


def _between(skeleton: Skeleton, two: Float64, part: float) -> Float64:
    """(b,3,4) between two poses: joint rotations on the shortest way."""
    from scipy.spatial.transform import Rotation

    rotations, shifts = joint_rotations_of_transforms(skeleton, two)
    first, second = (Rotation.from_matrix(one) for one in rotations)
    half = (first * Rotation.from_rotvec(part * (first.inv() * second).as_rotvec())).as_matrix()
    shift = (1 - part) * shifts[:1] + part * shifts[1:]
    found: Float64 = transforms_of_joint_rotations(skeleton, half[None], shift)[0]
    return found


def _text(moment: ClipMoment) -> str:
    return f"frame {moment.frame}" if moment.time is None else f"{moment.time:.4g} s"


def skin_alone(rig: SkinnedModel, transforms: FloatArray) -> Float64:
    """(p,v,3) the rig in poses (p,b,3,4), without displacements."""
    rest = rig.rest.astype(np.float64)[None]
    return np.asarray(pose_points(rig.deformer, rest, transforms), np.float64)
