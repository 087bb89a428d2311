"""Bones as nodes that every player supports: translation, rotation and scale, then perhaps a second rotation.

An affine matrix A = U S V' becomes a parent (translation, rotation U, scale S) and a child (rotation V'). Between two
frames a player rotates U and V' along great arcs and interpolates S linearly. The parts must therefore change little
from frame to frame, though the singular value decomposition defines them only up to a choice, the gauge;
`two_nodes_gauge` makes it. A matrix whose columns are orthogonal, such as a rotation, needs no child.

`orient_joints` orients joints so that one node represents the whole motion of a bone. A transform T of a bone takes
the rest pose to a frame; its joint is at B in the rest pose and at T B in the frame. The linear part of B is free:

    bone        T         B                T B
    rigid       c R       B_s / c          R B_s, a rotation: B_s as the joint was placed
    scaled      c R S Q   Q' / c           R S: Q its axes in the rest pose
    else        A         B_s              A B_s, which takes two nodes

c is the scale that all bones carry where the rest pose is larger or smaller than the posed body.

`split_scale` finds the nearest rotation and scales along a joint's own axes, by alternating between both:

    minimise over R a rotation, s (3,):   || R diag(s) - A ||^2

R is the rotation nearest to A diag(s), then s the diagonal of R' A. Where A is a rotation and scales, the first round
is exact.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from osteon.core.animation import RIGID
from osteon.core.arrays import Float64, FloatArray
from osteon.core.bone_axes import axes_of_bones
from osteon.core.character import Skeleton
from osteon.core.kinematics import parents_first
from osteon.core.mesh import scale_of_bones
from osteon.core.transforms import (
    compose,
    invert,
    keep_hemisphere,
    matrices_from_quaternions,
    nearest_rotation,
    quaternions_from_matrices,
)
from osteon.io.two_nodes_gauge import BoolArray, Gauge, Pieces, begin_gauge, fixed_gauge, follow_gauge, rest_pieces

__all__ = [
    "ALONG_AXES",
    "BoolArray",
    "NodeTracks",
    "are_rotations",
    "join_transforms",
    "orient_joints",
    "orthogonal_columns",
    "project_on_tree",
    "split_scale",
    "split_transforms",
]

#: Columns that are this part of the longest one from being orthogonal in all frames are so to float32 accuracy.
ORTHOGONAL = 3e-7


@dataclass(frozen=True, slots=True)
class NodeTracks:
    """A parent and a child node for each bone, over time."""

    translations: Float64  # (f,b,3)
    rotations: Float64  # (f,b,4) quaternions x y z w of the parent
    scales: Float64  # (f,b,3) of the parent; a reflection is a negative scale
    child_rotations: Float64  # (f,b,4) of the child, the identity for bones that need none
    needs_child: BoolArray  # (b,)


def split_transforms(
    transforms: FloatArray,
    starts: Sequence[int] = (0,),
    *,
    known: BoolArray | None = None,
    positive: bool = False,
) -> NodeTracks:
    """Tracks of two nodes for transforms (f,b,3,4); the gauge starts anew at the frames `starts`.

    Bones that are `known (b,)` to scale along the axes get one node, whatever rounding has left of that. With
    `positive` only reflections have negative scales, though two of them may be the shorter path.
    """
    whole = np.asarray(transforms, np.float64)
    linear = whole[..., :3]
    one_node = orthogonal_columns(linear)
    if known is not None:
        one_node = one_node | known
    found = _decompose(linear, one_node)
    begins = {0, *starts}
    open_bones = np.flatnonzero(~(fixed_gauge(found, Gauge(one_node, positive))))
    if len(open_bones):
        _choose_gauge(found, open_bones, begins, Gauge(one_node[open_bones], positive))
    rotations, scales = quaternions_from_matrices(found.left), found.values
    child = quaternions_from_matrices(np.swapaxes(found.right, -1, -2))
    child[:, one_node] = [0.0, 0.0, 0.0, 1.0]
    keep_hemisphere(rotations, begins, upright=True)
    keep_hemisphere(child, begins, upright=True)
    return NodeTracks(whole[..., 3].copy(), rotations, scales, child, ~one_node)


def join_transforms(tracks: NodeTracks) -> Float64:
    """(f,b,3,4) the product of both nodes."""
    left = matrices_from_quaternions(tracks.rotations)
    linear = (left * tracks.scales[..., None, :]) @ matrices_from_quaternions(tracks.child_rotations)
    return np.concatenate([linear, tracks.translations[..., None]], axis=-1)


def orthogonal_columns(linear: Float64, tolerance: float = ORTHOGONAL) -> BoolArray:
    """(b,) bones whose matrix is a rotation times a scale along the axes, in every frame (f,b,3,3)."""
    gram = np.abs(np.swapaxes(linear, -1, -2) @ linear)
    lengths = np.sqrt(np.diagonal(gram, axis1=-2, axis2=-1))
    first, second = [0, 0, 1], [1, 2, 2]
    # The change that makes two columns orthogonal is their product over the longer one.
    longer = np.maximum(lengths[..., first], lengths[..., second])
    fits = gram[..., first, second] <= tolerance * longer * lengths.max(axis=-1, keepdims=True)
    return np.asarray(fits.all(axis=(0, -1)))


def _choose_gauge(found: Pieces, bones: NDArray[np.int64], begins: set[int], gauge: Gauge) -> None:
    """Choose the gauge of some bones in all frames, in place: frame by frame, for all clips at once."""
    starts = np.array(sorted(begins))
    lengths = np.diff(np.append(starts, len(found.left)))
    longest_first = np.argsort(-lengths, kind="stable")
    starts, lengths = starts[longest_first], lengths[longest_first]
    before = rest_pieces(0)
    for step in range(int(lengths[0])):
        clips = int((lengths > step).sum())  # with at least this number of frames
        at = np.repeat(starts[:clips] + step, len(bones)), np.tile(bones, clips)
        mine = Gauge(np.tile(gauge.one_node, clips), gauge.positive)
        raw = found.take(at)
        before = follow_gauge(before.take(np.s_[: len(at[0])]), raw, mine) if step else begin_gauge(raw, mine)
        found.left[at], found.values[at], found.right[at] = before.left, before.values, before.right


def _decompose(linear: Float64, one_node: BoolArray) -> Pieces:
    """Q V, |S|, V with det V = 1 of matrices (f,b,3,3); V is the identity where one node suffices."""
    left, values, right_t = np.linalg.svd(linear)
    right = np.swapaxes(right_t, -1, -2)
    upright = left @ right_t
    diagonal = np.einsum("...ij,...ij->...j", upright, linear)
    left = np.where(one_node[:, None, None], upright, left)
    values = np.where(one_node[:, None], np.abs(diagonal), values)
    right = np.where(one_node[:, None, None], np.eye(3), right)
    flip = np.where(np.linalg.det(right) < 0, -1.0, 1.0)[..., None]
    left[..., 2], right[..., 2] = left[..., 2] * flip, right[..., 2] * flip
    return Pieces(left, values, right)


#: The smallest scale of a bone that has axes; less is float32 rounding.
STRETCHES = 1e-6
#: Columns along a bone's axes that are this part of the longest one from being orthogonal are so for float32.
ALONG_AXES = 3e-6


@np.errstate(over="ignore", invalid="ignore")  # values beyond float32 are refused when they are written
def orient_joints(rest: Float64, transforms: Float64) -> tuple[Float64, BoolArray]:
    """Joints (b,3,4), oriented as above, of bones with transforms (f,b,3,4), and (b,) which scale along axes."""
    scale, linear = scale_of_bones(transforms), transforms[..., :3]
    placed = nearest_rotation(rest[..., :3]) / scale
    axes = np.swapaxes(axes_of_bones(linear), -1, -2) / scale
    stretches = _off_rotation(linear @ placed) > STRETCHES
    faces_out = np.asarray((np.linalg.det(linear) > 0).all(axis=0))
    along_axes = stretches & faces_out & orthogonal_columns(linear @ axes, ALONG_AXES)
    rigid = ~along_axes & are_rotations(linear @ placed)
    out = rest.copy()
    out[rigid, :, :3], out[along_axes, :, :3] = placed[rigid], axes[along_axes]
    return out, along_axes


def are_rotations(linear: Float64, tolerance: float = RIGID) -> BoolArray:
    """(b,) joints whose linear parts (f,b,3,3) are rotations in all frames, within the tolerance of rigid bones."""
    return np.asarray((_off_rotation(linear) <= tolerance) & (np.linalg.det(linear) > 0).all(axis=0))


def _off_rotation(linear: Float64) -> Float64:
    """(b,) the largest difference of A'A from the identity over all frames."""
    square = np.swapaxes(linear, -1, -2) @ linear
    return np.asarray(np.abs(square - np.eye(3)).max(axis=(0, -1, -2), initial=0.0))


