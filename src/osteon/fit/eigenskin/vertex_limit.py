"""At most so many columns a vertex, by masks that are smooth; what is left takes up what goes.

A vertex program has room for a few displacements a vertex. With m_cv the length that column c moves vertex v by in
poses that turn all joints (root mean square), and t_v the length of the first one that there is no room for,

    mask_cv = max(0, 1 - (max(t_v, LEAST reach_c) / m_cv)^2)

    minimise over U':   E_a || sum_c a_c (U_cv - U'_cv) ||^2 + FADE sum_c E[a_c^2] (1 / mask_cv^2 - 1) |U'_cv|^2

Where a mask is one nothing holds a column, where it is zero the column is gone. Lengths vary smoothly over the mesh,
the one of a given rank too, so that a column fades out where stronger ones take its room. Columns that all but do
nothing at a vertex go the same way: what they move there is a thousandth of what their joint does. Coefficients a are
those of poses that were seen, and of imagined ones in which every joint is turned as in one of its own poses.

Based on: Kry, James and Pai, EigenSkin, 2002, section 2.5: "smoothly mask the support groups to smaller regions".
Differs from the paper: columns are fitted again to what all of them together did.

Notes, limit 10, share of the skin's error removed in poses unseen, mean and worst. Built-in hand, 82 columns of which
16 lie on a vertex: no limit 93.4, 89.1; masks alone, by longest displacements 90.7, 87.4, by root mean squares 91.0,
87.6, with the eighth power instead of the square 92.0, 88.6; fitted again with FADE of 1 90.4, 86.8, of 0.1 92.2,
88.3, of 0.01 92.5, 88.5, but columns then end three times as steeply; with 0.1 to poses seen alone 91.9, 88.3.
Elastic hand, 30 columns, 4.5 a vertex: 97.3 without a limit and with any of these. How rough columns are differs by
less than a percent. LEAST, with five columns a joint, entries a vertex: nothing 7.5, 1/2000 5.3, 1/1000 4.9, 1/500 4.5;
the last leaves 0.07 points more of poses that were seen.
"""

from __future__ import annotations

import numpy as np

from osteon.core.arrays import Float64

__all__ = ["limit_columns"]

#: What a column must do at a vertex, of the longest displacement of its joints.
LEAST = 1e-3
#: How much a mask holds its column.
FADE = 0.13
#: Of the mean square of a column, so that systems can be solved.
DAMPING = 1e-6
#: Vertices whose systems are solved at a time.
BLOCK = 1024


def limit_columns(columns: Float64, reach: Float64, limit: int, a: Float64) -> Float64:
    """Columns (r,v,3) masked to `limit` a vertex; `reach` (r,) is that of their drivers, a (p,r) their coefficients."""
    gram = a.T @ a / max(len(a), 1)
    masks = _masks(columns, reach, limit, np.sqrt(np.diag(gram)))
    changed = np.any((masks < 1) & np.any(columns, axis=2), axis=0)
    out = np.where(masks[..., None] > 0, columns, 0.0)
    vertices = np.flatnonzero(changed)
    width = int((masks > 0).sum(axis=0).max(initial=0))
    for start in range(0, len(vertices), BLOCK):
        now = vertices[start : start + BLOCK]
        out[:, now] = _fitted(columns[:, now], masks[:, now], gram, width)
    return np.asarray(out)


def _masks(columns: Float64, reach: Float64, limit: int, sizes: Float64) -> Float64:
    """(r,v)"""
    lengths = np.sqrt(np.einsum("rvi,rvi->rv", columns, columns)) * sizes[:, None]
    level = np.broadcast_to((LEAST * reach * sizes)[:, None], lengths.shape)
    if len(columns) > limit:
        first_without_room = -np.partition(-lengths, limit, axis=0)[limit]
        level = np.maximum(level, first_without_room)
    ratio = level / np.where(lengths > 0, lengths, np.inf)
    return np.where(lengths > 0, np.maximum(0.0, 1.0 - ratio**2), 0.0)


def _fitted(columns: Float64, masks: Float64, gram: Float64, width: int) -> Float64:
    """(r,v,3) U' of some vertices, of which each keeps at most `width` columns."""
    out = np.zeros_like(columns)
    if not width:
        return out
    order = np.argsort(-masks, axis=0, kind="stable")[:width].T  # (v,width) those that are kept come first
    mask = np.take_along_axis(masks.T, order, axis=1)
    size = np.diag(gram)[order]
    held = FADE * (1 / np.where(mask > 0, mask, 1.0) ** 2 - 1) + DAMPING
    system = gram[order[:, :, None], order[:, None, :]]
    diagonal = np.arange(width)
    system[:, diagonal, diagonal] += held * size
    both = (mask > 0)[:, :, None] & (mask > 0)[:, None, :]
    system = np.where(both, system, np.eye(width))
    wanted = np.einsum("vkr,rvi->vki", gram[order], columns, optimize=True)
    solved = np.linalg.solve(system, np.where((mask > 0)[..., None], wanted, 0.0))
    out[order.T, np.arange(len(order))[None]] = solved.transpose(1, 0, 2)
    return out
