"""Which edges may collapse: those after which the surface keeps its topology and no triangle flips.

**Topology.** The surface keeps its shells, holes, borders, seams and materials. The collapse of edge ij keeps the
topology of a surface if the links of its ends share nothing but the link of the edge: Lk(i) and Lk(j) intersect in
Lk(ij). Borders, seams and edges of more than two triangles count as if they were connected to one more point, so that

- two points of borders or seams collapse along these only, never across;
- a closed shell ends as a tetrahedron, an open one as a triangle, and so does every patch of a material or chart.

This does not follow where many triangles meet at an edge; therefore no part (a material and primitive in a shell) may
lose its last triangle either.

At seams every wedge must find its partner along the edge. If only one end has wedges without a partner (a corner of
seams, or a point on a seam next to one that is not), the other moves to it.

**Flips.** A triangle flips if its normal rotates by more than 78 degrees in some pose, if it loses its area, or if it
then faces away from the source at all three of its corners, which many small rotations would cause. A triangle
without area may gain some on the side to which the source faces there.

The same pass measures how far both ends are from the surface that would be left. Planes do not measure this when a
thin tip is removed: what is left is in their planes.

Based on: Dey, Edelsbrunner, Guha, Nekhayev, Topology preserving edge contraction, 1999; Hoppe, Progressive meshes, 1996
(wedges).
"""

from __future__ import annotations

import numpy as np

from osteon.core.kernels import Point, cross, dot, inlined, minus
from osteon.lod.mesh.surface import MAX_PAIRS, Surface, Workspace, surface_kernel

#: Allowed collapses of an edge: none, to any position, or to one of its ends, into which the other is merged.
REFUSED, FREE, KEEP_FIRST, KEEP_SECOND = 0, 1, 2, 3
#: Kinds of edges: of one triangle, of two with the same wedges, of two with different wedges, of more than two.
BORDER, PLAIN, SEAM, MANY = 1, 2, 3, 4
#: The least cosine between a normal before and after.
LEAST_COSINE = 0.2
#: A triangle has no area if that is less than this, relative to its longest edge squared.
FLAT = 1e-6


@surface_kernel("surface workspace i8 i8", inline=True)
def match_wedges(surface: Surface, workspace: Workspace, i: int, j: int) -> tuple[int, int]:
    """List pairs of wedges that become one, with -1 for none; returns their number, and the allowed collapse."""
    corners, n = surface.corners, 0
    c = surface.points[i].first_corner
    while c >= 0:
        partner = -1
        if corners[corners[c].next].point == j:
            partner = corners[corners[c].next].wedge
        elif corners[corners[c].previous].point == j:
            partner = corners[corners[c].previous].wedge
        n = _add_pair(workspace, n, corners[c].wedge, partner)
        c = corners[c].next_at_point
    c = surface.points[j].first_corner
    while c >= 0:
        n = _add_pair(workspace, n, -1, corners[c].wedge)
        c = corners[c].next_at_point
    first_stays, second_stays = surface.points[i].locked > 0, surface.points[j].locked > 0
    for p in range(n):
        first_stays = first_stays or workspace.wedges[p].second < 0
        second_stays = second_stays or workspace.wedges[p].first < 0
    if n < 0 or (first_stays and second_stays):
        return n, REFUSED
    if first_stays:
        return n, KEEP_FIRST
    return n, KEEP_SECOND if second_stays else FREE


@surface_kernel("workspace i8 i8 i8", inline=True)
def _add_pair(workspace: Workspace, n: int, a: int, b: int) -> int:
    """Pair wedges a and b, where -1 means none; returns the number of pairs, -1 if they cannot be paired."""
    pairs = workspace.wedges
    of_a = of_b = -1
    for p in range(n):
        of_a = p if a >= 0 and pairs[p].first == a else of_a
        of_b = p if b >= 0 and pairs[p].second == b else of_b
    if n < 0:
        return -1
    if of_a < 0 and of_b < 0:
        if n == MAX_PAIRS:
            return -1
        pairs[n].first, pairs[n].second = a, b
        return n + 1
    if a < 0 or b < 0 or of_a == of_b:
        return n
    if of_a < 0 or of_b >= 0 or pairs[of_a].second >= 0:
        return -1  # one of them has another partner
    pairs[of_a].second = b
    return n


