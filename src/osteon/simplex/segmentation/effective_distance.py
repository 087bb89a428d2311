"""Triangles against bones: the effective distance with penalty of a pair, and the bone for which it is least.

    d_effpen = d_eff + n delta                                                    (eq. 6)

n counts how often the effective line, from the centre of the triangle to its foot on the bone, crosses the surface.

| paper | here |
| --- | --- |
| d_eff | first result of `find_foot` |
| n | `count_crossings` |
| delta | `Field.penalty` |
| d_effpen | `distance` |

Based on: Yan, Hu, Martin, Yang, Shape Deformation Using a Skeleton to Drive Simplex Transformations, 2008, 4.1 step 2.

Differs from the paper: `compare_bones` gives the answer of the plain test with fewer lines. As d_eff <= d_effpen, bones
are tried in the order of d_eff until none can win any more, and a line is left as soon as it crosses too often.

Range planes: which part of space a bone may control, and where on the bone a point of it belongs.

A bone runs from A to B, d = B - A. At a free end its plane is orthogonal to d. At a joint J, where u_b and u_c point
from J along bones b and c, the plane between them is (P - J).(u_b - u_c) = 0: it bisects their angle, and b is in
range where (P - J).u_b >= (P - J).u_c. With three or more bones the range is what all planes leave.

    a(P) = (P - A).n_A / (d.n_A)  >= 0 in range, runs 0 … 1 along the bone     (least one, where A has several planes)
    b(P) = (P - B).n_B / (d.n_B)  <= 0 in range, runs -1 … 0 along the bone    (largest one)
    t    = a / (a - b),  foot Q = A + t d,  effective distance |PQ|

The planes of constant t are the pencil through both range planes: t is 0 on the one, 1 on the other, and between them
the plane turns evenly. Both planes orthogonal: Q is the orthogonal projection. On a plane between two bones both have
their foot in the joint, so effective distances agree there and segments meet in that plane.

| paper | here |
| --- | --- |
| range plane | row of `planes`: a(P) = n.P + c |
| effective line | PQ |
| d_eff | `distance` |

Based on: Yan, Hu, Martin, Yang, Shape Deformation Using a Skeleton to Drive Simplex Transformations, 2008, 4.1 step 1.

Differs from the paper: it takes the definition of the effective line from an earlier one that we do not have, and
calls it "a line that takes into account the orientations of the range planes at the ends of the bones"; the pencil is
our reading. The range plane of a free end may stand farther out than the bone ends (`extend`); feet stay on the bone.
Bones folded onto each other have no plane between them; a joint where no plane is left counts as free.

Notes: where bones fan out from a joint at small angles (a palm), feet of points near a plane between them slide towards
the joint, and effective distances are longer than plain ones. Plain distances within the same ranges were tried: on a
hand 24 of 9,556 triangles differ (a tongue of the thumb's second bone in the palm is gone), on the armadillo 646 of
86,482 (collar bones get patches of the neck, and 400 triangles fewer are seen). Not kept.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from osteon.core.arrays import Float64, Int32
from osteon.core.kernels import Int64, Point, exact, inlined, lean
from osteon.core.sticks import StickSkeleton
from osteon.simplex.segmentation.tree import ALL, Ends, SurfaceTree, count_crossings

#: Bones that meet at a smaller angle (1 - cosine) are folded onto each other.
FOLDED = 1e-8
#: A point this far (over the size of the mesh) on the wrong side still lies on the plane.
ON_PLANE = 1e-10


class Ranges(NamedTuple):
    """Bones and their range planes, as kernels take them (they take named tuples, not data classes)."""

    sticks: Float64  # (b,8) A, d, lowest and highest t of a foot
    planes: Float64  # (p,5) n and c of a(P) or b(P) = n.P + c, and how far on the wrong side is still on the plane
    first: Int32  # (2b+1,) planes of bone b: first[2b] … at A, first[2b+1] … at B


def find_ranges(skeleton: StickSkeleton, inner: StickSkeleton | None = None) -> Ranges:
    """Range planes of all bones, around a mesh of size about 1. `inner` has shorter bones on which feet must lie."""
    start, vector = skeleton.joints[skeleton.bones[:, 0]], skeleton.vectors
    rows: list[Float64] = []
    first = [0]
    for b in range(skeleton.n_bones):
        for joint in skeleton.bones[b]:
            for normal in _normals(skeleton, b, int(joint)):
                scaled = normal / (vector[b] @ normal)
                c = -float(skeleton.joints[joint] @ scaled)
                rows.append(np.array([*scaled, c, ON_PLANE * float(np.linalg.norm(scaled))]))
            first.append(len(rows))
    ends = (inner or skeleton).joints[skeleton.bones] - start[:, None]
    limits = np.einsum("bek,bk->be", ends, vector) / np.einsum("bk,bk->b", vector, vector)[:, None]
    sticks = np.concatenate([start, vector, limits], axis=1)
    return Ranges(sticks, np.array(rows), np.array(first, np.int32))


def _normals(skeleton: StickSkeleton, b: int, joint: int) -> list[Float64]:
    """Normals of the planes that bound bone b at one of its joints."""
    away = _away(skeleton, b, joint)
    others = [_away(skeleton, int(c), joint) for c in skeleton.bones_at(joint) if c != b]
    return [away - other for other in others if away @ other < 1 - FOLDED] or [away]


def _away(skeleton: StickSkeleton, b: int, joint: int) -> Float64:
    """Unit vector along bone b, away from one of its joints."""
    vector = skeleton.vectors[b] * (1 if skeleton.bones[b, 0] == joint else -1)
    unit: Float64 = vector / np.linalg.norm(vector)
    return unit


@inlined
def find_foot(ranges: Ranges, b: int, point: Point) -> tuple[float, float]:
    """Effective distance and t of a point that is in range of bone b; out of range, infinity and 0."""
    sticks, planes, first = ranges
    x, y, z = point
    a, reach = 1e300, -1e300  # a(P) and b(P)
    for p in range(first[2 * b], first[2 * b + 1]):
        value = planes[p, 0] * x + planes[p, 1] * y + planes[p, 2] * z + planes[p, 3]
        if value < -planes[p, 4]:
            return np.inf, 0.0
        a = min(a, value)
    for p in range(first[2 * b + 1], first[2 * b + 2]):
        value = planes[p, 0] * x + planes[p, 1] * y + planes[p, 2] * z + planes[p, 3]
        if value > planes[p, 4]:
            return np.inf, 0.0
        reach = max(reach, value)
    a, reach = max(a, 0.0), min(reach, 0.0)
    t = a / (a - reach) if a - reach > 0 else 0.5  # on both planes: all of the pencil meets there
    t = min(max(t, sticks[b, 6]), sticks[b, 7])
    return _distance(sticks, b, t, point), t


@inlined
def nearest_foot(ranges: Ranges, b: int, point: Point) -> tuple[float, float]:
    """Like `find_foot`, for any point: out of range the foot is the nearest place on the bone."""
    distance, t = find_foot(ranges, b, point)
    if distance < np.inf:
        return distance, t
    sticks = ranges.sticks
    x, y, z = sticks[b, 3], sticks[b, 4], sticks[b, 5]
    along = (point[0] - sticks[b, 0]) * x + (point[1] - sticks[b, 1]) * y + (point[2] - sticks[b, 2]) * z
    t = min(max(along / (x * x + y * y + z * z), sticks[b, 6]), sticks[b, 7])
    return _distance(sticks, b, t, point), t


@inlined
def _distance(sticks: Float64, b: int, t: float, point: Point) -> float:
    """From a point to the place t on bone b."""
    x = sticks[b, 0] + t * sticks[b, 3] - point[0]
    y = sticks[b, 1] + t * sticks[b, 4] - point[1]
    z = sticks[b, 2] + t * sticks[b, 5] - point[2]
    distance: float = np.sqrt(x * x + y * y + z * z)
    return distance


#: A bone and the distance of a triangle to it.
Assigned = tuple[int, float]


class Field(NamedTuple):
    """Everything that the distance of a triangle to a bone depends on, as kernels take it."""

    centers: Float64  # (t,3) of the triangles
    skip: Int32  # (t,) its number in the surface, which its lines do not cross; -1 where it is not part of it (2D)
    ranges: Ranges
    tree: SurfaceTree
    penalty: float  # delta


@inlined
def line_to(field: Field, t: int, b: int, along: float) -> Ends:
    """Ends (x y z x y z) of the line from triangle t to the place `along` on bone b."""
    centers, _, (sticks, _, _), _, _ = field
    x = sticks[b, 0] + along * sticks[b, 3]
    y = sticks[b, 1] + along * sticks[b, 4]
    z = sticks[b, 2] + along * sticks[b, 5]
    return centers[t, 0], centers[t, 1], centers[t, 2], x, y, z


@lean
def compare_all(field: Field, bone: Int32, distance: Float64) -> None:
    """The plain test: every bone in whose range a triangle lies; -1 and infinity where there is none."""
    centers, skip, ranges, tree, penalty = field
    for t in range(bone.size):
        bone[t], distance[t] = -1, np.inf
        point = centers[t, 0], centers[t, 1], centers[t, 2]
        for b in range(ranges.sticks.shape[0]):
            straight, along = find_foot(ranges, b, point)
            if straight < np.inf:
                total = straight + count_crossings(tree, line_to(field, t, b, along), skip[t], ALL) * penalty  # eq. 6
                if total < distance[t]:  # of equal ones the first stays
                    bone[t], distance[t] = b, total


@inlined
def find_feet(field: Field, t: int, candidates: Int64, feet: Float64) -> int:
    """Effective distance and foot (b,2) of triangle t for the candidates; returns which is nearest."""
    centers, _, ranges, _, _ = field
    point = centers[t, 0], centers[t, 1], centers[t, 2]
    nearest = 0
    for i in range(candidates.size):
        feet[i, 0], feet[i, 1] = find_foot(ranges, candidates[i], point)
        nearest = i if feet[i, 0] < feet[nearest, 0] else nearest
    return nearest


@inlined
def better(has: Assigned, b: int, total: float) -> Assigned:
    """The better of the bone and distance that a triangle has and another; ties go to the lower bone."""
    bone, distance = has
    return (b, total) if total < distance or (total == distance and b < bone) else has


@lean
def compare_bones(field: Field, t: int, candidates: Int64, has: Assigned, feet: Float64) -> Assigned:
    """The best of what triangle t has, as (bone, distance), and the candidates, whose feet are known.

    With (-1, threshold) to begin with, only bones that see the triangle count, and most lines that cross the surface
    are left at their first crossing.
    """
    while candidates.size:
        i = np.argmin(feet[: candidates.size, 0])
        straight = feet[i, 0]
        if not straight <= has[1] or straight == np.inf:
            break
        limit = int(min((has[1] - straight) / field.penalty, 1e9))
        n = count_crossings(field.tree, line_to(field, t, candidates[i], feet[i, 1]), field.skip[t], limit)
        has = better(has, candidates[i], straight + n * field.penalty)  # eq. 6
        feet[i, 0] = np.inf
    return has


@exact
def find_seen(field: Field, triangles: NDArray[np.intp], seen_below: float, bone: Int32, distance: Float64) -> None:
    """The plain answer of the given triangles, as far as bones see them; others get -1 and the threshold."""
    everything = np.arange(field.ranges.sticks.shape[0])
    feet = np.empty((everything.size, 2))
    for t in triangles:
        find_feet(field, t, everything, feet)
        bone[t], distance[t] = compare_bones(field, t, everything, (-1, seen_below), feet)


@lean
def measure_pairs(field: Field, triangles: NDArray[np.intp], bone: Int32, along: Float64, distance: Float64) -> None:
    """Foot (0 … 1 along the bone) and effective distance with penalty of the given triangles to their bones."""
    centers, skip, ranges, tree, penalty = field
    for t in triangles:
        point = centers[t, 0], centers[t, 1], centers[t, 2]
        straight, along[t] = nearest_foot(ranges, bone[t], point)
        distance[t] = straight + count_crossings(tree, line_to(field, t, bone[t], along[t]), skip[t], ALL) * penalty


@lean
def find_places(field: Field, bone: Int32, along: Float64) -> None:
    """Foot (0 … 1 along the bone) of every triangle on its bone."""
    centers, _, ranges, _, _ = field
    for t in range(bone.size):
        along[t] = nearest_foot(ranges, bone[t], (centers[t, 0], centers[t, 1], centers[t, 2]))[1]
