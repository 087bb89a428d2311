"""Corrective morph targets of a character as poses: what they show where they were sculpted.

The mesh of a pose is the skin of the displaced rest pose, x = A(bones) [p + sum_r w_r U_r; 1], over the targets r that
belong to it. Displacements that follow the joints replace these targets, which are removed; others stay.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from osteon.core.arrays import Float64
from osteon.core.character import StoredDisplacement
from osteon.core.errors import GeometryError, OptionError
from osteon.core.model import SkinnedModel
from osteon.deform.pose import pose_points
from osteon.deform.pose_skeleton import transforms_of_joint_rotations
from osteon.fit.eigenskin.fit_eigenskin import KnownPoses
from osteon.io.poses.pose_list import PoseKind
from osteon.io.poses.target_list import TargetPose
from osteon.io.skeletons.rig import printable_names
from osteon.pipeline.known_poses.rig_poses import RigPoses, skeleton_of, transforms_at

#: Transforms that differ by less, in any entry, are one pose.
SAME = 1e-6


def poses_of_targets(rig: SkinnedModel, names: tuple[str, ...], wanted: Sequence[TargetPose]) -> RigPoses:
    """A pose for each distinct pose of the targets; `names` (r,) are those of the rig's morph targets."""
    stored = rig.character.displacement(StoredDisplacement.kind)
    if stored is None or len(stored.basis) != len(names):
        raise GeometryError(f"'{rig.name}': has no morph targets that can become poses")
    poses: list[tuple[Float64, int, list[TargetPose]]] = []
    for target in wanted:
        transforms, frame = _pose(rig, target)
        for other, _, targets in poses:
            if np.abs(other - transforms).max() <= SAME:
                targets.append(target)
                break
        else:
            poses.append((transforms, frame, [target]))
    rest = np.stack([_displaced(rig, stored, names, targets) for _, _, targets in poses])
    bones = np.stack([transforms for transforms, _, _ in poses])
    frames = pose_points(rig.deformer, rest, bones)
    called = tuple("+".join(target.target for target in targets) for _, _, targets in poses)
    known = KnownPoses(frames, bones, called, np.zeros((rig.n_bones, 3)))
    used = sorted({names.index(target.target) for target in wanted})
    kept = [name for r, name in enumerate(names) if r not in used]
    notes = [f"{len(used)} morph targets became poses and were removed: their corrections follow the joints now"]
    if kept:
        notes.append(
            f"{len(kept)} morph targets stay as they are ({', '.join(kept[:3])}{' …' if len(kept) > 3 else ''})"
        )
    numbers = np.array([frame for _, frame, _ in poses])
    clip = rig.track.transforms.astype(np.float64) if (numbers >= 0).any() else np.zeros((0, *bones.shape[1:]))
    kinds: list[PoseKind] = ["train" for _ in called]
    return RigPoses(known, tuple(kinds), numbers, clip, tuple(notes), tuple(used))


def without_targets(rig: SkinnedModel, used: Sequence[int]) -> SkinnedModel:
    """The rig without some of its morph targets."""
    stored, coefficients = rig.character.displacement(StoredDisplacement.kind), rig.animation.coefficients
    if not used or not isinstance(stored, StoredDisplacement) or coefficients is None:
        return rig
    kept = np.setdiff1d(np.arange(len(stored.basis)), used)
    others = tuple(d for d in rig.character.displacements if d.kind != StoredDisplacement.kind)
    if not len(kept):
        character = replace(rig.character, displacements=others)
        return SkinnedModel(character, replace(rig.animation, coefficients=None))
    normals = None if stored.normal_basis is None else stored.normal_basis[kept]
    left = StoredDisplacement(stored.basis[kept], normals)
    character = replace(rig.character, displacements=(left, *others))
    return SkinnedModel(character, replace(rig.animation, coefficients=coefficients[:, kept]))


def targets_of_joints(rig: SkinnedModel, names: tuple[str, ...]) -> dict[str, str]:
    """The joint in the name of each morph target, the longest name that is in it."""
    joints = sorted(printable_names(skeleton_of(rig).names), key=len, reverse=True)
    found = {}
    for target in names:
        joint = next((joint for joint in joints if joint.lower() in target.lower()), None)
        if joint is not None:
            found[target] = joint
    return found


def _pose(rig: SkinnedModel, target: TargetPose) -> tuple[Float64, int]:
    """(b,3,4), and the frame among all of the rig, or -1."""
    if target.moment is not None:
        return transforms_at(rig, target.moment)
    skeleton = skeleton_of(rig)
    joints = printable_names(skeleton.names)
    rotations = np.tile(np.eye(3), (1, len(joints), 1, 1))
    for joint, matrix in target.joint_rotations.items():
        if joint not in joints:
            raise OptionError(f"target '{target.target}': '{rig.name}' has no joint '{joint}' that rotates")
        rotations[0, joints.index(joint)] = matrix
    return transforms_of_joint_rotations(skeleton, rotations)[0], -1


def _displaced(rig: SkinnedModel, stored: object, names: tuple[str, ...], targets: Sequence[TargetPose]) -> Float64:
    """(v,3) the rest pose with targets on."""
    assert isinstance(stored, StoredDisplacement)
    rest = rig.rest.astype(np.float64)
    for target in targets:
        rest = rest + target.weight * stored.basis[names.index(target.target)]
    return rest