ROUNDS = 4


@np.errstate(divide="ignore", over="ignore", invalid="ignore")
def split_scale(linear: Float64, sign: Float64) -> tuple[Float64, Float64]:
    """Rotations (f,3,3) and scales (f,3) of matrices (f,3,3); scales have the signs (3,) where that is possible."""
    scale = np.linalg.norm(linear, axis=-2) * sign
    flips = np.linalg.det(linear) * scale.prod(axis=-1) < 0
    scale[flips, 0] *= -1
    for _ in range(ROUNDS):
        rotation = nearest_rotation(linear * scale[..., None, :])
        fitted = np.einsum("fij,fij->fj", rotation, linear)
        scale = np.where(np.abs(fitted) > 1e-12 * np.abs(scale), fitted, scale)
    return rotation, scale


def project_on_tree(transforms: Float64, skeleton: Skeleton, joints: Sequence[int]) -> Float64:
    """Bones (f,b,3,4) as near as a tree allows: each of `joints` rotates, translates and scales in its parent.

    A joint below one that scales is scaled with it. Other joints move as they did.
    """
    place = skeleton.world_from_joint.astype(np.float64)
    world = compose(transforms, place)
    parents, chosen = skeleton.parents.tolist(), set(joints)
    for j in parents_first(parents):
        if j not in chosen:
            continue
        above = world[:, parents[j]] if parents[j] >= 0 else None
        local = world[:, j] if above is None else compose(invert(above), world[:, j])
        rotation, scale = split_scale(local[..., :3], np.ones(3))
        local[..., :3] = rotation * scale[:, None, :]
        world[:, j] = local if above is None else compose(above, local)
    return compose(world, invert(place))
