"""Which edges may collapse: those after which the surface has the same shells, holes, borders, seams and materials.

The collapse of edge ij keeps the kind of a surface if no points or edges but those that go with ij are in the rings of
both its ends: Lk(i) and Lk(j) share nothing but Lk(ij). Borders, seams and edges of more than two triangles count as
if one more point hung on them, so that

- two points of borders or seams collapse along these only, never across;
- a closed shell ends as a tetrahedron, an open one as a triangle, and so does every patch of a material or chart.

Where many triangles meet at an edge that does not follow; so besides no part (a material and primitive in a shell) may
lose its last triangle.

At seams every wedge must find its partner along the edge. If only one end has wedges without a partner (a corner of
seams, or a point on a seam beside one that is not), the other comes to it.

Based on: Dey, Edelsbrunner, Guha, Nekhayev, Topology preserving edge contraction, 1999; Hoppe, Progressive meshes, 1996
(wedges).
"""

from __future__ import annotations

from osteon.core.arrays import Int32, Int64
from osteon.core.kernels import compiled_by
from osteon.lod.mesh.state import AFTER, FIRST, LAST, LOCKED, NEXT, NOW, PAIRS, PART, POINT, SIDE, WEDGE

__all__ = ["FREE", "KEEP_FIRST", "KEEP_SECOND", "REFUSED", "keeps_kind", "match_wedges"]

#: What may become of an edge: nothing, a point anywhere, or one of its ends with the other in it.
REFUSED, FREE, KEEP_FIRST, KEEP_SECOND = 0, 1, 2, 3
#: Marks of a point beside an end of the edge: when it was marked, and counted; what the edge to it is, and the wedges
#: at both ends of that.
STAMP, SEEN, KIND, NEAR, FAR = 0, 1, 2, 3, 4
#: Kinds of edges: of one triangle, of two that look alike, of two that do not, of more.
BORDER, PLAIN, SEAM, MANY = 1, 2, 3, 4


@compiled_by({"_nrt": False}, "i4.2r i4.2r i4.2 i8 i8")
def match_wedges(corners: Int32, heads: Int32, slots: Int32, i: int, j: int) -> tuple[int, int]:
    """Fill slots (p,2) with wedges that become one, -1 for none; returns how many, and what may become of the edge."""
    n = 0
    c = heads[i, FIRST]
    while c >= 0:
        at_next, at_last = corners[corners[c, NEXT], POINT] == j, corners[corners[c, LAST], POINT] == j
        partner = corners[corners[c, NEXT if at_next else LAST], WEDGE] if at_next or at_last else -1
        n = _add_pair(slots, n, corners[c, WEDGE], partner)
        c = corners[c, AFTER]
    c = heads[j, FIRST]
    while c >= 0:
        n = _add_pair(slots, n, -1, corners[c, WEDGE])
        c = corners[c, AFTER]
    first_stays, second_stays = heads[i, LOCKED] > 0, heads[j, LOCKED] > 0
    for p in range(n):
        first_stays = first_stays or slots[p, 1] < 0
        second_stays = second_stays or slots[p, 0] < 0
    if n < 0 or (first_stays and second_stays):
        return n, REFUSED
    if first_stays:
        return n, KEEP_FIRST
    return n, KEEP_SECOND if second_stays else FREE


@compiled_by({"_nrt": False}, "i4.2 i8 i8 i8")
def _add_pair(slots: Int32, n: int, a: int, b: int) -> int:
    """Put wedges a and b together, where -1 stands for none; returns how many there are, -1 if it cannot be."""
    of_a = of_b = -1
    for p in range(n):
        of_a = p if a >= 0 and slots[p, 0] == a else of_a
        of_b = p if b >= 0 and slots[p, 1] == b else of_b
    if n < 0:
        return -1
    if of_a < 0 and of_b < 0:
        if n < PAIRS:
            slots[n, 0], slots[n, 1] = a, b
        return n + 1 if n < PAIRS else -1
    if a < 0 or b < 0 or of_a == of_b:
        return n
    if of_a < 0 or of_b >= 0 or slots[of_a, 1] >= 0:
        return -1  # one of them has another partner
    slots[of_a, 1] = b
    return n


