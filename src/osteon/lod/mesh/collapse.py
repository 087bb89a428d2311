"""Edges collapse one by one, the cheapest first, and every step is written down.

    pick the cheapest edge - check that it may go - merge its ends - price the edges around them

An edge that may not go now is dropped; it is priced again whenever one of its ends changes. What it would cut off
takes longer to find, and is added to its price when it comes up for the first time.
"""

from __future__ import annotations

from osteon.core.arrays import Float64, Int32, Int64
from osteon.core.kernels import compiled_by, lean
from osteon.lod.mesh.flips import turns_over
from osteon.lod.mesh.heap import pop_edge, push_edge
from osteon.lod.mesh.links import KEEP_SECOND, REFUSED, keeps_kind
from osteon.lod.mesh.placement import BEST, BEST_WEIGHTS, place_edge, pose_best
from osteon.lod.mesh.state import (
    AFTER,
    ASKED,
    CARRIERS,
    COST,
    FIRST,
    HEAP,
    LAST,
    LOCKED,
    NEXT,
    NORMAL,
    NOW,
    PAIRS,
    PART,
    POINT,
    POSED,
    REST,
    SHIFT,
    STEPS,
    VERSION,
    WEDGE,
    WEIGHT,
    WEIGHTS,
    History,
    Room,
    Tables,
)

__all__ = ["collapse_edges"]

#: What a squared distance that is cut off costs, of one from a plane.
CUT = 4.0


@lean
def collapse_edges(tables: Tables, room: Room, history: History, left: int, until: int, steps: int) -> int:
    """Collapse until no more triangles than `until` are left of those `left`; returns how many are.

    Stops before that after so many steps, when there are no more edges, or when the heap is full.
    """
    corners, parts, heads, state, poses, transforms, attributes = tables
    keys, edges, counters, asked, work, slots, places, ring = room
    last = counters[STEPS] + steps
    while counters[HEAP] < keys.shape[0] and (counters[ASKED] > 0 or (left > until and counters[STEPS] < last)):
        pricing, at = counters[ASKED] > 0, -1
        if pricing:
            counters[ASKED] -= 1
            i, j = asked[counters[ASKED], 0], asked[counters[ASKED], 1]
        else:
            at = pop_edge(keys, edges, counters, heads)
            if at < 0:
                break
            i, j = edges[at, 0], edges[at, 1]
            if not keeps_kind(corners, parts, heads, ring, counters, i, j):
                continue
        key, cost, t, what = place_edge(corners, heads, state, poses, transforms, attributes, work, slots, i, j)
        if what == REFUSED:
            continue
        if pricing:
            push_edge(keys, edges, counters, heads, key, i, j, 0)
            continue
        pose_best(poses, transforms, work, slots, i, j, t, places)
        if turns_over(corners, heads, poses, places, i, j):
            continue
        if edges[at, 4] == 0:
            for f in range(places.shape[0]):
                key += CUT * (state[i, WEIGHT] * places[f, 3] + state[j, WEIGHT] * places[f, 4])
            push_edge(keys, edges, counters, heads, key, i, j, 1)
            continue
        gone, kept, share = (i, j, 1.0 - t) if what == KEEP_SECOND else (j, i, t)
        step = counters[STEPS]
        _join_labels(corners, heads, attributes, history.labels, step, gone, kept)
        left -= _merge_corners(corners, parts, heads, gone, kept)
        _settle(heads, state, poses, work, slots, places, gone, kept, share)
        state[kept, COST] = cost
        history.merges[step, 0], history.merges[step, 1], history.merges[step, 2] = gone, kept, left
        history.values[step, 3] = share
        for axis in range(3):
            history.values[step, axis] = work[BEST, axis]
        for a in range(heads.shape[1] - CARRIERS):
            history.merges[step, 3 + a], history.values[step, 4 + a] = slots[PAIRS + a, 1], work[BEST_WEIGHTS, a]
        counters[STEPS] += 1
        _ask_around(corners, heads, ring, counters, asked, kept)
    return left


@compiled_by({"_nrt": False}, "i4.2r i4.2r i4.2 i8.1 i4.2 i8")
def _ask_around(corners: Int32, heads: Int32, ring: Int32, counters: Int64, asked: Int32, v: int) -> None:
    """Ask for the price of all edges of a point."""
    counters[NOW] += 1
    c = heads[v, FIRST]
    while c >= 0:
        for u in (corners[corners[c, NEXT], POINT], corners[corners[c, LAST], POINT]):
            if ring[u, 0] != counters[NOW]:
                ring[u, 0] = counters[NOW]
                n = counters[ASKED]
                asked[n, 0], asked[n, 1] = min(u, v), max(u, v)
                counters[ASKED] += 1
        c = corners[c, AFTER]


