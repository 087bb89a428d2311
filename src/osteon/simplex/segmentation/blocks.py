"""Test blocks of adjacent triangles together, with one tree traversal for all lines of a block.

The lines of a block, from each triangle to its nearest candidate, are close to each other. The leaves of the tree that
any of them may cross are gathered once (`gather_leaves`), and the crossings of each line are counted in those only.
Lines to farther candidates, which few triangles need, traverse the tree individually. The counts are the same.

Bones whose range does not include any part of a block are dropped first. That alone makes it cheap to try all bones on
every block (`compare_blocks`), which always has the plain result; the traversal of 4.2 saves nothing beyond it.

Notes. Armadillo, 86,482 triangles, 39 bones, one thread, alternating runs: all bones by blocks 41 … 53 ms, traversal by
blocks 48 … 59 ms, plain 254 … 330 ms.

The tree has up to eight boxes per node. Their bounds are adjacent in memory in single precision, so that one SIMD
instruction compares all of them. They are slightly enlarged against rounding, which can only add leaves to search.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from osteon.core.arrays import Float32, Float64, Int32
from osteon.core.kernels import Int64, exact, inlined, lean
from osteon.simplex.segmentation.effective_distance import ON_PLANE, Field, better, compare_bones, find_feet, line_to
from osteon.simplex.segmentation.tree import Ends, SurfaceTree, aim, count_crossings, crossings_in_leaf, invert

WIDTH = 8
#: More than the rounding of a box or a line to float32, in a mesh of size 1.
ROUNDED = 1e-6
#: Capacity of the stack of nodes: depth times width, with a reserve for unbalanced trees; the search fails beyond it.
DEEPEST = 512


class EightWayTree(NamedTuple):
    """Nodes in the form that kernels take."""

    bounds: Float32  # (n,6,8) lowest and highest corners; empty boxes intersect nothing
    child: Int32  # (n,8) a node, or -1 - leaf of the binary tree


class Search(NamedTuple):
    """Scratch arrays of `gather_leaves`, and the leaves that it finds."""

    waiting: Int64  # (DEEPEST,) nodes to visit
    leaves: Int64  # (n,)
    bounds: Float32  # (6,n) of the leaves; one row for each face of a box
    apart: Float32  # (n,) distance by which a line misses a box; at most 0 if it intersects the box


def make_search(most: int) -> Search:
    """Allocate the arrays for up to `most` leaves."""
    return Search(
        *(np.empty(DEEPEST, np.int64), np.empty(most, np.int64)),
        *(np.empty((6, most), np.float32), np.empty(max(most, WIDTH), np.float32)),
    )


def collapse_tree(tree: SurfaceTree) -> EightWayTree:
    """Convert the binary tree to one with up to eight boxes per node."""
    n = len(tree.after)
    bounds, child = np.empty((n, 6, WIDTH), np.float32), np.zeros((n, WIDTH), np.int32)
    used = _collapse(tree, bounds, child)
    return EightWayTree(bounds[:used], child[:used])


@exact
def _collapse(tree: SurfaceTree, bounds: Float32, child: Int32) -> int:
    """Replace the largest box of a node by its two children until it has eight; returns the number of nodes."""
    boxes, after, leaf, _, _ = tree
    source, kids = np.zeros(after.size, np.int64), np.empty(WIDTH, np.int64)
    n, node = 1, 0
    while node < n:
        kids[0], n_kids = source[node], 1
        while n_kids < WIDTH:
            largest, area = -1, -1.0
            for k in range(n_kids):
                surface = _surface(boxes, kids[k])
                if leaf[kids[k], 1] == 0 and surface > area and after.size > 1:
                    largest, area = k, surface
            if largest < 0:
                break
            opened = kids[largest]
            kids[largest], kids[n_kids] = opened + 1, after[opened + 1]
            n_kids += 1
        for k in range(WIDTH):
            for c in range(6):
                inside = boxes[kids[k], c] if k < n_kids else (1e30 if c < 3 else -1e30)
                bounds[node, c, k] = inside + (-ROUNDED if c < 3 else ROUNDED)
            if k < n_kids and (leaf[kids[k], 1] or after.size == 1):
                child[node, k] = -1 - kids[k]
            elif k < n_kids:
                child[node, k], source[n] = n, kids[k]
                n += 1
        node += 1
    return n


@inlined
def _surface(boxes: Float64, i: int) -> float:
    x, y, z = boxes[i, 3] - boxes[i, 0], boxes[i, 4] - boxes[i, 1], boxes[i, 5] - boxes[i, 2]
    area: float = x * y + y * z + z * x
    return area


@lean
def gather_leaves(tree: EightWayTree, beam: Float64, search: Search) -> int:
    """Find the leaves that lines between two boxes (2,6) may cross; returns how many, or -1 if there are too many.

    Each line stays within half the width of the larger box from the line between the centres of the boxes, in each
    axis. So a leaf is skipped if the central line misses it after it has been enlarged by that much.
    """
    boxes, child = tree
    waiting, leaves, bounds, apart = search
    (ox, wx, ix), (oy, wy, iy), (oz, wz, iz) = _axis(beam, 0), _axis(beam, 1), _axis(beam, 2)
    zero, one = np.float32(0), np.float32(1)
    waiting[0], n_waiting, n = 0, 1, 0
    while n_waiting:
        n_waiting -= 1
        node = waiting[n_waiting]
        for k in range(WIDTH):
            x0, x1 = (boxes[node, 0, k] - wx - ox) * ix, (boxes[node, 3, k] + wx - ox) * ix
            y0, y1 = (boxes[node, 1, k] - wy - oy) * iy, (boxes[node, 4, k] + wy - oy) * iy
            z0, z1 = (boxes[node, 2, k] - wz - oz) * iz, (boxes[node, 5, k] + wz - oz) * iz
            enter = max(max(min(x0, x1), min(y0, y1)), max(min(z0, z1), zero))
            leave = min(min(max(x0, x1), max(y0, y1)), min(max(z0, z1), one))
            apart[k] = enter - leave
        if n_waiting + WIDTH > waiting.size or n + WIDTH > leaves.size:
            return -1
        for k in range(WIDTH):
            if apart[k] > 0:
                continue
            if child[node, k] > 0:
                waiting[n_waiting] = child[node, k]
                n_waiting += 1
            elif child[node, k] < 0:
                leaves[n] = -1 - child[node, k]
                for c in range(6):
                    bounds[c, n] = boxes[node, c, k]
                n += 1
    return n


@inlined
def _axis(beam: Float64, c: int) -> tuple[np.float32, np.float32, np.float32]:
    """Along one axis: start of the central line, largest distance of others from it, and reciprocal of its extent."""
    start, stop = 0.5 * (beam[0, c] + beam[0, 3 + c]), 0.5 * (beam[1, c] + beam[1, 3 + c])
    width = 0.5 * max(beam[0, 3 + c] - beam[0, c], beam[1, 3 + c] - beam[1, c])
    return np.float32(start), np.float32(width), np.float32(invert(stop - start))


BLOCK = 32  # triangles per block
FEW = 6  # below this number, lines traverse the tree individually
LEAVES = 512  # with more leaves, gathering them saves nothing


class Scratch(NamedTuple):
    """Scratch arrays of `compare_block`."""

    feet: Float64  # (BLOCK,b,2) effective distance and foot of each triangle for each candidate
    nearest: Int64  # (BLOCK,) candidate, -1 where none can be better than the current bone
    beam: Float64  # (2,6) boxes around the starts and around the ends of the lines to them
    possible: Int64  # (b,) candidates that may have a triangle of the block in range
    search: Search  # leaves that the lines may cross


def make_scratch(n_bones: int) -> Scratch:
    """Allocate the scratch arrays for `n_bones` candidates."""
    feet, nearest = np.empty((BLOCK, n_bones, 2)), np.empty(BLOCK, np.int64)
    return Scratch(feet, nearest, np.empty((2, 6)), np.empty(n_bones, np.int64), make_search(LEAVES))


def compare_blocks(field: Field, seen_below: float) -> tuple[Int32, Float64]:
    """Bone of every visible triangle (else -1) and distance with penalty; always the plain result."""
    n, n_bones = len(field.centers), len(field.ranges.sticks)
    bone, distance = np.full(n, -1, np.int32), np.full(n, seen_below)
    _compare_blocks(field, collapse_tree(field.tree), np.arange(n_bones), (bone, distance), make_scratch(n_bones))
    return bone, distance


@exact
def _compare_blocks(
    field: Field, nodes: EightWayTree, candidates: Int64, state: tuple[Int32, Float64], scratch: Scratch
) -> None:
    for block in range((state[0].size + BLOCK - 1) // BLOCK):
        compare_block(field, nodes, block, candidates, state, scratch)


@lean
def compare_block(
    field: Field, nodes: EightWayTree, block: int, candidates: Int64, state: tuple[Int32, Float64], scratch: Scratch
) -> None:
    """Update bone and distance of the triangles of a block where a candidate is better."""
    bone, distance = state
    feet, nearest = scratch.feet, scratch.nearest
    start, stop = block * BLOCK, min((block + 1) * BLOCK, bone.size)
    candidates = scratch.possible[: _drop_candidates(field, start, stop, candidates, scratch.possible)]
    if candidates.size == 0:
        return
    n_lines = _aim_all(field, start, stop, candidates, distance, scratch)
    n_leaves = gather_leaves(nodes, scratch.beam, scratch.search) if n_lines >= FEW else -1
    for t in range(start, stop):
        k, i = t - start, nearest[t - start]
        if i < 0:
            continue
        limit = int(min((distance[t] - feet[k, i, 0]) / field.penalty, 1e9))
        ends = line_to(field, t, candidates[i], feet[k, i, 1])
        if n_leaves >= 0:
            n = _count_in(field.tree, scratch.search, n_leaves, ends, field.skip[t], limit)
        else:
            n = count_crossings(field.tree, ends, field.skip[t], limit)
        has = better((bone[t], distance[t]), candidates[i], feet[k, i, 0] + n * field.penalty)  # eq. 6
        if n:  # the nearest bone may not be the best: try the others
            feet[k, i, 0] = np.inf
            has = compare_bones(field, t, candidates, has, feet[k])
        bone[t], distance[t] = has


@inlined
def _drop_candidates(field: Field, start: int, stop: int, candidates: Int64, possible: Int64) -> int:
    """List the candidates whose range intersects the bounding sphere of the block; returns how many."""
    centers, _, (_, planes, first), _, _ = field
    middle = (start + stop) // 2  # close to the others, as adjacent triangles have close indices
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
def _aim_all(field: Field, start: int, stop: int, candidates: Int64, distance: Float64, scratch: Scratch) -> int:
    """Find feet, nearest candidates, and boxes around the ends of the lines to them; returns the number of lines."""
    feet, nearest, beam = scratch.feet, scratch.nearest, scratch.beam
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
    """Count the crossings of a line with the triangles of the gathered leaves."""
    line = aim(ends)
    start, inverse, _, _ = line
    ox, oy, oz = np.float32(start[0]), np.float32(start[1]), np.float32(start[2])
    ix, iy, iz = np.float32(inverse[0]), np.float32(inverse[1]), np.float32(inverse[2])
    x, y, z = (
        0 if ix > 0 else 3,
        1 if iy > 0 else 4,
        2 if iz > 0 else 5,
    )  # the faces through which a line enters
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