@surface_kernel("surface workspace i8 i8")
def keeps_topology(surface: Surface, workspace: Workspace, i: int, j: int) -> bool:
    """Whether the link condition holds for edge ij, and no part loses its last triangle."""
    corners, ring = surface.corners, workspace.ring
    workspace.counters[0].mark += 1
    now = workspace.counters[0].mark
    special_i = _mark_ring(surface, workspace, i, 0, now)
    special_j = _mark_ring(surface, workspace, j, 1, now)
    if special_i and special_j and ring[j, 0].kind == PLAIN:
        return False
    thirds, common, removed = 0, 0, 0
    c = surface.points[i].first_corner
    while c >= 0:
        u, w = corners[corners[c].next].point, corners[corners[c].previous].point
        on_edge = u == j or w == j
        for v in (u, w):
            if v == j:
                continue
            near_i, near_j = ring[v, 0], ring[v, 1]
            if near_j.mark == now and near_j.counted != now:
                near_j.counted = now
                common += 1
            if on_edge:
                if near_i.kind in (BORDER, SEAM) and near_j.kind in (BORDER, SEAM):
                    return False
                thirds += 1 if near_i.counted != now else 0
                near_i.counted = now
        removed += 1 if on_edge else 0
        if not on_edge and ring[u, 1].mark == now and ring[w, 1].mark == now and _has_triangle(surface, j, u, w):
            return False
        c = corners[c].next_at_point
    return thirds > 0 and common == thirds and _parts_remain(surface, i, j, removed)


@surface_kernel("surface i8 i8 i8", inline=True)
def _has_triangle(surface: Surface, v: int, u: int, w: int) -> bool:
    """Whether points v, u and w have a triangle."""
    corners = surface.corners
    c = surface.points[v].first_corner
    while c >= 0:
        a, b = corners[corners[c].next].point, corners[corners[c].previous].point
        if (a == u and b == w) or (a == w and b == u):
            return True
        c = corners[c].next_at_point
    return False


@surface_kernel("surface i8 i8 i8")
def _parts_remain(surface: Surface, i: int, j: int, removed: int) -> bool:
    """Whether all parts have triangles left without those around edge ij, of which there are `removed`."""
    corners, first = surface.corners, surface.points[i].first_corner
    c = first
    while c >= 0:
        part = corners[c].part
        if surface.part_sizes[part] <= removed and _touches(surface, c, j):
            same, d = 0, first
            while d >= 0:
                same += 1 if corners[d].part == part and _touches(surface, d, j) else 0
                d = corners[d].next_at_point
            if same >= surface.part_sizes[part]:
                return False
        c = corners[c].next_at_point
    return True


@surface_kernel("surface i8 i8", inline=True)
def _touches(surface: Surface, c: int, v: int) -> bool:
    """Whether the other corners of a corner's triangle include point v."""
    corner = surface.corners[c]
    touches: bool = surface.corners[corner.next].point == v or surface.corners[corner.previous].point == v
    return touches


@surface_kernel("surface workspace i8 i8 i8")
def _mark_ring(surface: Surface, workspace: Workspace, v: int, end: int, now: int) -> bool:
    """Mark all neighbours of a point; returns whether any edge to them is not plain."""
    corners, n_special = surface.corners, 0
    c = surface.points[v].first_corner
    while c >= 0:
        for d in (corners[c].next, corners[c].previous):
            near = workspace.ring[corners[d].point, end]
            if near.mark != now:
                near.mark, near.kind = now, BORDER
                near.near_wedge, near.far_wedge = corners[c].wedge, corners[d].wedge
                n_special += 1
            elif near.kind == BORDER:
                alike = near.near_wedge == corners[c].wedge and near.far_wedge == corners[d].wedge
                near.kind = PLAIN if alike else SEAM
                n_special -= 1 if alike else 0
            else:
                n_special += 1 if near.kind == PLAIN else 0
                near.kind = MANY
        c = corners[c].next_at_point
    return n_special > 0