@compiled_by({"_nrt": False}, "i4.2 i4.2r f8.2 i4.2 i8 i8 i8")
def _join_labels(
    corners: Int32, heads: Int32, attributes: Float64, labels: Int32, step: int, gone: int, kept: int
) -> None:
    """Wedges and vertices of both ends that meet along the edge become one each, at all corners of both ends."""
    c = heads[gone, FIRST]
    while c >= 0:
        d = corners[c, NEXT] if corners[corners[c, NEXT], POINT] == kept else corners[c, LAST]
        if corners[d, POINT] == kept:
            for kind in range(2):
                old, new = corners[c, WEDGE + kind], corners[d, WEDGE + kind]
                if old == new:
                    continue
                for v in (gone, kept):
                    e = heads[v, FIRST]
                    while e >= 0:
                        corners[e, WEDGE + kind] = new if corners[e, WEDGE + kind] == old else corners[e, WEDGE + kind]
                        e = corners[e, AFTER]
                labels[old, kind], labels[old, 2 + kind] = new, step
                for a in range(attributes.shape[1] if kind == 0 else 0):
                    attributes[new, a] += attributes[old, a]
        c = corners[c, AFTER]


@compiled_by({"_nrt": False}, "i4.2 i4.1 i4.2 i8 i8")
def _merge_corners(corners: Int32, parts: Int32, heads: Int32, gone: int, kept: int) -> int:
    """Give the corners of one point to the other, but for triangles that had both; returns how many these are."""
    dropped = 0
    c = heads[gone, FIRST]
    while c >= 0:
        after, d, e = corners[c, AFTER], corners[c, NEXT], corners[c, LAST]
        if corners[d, POINT] == kept or corners[e, POINT] == kept:
            _unlink(corners, heads, d)
            _unlink(corners, heads, e)
            corners[c, POINT] = corners[d, POINT] = corners[e, POINT] = -1
            parts[corners[c, PART]] -= 1
            dropped += 1
        else:
            corners[c, POINT], corners[c, AFTER] = kept, heads[kept, FIRST]
            heads[kept, FIRST] = c
        c = after
    heads[gone, FIRST] = -1
    return dropped


@compiled_by({"_nrt": False}, "i4.2 i4.2 i8")
def _unlink(corners: Int32, heads: Int32, corner: int) -> None:
    """Take a corner out of the list of its point."""
    v = corners[corner, POINT]
    before, c = -1, heads[v, FIRST]
    while c != corner:
        before, c = c, corners[c, AFTER]
    if before < 0:
        heads[v, FIRST] = corners[corner, AFTER]
    else:
        corners[before, AFTER] = corners[corner, AFTER]


@compiled_by({"_nrt": False}, "i4.2 f8.2 f8.3 f8.2r i4.2r f8.2r i8 i8 f8")
def _settle(
    heads: Int32,
    state: Float64,
    poses: Float64,
    work: Float64,
    slots: Int32,
    places: Float64,
    gone: int,
    kept: int,
    share: float,
) -> None:
    """The point that stays takes the best place and carriers, and what the other remembers."""
    for axis in range(3):
        state[kept, REST + axis] = work[BEST, axis]
    for a in range(heads.shape[1] - CARRIERS):
        heads[kept, CARRIERS + a], state[kept, WEIGHTS + a] = slots[PAIRS + a, 1], work[BEST_WEIGHTS, a]
    state[kept, WEIGHT] += state[gone, WEIGHT]
    for f in range(poses.shape[1]):
        for c in range(POSED):
            poses[kept, f, c] += poses[gone, f, c]
        for c in range(NORMAL, poses.shape[2]):
            poses[kept, f, c] += poses[gone, f, c]
        for axis in range(3):
            poses[kept, f, POSED + axis] = places[f, axis]
            poses[kept, f, SHIFT + axis] += share * (poses[gone, f, SHIFT + axis] - poses[kept, f, SHIFT + axis])
    heads[kept, VERSION] += 1
    heads[gone, VERSION] = -1
    heads[kept, LOCKED] = max(heads[kept, LOCKED], heads[gone, LOCKED])
