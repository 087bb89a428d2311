"""Matrix palette skinning: blends are made once for all vertices that need the same, and a vertex reads one matrix.

    entry e = blend of (bones, weights)_e,     x_v = entry(v) [p_v; 1]

Vertices share an entry if they follow the same bones by the same weights. The fewer bones and blends a level has, the
more do: weights that handed over are gone, and bones that play the same matrix at a level count as one.

Based on: Pilgrim, Steed and Aguado, Progressive Skinning, 2007, sections 3.1 and 4.2 (matrix palette creation).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from osteon.core.arrays import Float32, Float64, FloatArray, Int64
from osteon.core.character import Deformer, Skin
from osteon.deform.pose import blends_of
from osteon.deform.registry import restore_deformer
from osteon.lod.bone_order import BoneOrder

__all__ = ["MatrixPalette", "matrix_palette", "same_matrices"]

#: Offsets that differ by less than this, shifts in units of the model, are one.
SAME = 1e-7


@dataclass(frozen=True, slots=True)
class MatrixPalette:
    """Distinct blends, and which of them each vertex reads."""

    entries: Skin  # (e,k) bones and weights
    entry_of_vertex: Int64  # (v,)

    @property
    def n_entries(self) -> int:
        return self.entries.n_vertices

    def blend(self, deformer: Deformer, transforms: FloatArray) -> Float64:
        """(e,3,4) the entries for the bones (b,3,4) of one frame, blended as the family of a deformer does."""
        family = restore_deformer(deformer.kind, {"bones": self.entries.bones, "weights": self.entries.weights})
        return blends_of(family, transforms)


def matrix_palette(skin: Skin, same: Int64 | None = None) -> MatrixPalette:
    """The distinct blends of a skin; `same` (b,) names for every bone the first that plays its matrix."""
    bones = skin.bones.astype(np.int64) if same is None else same[skin.bones]
    rows, weights = _canonical(bones, skin.weights)
    key = np.concatenate([rows, weights.view(np.int32)], axis=1)
    _, first, of_vertex = np.unique(key, axis=0, return_index=True, return_inverse=True)
    entries = Skin(rows[first].astype(np.int32), weights[first])
    return MatrixPalette(entries, np.asarray(of_vertex).reshape(-1).astype(np.int64))


def same_matrices(order: BoneOrder, count: int) -> Int64:
    """(b,) for every bone the first that plays the same matrix when `count` bones are active."""
    leaders, offsets = order.leaders(count)
    size = np.ones(4)
    size[3] = max(float(np.abs(offsets[..., 3]).max(initial=0.0)), 1e-300)
    rounded = np.round(offsets / size / SAME).reshape(len(leaders), -1)
    _, first, number = np.unique(np.column_stack([leaders, rounded]), axis=0, return_index=True, return_inverse=True)
    return np.asarray(first[np.asarray(number).reshape(-1)], np.int64)


def _canonical(bones: Int64, weights: Float32) -> tuple[Int64, Float32]:
    """Slots by bone, one for each, those without weight last; equal blends are then equal rows."""
    total = np.zeros(weights.shape)
    order = np.argsort(np.where(weights != 0, bones, np.iinfo(np.int64).max), axis=1, kind="stable")
    rows, held = np.take_along_axis(bones, order, axis=1), np.take_along_axis(weights, order, axis=1)
    place = np.zeros(len(rows), np.int64)
    out = np.zeros_like(rows)
    lines = np.arange(len(rows))
    for k in range(rows.shape[1]):
        used = held[:, k] != 0
        fresh = used & ((k == 0) | (rows[:, k] != rows[:, max(k - 1, 0)]))
        place[fresh & (total[lines, place] != 0)] += 1
        out[lines[used], place[used]] = rows[used, k]
        total[lines[used], place[used]] += held[used, k]
    alone = np.count_nonzero(total, axis=1) == 1
    total[alone] = total[alone] != 0  # what float32 left of a sum of one
    return out, total.astype(np.float32)
