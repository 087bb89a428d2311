"""Affine tracks as two nodes that every player knows: translation, rotation and scale, then a second rotation.

An affine matrix A = U S V' becomes a parent (translation, rotation U, scale S) and a child (rotation V'). Between two
frames a player turns U and V' along great arcs and moves S straight. The pieces must therefore move little from frame
to frame, though the singular value decomposition fixes them only up to a choice, the gauge; `two_nodes_gauge` makes
it. A matrix whose columns are orthogonal, such as a rotation, needs no child.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from osteon.core.arrays import Float64, FloatArray
from osteon.core.quaternions import keep_hemisphere, matrices_from_quaternions, quaternions_from_matrices
from osteon.core.two_nodes_gauge import (
    BoolArray,
    Gauge,
    Pieces,
    begin_gauge,
    follow_gauge,
    rest_pieces,
    settled_gauge,
)

__all__ = [
    "BoolArray",
    "NodeTracks",
    "join_transforms",
    "orthogonal_columns",
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
    `positive` only what turns inside out has negative scales, though two of them may be the shorter way.
    """
    whole = np.asarray(transforms, np.float64)
    linear = whole[..., :3]
    one_node = orthogonal_columns(linear)
    if known is not None:
        one_node = one_node | known
    found = _decompose(linear, one_node)
    begins = {0, *starts}
    open_bones = np.flatnonzero(~(settled_gauge(found, Gauge(one_node, positive))))
    if len(open_bones):
        _choose_gauge(found, open_bones, begins, Gauge(one_node[open_bones], positive))
    rotations, scales = quaternions_from_matrices(found.left), found.values
    child = quaternions_from_matrices(np.swapaxes(found.right, -1, -2))
    child[:, one_node] = [0.0, 0.0, 0.0, 1.0]
    keep_hemisphere(rotations, begins, upright=True)
    keep_hemisphere(child, begins, upright=True)
    return NodeTracks(whole[..., 3].copy(), rotations, scales, child, ~one_node)


def join_transforms(tracks: NodeTracks) -> Float64:
    """(f,b,3,4) what the two nodes do together."""
    left = matrices_from_quaternions(tracks.rotations)
    linear = (left * tracks.scales[..., None, :]) @ matrices_from_quaternions(tracks.child_rotations)
    return np.concatenate([linear, tracks.translations[..., None]], axis=-1)


def orthogonal_columns(linear: Float64, tolerance: float = ORTHOGONAL) -> BoolArray:
    """(b,) bones whose matrix is a rotation times a scale along the axes, in every frame (f,b,3,3)."""
    gram = np.abs(np.swapaxes(linear, -1, -2) @ linear)
    lengths = np.sqrt(np.diagonal(gram, axis1=-2, axis2=-1))
    first, second = [0, 0, 1], [1, 2, 2]
    # What it takes to make two columns orthogonal is their product over the longer one.
    longer = np.maximum(lengths[..., first], lengths[..., second])
    fits = gram[..., first, second] <= tolerance * longer * lengths.max(axis=-1, keepdims=True)
    return np.asarray(fits.all(axis=(0, -1)))


def _choose_gauge(found: Pieces, bones: NDArray[np.int64], begins: set[int], gauge: Gauge) -> None:
    """Choose the gauge of some bones in all frames, in place: one frame after the other, all clips side by side."""
    starts = np.array(sorted(begins))
    lengths = np.diff(np.append(starts, len(found.left)))
    longest_first = np.argsort(-lengths, kind="stable")
    starts, lengths = starts[longest_first], lengths[longest_first]
    before = rest_pieces(0)
    for step in range(int(lengths[0])):
        clips = int((lengths > step).sum())  # that are as long as this
        at = np.repeat(starts[:clips] + step, len(bones)), np.tile(bones, clips)
        mine = Gauge(np.tile(gauge.one_node, clips), gauge.positive)
        raw = found.take(at)
        before = follow_gauge(before.take(np.s_[: len(at[0])]), raw, mine) if step else begin_gauge(raw, mine)
        found.left[at], found.values[at], found.right[at] = before.left, before.values, before.right


def _decompose(linear: Float64, one_node: BoolArray) -> Pieces:
    """Q V, |S|, V with det V = 1 of matrices (f,b,3,3); V is the identity where one node will do."""
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
