"""Effective distances with penalty between triangles and bones, and the bone for which it is least.

    d_effpen = d_eff + n delta                                                    (eq. 6)

n is the number of crossings of the effective line, from the centre of the triangle to its foot on the bone, with the
surface.

| paper | here |
| --- | --- |
| d_eff | first result of `find_foot` |
| n | `count_crossings` |
| delta | `Field.penalty` |
| d_effpen | `distance` |

Based on: Yan, Hu, Martin, Yang, Shape Deformation Using a Skeleton to Drive Simplex Transformations, 2008, 4.1 step 2.

Differs from the paper: `compare_bones` has the result of the plain test with fewer lines. As d_eff <= d_effpen, bones
are tried in the order of d_eff until no other one can be better, and counting stops as soon as a line has too many
crossings.

Range planes bound the region that a bone may control, and map a point of it to its foot on the bone.

A bone runs from A to B, d = B - A. At a free end its plane is orthogonal to d. At a joint J, where u_b and u_c point
from J along bones b and c, the plane between them is (P - J).(u_b - u_c) = 0: it bisects their angle, and b is in
range where (P - J).u_b >= (P - J).u_c. With three or more bones the range is the intersection of all half-spaces.

    a(P) = (P - A).n_A / (d.n_A)  >= 0 in range, from 0 to 1 along the bone    (the least, where A has several planes)
    b(P) = (P - B).n_B / (d.n_B)  <= 0 in range, from -1 to 0 along the bone   (the largest)
    t    = a / (a - b),  foot Q = A + t d,  effective distance |PQ|

The planes of constant t form the pencil of the two range planes, with t = 0 on the first and t = 1 on the second. If
both are orthogonal to the bone, Q is the orthogonal projection. On a plane between two bones both have their foot in
the joint, so effective distances agree there and segments meet in that plane.

| paper | here |
| --- | --- |
| range plane | row of `planes`: a(P) = n.P + c |
| effective line | PQ |
| d_eff | `distance` |

Based on: Yan, Hu, Martin, Yang, Shape Deformation Using a Skeleton to Drive Simplex Transformations, 2008, 4.1 step 1.

Differs from the paper: it refers to an earlier paper, which we do not have, for the definition of the effective line,
"a line that takes into account the orientations of the range planes at the ends of the bones"; the pencil is our
interpretation. The range plane of a free end may be farther out than the end of the bone (`extend`); feet are on the
bone. Bones folded onto each other have no plane between them; a joint without any plane counts as free.

Notes: where bones leave a joint at small angles (a palm), feet of points near a plane between them move towards the
joint, and effective distances are longer than Euclidean ones. Euclidean distances within the same ranges were tried: on
a hand 24 of 9,556 triangles differ (a strip of the thumb's second bone in the palm disappears), on the armadillo 646 of
86,482 (collar bones get patches of the neck, and 400 fewer triangles are visible). Not used.
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
#: A point up to this far (relative to the size of the mesh) on the wrong side counts as on the plane.
ON_PLANE = 1e-10


class Ranges(NamedTuple):
    """Bones and their range planes, as a named tuple, since kernels do not take data classes."""

    sticks: Float64  # (b,8) A, d, lowest and highest t of a foot
    planes: Float64  # (p,5) n and c of a(P) or b(P) = n.P + c, and the tolerance for points on the wrong side
    first: Int32  # (2b+1,) planes of bone b: first[2b] … at A, first[2b+1] … at B


def find_ranges(skeleton: StickSkeleton, inner: StickSkeleton | None = None) -> Ranges:
    """Range planes of all bones, around a mesh of size about 1. `inner` has shorter bones, which hold the feet."""
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
    """Effective distance and t of a point in range of bone b; out of range, infinity and 0."""
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
    t = a / (a - reach) if a - reach > 0 else 0.5  # on both planes, where all planes of the pencil meet
    t = min(max(t, sticks[b, 6]), sticks[b, 7])
    return _distance(sticks, b, t, point), t


@inlined
def nearest_foot(ranges: Ranges, b: int, point: Point) -> tuple[float, float]:
    """Like `find_foot`, for any point: out of range the foot is the nearest point of the bone."""
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
    """Distance of a point from position t on bone b."""
    x = sticks[b, 0] + t * sticks[b, 3] - point[0]
    y = sticks[b, 1] + t * sticks[b, 4] - point[1]
    z = sticks[b, 2] + t * sticks[b, 5] - point[2]
    distance: float = np.sqrt(x * x + y * y + z * z)
    return distance


#: A bone and the distance of a triangle to it.
Assigned = tuple[int, float]


class Field(NamedTuple):
    """All inputs of the distance between a triangle and a bone, in the form that kernels take."""

    centers: Float64  # (t,3) of the triangles
    skip: Int32  # (t,) its index in the surface, skipped when crossings are counted; -1 where it is not part of it (2D)
    ranges: Ranges
    tree: SurfaceTree
    penalty: float  # delta


@inlined
def line_to(field: Field, t: int, b: int, along: float) -> Ends:
    """Ends (x y z x y z) of the line from triangle t to position `along` on bone b."""
    centers, _, (sticks, _, _), _, _ = field
    x = sticks[b, 0] + along * sticks[b, 3]
    y = sticks[b, 1] + along * sticks[b, 4]
    z = sticks[b, 2] + along * sticks[b, 5]
    return centers[t, 0], centers[t, 1], centers[t, 2], x, y, z


@lean
def compare_all(field: Field, bone: Int32, distance: Float64) -> None:
    """The plain test: compare all bones in whose range a triangle is; -1 and infinity if there are none."""
    centers, skip, ranges, tree, penalty = field
    for t in range(bone.size):
        bone[t], distance[t] = -1, np.inf
        point = centers[t, 0], centers[t, 1], centers[t, 2]
        for b in range(ranges.sticks.shape[0]):
            straight, along = find_foot(ranges, b, point)
            if straight < np.inf:
                total = straight + count_crossings(tree, line_to(field, t, b, along), skip[t], ALL) * penalty  # eq. 6
                if total < distance[t]:  # the first of equal ones
                    bone[t], distance[t] = b, total


@inlined
def find_feet(field: Field, t: int, candidates: Int64, feet: Float64) -> int:
    """Effective distance and foot (b,2) of triangle t for the candidates; returns the index of the nearest."""
    centers, _, ranges, _, _ = field
    point = centers[t, 0], centers[t, 1], centers[t, 2]
    nearest = 0
    for i in range(candidates.size):
        feet[i, 0], feet[i, 1] = find_foot(ranges, candidates[i], point)
        nearest = i if feet[i, 0] < feet[nearest, 0] else nearest
    return nearest


@inlined
def better(has: Assigned, b: int, total: float) -> Assigned:
    """The better one of a triangle's bone with its distance and another pair; the lower index of equal ones."""
    bone, distance = has
    return (b, total) if total < distance or (total == distance and b < bone) else has


@lean
def compare_bones(field: Field, t: int, candidates: Int64, has: Assigned, feet: Float64) -> Assigned:
    """The best of the current (bone, distance) of triangle t and the candidates, whose feet are given.

    If the current pair is (-1, threshold), only bones from which the triangle is visible count, and for most lines
    that cross the surface counting stops at the first crossing.
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
    """The plain result for those of the given triangles that are visible; others get -1 and the threshold."""
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
