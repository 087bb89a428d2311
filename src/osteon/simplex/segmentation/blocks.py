"""Triangles that lie together, tested together: their lines go down the tree as one.

The lines of a block, from its triangles to the nearest candidate of each, run side by side. The leaves of the surface
that any of them may meet are gathered once (`eight_way_tree`), and each line is then counted against those only. Lines
to farther candidates, which few triangles need, go down the tree alone. The counts are the same.

Bones whose range planes pass a whole block by are dropped first. That alone makes it cheap to try all bones on every
block (`compare_blocks`), which gives the plain answer always; the traversal of 4.2 saves nothing beyond it.

Notes, armadillo, 86,482 triangles, 39 bones, one thread, in turns: all bones by blocks 41 … 53 ms, traversal by blocks
48 … 59 ms, plain 254 … 330 ms.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from osteon.core.arrays import Float64, Int32
from osteon.core.kernels import Int64, exact, inlined, lean
from osteon.simplex.segmentation.eight_way_tree import EightWayTree, Search, collapse_tree, gather_leaves, make_search
from osteon.simplex.segmentation.pairs import Field, better, compare_bones, find_feet, line_to
from osteon.simplex.segmentation.ranges import ON_PLANE
from osteon.simplex.segmentation.tree import Ends, SurfaceTree, aim, count_crossings, crossings_in_leaf

__all__ = ["BLOCK", "compare_block", "compare_blocks", "make_room"]

BLOCK = 32  # triangles that test together
FEW = 6  # fewer lines go down the tree one by one
LEAVES = 512  # a box that meets more is of no use


class Room(NamedTuple):
    """Arrays that `compare_block` works in."""

    feet: Float64  # (BLOCK,b,2) effective distance and foot of each triangle for each candidate
    nearest: Int64  # (BLOCK,) candidate, -1 where none can be better than what a triangle has
    beam: Float64  # (2,6) boxes around the starts and around the ends of the lines to them
    possible: Int64  # (b,) candidates that may have a triangle of the block in range
    search: Search  # leaves that the lines may meet


def make_room(n_bones: int) -> Room:
    """Empty arrays for so many candidates."""
    feet, nearest = np.empty((BLOCK, n_bones, 2)), np.empty(BLOCK, np.int64)
    return Room(feet, nearest, np.empty((2, 6)), np.empty(n_bones, np.int64), make_search(LEAVES))


def compare_blocks(field: Field, seen_below: float) -> tuple[Int32, Float64]:
    """Bone of every triangle that one sees (else -1) and distance with penalty: the plain answer."""
    n, n_bones = len(field.centers), len(field.ranges.sticks)
    bone, distance = np.full(n, -1, np.int32), np.full(n, seen_below)
    _compare_blocks(field, collapse_tree(field.tree), np.arange(n_bones), (bone, distance), make_room(n_bones))
    return bone, distance


@exact
def _compare_blocks(
    field: Field, nodes: EightWayTree, candidates: Int64, state: tuple[Int32, Float64], room: Room
) -> None:
    for block in range((state[0].size + BLOCK - 1) // BLOCK):
        compare_block(field, nodes, block, candidates, state, room)


@lean
def compare_block(
    field: Field, nodes: EightWayTree, block: int, candidates: Int64, state: tuple[Int32, Float64], room: Room
) -> None:
    """Improve bone and distance of the triangles of a block by the candidates."""
    bone, distance = state
    feet, nearest = room.feet, room.nearest
    start, stop = block * BLOCK, min((block + 1) * BLOCK, bone.size)
    candidates = room.possible[: _drop_candidates(field, start, stop, candidates, room.possible)]
    if candidates.size == 0:
        return
    n_lines = _aim_all(field, start, stop, candidates, distance, room)
    n_leaves = gather_leaves(nodes, room.beam, room.search) if n_lines >= FEW else -1
    for t in range(start, stop):
        k, i = t - start, nearest[t - start]
        if i < 0:
            continue
        limit = int(min((distance[t] - feet[k, i, 0]) / field.penalty, 1e9))
        ends = line_to(field, t, candidates[i], feet[k, i, 1])
        if n_leaves >= 0:
            n = _count_in(field.tree, room.search, n_leaves, ends, field.skip[t], limit)
        else:
            n = count_crossings(field.tree, ends, field.skip[t], limit)
        has = better((bone[t], distance[t]), candidates[i], feet[k, i, 0] + n * field.penalty)  # eq. 6
        if n:  # the nearest bone may not be the best: try the others
            feet[k, i, 0] = np.inf
            has = compare_bones(field, t, candidates, has, feet[k])
        bone[t], distance[t] = has


@inlined
def _drop_candidates(field: Field, start: int, stop: int, candidates: Int64, possible: Int64) -> int:
    """Candidates in whose range some point of the ball around the block lies; returns how many."""
    centers, _, (_, planes, first), _, _ = field
    middle = (start + stop) // 2  # near the others, as near triangles have near numbers
    x, y, z, radius = centers[middle, 0], centers[middle, 1], centers[middle, 2], 0.0
    for t in range(start, stop):
        dx, dy, dz = centers[t, 0] - x, centers[t, 1] - y, centers[t, 2] - z
        radius = max(radius, dx * dx + dy * dy + dz * dz)
    slack = 1 + np.sqrt(radius) / ON_PLANE
    n = 0
    for b in candidates:
        sign, outside = -1.0, False
        for p in range(first[2 * b], first[2 * b + 2]):
            sign = 1.0 if p >= first[2 * b + 1] else -1.0
            value = planes[p, 0] * x + planes[p, 1] * y + planes[p, 2] * z + planes[p, 3]
            outside = outside or sign * value > planes[p, 4] * slack
        if not outside:
            possible[n] = b
            n += 1
    return n


@inlined
def _aim_all(field: Field, start: int, stop: int, candidates: Int64, distance: Float64, room: Room) -> int:
    """Feet, nearest candidates, and the boxes around the ends of lines to them; returns how many lines there are."""
    feet, nearest, beam = room.feet, room.nearest, room.beam
    beam[:, :3], beam[:, 3:] = np.inf, -np.inf
    n = 0
    for t in range(start, stop):
        k = t - start
        i = find_feet(field, t, candidates, feet[k])
        nearest[k] = i if feet[k, i, 0] <= distance[t] and feet[k, i, 0] < np.inf else -1
        if nearest[k] >= 0:
            n += 1
            ends = line_to(field, t, candidates[i], feet[k, i, 1])
            for c in range(6):
                beam[c // 3, c % 3] = min(beam[c // 3, c % 3], ends[c])
                beam[c // 3, 3 + c % 3] = max(beam[c // 3, 3 + c % 3], ends[c])
    return n


@inlined
def _count_in(tree: SurfaceTree, search: Search, n_leaves: int, ends: Ends, skip: int, limit: int) -> int:
    """Crossings of a line with the triangles of the gathered leaves."""
    line = aim(ends)
    start, inverse, _, _ = line
    ox, oy, oz = np.float32(start[0]), np.float32(start[1]), np.float32(start[2])
    ix, iy, iz = np.float32(inverse[0]), np.float32(inverse[1]), np.float32(inverse[2])
    x, y, z = 0 if ix > 0 else 3, 1 if iy > 0 else 4, 2 if iz > 0 else 5  # the faces through which a line enters
    zero, one = np.float32(0), np.float32(1)
    bounds, apart = search.bounds, search.apart
    for k in range(n_leaves):
        enter, leave = (bounds[x, k] - ox) * ix, (bounds[3 - x, k] - ox) * ix
        enter, leave = max(enter, (bounds[y, k] - oy) * iy), min(leave, (bounds[5 - y, k] - oy) * iy)
        enter, leave = max(enter, (bounds[z, k] - oz) * iz), min(leave, (bounds[7 - z, k] - oz) * iz)
        apart[k] = max(enter, zero) - min(leave, one)
    found = 0
    for k in range(n_leaves):
        if apart[k] <= 0:
            found += crossings_in_leaf(tree, search.leaves[k], line, skip)
            if found > limit:
                break
    return found
