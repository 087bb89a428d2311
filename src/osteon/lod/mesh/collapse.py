"""Edges collapse one by one, the cheapest first, and every collapse is recorded.

    pick the cheapest edge - check it - place it - commit: merge its ends - price the edges around them

An edge that fails a check is dropped; it is priced again whenever one of its ends changes. The cost of
removed parts of the surface takes longer to compute, and is added when an edge is picked for the first time.

The edges are in a binary heap. Stale edges, whose ends changed since, stay until they are picked or until the heap is
full.
"""

from __future__ import annotations

import numpy as np

from osteon.lod.mesh.edge_checks import KEEP_SECOND, REFUSED, flips_triangle, keeps_topology
from osteon.lod.mesh.placement import place_edge, pose_best
from osteon.lod.mesh.surface import History, Records, Surface, Workspace, surface_kernel

#: Cost of a squared distance that a collapse removes, relative to one to a plane.
CUT = 4.0


@surface_kernel("surface workspace history i8 i8 i8")
def collapse_edges(surface: Surface, workspace: Workspace, history: History, left: int, until: int, steps: int) -> int:
    """Collapse until no more triangles than `until` of those `left` remain; returns how many do.

    Stops earlier after so many steps, when there are no more edges, or when the heap is full.
    """
    counters = workspace.counters[0]
    last = counters.steps + steps
    while counters.heap_size < workspace.heap.shape[0]:
        if counters.pending > 0:
            _price_pending(surface, workspace)
        elif left > until and counters.steps < last and pick_edge(surface, workspace):
            left -= _collapse_picked(surface, workspace, history, left)
        else:
            break
    return left


@surface_kernel("surface workspace")
def _price_pending(surface: Surface, workspace: Workspace) -> None:
    """Push one of the pending edges with its price."""
    counters = workspace.counters[0]
    counters.pending -= 1
    pair = workspace.pending[counters.pending]
    if place_edge(surface, workspace, pair.first, pair.second) != REFUSED:
        push_edge(surface, workspace, workspace.best[0].price, pair.first, pair.second, 0)


@surface_kernel("surface workspace history i8")
def _collapse_picked(surface: Surface, workspace: Workspace, history: History, left: int) -> int:
    """Collapse the picked edge if allowed, or push it again with its exact price; returns the triangles removed."""
    edge, best = workspace.picked[0], workspace.best[0]
    i, j = edge.first, edge.second
    if not keeps_topology(surface, workspace, i, j):
        return 0
    end = place_edge(surface, workspace, i, j)
    if end == REFUSED:
        return 0
    pose_best(surface, workspace, i, j)
    if flips_triangle(surface, workspace, i, j):
        return 0
    if edge.exact == 0:
        push_edge(surface, workspace, _exact_price(surface, workspace, i, j), i, j, 1)
        return 0
    if end == KEEP_SECOND:
        return _commit(surface, workspace, history, left, i, j, 1.0 - best.share)
    return _commit(surface, workspace, history, left, j, i, best.share)


@surface_kernel("surface workspace i8 i8")
def _exact_price(surface: Surface, workspace: Workspace, i: int, j: int) -> float:
    """The price of the best placement, including the distances of both ends from the new surface in all poses."""
    price: float = workspace.best[0].price
    for f in range(workspace.posed.shape[0]):
        posed = workspace.posed[f]
        price += CUT * (surface.points[i].weight * posed.first_cut + surface.points[j].weight * posed.second_cut)
    return price


