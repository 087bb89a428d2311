"""Find the best position and weights of a collapsed edge, and their cost.

    minimise over p   sum_f Q_f(A_f [p + d_f; 1]) + attributes(p),    Q_f = Q_if + Q_jf

A_f blends the transforms of both points with weights 1 - t and t, of which the k largest are kept. For each of a few t
the quadrics of all poses are pulled back to the rest pose, A' Q A, and summed: the best p is the solution of three
linear equations. The best t is kept.

| symbol | name |
| --- | --- |
| p, d_f | place, shift |
| A_f | matrix |
| Q_f | quadric |
| t | share |

Based on: Garland and Heckbert 1997 (`quadrics.py`); DeCoro and Rusinkiewicz, Pose-independent simplification of
articulated meshes, 2005, who pull quadrics of poses back to the rest pose.
Differs from these: quadrics stay in their poses and are pulled back through the blend of the candidate point, so that
its weights count too; the price of a collapse is the increase of the sum over all points. Positions far from the edge
are rejected: where the surface is nearly flat or straight, the equations are ill-conditioned.

Notes, horse to 2,100 triangles, mean distance in % before levels are fitted: t of three values 0.0555, of five 0.0543;
price by the increase of the sum instead of the cost of the new point 0.0524; by its root, a distance instead of a
square, 0.0517 with a larger worst distance. Memoryless quadrics, of the current surface instead of accumulated ones
(Lindstrom and Turk, 1998): legs and tail vanish, 0.26; half of both 0.057.
"""

from __future__ import annotations

import numpy as np

from osteon.lod.mesh.edge_checks import FREE, KEEP_FIRST, KEEP_SECOND, REFUSED, match_wedges
from osteon.lod.mesh.surface import Record, Surface, Workspace, surface_kernel

#: Number of mixtures of two points that are tried.
TRIED = 5
#: Weight of a regulariser towards the mean of all merged points, relative to planes. It determines the position where
#: planes do not.
PULL = 1e-8
#: Cost of a squared distance to a merged point, relative to one to a plane. It keeps triangles even in flat regions.
EVEN = 1e-4
#: Largest distance of the position from the midpoint of the edge, in edge lengths.
FARTHEST = 2.0


@surface_kernel("surface workspace i8 i8")
def place_edge(surface: Surface, workspace: Workspace, i: int, j: int) -> int:
    """Find the best placement of edge ij; returns which end has to stay, or REFUSED.

    Leaves the placement in `workspace.best` and its influences in `workspace.chosen`.
    """
    n_pairs, end = match_wedges(surface, workspace, i, j)
    best, trial = workspace.best[0], workspace.trial[0]
    best.cost, best.share = np.inf, 0.0
    if end == REFUSED:
        return end
    _sum_attributes(surface, workspace, n_pairs)
    start, stop = 0, TRIED
    if end == KEEP_FIRST:
        stop = 1
    elif end == KEEP_SECOND:
        start = TRIED - 1
    elif _moves_alike(surface, i, j):
        start, stop = TRIED // 2, TRIED // 2 + 1
    for step in range(start, stop):
        trial.share = step / (TRIED - 1.0)
        _mix_influences(surface, workspace, i, j, trial.share)
        _blend_transforms(surface, workspace, i, j, trial.share)
        _sum_quadrics(surface, workspace, i, j)
        _solve_place(surface, workspace, i, j, end == FREE)
        trial.cost = _cost(surface, workspace, i, j)
        if trial.cost < best.cost:
            workspace.best[0] = trial
            for a in range(workspace.chosen.shape[0]):
                workspace.chosen[a] = workspace.tried[a]
    best.price = best.cost - surface.points[i].cost - surface.points[j].cost
    return end


@surface_kernel("surface workspace i8 i8")
def pose_best(surface: Surface, workspace: Workspace, i: int, j: int) -> None:
    """Compute the best place in every pose, in `workspace.posed`."""
    best = workspace.best[0]
    for a in range(workspace.chosen.shape[0]):
        workspace.tried[a] = workspace.chosen[a]
    _blend_transforms(surface, workspace, i, j, best.share)
    for f in range(workspace.posed.shape[0]):
        posed = workspace.posed[f]
        for r in range(3):
            posed.place[r] = _posed_axis(posed, best, r)


