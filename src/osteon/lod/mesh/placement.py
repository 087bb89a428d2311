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
from osteon.lod.mesh.state import CARRIERS, COST, MATRICES, PAIRS, QUADRIC, REST, SHIFT, SPREAD, WEIGHT, WEIGHTS

__all__ = ["BEST", "BEST_WEIGHTS", "place_edge", "pose_best"]

#: Mixtures of two points that are tried.
TRIED = 5
#: What pulls a place to the middle of all it stands for where planes leave it free, of what planes pull.
PULL = 1e-8
#: What a squared distance from what a point stands for costs, of one from its planes: where all is flat triangles stay
#: even.
EVEN = 1e-4
#: A place may be so many lengths of the edge away from its middle.
FARTHEST = 2.0
#: Rows of `work`: the quadric that is tried, that of attributes, that of one pose; places and weights. The matrices of
#: all poses follow. In `slots`, pairs of wedges come first, then carriers tried and best.
PULLED, FIXED, IN_POSE, TRIAL, SOLVED, BEST, TRIAL_WEIGHTS, BEST_WEIGHTS = 0, 1, 2, 3, 4, 5, 6, 7


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
    f = 0
    while same and f < poses.shape[1]:
        for axis in range(SHIFT, SHIFT + 3):
            same = same and poses[i, f, axis] == poses[j, f, axis]
        f += 1
    start, stop = (TRIED // 2, TRIED // 2 + 1) if same else (0, TRIED)
    if what != FREE:
        start, stop = (0, 1) if what == KEEP_FIRST else (TRIED - 1, TRIED)
    for step in range(start, stop):
        t = step / (TRIED - 1.0)
        _mix_carriers(heads, state, work, slots, i, j, t)
        _blend_carriers(poses, transforms, work, slots, i, j, t)
        _pull_back(poses, work, i, j)
        cost = _solve_place(state, poses, work, i, j, t, what == FREE)
        if cost < best:
            best, best_t = cost, t
            for axis in range(3):
                work[BEST, axis] = work[TRIAL, axis]
            for a in range(k):
                slots[PAIRS + a, 1], work[BEST_WEIGHTS, a] = slots[PAIRS + a, 0], work[TRIAL_WEIGHTS, a]
    return best - state[i, COST] - state[j, COST], best, best_t, what


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
def _blend_carriers(poses: Float64, transforms: Float64, work: Float64, slots: Int32, i: int, j: int, t: float) -> None:
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
        work[PULLED, c] = work[FIXED, c]
    for f in range(poses.shape[1]):
        at, c = MATRICES + f, 0
        for k in range(10):
            work[IN_POSE, k] = poses[i, f, QUADRIC + k] + poses[j, f, QUADRIC + k]
        for r in range(4):
            a, b, d, w = work[at, r], work[at, 4 + r], work[at, 8 + r], 1.0 if r == 3 else 0.0
            x = work[IN_POSE, 0] * a + work[IN_POSE, 1] * b + work[IN_POSE, 2] * d + work[IN_POSE, 3] * w
            y = work[IN_POSE, 1] * a + work[IN_POSE, 4] * b + work[IN_POSE, 5] * d + work[IN_POSE, 6] * w
            z = work[IN_POSE, 2] * a + work[IN_POSE, 5] * b + work[IN_POSE, 7] * d + work[IN_POSE, 8] * w
            for s in range(r, 4):
                work[PULLED, c] += x * work[at, s] + y * work[at, 4 + s] + z * work[at, 8 + s]
                c += 1
            work[PULLED, c - 1] += work[IN_POSE, 3] * a + work[IN_POSE, 6] * b + work[IN_POSE, 8] * d
        work[PULLED, 9] += work[IN_POSE, 9]


@compiled_by({"_nrt": False}, "f8.2r f8.3r f8.2 i8 i8 f8 b1")
def _solve_place(state: Float64, poses: Float64, work: Float64, i: int, j: int, t: float, free: bool) -> float:
    """The place of the least cost if it is free to be there, else the mixture of both ends; returns the cost."""
    pull = PULL * (state[i, WEIGHT] + state[j, WEIGHT])
    a, b, c = work[PULLED, 0] + pull, work[PULLED, 1], work[PULLED, 2]
    d, e, f = work[PULLED, 4] + pull, work[PULLED, 5], work[PULLED, 7] + pull
    aa = d * f - e * e
    ab = c * e - b * f
    ac = b * e - c * d
    det = a * aa + b * ab + c * ac
    for axis in range(3):
        work[TRIAL, axis] = (1.0 - t) * state[i, REST + axis] + t * state[j, REST + axis]
    if free and det > 0:
        rest = poses.shape[1] - 1
        x = PULL * (poses[i, rest, SPREAD] + poses[j, rest, SPREAD]) - work[PULLED, 3]
        y = PULL * (poses[i, rest, SPREAD + 1] + poses[j, rest, SPREAD + 1]) - work[PULLED, 6]
        z = PULL * (poses[i, rest, SPREAD + 2] + poses[j, rest, SPREAD + 2]) - work[PULLED, 8]
        work[SOLVED, 0] = (aa * x + ab * y + ac * z) / det
        work[SOLVED, 1] = (ab * x + (a * f - c * c) * y + (b * c - a * e) * z) / det
        work[SOLVED, 2] = (ac * x + (b * c - a * e) * y + (a * d - b * b) * z) / det
        off, length = 0.0, 0.0
        for axis in range(3):
            off += (work[SOLVED, axis] - 0.5 * (state[i, REST + axis] + state[j, REST + axis])) ** 2
            length += (state[i, REST + axis] - state[j, REST + axis]) ** 2
        if off <= FARTHEST * FARTHEST * length:
            for axis in range(3):
                work[TRIAL, axis] = work[SOLVED, axis]
    return _cost(state, poses, work, i, j)


@compiled_by({"_nrt": False}, "f8.2r f8.3r f8.2r i8 i8")
def _cost(state: Float64, poses: Float64, work: Float64, i: int, j: int) -> float:
    """What the place tried costs: the quadric, and the spread of all that it would stand for."""
    cost, spread, c = work[PULLED, 9], 0.0, 0
    for r in range(3):
        for s in range(r, 4):
            twice = 1.0 if s == r else 2.0
            cost += twice * work[PULLED, c] * work[TRIAL, r] * (work[TRIAL, s] if s < 3 else 1.0)
            c += 1
    total = state[i, WEIGHT] + state[j, WEIGHT]
    for f in range(poses.shape[1]):
        spread += poses[i, f, SPREAD + 3] + poses[j, f, SPREAD + 3]
        for r in range(3):
            x = work[MATRICES + f, 4 * r + 3]
            for axis in range(3):
                x += work[MATRICES + f, 4 * r + axis] * work[TRIAL, axis]
            spread += x * (total * x - 2 * (poses[i, f, SPREAD + r] + poses[j, f, SPREAD + r]))
    total_cost: float = max(cost, 0.0) + EVEN * max(spread, 0.0)
    return total_cost
