"""Poses of a character in a pack: the joint rotations of each, and its simulated or scanned mesh.

The page sets joints to them and shows the meshes beside the results of skin and EigenSkin in the same pose. If the
animation of a model consists of exactly these poses, the meshes are the frames of its source; each pose has the number
of its frame.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from osteon.core.arrays import Float32, Int64
from osteon.core.character import Arrays, Skeleton
from osteon.core.errors import OptionError
from osteon.core.kinematics import JointLimit
from osteon.core.model import SkinnedModel
from osteon.core.progress import Progress
from osteon.core.transforms import quaternions_from_matrices
from osteon.io.poses.pose_list import LIST_NAME, read_pose_list
from osteon.io.skeletons.rig import printable_names

if TYPE_CHECKING:  # imports numba
    from osteon.fit.eigenskin.fit_eigenskin import KnownPoses


#: Header of a model without poses.
NO_POSES: dict[str, Any] = {"poses": [], "joint_limits": []}
#: Largest difference of any entry between the bone matrices of a frame and of a pose, part of the diagonal.
SAME_POSE = 1e-4


@dataclass(frozen=True, slots=True)
class ShownPoses:
    """Poses of the bones of a model, with the target mesh of each."""

    known: KnownPoses
    kinds: tuple[str, ...]  # (p,) train, pair or validate
    limits: tuple[JointLimit, ...] = ()  # limits of joint rotations, if the list of poses has them


def holds_poses(path: str) -> bool:
    """Whether a path is a list of poses, or a folder with one."""
    file = Path(path)
    return file.name == LIST_NAME if file.is_file() else (file / LIST_NAME).is_file()


def load_poses_of(model: SkinnedModel, path: str, progress: Progress | None = None) -> ShownPoses:
    """The poses in the list of a folder, for the bones and vertices of a model."""
    from osteon.io.poses.pose_set import load_pose_set
    from osteon.pipeline.eigenskin import poses_of_rig  # imports numba

    poses = load_pose_set(path, progress=progress)
    file = Path(path) / LIST_NAME if Path(path).is_dir() else Path(path)
    known = poses_of_rig(model.character, poses, range(poses.n_poses))
    return ShownPoses(known, poses.kinds, read_pose_list(file).limits)


def check_use(model: SkinnedModel, shown: ShownPoses, path: str) -> None:
    """Refuse poses for a model that neither has EigenSkin nor plays them, since nothing would be visible."""
    follows = any(one.kind == "eigenskin" for one in model.character.displacements)
    if not follows and not _plays(model, _played_in(model, shown.known)):
        raise OptionError(
            f"{path}: is a folder of poses, and '{model.name}' has no EigenSkin to compare with them; "
            "fit it with osteon eigenskin"
        )


def pose_parts(model: SkinnedModel, shown: ShownPoses) -> tuple[dict[str, Any], Arrays, Float32 | None]:
    """Header and arrays of the poses, and the frames of the source if the model plays exactly these poses."""
    from osteon.deform.pose_skeleton import joint_rotations_of_transforms

    known, skeleton = shown.known, model.skeleton
    assert skeleton is not None  # the poses refer to its joints
    rotations, shifts = joint_rotations_of_transforms(skeleton, known.transforms)
    frames = _played_in(model, known)
    poses = [
        {"name": name, "kind": kind, "frame": int(frame)}
        for name, kind, frame in zip(known.names, shown.kinds, frames, strict=True)
    ]
    arrays: Arrays = {
        "pose_turns": quaternions_from_matrices(rotations).astype(np.float32),
        "pose_shifts": np.ascontiguousarray(shifts[:, 0]).astype(np.float32),
    }
    source = None
    if _plays(model, frames):
        source = np.ascontiguousarray(known.frames[np.argsort(frames)])
    else:
        arrays["pose_meshes"] = known.frames
        poses = [{**pose, "frame": i} for i, pose in enumerate(poses)]
    return {"poses": poses, "joint_limits": _limits(skeleton, shown.limits)}, arrays, source


def _played_in(model: SkinnedModel, known: KnownPoses) -> Int64:
    """(p,) the frame of the model that equals each pose; -1 for none."""
    played = model.track.transforms.astype(np.float64)
    scale = np.array([1.0, 1.0, 1.0, 1.0 / model.mesh.diagonal])
    out = np.full(len(known.transforms), -1)
    free = np.ones(len(played), bool)
    for p, bones in enumerate(known.transforms):
        off = np.abs((played - bones) * scale).max(axis=(1, 2, 3))
        f = int(np.where(free, off, np.inf).argmin())
        if free[f] and off[f] <= SAME_POSE:
            out[p], free[f] = f, False
    return np.asarray(out, np.int64)


def _plays(model: SkinnedModel, frames: Int64) -> bool:
    """Whether every frame of a model is one of the poses, and each of these once."""
    return sorted(frames.tolist()) == list(range(model.n_frames))


def _limits(skeleton: Skeleton, limits: tuple[JointLimit, ...]) -> list[dict[str, Any]]:
    """The limits of joint rotations, by joint number."""
    number = {name: j for j, name in enumerate(printable_names(skeleton.names))}
    return [
        {
            "joint": number[limit.joint],
            "name": limit.name,
            "axis": list(limit.axis),
            "low": float(limit.low),
            "high": float(limit.high),
        }
        for limit in limits
        if limit.joint in number
    ]