@surface_kernel("surface workspace history i8 i8 i8 f8")
def _commit(
    surface: Surface, workspace: Workspace, history: History, left: int, removed: int, kept: int, share: float
) -> int:
    """Merge one end into the other, record it, and queue the edges around; returns the triangles removed."""
    counters, best = workspace.counters[0], workspace.best[0]
    _merge_labels(surface, history, counters.steps, removed, kept)
    n_removed = _merge_corners(surface, removed, kept)
    _merge_points(surface, workspace, removed, kept, share)
    step = history.collapses[counters.steps]
    step.removed, step.kept, step.triangles, step.share = removed, kept, left - n_removed, share
    for axis in range(3):
        step.place[axis] = best.place[axis]
    for a in range(workspace.chosen.shape[0]):
        history.influences[counters.steps, a] = workspace.chosen[a]
    counters.steps += 1
    _queue_edges(surface, workspace, kept)
    return n_removed


@surface_kernel("surface history i8 i8 i8")
def _merge_labels(surface: Surface, history: History, step: int, removed: int, kept: int) -> None:
    """Merge the wedges and vertices of both ends that meet along the edge, at all corners of both ends."""
    corners = surface.corners
    c = surface.points[removed].first_corner
    while c >= 0:
        d = corners[c].next if corners[corners[c].next].point == kept else corners[c].previous
        if corners[d].point == kept:
            old_wedge, new_wedge = corners[c].wedge, corners[d].wedge
            old_vertex, new_vertex = corners[c].vertex, corners[d].vertex
            for v in (removed, kept):
                _relabel(surface, v, old_wedge, new_wedge, old_vertex, new_vertex)
            if old_wedge != new_wedge:
                history.wedges[old_wedge].into, history.wedges[old_wedge].step = new_wedge, step
                _add_attributes(surface, old_wedge, new_wedge)
            if old_vertex != new_vertex:
                history.vertices[old_vertex].into, history.vertices[old_vertex].step = new_vertex, step
        c = corners[c].next_at_point


@surface_kernel("surface i8 i8 i8 i8 i8")
def _relabel(surface: Surface, v: int, old_wedge: int, new_wedge: int, old_vertex: int, new_vertex: int) -> None:
    """Replace a wedge and a vertex at all corners of a point."""
    c = surface.points[v].first_corner
    while c >= 0:
        corner = surface.corners[c]
        if corner.wedge == old_wedge:
            corner.wedge = new_wedge
        if corner.vertex == old_vertex:
            corner.vertex = new_vertex
        c = corner.next_at_point


@surface_kernel("surface i8 i8")
def _add_attributes(surface: Surface, old: int, new: int) -> None:
    """Add the attribute quadric of one wedge to another."""
    source, target = surface.wedges[old], surface.wedges[new]
    target.weight += source.weight
    for c in range(10):
        target.quadric[c] += source.quadric[c]
    for m in range(surface.gradients.shape[1]):
        for c in range(4):
            surface.gradients[new, m, c] += surface.gradients[old, m, c]


@surface_kernel("surface i8 i8")
def _merge_corners(surface: Surface, removed: int, kept: int) -> int:
    """Move the corners of one point to the other, and remove triangles that had both; returns how many these are."""
    corners, points, n_removed = surface.corners, surface.points, 0
    c = points[removed].first_corner
    while c >= 0:
        corner = corners[c]
        following, d, e = corner.next_at_point, corner.next, corner.previous
        if corners[d].point == kept or corners[e].point == kept:
            _unlink(surface, d)
            _unlink(surface, e)
            corner.point = corners[d].point = corners[e].point = -1
            surface.part_sizes[corner.part] -= 1
            n_removed += 1
        else:
            corner.point, corner.next_at_point = kept, points[kept].first_corner
            points[kept].first_corner = c
        c = following
    points[removed].first_corner = -1
    return n_removed


@surface_kernel("surface i8")
def _unlink(surface: Surface, corner: int) -> None:
    """Remove a corner from the list of its point."""
    corners = surface.corners
    point = surface.points[corners[corner].point]
    before, c = -1, point.first_corner
    while c != corner:
        before, c = c, corners[c].next_at_point
    if before < 0:
        point.first_corner = corners[corner].next_at_point
    else:
        corners[before].next_at_point = corners[corner].next_at_point


