"""Segmentation by traversal: a triangle only tests bones that a neighbour suggests.

A triangle that has a bone suggests it, and the bones that share a joint with it, to its neighbours. They test what they
have not tested before, keep the best, and suggest it in turn, until nothing changes.

Where it must agree with the plain test: if, in the plain answer, all neighbours on some path from a seed to a triangle
have the same bone or bones that share a joint, the triangle gets its plain answer. (The seed is tested against all
bones. A triangle that has tested its plain answer keeps it, as it is the least of all, and suggests it.)

Based on: Yan, Hu, Martin, Yang, Shape Deformation Using a Skeleton to Drive Simplex Transformations, 2008, 4.2.

Differs from the paper:
- it passes over the mesh once, so that its answer depends on the order; here suggestions go in rounds, all of one
  round at the same time, and a triangle is tested again when a new bone is suggested: the order does not matter;
- a triangle that is not seen by its best bone also passes on what was suggested to it, so that a fold in which no bone
  is seen does not stop the traversal;
- components without a seed are tested against all bones;
- bones are tried in the order of distance (`pairs.test_bones`).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from osteon.core.arrays import Float64, Int32
from osteon.core.sticks import StickSkeleton
from osteon.simplex.boxes import exact
from osteon.simplex.pairs import Field, make_scratch, test_bones, test_seen

__all__ = ["bone_neighbors", "traverse"]

class _State(NamedTuple):
    """What triangles know; sets of bones hold 64 to a word."""

    bone: Int32  # (t,)
    distance: Float64  # (t,)
    reached: NDArray[np.bool_]  # (t,)
    heard: NDArray[np.uint64]  # (t,w) bones that neighbours suggested
    tested: NDArray[np.uint64]  # (t,w)
    told: NDArray[np.uint64]  # (t,w) bones that it suggested


def bone_neighbors(skeleton: StickSkeleton) -> tuple[Int32, Int32]:
    """For every bone the bones that share a joint with it, itself too: beside[first[b] : first[b + 1]], ascending."""
    sets = [np.union1d(*(skeleton.bones_at(int(j)) for j in ends)) for ends in skeleton.bones]
    first = np.cumsum([0, *(len(s) for s in sets)]).astype(np.int32)
    return np.concatenate(sets).astype(np.int32), first


def traverse(
    field: Field, neighbors: Int32, beside: tuple[Int32, Int32], seeds: tuple[Int32, Int32], seen_below: float
) -> tuple[Int32, Float64, NDArray[np.bool_]]:
    """Bone of every triangle that one sees (else -1), distance with penalty, and which triangles a seed reached.

    Seeds are triangles and the bones that pass through them.
    """
    n, words = len(neighbors), -(-len(field.ranges.start) // 64)
    bone, distance, reached = np.full(n, -1, np.int32), np.full(n, seen_below), np.zeros(n, np.bool_)
    heard, tested, told = (np.zeros((n, words), np.uint64) for _ in range(3))
    np.bitwise_or.at(heard, (seeds[0], seeds[1] // 64), np.uint64(1) << (seeds[1] % 64).astype(np.uint64))
    start = np.unique(seeds[0]).astype(np.int32)
    test_seen(field, start, seen_below, bone, distance)
    tested[start] = ~np.uint64(0)
    _traverse(field, neighbors, beside, start, _State(bone, distance, reached, heard, tested, told))
    return bone, distance, reached


@exact
def _traverse(field, neighbors, beside, seeds, state):
    """Rounds of suggestions, all of a round made before any is heard, until there is nothing new to say."""
    n_bones = field.ranges.start.shape[0]
    candidates, scratch = np.empty(n_bones, np.int32), make_scratch(n_bones)
    said = np.empty((neighbors.shape[0], 2), np.int32)  # (triangle, bone)
    listening = np.empty(neighbors.shape[0], np.int32)
    waiting = np.zeros(neighbors.shape[0], np.bool_)  # is in `listening`
    n_listening = seeds.size
    listening[:n_listening] = seeds
    state.reached[seeds] = True
    while n_listening:
        said, n_said = _suggest(listening[:n_listening], n_bones, state, said)
        waiting[listening[:n_listening]] = False
        n_listening = 0
        for i in range(n_said):
            for e in range(3):
                t = neighbors[said[i, 0], e]
                if t < 0 or _has(state.heard, t, said[i, 1]):
                    continue
                n = _untested(t, said[i, 1], beside, state, candidates)
                has = state.bone[t], state.distance[t]
                state.bone[t], state.distance[t] = test_bones(field, t, candidates[:n], has, scratch)
                if not waiting[t]:
                    waiting[t] = state.reached[t] = True
                    listening[n_listening] = t
                    n_listening += 1


@exact
def _suggest(speakers, n_bones, state, said):
    """What these triangles have not told yet: their bone, or, where none is seen, all that they heard."""
    n = 0
    for t in speakers:
        seen = state.bone[t] >= 0
        for b in range(state.bone[t] if seen else 0, state.bone[t] + 1 if seen else n_bones):
            if _has(state.told, t, b) or not (seen or _has(state.heard, t, b)):
                continue
            _add(state.told, t, b)
            if n == said.shape[0]:
                said = np.concatenate((said, said))
            said[n, 0], said[n, 1] = t, b
            n += 1
    return said, n


@exact
def _untested(t, b, beside, state, candidates):
    """Triangle t hears of bone b: which bones to test, and how many."""
    _add(state.heard, t, b)
    others, first = beside
    n = 0
    for i in range(first[b], first[b + 1]):
        if not _has(state.tested, t, others[i]):
            _add(state.tested, t, others[i])
            candidates[n] = others[i]
            n += 1
    return n


@exact
def _has(sets, t, b):
    return sets[t, b // 64] >> np.uint64(b % 64) & np.uint64(1) != 0


@exact
def _add(sets, t, b):
    sets[t, b // 64] |= np.uint64(1) << np.uint64(b % 64)
