"""Vertices that a file stores twice (at texture seams, between primitives) but that move as one."""

from __future__ import annotations

import numpy as np

from osteon.core.arrays import Float32, FloatArray, Int32, Int64
from osteon.core.frame_blocks import frame_blocks
from osteon.core.sequence import MeshSequence
from osteon.core.topology import shells

__all__ = ["weld_points", "weld_vertices", "welded_shells"]


def weld_vertices(sequence: MeshSequence) -> tuple[Int32, Int32]:
    """Indices (u,) of one vertex out of every set that coincides at rest and in all frames; (v,) which of them each is.

    Fitted once and copied, such vertices get equal weights, and no crack opens between them.
    """
    representative = np.arange(sequence.n_vertices, dtype=np.int32)
    _, group = weld_points(sequence.rest)
    shared = np.flatnonzero(np.bincount(group)[group] > 1)  # vertices that may still coincide with another
    group = group[shared]
    for block in frame_blocks(sequence.source):
        if not len(shared):
            break
        group = _split(group, block.frames, shared)
        stays = np.bincount(group)[group] > 1
        shared, group = shared[stays], group[stays]
    _, first, same = np.unique(group, return_index=True, return_inverse=True)
    representative[shared] = shared[first[same.reshape(-1)]]
    return _numbered(representative)


def _split(group: Int32, frames: Float32, vertices: Int64) -> Int32:
    """(n,) numbers of the groups of vertices (n,) that were in one group and coincide in all frames (f,v,3)."""
    columns = [group[:, None]]
    columns += [(frame[vertices] + np.float32(0)).view(np.int32) for frame in frames]  # -0 becomes 0
    rows = np.concatenate(columns, axis=1)
    # Rows as opaque byte strings, which can be sorted in one go.
    keys = rows.view(np.dtype((np.void, rows.dtype.itemsize * rows.shape[1]))).ravel()
    return np.unique(keys, return_inverse=True)[1].reshape(-1).astype(np.int32)


def weld_points(points: FloatArray) -> tuple[Int32, Int32]:
    """Indices (u,) of the first of all points (v,3) that coincide, ascending; (v,) which of them each is."""
    order = np.lexsort(points.T)  # stable, so the first of equal ones comes first; three times as fast as np.unique
    begins = np.ones(len(points), bool)
    begins[1:] = (points[order[1:]] != points[order[:-1]]).any(axis=1)
    representative = np.empty(len(points), np.int32)
    representative[order] = order[np.flatnonzero(begins)][np.cumsum(begins) - 1]
    return _numbered(representative)


def welded_shells(rest: FloatArray, faces: Int32) -> tuple[int, Int32]:
    """Number of separate pieces of a mesh, and (v,) the piece of each vertex, -1 without one; seams hold together."""
    unique, welded_of_vertex = weld_points(rest)
    count, shell = shells(welded_of_vertex[faces], len(unique))
    return count, shell[welded_of_vertex]


def _numbered(representative: Int32) -> tuple[Int32, Int32]:
    """The representatives (u,), ascending, and (v,) which of them each vertex has."""
    unique, inverse = np.unique(representative, return_inverse=True)
    return unique.astype(np.int32), inverse.reshape(-1).astype(np.int32)
