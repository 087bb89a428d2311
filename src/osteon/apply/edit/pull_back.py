"""Pull a change that was made in a frame back to the rest pose, by a bounded inverse of the blends.

    d_v = argmin || A_v d - (y_v - x_v) ||^2   with damping,   d = sum_i g(s_i) v_i u_i' (y - x)

    g(s) = (1 - (l / (s^2 + l))^n) / s

| symbol | name |
| --- | --- |
| A_v = sum_i s_i u_i v_i' | linear part of the blend of a vertex in the frame |
| x, y | its position there before and after the change |
| l, n | damping and number of iterations of Tikhonov's method, which g is the closed form of |

Where a blend nearly vanishes along an axis, no displacement moves the vertex along it, and an exact inverse would
return a huge one that shows in all other frames. Here g(s) never exceeds 1.2 / sqrt(l), 120 for a character at its own
scale, while for s above 0.05 the result differs from the exact inverse by less than 1e-5.

Based on: James and Twigg, Skinning Mesh Animations, 2005, section 6 (corrections are displacements of the rest frame,
A^-1 (x - t) - p) and 7. The damping is that of the corrections that are to be exact
(`fit/corrections/fit_corrections.py`), relative to the scale of the bones.
"""

from __future__ import annotations

import numpy as np

from osteon.core.arrays import Float64

#: l, for bones without a scale, and n.
DAMPING, TIMES = 1e-4, 4


def bounded_inverse(linear: Float64, scale: float = 1.0) -> Float64:
    """(n,3,3) inverses of linear parts (n,3,3) of bones of a scale, bounded where they are singular."""
    u, s, vt = np.linalg.svd(linear / scale)
    left = DAMPING / (s**2 + DAMPING)
    with np.errstate(divide="ignore", invalid="ignore"):
        gain = np.where(s > 0, (1 - left**TIMES) / s, 0.0)
    out: Float64 = np.einsum("nki,nk,njk->nij", vt, gain / scale, u)
    return out


def pull_back(linear: Float64, moves: Float64, scale: float = 1.0) -> Float64:
    """(n,3) displacements of the rest pose that blends with linear parts (n,3,3) turn into these moves (n,3).

    The iteration itself, d <- d + (A'A + l)^-1 A' (m - A d), which needs no singular values.
    """
    blends = linear / scale
    transposed = blends.swapaxes(1, 2)
    step = np.linalg.inv(transposed @ blends + DAMPING * np.eye(3)) @ transposed
    wanted = moves[:, :, None] / scale
    found = step @ wanted
    for _ in range(TIMES - 1):
        found += step @ (wanted - blends @ found)
    return np.asarray(found[:, :, 0])
