"""Where a collapsed edge comes to lie, and what it costs.

    minimise over p   sum_f Q_f(A_f [p + d_f; 1]) + attributes(p),    Q_f = Q_if + Q_jf

A_f blends the carriers of both points, (1 - t) of the one and t of the other, of which the k largest stay. For each of
a few t the quadrics of all poses are pulled back to the rest pose, A' Q A, and summed: the best p is the solution of
three linear equations. The best t is kept.

| symbol | name |
| --- | --- |
| p, d_f | place, shifts |
| A_f | matrices |
| Q_f | quadrics |

Based on: Garland and Heckbert 1997 (`quadrics.py`); DeCoro and Rusinkiewicz, Pose-independent simplification of
articulated meshes, 2005, who pull quadrics of poses back to the rest pose.
Differs from these: quadrics stay in their poses and are pulled back through the blend of the point that is tried, so
that its weights count too; costs are what the sum over all points grows by. A place that lies far from the edge is not
taken, as where the surface is nearly flat or straight little holds it.

Notes, horse to 2,100 triangles, mean distance in % before levels are fitted: t of three values 0.0555, of five 0.0543;
what the sum grows by instead of what the point then costs 0.0524; its root, which counts distances instead of squares,
0.0517 with a worse worst. Quadrics of the surface as it is by now instead of sums over all before (Lindstrom and Turk,
1998): legs and tail go, 0.26; half of both 0.057.
"""

from __future__ import annotations

import numpy as np

from osteon.core.arrays import Float64, Int32
from osteon.core.kernels import compiled_by
from osteon.lod.mesh.links import FREE, KEEP_FIRST, REFUSED, match_wedges
from osteon.lod.mesh.state import CARRIERS, COST, MATRICES, PAIRS, QUADRIC, REST, SHIFT, SPREAD, WEIGHTS

__all__ = ["BEST", "BEST_WEIGHTS", "place_edge", "pose_best"]

#: Mixtures of two points that are tried.
TRIED = 5
#: What pulls a place to the middle of all it stands for where planes leave it free, of what planes pull.
PULL = 1e-8
#: What the spread of all that a point stands for costs, so that equal costs keep triangles even.
EVEN = 1e-6
#: A place may be so many lengths of the edge away from its middle.
FARTHEST = 2.0
#: Rows of `work`: the quadric of the mixture that is tried, that of attributes, places and weights tried and best. The
#: matrices of all poses follow. In `slots`, pairs of wedges come first, then carriers tried and best.
QUADRICS, FIXED, TRIAL, BEST, TRIAL_WEIGHTS, BEST_WEIGHTS = 0, 1, 2, 3, 4, 5


