"""Segmentation by traversal: triangles are tested only against bones that their neighbours propose.

Triangles are tested in blocks of adjacent ones (`blocks`). A block proposes the bones of its triangles to itself and to
the blocks across its edges. Each of these is tested against the proposed bones and those that share a joint with them,
unless it has been before, and proposes the bones that its triangles get, until nothing changes.

The result agrees with the plain test under this condition: if, in the plain result, all neighbours on some path from a
seed to a triangle are visible from the same bone or from bones that share a joint, the triangle gets its plain result.
(The seed is tested against all bones. A triangle that has been tested against the bone of its plain result keeps that
bone, as its distance is the least, and its block proposes it.)

Based on: Yan, Hu, Martin, Yang, Shape Deformation Using a Skeleton to Drive Simplex Transformations, 2008, 4.2.

Differs from the paper:
- it passes over the mesh once, so that its result depends on the order; here bones are proposed in rounds, and a block
  is tested again when a new bone is proposed, so that the order has no effect;
- a block of which no triangle is visible forwards the bones that were proposed to it, once no other proposals are left,
  so that a fold does not stop the traversal;
- components without a seed are tested against all bones;
- the nearest bone is tried first, and tests that cannot succeed end early (`effective_distance`).

Notes, armadillo, 86,482 triangles, 39 bones, one thread, best of several runs on a shared machine:
- plain test: 250 … 290 ms (2.5 bones in range of a triangle, so 2.5 lines each);
- the same result with the nearest bone first and early termination (`find_seen`): 76 ms;
- traversal by single triangles: 110 … 125 ms; if triangles that are not visible forward proposals at once instead of at
  the end: 200 ms, as wrong bones then spread before the right ones;
- traversal by blocks of 16, 32, 48 or 64: 51, 46, 48, 46 ms; with a cheaper test of triangles, blocks of 32: 40 ms.
  Of that, crossings take about 20, gathering leaves 10, feet and bit sets 10.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from osteon.core.arrays import Float64, Int32
from osteon.core.kernels import Int64, exact, inlined, lean
from osteon.core.sticks import StickSkeleton
from osteon.simplex.segmentation.blocks import BLOCK, EightWayTree, Scratch, collapse_tree, compare_block, make_scratch
from osteon.simplex.segmentation.effective_distance import Field


class _State(NamedTuple):
    """State of triangles (t) and blocks (n); sets of bones are bit sets of 64-bit words."""

    bone: Int32  # (t,)
    distance: Float64  # (t,)
    received: NDArray[np.uint64]  # (n,w) bones that were proposed to a block
    queued: NDArray[np.uint64]  # (n,w) bones to test next
    tested: NDArray[np.uint64]  # (n,w)
    proposed: NDArray[np.uint64]  # (n,w) bones that it proposed to others


def bone_neighbors(skeleton: StickSkeleton) -> tuple[Int32, Int32]:
    """Bones that share a joint with bone b, and b itself: beside[first[b] : first[b + 1]], ascending."""
    sets = [np.union1d(*(skeleton.bones_at(int(j)) for j in ends)) for ends in skeleton.bones]
    first = np.cumsum([0, *(len(s) for s in sets)]).astype(np.int32)
    return np.concatenate(sets).astype(np.int32), first


def traverse(
    field: Field, neighbors: Int32, beside: tuple[Int32, Int32], seeds: tuple[Int32, Int32], seen_below: float
) -> tuple[Int32, Float64, NDArray[np.bool_]]:
    """Bone of every visible triangle (else -1), distance with penalty, and which triangles were reached.

    Seeds are triangles and the bones that pass through them. Adjacent triangles should have close indices.
    """
    n, n_words = len(neighbors), -(-len(field.ranges.sticks) // 64)
    bone, distance = np.full(n, -1, np.int32), np.full(n, seen_below)
    sets = (np.zeros((-(-n // BLOCK), n_words), np.uint64) for _ in range(4))
    state = _State(bone, distance, *sets)
    scratch = make_scratch(len(field.ranges.sticks))
    _traverse(field, collapse_tree(field.tree), neighbors, beside, seeds, state, scratch)
    return bone, distance, np.repeat(state.received.any(axis=1), BLOCK)[:n]


@exact
def _traverse(
    field: Field,
    nodes: EightWayTree,
    neighbors: Int32,
    beside: tuple[Int32, Int32],
    seeds: tuple[Int32, Int32],
    state: _State,
    scratch: Scratch,
) -> None:
    """Run rounds of proposals until there are none; those of a round are collected before they are distributed."""
    n_blocks, n_bones = state.received.shape[0], field.ranges.sticks.shape[0]
    candidates, received = np.empty(n_bones, np.int64), state.received
    proposals = [(0, 0)]  # (block, bone)
    waiting, n_waiting = np.empty(n_blocks, np.int64), 0
    for i in range(seeds[0].size):
        home = int(np.int64(seeds[0][i]) // BLOCK)
        n_waiting = _receive(home, int(np.int64(seeds[1][i])), beside, state, waiting, n_waiting)
        for b in range(n_bones):
            _add(state.queued, home, b)
    while True:
        proposals.clear()
        for i in range(n_waiting):
            n = _take_queued(waiting[i], state, candidates)
            compare_block(field, nodes, waiting[i], candidates[:n], (state.bone, state.distance), scratch)
            _propose(waiting[i], state, proposals)
        if not proposals:
            for block in range(n_blocks):
                _forward(block, n_bones, state, proposals)
        if not proposals:
            return
        n_waiting = 0
        for block, b in proposals:
            n_waiting = _receive(block, b, beside, state, waiting, n_waiting)
            for t in range(block * BLOCK, min((block + 1) * BLOCK, state.bone.size)):
                for e in range(3):
                    other = int(np.int64(neighbors[t, e]) // BLOCK)  # -1 at a border
                    if other >= 0 and not _has(received, other, b):
                        n_waiting = _receive(other, b, beside, state, waiting, n_waiting)


@lean
def _receive(block: int, b: int, beside: tuple[Int32, Int32], state: _State, waiting: Int64, n_waiting: int) -> int:
    """Queue bone b and its neighbours for testing in a block. Returns the number of waiting blocks."""
    if _has(state.received, block, b):
        return n_waiting
    _add(state.received, block, b)
    fresh = True
    for word in state.queued[block]:
        fresh = fresh and word == 0
    others, first = beside
    for i in range(first[b], first[b + 1]):
        _add(state.queued, block, others[i])
    if fresh:
        waiting[n_waiting] = block
        n_waiting += 1
    return n_waiting


@lean
def _take_queued(block: int, state: _State, candidates: Int64) -> int:
    """Move the queued bones of a block that it has not been tested against to `candidates`; returns how many."""
    n = 0
    for b in range(candidates.size):
        if _has(state.queued, block, b) and not _has(state.tested, block, b):
            candidates[n] = b
            n += 1
    for w in range(state.queued.shape[1]):
        state.tested[block, w] |= state.queued[block, w]
        state.queued[block, w] = 0
    return n


@exact
def _propose(block: int, state: _State, proposals: list[tuple[int, int]]) -> None:
    """Propose the bones of a block's triangles that it has not proposed before."""
    for t in range(block * BLOCK, min((block + 1) * BLOCK, state.bone.size)):
        if state.bone[t] >= 0 and not _has(state.proposed, block, state.bone[t]):
            _add(state.proposed, block, state.bone[t])
            proposals.append((int(block), int(state.bone[t])))


@exact
def _forward(block: int, n_bones: int, state: _State, proposals: list[tuple[int, int]]) -> None:
    """Forward the bones that a block without visible triangles has received and not proposed yet."""
    for t in range(block * BLOCK, min((block + 1) * BLOCK, state.bone.size)):
        if state.bone[t] >= 0:
            return
    for b in range(n_bones):
        if _has(state.received, block, b) and not _has(state.proposed, block, b):
            _add(state.proposed, block, b)
            proposals.append((int(block), int(b)))


@inlined
def _has(sets: NDArray[np.uint64], i: int, b: int) -> bool:
    inside: bool = sets[i, b // 64] >> np.uint64(b % 64) & np.uint64(1) != 0
    return inside


@inlined
def _add(sets: NDArray[np.uint64], i: int, b: int) -> None:
    sets[i, b // 64] |= np.uint64(1) << np.uint64(b % 64)
