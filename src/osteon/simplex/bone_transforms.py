"""The transform of every bone from its rest to its posed place: rotation, then scale along and across the bone.

    M~ = S~ R~                              (eq. 12)
    S~ = beta I + (alpha - beta) d d'       (eq. 10, about the posed direction d)
    T~ = A2 - M~ A1                         (eq. 13)

    symbol      name            what
    A1 B1       skeleton        rest ends of a bone
    A2 B2       track.joints    posed ends
    R~          rotation        takes the rest direction to the posed one (eq. 8, 14)
    alpha       stretch         posed over rest length
    beta        cross_scale     across the bone; 1 keeps its thickness

Based on: Yan, Hu, Martin, Yang 2008, sections 5.1 and 5.2, equations 7 to 14.
Differs from the paper: (i) what the least rotation leaves open, the turn of a bone about itself, is passed on from the
root (turns.py); `turns="least"` is the paper's. (ii) Equation 14 as printed has two entries with ab for a; the
rotation here is Rodrigues' formula, which it means. (iii) Opposite directions have no axis N: see least_rotation.
"""

from __future__ import annotations

import numpy as np

from osteon.core.arrays import Float64
from osteon.core.errors import GeometryError
from osteon.core.pose_track import PoseTrack
from osteon.core.sticks import SHORTEST, StickSkeleton
from osteon.core.topology import bounding_diagonal
from osteon.core.transforms import least_rotation, nearest_rotation, unit_vectors
from osteon.simplex.options import BoneOptions, Stretch, Turns
from osteon.simplex.simplices import Dimension
from osteon.simplex.turns import Vote, root_rotation, whole_turn

__all__ = ["BoneOptions", "Stretch", "Turns", "bone_transforms", "segment_transforms"]

DEFAULT_BONES = BoneOptions()


def bone_transforms(
    skeleton: StickSkeleton, track: PoseTrack, *, dimension: Dimension = 3, options: BoneOptions = DEFAULT_BONES
) -> Float64:
    """(f,b,3,4) posed_from_rest of every bone."""
    if track.joints.shape[1] != skeleton.n_joints:
        raise GeometryError(
            f"pose: has {track.joints.shape[1]} joints, but the skeleton '{skeleton.name}' has {skeleton.n_joints}"
        )
    ends = track.joints[:, skeleton.bones]  # (f,b,2,3)
    posed = ends[:, :, 1] - ends[:, :, 0]
    _check_lengths(skeleton, posed)
    rotations = _rotations(skeleton, posed, track, dimension, options)
    rest_ends = skeleton.joints[skeleton.bones]
    return _assemble(rotations, rest_ends, ends, _across_scale(skeleton, track), options)


def segment_transforms(
    rest: Float64,
    posed: Float64,
    cross_scale: Float64,
    *,
    dimension: Dimension = 3,
    options: BoneOptions = DEFAULT_BONES,
) -> Float64:
    """(f,l,3,4) posed_from_rest of segments on their own: rest (l,2,3), posed (f,l,2,3), cross_scale (f,l)."""
    if not len(rest):
        return np.zeros((len(posed), 0, 3, 4))
    vectors = posed[:, :, 1] - posed[:, :, 0]
    start, stop = unit_vectors(rest[:, 1] - rest[:, 0]), unit_vectors(vectors)
    start = np.broadcast_to(start, stop.shape)
    rotations = _in_plane(start, stop) if dimension == 2 else least_rotation(start, stop, start[:, ::-1])
    return _assemble(rotations, rest, posed, cross_scale, options)


def _across_scale(skeleton: StickSkeleton, track: PoseTrack) -> Float64:
    """(f,b) beta."""
    if track.cross_scale is None:
        return np.ones((track.n_frames, skeleton.n_bones))
    if track.cross_scale.shape[1] != skeleton.n_bones:
        raise GeometryError(f"cross_scale: expected {skeleton.n_bones} bones, got {track.cross_scale.shape[1]}")
    return track.cross_scale


def _check_lengths(skeleton: StickSkeleton, posed: Float64) -> None:
    short = np.linalg.norm(posed, axis=2) <= SHORTEST * bounding_diagonal(skeleton.joints)
    if short.any():
        f, b = (int(i) for i in np.argwhere(short)[0])
        raise GeometryError(f"pose {f}: bone {skeleton.bone_name(b)} has no length; move one of its joints")