@surface_kernel("surface workspace i8 i8")
def flips_triangle(surface: Surface, workspace: Workspace, i: int, j: int) -> bool:
    """Whether some triangle around edge ij flips if both ends move to the places in `workspace.posed`.

    Leaves there how far i and j are from those triangles then, squared.
    """
    corners = surface.corners
    for f in range(workspace.posed.shape[0]):
        workspace.posed[f].first_cut = workspace.posed[f].second_cut = np.inf
    for v in (i, j):
        c = surface.points[v].first_corner
        while c >= 0:
            u, w = corners[corners[c].next].point, corners[corners[c].previous].point
            c = corners[c].next_at_point
            if u in (i, j) or w in (i, j):
                continue
            for f in range(workspace.posed.shape[0]):
                if _flips_in_pose(surface, workspace, i, j, v, u, w, f):
                    return True
    return False


@surface_kernel("surface workspace i8 i8 i8 i8 i8 i8", inline=True)
def _flips_in_pose(surface: Surface, workspace: Workspace, i: int, j: int, v: int, u: int, w: int, f: int) -> bool:
    """Whether triangle vuw, whose corner v is an end of edge ij, flips in pose f."""
    new = workspace.posed[f]
    corner = surface.posed[u, f].place
    side, before = minus(surface.posed[w, f].place, corner), minus(surface.posed[v, f].place, corner)
    after = minus(new.place, corner)
    old_normal, new_normal = cross(side, before), cross(side, after)
    first, second = minus(surface.posed[i, f].place, corner), minus(surface.posed[j, f].place, corner)
    new.first_cut = min(new.first_cut, _squared_distance(first, side, after))
    new.second_cut = min(new.second_cut, _squared_distance(second, side, after))
    squared, was, now = dot(side, side), dot(old_normal, old_normal), dot(new_normal, new_normal)
    was_flat = was <= (FLAT * (squared + before[0] * before[0] + before[1] * before[1] + before[2] * before[2])) ** 2
    is_flat = now <= (FLAT * (squared + after[0] * after[0] + after[1] * after[1] + after[2] * after[2])) ** 2
    if is_flat:
        return not was_flat
    if not was_flat and dot(old_normal, new_normal) <= LEAST_COSINE * np.sqrt(was * now):
        return True
    away, was_away = True, not was_flat
    for point in (i, j, u, w):
        facing = surface.posed[point, f].normal
        away = away and dot(new_normal, facing) <= 0
        was_away = was_away and dot(old_normal, facing) <= 0
    return away and not was_away


@inlined
def _squared_distance(point: Point, one: Point, other: Point) -> float:
    """Squared distance of a point from the triangle 0, one, other; slightly too large outside its corners."""
    aa, ab, bb = dot(one, one), dot(one, other), dot(other, other)
    pa, pb = dot(point, one), dot(point, other)
    det = aa * bb - ab * ab
    s = (bb * pa - ab * pb) / det if det > 0 else 0.0
    t = (aa * pb - ab * pa) / det if det > 0 else 0.0
    if s < 0:
        s, t = 0.0, pb / bb if bb > 0 else 0.0
    elif t < 0:
        s, t = pa / aa if aa > 0 else 0.0, 0.0
    s, t = max(s, 0.0), max(t, 0.0)
    if s + t > 1:
        s, t = s / (s + t), t / (s + t)
    off = (
        point[0] - s * one[0] - t * other[0],
        point[1] - s * one[1] - t * other[1],
        point[2] - s * one[2] - t * other[2],
    )
    return dot(off, off)
