"""The transform of every bone from its rest to its posed position: rotation, then scale along and across the bone.

    M~ = S~ R~                              (eq. 12)
    S~ = beta I + (alpha - beta) d d'       (eq. 10, about the posed direction d)
    T~ = A2 - M~ A1                         (eq. 13)

    symbol      name            what
    A1 B1       skeleton        rest ends of a bone
    A2 B2       track.joints    posed ends
    R~          rotation        from the rest direction to the posed one (eq. 8, 14)
    alpha       stretch         posed over rest length
    beta        cross_scale     across the bone; 1 keeps its thickness

Based on: Yan, Hu, Martin, Yang 2008, sections 5.1 and 5.2, equations 7 to 14.
Differs from the paper: (i) the rotation of a bone about its own axis is inherited from the root outward
(root_rotation); `turns="least"` is the paper's. (ii) Equation 14 as printed has two entries with ab for a; the
intended rotation is Rodrigues' formula, used here. (iii) Opposite directions have no axis N: see least_rotation.
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
    """(f,l,3,4) posed_from_rest of separate segments: rest (l,2,3), posed (f,l,2,3), cross_scale (f,l)."""
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
    alpha = np.where(np.abs(alpha - 1) < 1e-12, 1.0, alpha)  # ignore rounding
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
    """(f,b,3,3) a rotation of every bone from its rest direction to the posed one."""
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
    """(f,b,3,3) rotations for poses with joint positions (f,j,3) only."""
    start = unit_vectors(skeleton.vectors)
    if options.turns == "least":
        return _completed(np.broadcast_to(np.eye(3), (*stop.shape, 3)), start, stop)
    return _passed_on(skeleton, start, stop, whole_rotation(skeleton.joints, joints))


def _in_plane(start: Float64, stop: Float64) -> Float64:
    """Rotations about z (eq. 8)."""
    cosine = start[..., 0] * stop[..., 0] + start[..., 1] * stop[..., 1]
    sine = start[..., 0] * stop[..., 1] - start[..., 1] * stop[..., 0]
    out = np.zeros((*cosine.shape, 3, 3))
    out[..., 0, 0] = out[..., 1, 1] = cosine
    out[..., 1, 0], out[..., 0, 1], out[..., 2, 2] = sine, -sine, 1.0
    return out


def _completed(rotations: Float64, start: Float64, stop: Float64) -> Float64:
    """The rotations, each followed by the least rotation that aligns its bone."""
    carried = np.einsum("fbij,bj->fbi", rotations, start)
    hint = np.roll(carried, 1, axis=1)
    return least_rotation(carried, stop, hint) @ rotations


def _passed_on(skeleton: StickSkeleton, start: Float64, stop: Float64, whole: Vote) -> Float64:
    """Each bone inherits the rotation of its parent, followed by the least rotation that aligns it."""
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


# Rotation of bones about their own axes.
#
# Joint positions do not determine the rotation of a bone about its own axis. The paper takes the least rotation from
# the rest direction (5.2) for every bone independently. Here two rules determine it:
#
# **From the root outward.** A bone first inherits the rotation of its parent, followed by the least rotation that
# aligns it with its posed direction. An arm that swings forward moves the hand without a twist in the wrist.
#
# **At a root** there is no parent. Two bones that kept the angle between them, and are not collinear, determine the
# rotation of their joint. Each such pair is a vote, weighted by how well it kept its angle; the straighter the pair,
# the stricter. The votes of one depth are combined by their geometric median, so that a wagging tail does not rotate
# an unmoved hip. Pairs further out are used only as far as nearer ones have no weight, and last the skeleton as a
# whole, if its joints keep their distances: a straight root may be far from the next bend, or in a separate piece.
# Without votes, least rotations are used. So a rigidly moving skeleton yields exactly that motion, and bones of an
# unmoved root do not move at all.

Vote = tuple[Float64, Float64]  # (f,3,3) rotations and (f,) their weights, 0 … 1

#: Change (radians) of the angle between two bones at which their vote loses its weight.
ANGLE_TOLERANCE = 0.05
#: Sine of the angle between two bones above which they span a plane reliably.
SPREAD = 0.2
#: Below this sine two bones are collinear: the angle may be rounding of the file.
STRAIGHT = 1e-2
#: The same for a whole skeleton, where many joints must agree.
COLLINEAR = 1e-5
#: Largest distance from a root, in bones, of pairs that vote.
DEPTH = 4


def root_rotation(skeleton: StickSkeleton, root: int, rest: Float64, posed: Float64, whole: Vote) -> Float64:
    """(f,3,3) rotation of the root joint; `rest` (b,3) and `posed` (f,b,3) are unit vectors away from the root."""
    first = skeleton.bones_at(root).tolist()
    fallback = _least_of_all(rest[first], posed[:, first])
    known = np.zeros_like(fallback)
    open_share = np.ones(len(posed))
    for level in _levels(skeleton, root):
        votes, weights = _votes(level, rest, posed)
        if not len(weights) or not weights.any():
            continue
        share = 1 - np.prod(1 - weights, axis=0)
        known += (open_share * share)[:, None, None] * _median(votes, weights)
        open_share = open_share * (1 - share)
        if open_share.max() < 1e-15:  # further pairs have no weight
            break
    known += (open_share * whole[1])[:, None, None] * whole[0]
    return nearest_rotation(known + (open_share * (1 - whole[1]))[:, None, None] * fallback)


def _least_of_all(rest: Float64, posed: Float64) -> Float64:
    """(f,3,3) the mean of the least rotations of bones that meet; smaller rotations have larger weights.

    So the order of the bones does not matter, and a bone that does not move keeps its joint unrotated.
    """
    rotations = least_rotation(np.broadcast_to(rest, posed.shape), posed, rest[-1])
    chord = np.maximum(np.linalg.norm(posed - rest, axis=2), 1e-9)
    weights = (chord.min(axis=1, keepdims=True) / chord) ** 2
    return nearest_rotation(np.einsum("fb,fbij->fij", weights, rotations))


def whole_rotation(rest: Float64, posed: Float64) -> Vote:
    """The rotation of all joints (j,3) together to (f,j,3), with its weight; scale does not matter."""
    before, after = rest - rest.mean(axis=0), posed - posed.mean(axis=1, keepdims=True)
    before = before / np.linalg.norm(before)
    after = after / np.maximum(np.linalg.norm(after, axis=(1, 2), keepdims=True), 1e-300)
    rotation = nearest_rotation(np.einsum("fji,jk->fik", after, before))
    off = np.linalg.norm(after - np.einsum("fik,jk->fji", rotation, before), axis=(1, 2))
    spread = np.linalg.svd(before, compute_uv=False)[1]
    return rotation, _vote_weight(off, np.full(len(posed), spread), COLLINEAR)


def _levels(skeleton: StickSkeleton, root: int) -> list[list[tuple[int, int]]]:
    """Pairs of bones that meet, nearest to the root first: those at the root, then each bone with its children."""
    tree = skeleton.tree
    first = skeleton.bones_at(root).tolist()
    levels = [[(b, c) for i, b in enumerate(first) for c in first[i + 1 :]]]
    ring = set(first)
    for _ in range(DEPTH):
        pairs = [(int(tree.parent[b]), int(b)) for b in tree.order if int(tree.parent[b]) in ring]
        levels.append(pairs)
        ring = {c for _, c in pairs}
    return levels


def _votes(pairs: list[tuple[int, int]], rest: Float64, posed: Float64) -> tuple[Float64, Float64]:
    """(p,f,3,3) the rotation that aligns both bones of each pair, and (p,f) its weight 0 … 1."""
    votes, weights = [], []
    for b, c in pairs:
        before, spread_before, angle_before = _frame(rest[None, b], rest[None, c])
        after, spread_after, angle_after = _frame(posed[:, b], posed[:, c])
        votes.append(after @ before.swapaxes(1, 2))
        weights.append(_vote_weight(angle_after - angle_before, np.minimum(spread_before, spread_after), STRAIGHT))
    return np.array(votes).reshape(-1, len(posed), 3, 3), np.array(weights).reshape(-1, len(posed))


def _vote_weight(off: Float64, spread: Float64, straight: float) -> Float64:
    """(f,) weight 0 … 1 of a rotation that directions keep except for `off` radians.

    An error of that size rotates a plane of that spread by off / spread. So straighter directions must be kept more
    exactly, and collinear ones have no weight.
    """
    tolerance = ANGLE_TOLERANCE * np.minimum(spread / SPREAD, 1.0) ** 2
    kept = np.exp(-np.minimum((off / np.maximum(tolerance, 1e-30)) ** 2, 700.0))
    return np.where(spread > straight, kept, 0.0)


def _frame(one: Float64, other: Float64) -> tuple[Float64, Float64, Float64]:
    """(f,3,3) a right-handed frame symmetric in both directions, the sine and the angle between them."""
    across = np.cross(one, other)
    sine = np.linalg.norm(across, axis=1)
    angle = np.arctan2(sine, np.einsum("fi,fi->f", one, other))
    normal = across / np.maximum(sine, 1e-300)[:, None]
    middle = one + other
    length = np.linalg.norm(middle, axis=1, keepdims=True)
    middle = np.where(length > 1e-6, middle / np.maximum(length, 1e-300), one)
    frame = np.stack([middle, np.cross(normal, middle), normal], axis=2)
    return np.where((sine > 1e-12)[:, None, None], frame, np.eye(3)), sine, angle


def _median(votes: Float64, weights: Float64) -> Float64:
    """(f,3,3) the geometric median of rotations, by iterated reweighting."""
    if len(votes) == 1:
        return np.array(votes[0])
    centre = nearest_rotation(np.einsum("pf,pfij->fij", weights + 1e-300, votes))
    for _ in range(30):
        distance = np.linalg.norm(votes - centre, axis=(2, 3))
        pull = weights / np.maximum(distance, 1e-12)
        pull /= np.maximum(pull.sum(axis=0), 1e-300)
        moved = np.einsum("pf,pfij->fij", pull + 1e-300, votes)
        last, centre = centre, nearest_rotation(moved)
        if np.abs(centre - last).max() < 1e-15:
            break
    return centre