def _assemble(rotations: Float64, rest: Float64, posed: Float64, across: Float64, options: BoneOptions) -> Float64:
    """M~ and T~ from rotations (f,b,3,3), ends (b,2,3) and (f,b,2,3), and beta (f,b)."""
    vectors = posed[:, :, 1] - posed[:, :, 0]
    length = np.linalg.norm(vectors, axis=2)
    alpha = length / np.linalg.norm(rest[:, 1] - rest[:, 0], axis=1)
    alpha = np.where(np.abs(alpha - 1) < 1e-12, 1.0, alpha)  # rounding is no stretch
    beta = across
    if options.stretch == "none":
        alpha = np.ones_like(alpha)
    elif options.stretch == "uniform":
        beta = across * alpha
    d = unit_vectors(vectors)
    scale = beta[..., None, None] * np.eye(3) + (alpha - beta)[..., None, None] * d[..., :, None] * d[..., None, :]
    linear = scale @ rotations  # eq. 12
    out = np.empty((*linear.shape[:2], 3, 4))
    out[..., :3] = linear
    out[..., 3] = posed[:, :, 0] - np.einsum("fbij,bj->fbi", linear, rest[:, 0])  # eq. 13
    return out


def _rotations(
    skeleton: StickSkeleton, posed: Float64, track: PoseTrack, dimension: Dimension, options: BoneOptions
) -> Float64:
    """(f,b,3,3) a rotation of every bone that takes its rest direction to the posed one."""
    start, stop = unit_vectors(skeleton.vectors), unit_vectors(posed)
    if dimension == 2:
        return _in_plane(np.broadcast_to(start, stop.shape), stop)
    if track.rotations is None:
        return _found(skeleton, track.joints, stop, options)
    if track.rotations.shape[1] != skeleton.n_bones:
        raise GeometryError(f"rotations: expected {skeleton.n_bones} bones, got {track.rotations.shape[1]}")
    known = np.ones(len(stop), bool) if track.turned is None else track.turned
    out = np.empty((*stop.shape, 3))
    out[known] = _completed(nearest_rotation(track.rotations[known]), start, stop[known])
    if not known.all():
        out[~known] = _found(skeleton, track.joints[~known], stop[~known], options)
    return out


def _found(skeleton: StickSkeleton, joints: Float64, stop: Float64, options: BoneOptions) -> Float64:
    """(f,b,3,3) rotations of poses that tell only where joints (f,j,3) are, and so which way bones point."""
    start = unit_vectors(skeleton.vectors)
    if options.turns == "least":
        return _completed(np.broadcast_to(np.eye(3), (*stop.shape, 3)), start, stop)
    return _passed_on(skeleton, start, stop, whole_turn(skeleton.joints, joints))


def _in_plane(start: Float64, stop: Float64) -> Float64:
    """Rotations about z (eq. 8)."""
    cosine = start[..., 0] * stop[..., 0] + start[..., 1] * stop[..., 1]
    sine = start[..., 0] * stop[..., 1] - start[..., 1] * stop[..., 0]
    out = np.zeros((*cosine.shape, 3, 3))
    out[..., 0, 0] = out[..., 1, 1] = cosine
    out[..., 1, 0], out[..., 0, 1], out[..., 2, 2] = sine, -sine, 1.0
    return out


def _completed(rotations: Float64, start: Float64, stop: Float64) -> Float64:
    """The rotations, each turned further by the least angle that brings its bone to its place."""
    carried = np.einsum("fbij,bj->fbi", rotations, start)
    hint = np.roll(carried, 1, axis=1)
    return least_rotation(carried, stop, hint) @ rotations


def _passed_on(skeleton: StickSkeleton, start: Float64, stop: Float64, whole: Vote) -> Float64:
    """Each bone is carried by the one it hangs on, then turned by the least rotation."""
    tree = skeleton.tree
    outward = np.where(skeleton.bones[:, 0] == tree.head, 1.0, -1.0)[:, None]
    rest, posed = start * outward, stop * outward
    out = np.empty((*stop.shape, 3))
    roots: dict[int, Float64] = {}
    for b in tree.order.tolist():
        above = int(tree.parent[b])
        if above < 0:
            joint = int(tree.head[b])
            if joint not in roots:
                roots[joint] = root_rotation(skeleton, joint, rest, posed, whole)
            carrier, hint = roots[joint], rest[None, skeleton.bones_at(joint)[-1]]
        else:
            carrier, hint = out[:, above], posed[:, above]
        carried = np.einsum("fij,j->fi", carrier, rest[b])
        out[:, b] = least_rotation(carried, posed[:, b], hint) @ carrier
    return out