@surface_kernel("surface i8 i8", inline=True)
def _moves_alike(surface: Surface, i: int, j: int) -> bool:
    """Whether both points have the same influences and displacements, so that all mixtures of them are the same."""
    for a in range(surface.influences.shape[1]):
        first, second = surface.influences[i, a], surface.influences[j, a]
        if first.transform != second.transform or first.weight != second.weight:
            return False
    for f in range(surface.posed.shape[1]):
        for axis in range(3):
            if surface.posed[i, f].shift[axis] != surface.posed[j, f].shift[axis]:
                return False
    return True


@surface_kernel("surface workspace i8", inline=True)
def _sum_attributes(surface: Surface, workspace: Workspace, n_pairs: int) -> None:
    """The quadric of all wedges with the best attributes at each place."""
    total, gradients = workspace.sums[0].attributes, surface.gradients
    for c in range(10):
        total[c] = 0.0
    if gradients.shape[1] == 0:
        return
    for p in range(n_pairs):
        pair = workspace.wedges[p]
        a, b = max(pair.first, 0), max(pair.second, 0)
        first, second = surface.wedges[a], surface.wedges[b]
        use_a, use_b = 1.0 if pair.first >= 0 else 0.0, 1.0 if pair.second >= 0 else 0.0
        weight = use_a * first.weight + use_b * second.weight
        if weight <= 0:
            continue
        for c in range(10):
            total[c] += use_a * first.quadric[c] + use_b * second.quadric[c]
        for m in range(gradients.shape[1]):
            c = 0
            for r in range(4):
                g = (use_a * gradients[a, m, r] + use_b * gradients[b, m, r]) / weight
                for s in range(r, 4):
                    total[c] -= g * (use_a * gradients[a, m, s] + use_b * gradients[b, m, s])
                    c += 1


@surface_kernel("surface workspace i8 i8 f8", inline=True)
def _mix_influences(surface: Surface, workspace: Workspace, i: int, j: int, t: float) -> None:
    """The k largest of (1 - t) of the influences of i and t of those of j, with a sum of one."""
    tried, n, k, total = workspace.tried, 0, surface.influences.shape[1], 0.0
    for v in (i, j):
        share = 1.0 - t if v == i else t
        for a in range(k):
            influence, at = surface.influences[v, a], 0
            weight = share * influence.weight
            if weight > 0:
                while at < n and tried[at].transform != influence.transform:
                    at += 1
                if at == n:
                    tried[at].transform, tried[at].weight = influence.transform, 0.0
                    n += 1
                tried[at].weight += weight
    for a in range(k):
        if a >= n:
            tried[a].transform, tried[a].weight = 0, 0.0
            continue
        most = a
        for b in range(a + 1, n):
            most = b if tried[b].weight > tried[most].weight else most
        transform, weight = tried[most].transform, tried[most].weight
        tried[most] = tried[a]
        tried[a].transform, tried[a].weight = transform, weight
        total += weight
    for a in range(k):
        tried[a].weight /= total


@surface_kernel("surface workspace i8 i8 f8", inline=True)
def _blend_transforms(surface: Surface, workspace: Workspace, i: int, j: int, t: float) -> None:
    """Blend the tried influences in every pose, with the displacement of the pose in the last column."""
    for f in range(workspace.posed.shape[0]):
        matrix = workspace.posed[f].matrix
        for c in range(12):
            matrix[c] = 0.0
        for a in range(surface.influences.shape[1]):
            transform, weight = workspace.tried[a].transform, workspace.tried[a].weight
            if weight > 0:
                for c in range(12):
                    matrix[c] += weight * surface.transforms[transform, f, c]
        first, second = surface.posed[i, f], surface.posed[j, f]
        for axis in range(3):
            shift = (1.0 - t) * first.shift[axis] + t * second.shift[axis]
            for r in range(3):
                matrix[4 * r + 3] += matrix[4 * r + axis] * shift