@compiled_by({"_nrt": False}, "i4.2r i4.1r i4.2r i4.2 i8.1 i8 i8")
def keeps_kind(corners: Int32, parts: Int32, heads: Int32, ring: Int32, counters: Int64, i: int, j: int) -> bool:
    """Whether the link condition holds for edge ij, and all parts stay."""
    counters[NOW] += 1
    now = counters[NOW]
    special_i = _mark_ring(corners, heads, ring, i, 0, now)
    special_j = _mark_ring(corners, heads, ring, j, SIDE, now)
    if special_i and special_j and ring[j, KIND] == PLAIN:
        return False
    thirds, common, going = 0, 0, 0
    c = heads[i, FIRST]
    while c >= 0:
        u, w = corners[corners[c, NEXT], POINT], corners[corners[c, LAST], POINT]
        for v in (u, w):
            if v != j and ring[v, SIDE + STAMP] == now and ring[v, SIDE + SEEN] != now:
                ring[v, SIDE + SEEN] = now
                common += 1
            if (u == j or w == j) and v != j:
                one, other = ring[v, KIND], ring[v, SIDE + KIND]
                if one in (BORDER, SEAM) and other in (BORDER, SEAM):
                    return False
                thirds += 1 if ring[v, SEEN] != now else 0
                ring[v, SEEN] = now
        going += 1 if u == j or w == j else 0
        if u != j and w != j and ring[u, SIDE + STAMP] == now and ring[w, SIDE + STAMP] == now:
            d = heads[j, FIRST]
            while d >= 0:
                a, b = corners[corners[d, NEXT], POINT], corners[corners[d, LAST], POINT]
                if (a == u and b == w) or (a == w and b == u):
                    return False
                d = corners[d, AFTER]
        c = corners[c, AFTER]
    return thirds > 0 and common == thirds and _parts_stay(corners, parts, heads[i, FIRST], j, going)


@compiled_by({"_nrt": False}, "i4.2r i4.1r i8 i8 i8")
def _parts_stay(corners: Int32, parts: Int32, first: int, j: int, going: int) -> bool:
    """Whether all parts would have triangles left without those that have point j in the list of corners."""
    c = first
    while c >= 0:
        goes = corners[corners[c, NEXT], POINT] == j or corners[corners[c, LAST], POINT] == j
        if goes and parts[corners[c, PART]] <= going:
            same, d = 0, first
            while d >= 0:
                goes = corners[corners[d, NEXT], POINT] == j or corners[corners[d, LAST], POINT] == j
                same += 1 if goes and corners[d, PART] == corners[c, PART] else 0
                d = corners[d, AFTER]
            if same >= parts[corners[c, PART]]:
                return False
        c = corners[c, AFTER]
    return True


@compiled_by({"_nrt": False}, "i4.2r i4.2r i4.2 i8 i8 i8")
def _mark_ring(corners: Int32, heads: Int32, ring: Int32, v: int, side: int, now: int) -> bool:
    """Mark all neighbours of a point; returns whether any edge to them is not plain."""
    c, n_odd = heads[v, FIRST], 0
    while c >= 0:
        for d in (corners[c, NEXT], corners[c, LAST]):
            u = corners[d, POINT]
            if ring[u, side + STAMP] != now:
                ring[u, side + STAMP], ring[u, side + KIND] = now, BORDER
                ring[u, side + NEAR], ring[u, side + FAR] = corners[c, WEDGE], corners[d, WEDGE]
                n_odd += 1
            elif ring[u, side + KIND] == BORDER:
                alike = ring[u, side + NEAR] == corners[c, WEDGE] and ring[u, side + FAR] == corners[d, WEDGE]
                ring[u, side + KIND] = PLAIN if alike else SEAM
                n_odd -= 1 if alike else 0
            else:
                n_odd += 1 if ring[u, side + KIND] == PLAIN else 0
                ring[u, side + KIND] = MANY
        c = corners[c, AFTER]
    return n_odd > 0