@compiled_by({"_nrt": False}, "i4.2r i4.2r f8.2r f8.3r f8.3r f8.2r f8.2 i4.2 i8 i8")
def place_edge(
    corners: Int32,
    heads: Int32,
    state: Float64,
    poses: Float64,
    transforms: Float64,
    attributes: Float64,
    work: Float64,
    slots: Int32,
    i: int,
    j: int,
) -> tuple[float, float, float, int]:
    """Key in the heap, cost, t, and what may become of the edge. Place, weights and carriers are left as the best."""
    n_pairs, what = match_wedges(corners, heads, slots, i, j)
    if what == REFUSED:
        return np.inf, np.inf, 0.0, what
    _sum_attributes(attributes, work, slots, n_pairs)
    best, best_t, k, same = np.inf, 0.0, heads.shape[1] - CARRIERS, True
    for a in range(k):
        same = same and heads[i, CARRIERS + a] == heads[j, CARRIERS + a]
        same = same and state[i, WEIGHTS + a] == state[j, WEIGHTS + a]
    start, stop = (TRIED // 2, TRIED // 2 + 1) if same else (0, TRIED)
    if what != FREE:
        start, stop = (0, 1) if what == KEEP_FIRST else (TRIED - 1, TRIED)
    for step in range(start, stop):
        t = step / (TRIED - 1.0)
        _mix_carriers(heads, state, work, slots, i, j, t)
        _blend_carriers(poses, transforms, work, slots, i, j, t)
        _pull_back(poses, work, i, j)
        cost = _solve_place(state, work, i, j, t, what == FREE)
        if cost < best:
            best, best_t = cost, t
            for axis in range(3):
                work[BEST, axis] = work[TRIAL, axis]
            for a in range(k):
                slots[PAIRS + a, 1], work[BEST_WEIGHTS, a] = slots[PAIRS + a, 0], work[TRIAL_WEIGHTS, a]
    total, spread = state[i, SPREAD] + state[j, SPREAD], state[i, SPREAD + 4] + state[j, SPREAD + 4]
    for axis in range(3):
        middle = state[i, SPREAD + 1 + axis] + state[j, SPREAD + 1 + axis]
        spread += work[BEST, axis] * (total * work[BEST, axis] - 2 * middle)
    return best - state[i, COST] - state[j, COST] + EVEN * spread, best, best_t, what


@compiled_by({"_nrt": False}, "f8.3r f8.3r f8.2 i4.2 i8 i8 f8 f8.2")
def pose_best(
    poses: Float64, transforms: Float64, work: Float64, slots: Int32, i: int, j: int, t: float, places: Float64
) -> None:
    """places (f,3) = where the best lies in every pose."""
    for a in range((slots.shape[0] - PAIRS) // 2):
        slots[PAIRS + a, 0], work[TRIAL_WEIGHTS, a] = slots[PAIRS + a, 1], work[BEST_WEIGHTS, a]
    _blend_carriers(poses, transforms, work, slots, i, j, t)
    for f in range(places.shape[0]):
        for r in range(3):
            places[f, r] = work[MATRICES + f, 4 * r + 3]
            for axis in range(3):
                places[f, r] += work[MATRICES + f, 4 * r + axis] * work[BEST, axis]


@compiled_by({"_nrt": False}, "f8.2r f8.2 i4.2r i8")
def _sum_attributes(attributes: Float64, work: Float64, slots: Int32, n_pairs: int) -> None:
    """The quadric of all wedges with the best attributes at each place."""
    for c in range(10):
        work[FIXED, c] = 0.0
    if attributes.shape[1] == 0:
        return
    for p in range(n_pairs):
        a, b = max(slots[p, 0], 0), max(slots[p, 1], 0)
        one, other = 1.0 if slots[p, 0] >= 0 else 0.0, 1.0 if slots[p, 1] >= 0 else 0.0
        total = one * attributes[a, 10] + other * attributes[b, 10]
        if total <= 0:
            continue
        for c in range(10):
            work[FIXED, c] += one * attributes[a, c] + other * attributes[b, c]
        for m in range(11, attributes.shape[1], 4):
            c = 0
            for r in range(4):
                g = (one * attributes[a, m + r] + other * attributes[b, m + r]) / total
                for s in range(r, 4):
                    work[FIXED, c] -= g * (one * attributes[a, m + s] + other * attributes[b, m + s])
                    c += 1


@compiled_by({"_nrt": False}, "i4.2r f8.2r f8.2 i4.2 i8 i8 f8")
def _mix_carriers(heads: Int32, state: Float64, work: Float64, slots: Int32, i: int, j: int, t: float) -> None:
    """The k largest of (1 - t) of the carriers of i and t of those of j, with a sum of one."""
    n, k, total = 0, heads.shape[1] - CARRIERS, 0.0
    for v in (i, j):
        share = 1.0 - t if v == i else t
        for a in range(k):
            weight, name, at = share * state[v, WEIGHTS + a], heads[v, CARRIERS + a], 0
            if weight > 0:
                while at < n and slots[PAIRS + at, 0] != name:
                    at += 1
                if at == n:
                    slots[PAIRS + at, 0], work[TRIAL_WEIGHTS, at] = name, 0.0
                    n += 1
                work[TRIAL_WEIGHTS, at] += weight
    for a in range(k):
        if a >= n:
            slots[PAIRS + a, 0], work[TRIAL_WEIGHTS, a] = 0, 0.0
            continue
        most = a
        for b in range(a + 1, n):
            most = b if work[TRIAL_WEIGHTS, b] > work[TRIAL_WEIGHTS, most] else most
        name, weight = slots[PAIRS + most, 0], work[TRIAL_WEIGHTS, most]
        slots[PAIRS + most, 0], work[TRIAL_WEIGHTS, most] = slots[PAIRS + a, 0], work[TRIAL_WEIGHTS, a]
        slots[PAIRS + a, 0], work[TRIAL_WEIGHTS, a] = name, weight
        total += weight
    for a in range(k):
        work[TRIAL_WEIGHTS, a] /= total


@compiled_by({"_nrt": False}, "f8.3r f8.3r f8.2 i4.2r i8 i8 f8")
def _blend_carriers(
    poses: Float64, transforms: Float64, work: Float64, slots: Int32, i: int, j: int, t: float
) -> None:
    """Blends of the carriers tried, with the displacement of each pose in the last column."""
    for f in range(transforms.shape[1]):
        at = MATRICES + f
        for c in range(12):
            work[at, c] = 0.0
        for a in range((slots.shape[0] - PAIRS) // 2):
            weight, name = work[TRIAL_WEIGHTS, a], slots[PAIRS + a, 0]
            if weight > 0:
                for c in range(12):
                    work[at, c] += weight * transforms[name, f, c]
        for axis in range(3):
            shift = (1.0 - t) * poses[i, f, SHIFT + axis] + t * poses[j, f, SHIFT + axis]
            for r in range(3):
                work[at, 4 * r + 3] += work[at, 4 * r + axis] * shift


@compiled_by({"_nrt": False}, "f8.3r f8.2 i8 i8")
def _pull_back(poses: Float64, work: Float64, i: int, j: int) -> None:
    """The quadric tried: that of attributes and the sum over poses of A' Q A."""
    for c in range(10):
        work[QUADRICS, c] = work[FIXED, c]
    for f in range(poses.shape[1]):
        xx, xy = poses[i, f, QUADRIC] + poses[j, f, QUADRIC], poses[i, f, QUADRIC + 1] + poses[j, f, QUADRIC + 1]
        xz, xw = poses[i, f, QUADRIC + 2] + poses[j, f, QUADRIC + 2], poses[i, f, QUADRIC + 3] + poses[j, f, QUADRIC + 3]
        yy, yz = poses[i, f, QUADRIC + 4] + poses[j, f, QUADRIC + 4], poses[i, f, QUADRIC + 5] + poses[j, f, QUADRIC + 5]
        yw, zz = poses[i, f, QUADRIC + 6] + poses[j, f, QUADRIC + 6], poses[i, f, QUADRIC + 7] + poses[j, f, QUADRIC + 7]
        zw, ww = poses[i, f, QUADRIC + 8] + poses[j, f, QUADRIC + 8], poses[i, f, QUADRIC + 9] + poses[j, f, QUADRIC + 9]
        c, at = 0, MATRICES + f
        for r in range(4):
            a, b, d = work[at, r], work[at, 4 + r], work[at, 8 + r]
            x, y, z = xx * a + xy * b + xz * d, xy * a + yy * b + yz * d, xz * a + yz * b + zz * d
            if r == 3:
                work[QUADRICS, 9] += (x + 2 * xw) * a + (y + 2 * yw) * b + (z + 2 * zw) * d + ww
                continue
            for s in range(r, 4):
                work[QUADRICS, c] += x * work[at, s] + y * work[at, 4 + s] + z * work[at, 8 + s]
                c += 1
            work[QUADRICS, c - 1] += a * xw + b * yw + d * zw


@compiled_by({"_nrt": False}, "f8.2r f8.2 i8 i8 f8 b1")
def _solve_place(state: Float64, work: Float64, i: int, j: int, t: float, free: bool) -> float:
    """The place of the least cost if it is free to be there, else the mixture of both ends; returns the cost."""
    q = work[QUADRICS]
    px = (1.0 - t) * state[i, REST] + t * state[j, REST]
    py = (1.0 - t) * state[i, REST + 1] + t * state[j, REST + 1]
    pz = (1.0 - t) * state[i, REST + 2] + t * state[j, REST + 2]
    pull = PULL * (work.shape[0] - MATRICES)
    weight = pull * (state[i, SPREAD] + state[j, SPREAD])
    a, b, c, d, e, f = q[0] + weight, q[1], q[2], q[4] + weight, q[5], q[7] + weight
    aa, ab, ac, bb, bc, cc = d * f - e * e, c * e - b * f, b * e - c * d, a * f - c * c, b * c - a * e, a * d - b * b
    det = a * aa + b * ab + c * ac
    if free and det > 0:
        x = pull * (state[i, SPREAD + 1] + state[j, SPREAD + 1]) - q[3]
        y = pull * (state[i, SPREAD + 2] + state[j, SPREAD + 2]) - q[6]
        z = pull * (state[i, SPREAD + 3] + state[j, SPREAD + 3]) - q[8]
        x, y, z = (aa * x + ab * y + ac * z) / det, (ab * x + bb * y + bc * z) / det, (ac * x + bc * y + cc * z) / det
        ix, iy, iz = state[i, REST], state[i, REST + 1], state[i, REST + 2]
        jx, jy, jz = state[j, REST], state[j, REST + 1], state[j, REST + 2]
        off = (x - 0.5 * (ix + jx)) ** 2 + (y - 0.5 * (iy + jy)) ** 2 + (z - 0.5 * (iz + jz)) ** 2
        if off <= FARTHEST * FARTHEST * ((ix - jx) ** 2 + (iy - jy) ** 2 + (iz - jz) ** 2):
            px, py, pz = x, y, z
    work[TRIAL, 0], work[TRIAL, 1], work[TRIAL, 2] = px, py, pz
    cost = px * (q[0] * px + 2 * (q[1] * py + q[2] * pz + q[3])) + py * (q[4] * py + 2 * (q[5] * pz + q[6]))
    return max(cost + pz * (q[7] * pz + 2 * q[8]) + q[9], 0.0)