@surface_kernel("surface workspace i8 i8", inline=True)
def _sum_quadrics(surface: Surface, workspace: Workspace, i: int, j: int) -> None:
    """Sum the quadrics of attributes and of all poses in the rest pose: A' Q A."""
    total, q = workspace.sums[0].total, workspace.sums[0].posed
    for c in range(10):
        total[c] = workspace.sums[0].attributes[c]
    for f in range(workspace.posed.shape[0]):
        matrix, c = workspace.posed[f].matrix, 0
        first, second = surface.posed[i, f].quadric, surface.posed[j, f].quadric
        for k in range(10):
            q[k] = first[k] + second[k]
        for r in range(4):
            a, b, d, w = matrix[r], matrix[4 + r], matrix[8 + r], 1.0 if r == 3 else 0.0
            x = q[0] * a + q[1] * b + q[2] * d + q[3] * w
            y = q[1] * a + q[4] * b + q[5] * d + q[6] * w
            z = q[2] * a + q[5] * b + q[7] * d + q[8] * w
            for s in range(r, 4):
                total[c] += x * matrix[s] + y * matrix[4 + s] + z * matrix[8 + s]
                c += 1
            total[c - 1] += q[3] * a + q[6] * b + q[8] * d
        total[9] += q[9]


@surface_kernel("surface workspace i8 i8 b1", inline=True)
def _solve_place(surface: Surface, workspace: Workspace, i: int, j: int, free: bool) -> None:
    """Set the tried place to that of the least cost if it is free, else to the mixture of both ends."""
    one, other, trial, q = surface.points[i], surface.points[j], workspace.trial[0], workspace.sums[0].total
    for axis in range(3):
        trial.place[axis] = (1.0 - trial.share) * one.place[axis] + trial.share * other.place[axis]
    pull = PULL * (one.weight + other.weight)
    a, b, c = q[0] + pull, q[1], q[2]
    d, e, f = q[4] + pull, q[5], q[7] + pull
    aa = d * f - e * e
    ab = c * e - b * f
    ac = b * e - c * d
    det = a * aa + b * ab + c * ac
    if not (free and det > 0):
        return
    rest = surface.posed.shape[1] - 1
    first, second = surface.posed[i, rest].place_sum, surface.posed[j, rest].place_sum
    x = PULL * (first[0] + second[0]) - q[3]
    y = PULL * (first[1] + second[1]) - q[6]
    z = PULL * (first[2] + second[2]) - q[8]
    x, y, z = (
        (aa * x + ab * y + ac * z) / det,
        (ab * x + (a * f - c * c) * y + (b * c - a * e) * z) / det,
        (ac * x + (b * c - a * e) * y + (a * d - b * b) * z) / det,
    )
    off, length = 0.0, 0.0
    for axis, solved in enumerate((x, y, z)):
        off += (solved - 0.5 * (one.place[axis] + other.place[axis])) ** 2
        length += (one.place[axis] - other.place[axis]) ** 2
    if off <= FARTHEST * FARTHEST * length:
        trial.place[0], trial.place[1], trial.place[2] = x, y, z


@surface_kernel("surface workspace i8 i8", inline=True)
def _cost(surface: Surface, workspace: Workspace, i: int, j: int) -> float:
    """The cost of the tried position: the quadric, and the spread of all points merged into it."""
    trial, q = workspace.trial[0], workspace.sums[0].total
    cost, spread, c = q[9], 0.0, 0
    for r in range(3):
        for s in range(r, 4):
            twice = 1.0 if s == r else 2.0
            cost += twice * q[c] * trial.place[r] * (trial.place[s] if s < 3 else 1.0)
            c += 1
    weight = surface.points[i].weight + surface.points[j].weight
    for f in range(workspace.posed.shape[0]):
        first, second = surface.posed[i, f], surface.posed[j, f]
        spread += first.square_sum + second.square_sum
        for r in range(3):
            x = _posed_axis(workspace.posed[f], trial, r)
            spread += x * (weight * x - 2 * (first.place_sum[r] + second.place_sum[r]))
    total_cost: float = max(cost, 0.0) + EVEN * max(spread, 0.0)
    return total_cost


@surface_kernel("placed placement i8", inline=True)
def _posed_axis(posed: Record, placement: Record, r: int) -> float:
    """Coordinate r of a placement in a pose."""
    x: float = posed.matrix[4 * r + 3]
    for axis in range(3):
        x += posed.matrix[4 * r + axis] * placement.place[axis]
    return x
