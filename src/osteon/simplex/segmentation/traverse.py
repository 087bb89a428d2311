"""Segmentation by traversal: triangles only test bones that their neighbours suggest.

Triangles test in blocks of near ones (`blocks`). A block that has bones suggests them to itself and to the blocks
across its edges; each tests those bones and the bones that share a joint with them, as far as it has not tested them
before, and suggests what is new among its best ones, until nothing changes.

Where it must agree with the plain test: if, in the plain answer, all neighbours on some path from a seed to a triangle
are seen by the same bone or by bones that share a joint, the triangle gets its plain answer. (The seed is tested
against all bones. A triangle that has tested its plain answer keeps it, as it is the least of all, and its block
suggests it.)

Based on: Yan, Hu, Martin, Yang, Shape Deformation Using a Skeleton to Drive Simplex Transformations, 2008, 4.2.

Differs from the paper:
- it passes over the mesh once, so that its answer depends on the order; here suggestions go in rounds, all of one
  round at the same time, and a block tests again when a new bone is suggested: the order does not matter;
- a block in which no bone sees anything passes on what was suggested to it, once nobody else has anything to say, so
  that a fold does not stop the traversal;
- components without a seed are tested against all bones;
- the nearest bone is tried first; one that cannot win or see is left early (`pairs`).

Notes, armadillo, 86,482 triangles, 39 bones, one thread, best of several runs on a shared machine:
- plain test: 250 … 290 ms (2.5 bones in range of a triangle, so 2.5 lines each);
- the plain answer, but nearest bone first and lines left early (`pairs.find_seen`): 76 ms;
- traversal by single triangles: 110 … 125 ms; with unseen triangles that pass on what they hear at once instead of at
  the end: 200 ms, as wrong bones then run ahead of the right ones;
- traversal by blocks of 16, 32, 48 or 64: 51, 46, 48, 46 ms; with a cheaper test of triangles, blocks of 32: 40 ms.
  Of that, lines take about 20, gathering leaves 10, feet and sets 10.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from osteon.core.arrays import Float64, Int32
from osteon.core.kernels import Int64, exact, inlined, lean
from osteon.core.sticks import StickSkeleton
from osteon.simplex.segmentation.blocks import BLOCK, EightWayTree, Room, collapse_tree, compare_block, make_room
from osteon.simplex.segmentation.effective_distance import Field


class _State(NamedTuple):
    """What triangles (t) and blocks (n) know; sets of bones hold 64 to a word."""

    bone: Int32  # (t,)
    distance: Float64  # (t,)
    heard: NDArray[np.uint64]  # (n,w) bones that were suggested to a block
    asked: NDArray[np.uint64]  # (n,w) bones to test next
    tested: NDArray[np.uint64]  # (n,w)
    suggested: NDArray[np.uint64]  # (n,w) bones that it suggested


def bone_neighbors(skeleton: StickSkeleton) -> tuple[Int32, Int32]:
    """For every bone the bones that share a joint with it, itself too: beside[first[b] : first[b + 1]], ascending."""
    sets = [np.union1d(*(skeleton.bones_at(int(j)) for j in ends)) for ends in skeleton.bones]
    first = np.cumsum([0, *(len(s) for s in sets)]).astype(np.int32)
    return np.concatenate(sets).astype(np.int32), first


def traverse(
    field: Field, neighbors: Int32, beside: tuple[Int32, Int32], seeds: tuple[Int32, Int32], seen_below: float
) -> tuple[Int32, Float64, NDArray[np.bool_]]:
    """Bone of every triangle that one sees (else -1), distance with penalty, and which triangles were reached.

    Seeds are triangles and the bones that pass through them. Triangles that lie together should have near numbers.
    """
    n, n_words = len(neighbors), -(-len(field.ranges.sticks) // 64)
    bone, distance = np.full(n, -1, np.int32), np.full(n, seen_below)
    sets = (np.zeros((-(-n // BLOCK), n_words), np.uint64) for _ in range(4))
    state = _State(bone, distance, *sets)
    room = make_room(len(field.ranges.sticks))
    _traverse(field, collapse_tree(field.tree), neighbors, beside, seeds, state, room)
    return bone, distance, np.repeat(state.heard.any(axis=1), BLOCK)[:n]


@exact
def _traverse(
    field: Field,
    nodes: EightWayTree,
    neighbors: Int32,
    beside: tuple[Int32, Int32],
    seeds: tuple[Int32, Int32],
    state: _State,
    room: Room,
) -> None:
    """Rounds of suggestions until there is nothing new to say; all of a round is said before any of it is heard."""
    n_blocks, n_bones = state.heard.shape[0], field.ranges.sticks.shape[0]
    candidates, heard = np.empty(n_bones, np.int64), state.heard
    suggestions = [(0, 0)]  # (block, bone)
    waiting, n_waiting = np.empty(n_blocks, np.int64), 0
    for i in range(seeds[0].size):
        home = int(np.int64(seeds[0][i]) // BLOCK)
        n_waiting = _hear(home, int(np.int64(seeds[1][i])), beside, state, waiting, n_waiting)
        for b in range(n_bones):
            _add(state.asked, home, b)
    while True:
        suggestions.clear()
        for i in range(n_waiting):
            n = _open(waiting[i], state, candidates)
            compare_block(field, nodes, waiting[i], candidates[:n], (state.bone, state.distance), room)
            _suggest(waiting[i], state, suggestions)
        if not suggestions:
            for block in range(n_blocks):
                _pass_on(block, n_bones, state, suggestions)
        if not suggestions:
            return
        n_waiting = 0
        for block, b in suggestions:
            n_waiting = _hear(block, b, beside, state, waiting, n_waiting)
            for t in range(block * BLOCK, min((block + 1) * BLOCK, state.bone.size)):
                for e in range(3):
                    other = int(np.int64(neighbors[t, e]) // BLOCK)  # -1 at a border
                    if other >= 0 and not _has(heard, other, b):
                        n_waiting = _hear(other, b, beside, state, waiting, n_waiting)


@lean
def _hear(block: int, b: int, beside: tuple[Int32, Int32], state: _State, waiting: Int64, n_waiting: int) -> int:
    """Queue bone b for a block: it tests it and the bones beside it. Returns how many blocks wait to test."""
    if _has(state.heard, block, b):
        return n_waiting
    _add(state.heard, block, b)
    fresh = True
    for word in state.asked[block]:
        fresh = fresh and word == 0
    others, first = beside
    for i in range(first[b], first[b + 1]):
        _add(state.asked, block, others[i])
    if fresh:
        waiting[n_waiting] = block
        n_waiting += 1
    return n_waiting


@lean
def _open(block: int, state: _State, candidates: Int64) -> int:
    """Which bones a block was asked to test and has not tested before; returns how many."""
    n = 0
    for b in range(candidates.size):
        if _has(state.asked, block, b) and not _has(state.tested, block, b):
            candidates[n] = b
            n += 1
    for w in range(state.asked.shape[1]):
        state.tested[block, w] |= state.asked[block, w]
        state.asked[block, w] = 0
    return n


@exact
def _suggest(block: int, state: _State, suggestions: list[tuple[int, int]]) -> None:
    """The bones of its triangles, as far as it has not told them yet."""
    for t in range(block * BLOCK, min((block + 1) * BLOCK, state.bone.size)):
        if state.bone[t] >= 0 and not _has(state.suggested, block, state.bone[t]):
            _add(state.suggested, block, state.bone[t])
            suggestions.append((int(block), int(state.bone[t])))


@exact
def _pass_on(block: int, n_bones: int, state: _State, suggestions: list[tuple[int, int]]) -> None:
    """What a block in which nothing is seen has heard and not told yet."""
    for t in range(block * BLOCK, min((block + 1) * BLOCK, state.bone.size)):
        if state.bone[t] >= 0:
            return
    for b in range(n_bones):
        if _has(state.heard, block, b) and not _has(state.suggested, block, b):
            _add(state.suggested, block, b)
            suggestions.append((int(block), int(b)))


@inlined
def _has(sets: NDArray[np.uint64], i: int, b: int) -> bool:
    inside: bool = sets[i, b // 64] >> np.uint64(b % 64) & np.uint64(1) != 0
    return inside


@inlined
def _add(sets: NDArray[np.uint64], i: int, b: int) -> None:
    sets[i, b // 64] |= np.uint64(1) << np.uint64(b % 64)
