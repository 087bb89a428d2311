"""At most so many columns a vertex, by masks that are smooth.

A vertex program has room for a few displacements a vertex. With m_cv the length that column c moves vertex v at most,
and t_v the length of the first one that there is no room for,

    U_cv  <-  U_cv max(0, 1 - (max(t_v, LEAST reach_c) / m_cv)^2)

Lengths vary smoothly over the mesh, the one of a given rank too, so that a column fades out where stronger ones
take its room. Columns that all but do nothing at a vertex go the same way: what they move there is a thousandth of what
their joint does.

Based on: Kry, James and Pai, EigenSkin, 2002, section 2.5: "smoothly mask the support groups to smaller regions".

Notes, elastic hand, 8 joints with five columns each and 8 pairs, limit 10; entries a vertex, share of the skin's error
removed in poses unseen, what is left of those seen: nothing but the limit 7.5, 95.9 %, 1.91 %; LEAST of 1/2000 5.3,
95.9, 1.91; 1/1000 4.9, 95.9, 1.93; 1/500 4.5, 95.9, 1.98; 1/250 4.1, 95.7, 2.18. Without the square 1/1000 leaves 2.26.
Keeping the strongest as they are is as close, and shows edges.
"""

from __future__ import annotations

import numpy as np

from osteon.core.arrays import Float64

__all__ = ["limit_columns"]

#: What a column must do at a vertex, of the longest displacement of its joints.
LEAST = 1e-3


def limit_columns(columns: Float64, reach: Float64, limit: int) -> Float64:
    """Columns (r,v,3), as long as they get, masked to `limit` a vertex; `reach` (r,) is that of their drivers."""
    lengths = np.sqrt(np.einsum("rvi,rvi->rv", columns, columns))
    level = np.broadcast_to(LEAST * reach[:, None], lengths.shape)
    if len(columns) > limit:
        first_without_room = -np.partition(-lengths, limit, axis=0)[limit]
        level = np.maximum(level, first_without_room)
    ratio = level / np.where(lengths > 0, lengths, np.inf)
    masks = np.where(lengths > 0, np.maximum(0.0, 1.0 - ratio**2), 0.0)
    return np.asarray(columns * masks[..., None])
