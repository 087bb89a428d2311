"""Normals and their targets as they are stored: see `morph_range` for why the mesh is not the rest pose.

A normal n + sum_r q_r N_r is stored as B + sum_r s_r D_r, which points the same way: B has length one, as glTF asks, so
all of a vertex is divided by the length of n + sum low N. In 8 bits no entry of D may exceed 1. Where one does,

    minimise over D in -1 … 1 and |B| = 1:   sum_f || B + sum_r s_r^f D_r - l^f m^f ||^2,

m^f the normal in frame f and l^f its length as shown, by turns over the columns of D, B and l.

Notes. Horse, rank 5: 1.4 % of the vertices exceed 1. Cutting them off left these at 4.3 degrees on average and 46 at
worst, over all frames; this leaves them at 0.8 and 9 in 100 rounds (0.6 and 7 in 500). Storing float32 instead makes
the file a third larger.
"""

from __future__ import annotations

import numpy as np

from osteon.core.arrays import Float32, Float64
from osteon.core.corrections import Corrections
from osteon.io.load.source import as_float32

__all__ = ["fit_turns", "pack_normals"]

#: Normals shorter than this before they are scaled are replaced: nobody sees their direction in any frame.
SHORTEST = 1e-4
ROUNDS = 100
#: Frames, evenly spread, that are looked at.
FRAMES = 64
#: A shown normal counts as at least this long, so that it turns round instead of vanishing.
LEAST_SHOWN = 0.2


def pack_normals(normals: Float64, turns: Float32, low: Float64) -> tuple[Float64, Float64]:
    """(v,3) unit normals n + sum low N, and (v,) their lengths before."""
    packed = normals + np.tensordot(low, turns.astype(np.float64), axes=1)
    short = np.linalg.norm(packed, axis=1) < SHORTEST
    packed[short] = SHORTEST * normals[short]
    lengths = np.linalg.norm(packed, axis=1)
    return packed / lengths[:, None], lengths


def fit_turns(
    normals: Float64, corrections: Corrections, weights: Float64, stored: tuple[Float64, Float32]
) -> tuple[Float64, Float32]:
    """Stored normals (v,3) and targets (r,v,3) with no entry above 1; `normals` are those of the rest pose.

    `weights (f,r)` are the morph weights s.
    """
    base, targets = stored
    large = np.flatnonzero(np.abs(targets).max(axis=(0, 2)) > 1)
    if not len(large) or corrections.normal_basis is None:
        return stored
    frames = np.unique(np.linspace(0, len(weights) - 1, FRAMES).round().astype(np.int64))
    turns = corrections.normal_basis[:, large].astype(np.float64)
    shown = normals[large] + np.tensordot(corrections.coefficients[frames].astype(np.float64), turns, axes=1)
    fitted = _fit(_unit(shown), weights[frames], base[large], targets[:, large].astype(np.float64))
    base, targets = base.copy(), targets.copy()
    base[large], targets[:, large] = fitted[0], as_float32(fitted[1])
    return base, targets


def _fit(wanted: Float64, weights: Float64, base: Float64, targets: Float64) -> tuple[Float64, Float64]:
    """Directions `wanted (f,v,3)` as base + weights targets, no entry of the targets above 1."""
    targets = targets.clip(-1, 1)
    sizes = np.maximum((weights**2).sum(axis=0), np.finfo(np.float64).tiny)
    for _ in range(ROUNDS):
        moved = np.tensordot(weights, targets, axes=1)
        length = np.maximum(((base + moved) * wanted).sum(axis=-1, keepdims=True), LEAST_SHOWN)
        base = _unit((length * wanted - moved).mean(axis=0))
        missing = length * wanted - base - moved
        for r, s in enumerate(weights.T):
            better = (targets[r] + np.tensordot(s, missing, axes=1) / sizes[r]).clip(-1, 1)
            missing -= s[:, None, None] * (better - targets[r])
            targets[r] = better
    return base, targets


def _unit(vectors: Float64) -> Float64:
    return np.asarray(vectors / np.maximum(np.linalg.norm(vectors, axis=-1, keepdims=True), SHORTEST**2))
