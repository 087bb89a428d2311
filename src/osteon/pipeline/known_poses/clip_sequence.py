"""A sequence of meshes of a clip of the rig, simulated or scanned, as poses: frames paired, matched and chosen.

Frames are paired by number if both have equally many, else by time. Of all frames the most informative are learned:
each next one is the farthest from all that were chosen, by the rotations of its joints,

    d(p, q)^2 = sum_j angle(R_j^p, R_j^q)^2

beginning with the farthest from rest. Some of the others are kept to validate the result.

Based on: T. Gonzalez, Clustering to minimize the maximum intercluster distance, 1985.
"""

from __future__ import annotations

import numpy as np

from osteon.core.animation import Clip
from osteon.core.arrays import Float64, Int64
from osteon.core.errors import GeometryError, OptionError
from osteon.core.mesh import Mesh
from osteon.core.model import SkinnedModel
from osteon.core.sequence import MeshSequence
from osteon.deform.pose_skeleton import joint_rotations_of_transforms
from osteon.fit.eigenskin.fit_eigenskin import KnownPoses
from osteon.io.poses.pose_list import PoseKind
from osteon.pipeline.known_poses.mesh_matching import match_moving
from osteon.pipeline.known_poses.options import ClipPoseOptions
from osteon.pipeline.known_poses.rig_poses import ON_FRAME, RigPoses, clip_named, skeleton_of, skin_alone

#: Frames of which units and axes are found.
COMPARED = 5
#: Rotations of all joints together below this, in degrees, are rest; frames closer than this are one pose.
STILL, SAME_POSE = 1.0, 0.5
#: Meshes farther from the skin than this part of the diagonal, in the median pose, are of another motion.
ANOTHER_MOTION = 0.25


def poses_of_sequence(
    rig: SkinnedModel, sequence: MeshSequence, clip_name: str | None, options: ClipPoseOptions
) -> RigPoses:
    """Chosen frames of a sequence as poses of the rig in its clip."""
    skeleton = skeleton_of(rig)
    clip = clip_named(rig, clip_name)
    theirs = _clip_of(sequence, clip)
    pairs, notes = _paired(clip, theirs, options.offset)
    clip_transforms = rig.track.transforms[clip.start : clip.stop].astype(np.float64)
    rotations, _ = joint_rotations_of_transforms(skeleton, clip_transforms[pairs[:, 0]])
    chosen, judged = choose_frames(_distances(rotations), options.frames, options.validate)
    if not len(chosen):
        raise GeometryError(f"clip '{clip.name}': no joint rotates in its frames; name a clip that moves")
    some = np.concatenate([chosen, judged])
    taken = pairs[some]
    meshes = sequence.frames[theirs.start + taken[:, 1]]
    transforms = clip_transforms[taken[:, 0]]
    compared = np.unique(np.linspace(0, len(some) - 1, COMPARED).astype(int))
    skin = skin_alone(rig, transforms)
    match = match_moving(
        rig.mesh, skin[compared].astype(np.float32), Mesh(sequence.rest, sequence.faces), meshes[compared]
    )
    if not match.placement.is_none:
        notes.append(match.placement.text(rig.name))
    frames = match.frames(meshes)
    off = np.sqrt(np.square(frames - skin).sum(axis=2).mean(axis=1))
    if np.median(off) > ANOTHER_MOTION * rig.diagonal:
        raise GeometryError(
            f"'{sequence.mesh.name}': its frames are {100 * np.median(off) / rig.diagonal:.0f} % of the diagonal away "
            f"from clip '{clip.name}' of '{rig.name}'; name the clip that it shows with --clip, and --offset its start"
        )
    names = tuple(f"{clip.name}_{f}" for f in taken[:, 0].tolist())
    known = KnownPoses(frames, transforms, names, np.zeros((rig.n_bones, 3)))
    kinds: list[PoseKind] = ["train" for _ in chosen]
    kinds += ["validate" for _ in judged]
    return RigPoses(known, tuple(kinds), taken[:, 0], clip_transforms, tuple(notes))


def _clip_of(sequence: MeshSequence, clip: Clip) -> Clip:
    """The sequence's clip of this name, else its only one."""
    named = [one for one in sequence.clips if one.name == clip.name]
    if not named and len(sequence.clips) > 1:
        known = ", ".join(one.name for one in sequence.clips)
        raise OptionError(f"--clip: '{sequence.mesh.name}' has clips {known}, but none is called '{clip.name}'")
    return (named or list(sequence.clips))[0]


def _paired(clip: Clip, theirs: Clip, offset: int) -> tuple[Int64, list[str]]:
    """(n,2) frames of the clip, and of the sequence, at the same time; notes where they differ."""
    n, m = clip.n_frames, theirs.n_frames
    moments = np.arange(m, dtype=np.float64)
    notes = []
    if n != m and abs(theirs.fps / clip.fps - 1) > 1e-3:
        moments *= clip.fps / theirs.fps
    moments += offset
    near = np.rint(moments).astype(np.int64)
    good = (np.abs(moments - near) <= ON_FRAME) & (near >= 0) & (near < n)
    if not good.any():
        raise OptionError(
            f"--offset {offset}: no frame of the sequence ({m} at {theirs.fps:g} per second) is one of clip "
            f"'{clip.name}' ({n} at {clip.fps:g} per second)"
        )
    pairs = np.stack([near[good], np.flatnonzero(good)], axis=1)
    _, first = np.unique(pairs[:, 0], return_index=True)
    pairs = pairs[first]
    if len(pairs) < max(n, m):
        notes.append(
            f"clip '{clip.name}' has {n} frames at {clip.fps:g} per second, the sequence {m} at {theirs.fps:g}: "
            f"{len(pairs)} are at the same time and are used"
        )
    return pairs, notes


def _distances(rotations: Float64) -> Float64:
    """(f+1,f+1) degrees between the poses of joints (f,j,3,3), all joints together; the first is rest."""
    rest = np.tile(np.eye(3), (1, rotations.shape[1], 1, 1))
    every = np.concatenate([rest, rotations])
    trace = np.einsum("fjik,gjik->fgj", every, every, optimize=True)
    angles = np.degrees(np.arccos(np.clip((trace - 1) / 2, -1, 1)))
    return np.asarray(np.sqrt(np.square(angles).sum(axis=2)))


def choose_frames(apart: Float64, n_learned: int, n_judged: int) -> tuple[Int64, Int64]:
    """Frames to learn from and to judge by, ascending, from distances (f+1,f+1) in degrees of which the first is rest.

    Where there are fewer distinct frames than both, a sixth of them judges.
    """
    nearest = apart[0].copy()
    order: list[int] = []
    while nearest.max() > (SAME_POSE if order else STILL) and len(order) < n_learned + n_judged:
        order.append(int(nearest.argmax()))
        nearest = np.minimum(nearest, apart[order[-1]])
    if len(order) < n_learned + n_judged:
        n_judged = min(n_judged, len(order) // 6)
    learned = order[: min(n_learned, len(order) - n_judged)]
    left = np.setdiff1d(np.flatnonzero(apart[0] > STILL), learned)
    left = left[apart[left][:, learned].min(axis=1) > 0] if len(left) else left
    judged = (
        left[np.unique(np.linspace(0, len(left) - 1, n_judged).astype(int))] if n_judged and len(left) else left[:0]
    )
    return np.sort(np.array(learned, np.int64)) - 1, np.asarray(judged, np.int64) - 1