@surface_kernel("surface workspace i8 i8 f8")
def _merge_points(surface: Surface, workspace: Workspace, removed: int, kept: int, share: float) -> None:
    """Move the point that is kept to the best placement, and add the sums of the other."""
    best, target, source = workspace.best[0], surface.points[kept], surface.points[removed]
    for axis in range(3):
        target.place[axis] = best.place[axis]
    target.cost = best.cost
    target.weight += source.weight
    target.locked = max(target.locked, source.locked)
    target.version += 1
    source.version = -1
    for a in range(workspace.chosen.shape[0]):
        surface.influences[kept, a] = workspace.chosen[a]
    for f in range(workspace.posed.shape[0]):
        new, old = surface.posed[kept, f], surface.posed[removed, f]
        for c in range(10):
            new.quadric[c] += old.quadric[c]
        for axis in range(3):
            new.place[axis] = workspace.posed[f].place[axis]
            new.shift[axis] += share * (old.shift[axis] - new.shift[axis])
            new.normal[axis] += old.normal[axis]
            new.place_sum[axis] += old.place_sum[axis]
        new.square_sum += old.square_sum


@surface_kernel("surface workspace i8")
def _queue_edges(surface: Surface, workspace: Workspace, v: int) -> None:
    """Queue all edges of a point to be priced."""
    counters, corners = workspace.counters[0], surface.corners
    counters.mark += 1
    c = surface.points[v].first_corner
    while c >= 0:
        for u in (corners[corners[c].next].point, corners[corners[c].previous].point):
            if workspace.ring[u, 0].mark != counters.mark:
                workspace.ring[u, 0].mark = counters.mark
                pair = workspace.pending[counters.pending]
                pair.first, pair.second = min(u, v), max(u, v)
                counters.pending += 1
        c = corners[c].next_at_point


@surface_kernel("surface workspace f8 i8 i8 i8")
def push_edge(surface: Surface, workspace: Workspace, price: float, i: int, j: int, exact: int) -> None:
    """Push an edge onto the heap, which must have room."""
    heap, at = workspace.heap, workspace.counters[0].heap_size
    workspace.counters[0].heap_size += 1
    while at > 0 and price < heap[(at - 1) // 2].price:
        heap[at] = heap[(at - 1) // 2]
        at = (at - 1) // 2
    edge = heap[at]
    edge.price, edge.first, edge.second, edge.exact = price, i, j, exact
    edge.first_version, edge.second_version = surface.points[i].version, surface.points[j].version


@surface_kernel("surface workspace")
def pick_edge(surface: Surface, workspace: Workspace) -> bool:
    """Move the cheapest edge that is not stale from the heap to `workspace.picked`; False if there is none."""
    heap, counters, edge = workspace.heap, workspace.counters[0], workspace.picked[0]
    while counters.heap_size > 0:
        counters.heap_size -= 1
        workspace.picked[0] = heap[0]
        last, at = counters.heap_size, 0
        while 2 * at + 1 < last:
            child = 2 * at + 1
            child += 1 if child + 1 < last and heap[child + 1].price < heap[child].price else 0
            if heap[last].price <= heap[child].price:
                break
            heap[at] = heap[child]
            at = child
        heap[at] = heap[last]
        first_fresh = surface.points[edge.first].version == edge.first_version
        if first_fresh and surface.points[edge.second].version == edge.second_version:
            return True
    return False


def remove_stale(surface: Surface, workspace: Workspace) -> None:
    """Remove all stale edges from the heap. The others, in ascending order, are a heap."""
    edges: Records = workspace.heap[: workspace.counters[0].heap_size]
    versions = surface.points["version"]
    fresh = versions[edges["first"]] == edges["first_version"]
    fresh &= versions[edges["second"]] == edges["second_version"]
    edges = edges[fresh]
    workspace.heap[: len(edges)] = edges[np.argsort(edges["price"], kind="stable")]
    workspace.counters[0].heap_size = len(edges)
