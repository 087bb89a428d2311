"""How a bone turns about itself where a pose does not tell it.

A pose that tells only where joints are leaves the turn of each bone about itself open. The paper takes the least
rotation from the rest direction (5.2) for every bone on its own. Two rules here fill what that leaves open:

**From the root outward.** A bone is first carried along by the bone it hangs on, then turned by the least rotation
that brings it to its place. An arm that swings forward takes the hand along without a twist in the wrist.

**At a root** nothing carries the bone. There two bones that kept the angle between them, and are not in line, tell how
their joint turned: the rotation that takes both to their places. Each such pair is a vote, weighed by how well it
kept its angle; the straighter the pair, the stricter. The votes of one depth are put together by their geometric
median, so that a wagging tail does not turn an unmoved hip. Pairs further out count only as far as nearer ones say
nothing, and the skeleton as a whole, where its joints keep their distances, after all of them: a straight root may lie
far from the next bend, or in a piece of its own. If nobody votes, least rotations stand. So a skeleton that moves
as a whole gives exactly that motion, and bones of an unmoved root stay exactly where they are.
"""

from __future__ import annotations

import numpy as np

from osteon.core.arrays import Float64
from osteon.core.sticks import StickSkeleton
from osteon.core.transforms import least_rotation, nearest_rotation

__all__ = ["Vote", "root_rotation", "whole_turn"]

Vote = tuple[Float64, Float64]  # (f,3,3) rotations and (f,) how far they are believed, 0 … 1

#: How far (radians) two bones may change their angle before they stop speaking for a rigid turn of both.
GIVE = 0.05
#: Sine of the angle between two bones from which on they span a plane reliably.
SPREAD = 0.2
#: Below this sine two bones are in line: what angle is left may come from the digits of a file.
STRAIGHT = 1e-2
#: The same for a whole skeleton, where many joints must agree.
COLLINEAR = 1e-5
#: How many bones out from a root votes are looked for.
DEPTH = 4


def root_rotation(skeleton: StickSkeleton, root: int, rest: Float64, posed: Float64, whole: Vote) -> Float64:
    """(f,3,3) how the root joint turned; `rest` (b,3) and `posed` (f,b,3) are unit vectors away from the root."""
    first = skeleton.bones_at(root).tolist()
    fallback = _least_of_all(rest[first], posed[:, first])
    known = np.zeros_like(fallback)
    open_share = np.ones(len(posed))
    for level in _levels(skeleton, root):
        votes, weights = _votes(level, rest, posed)
        if not len(weights) or not weights.any():
            continue
        said = 1 - np.prod(1 - weights, axis=0)
        known += (open_share * said)[:, None, None] * _median(votes, weights)
        open_share = open_share * (1 - said)
        if open_share.max() < 1e-15:  # nobody further out is asked
            break
    known += (open_share * whole[1])[:, None, None] * whole[0]
    return nearest_rotation(known + (open_share * (1 - whole[1]))[:, None, None] * fallback)


def _least_of_all(rest: Float64, posed: Float64) -> Float64:
    """(f,3,3) the least rotations of bones that meet, put together; those that turn less count more.

    In this way the order of the bones does not matter, and a bone that stays where it is keeps its joint where it is.
    """
    turns = least_rotation(np.broadcast_to(rest, posed.shape), posed, rest[-1])
    chord = np.maximum(np.linalg.norm(posed - rest, axis=2), 1e-9)
    weights = (chord.min(axis=1, keepdims=True) / chord) ** 2
    return nearest_rotation(np.einsum("fb,fbij->fij", weights, turns))


def whole_turn(rest: Float64, posed: Float64) -> Vote:
    """How all joints (j,3) together turned to (f,j,3), if they did; a change of size does not matter."""
    before, after = rest - rest.mean(axis=0), posed - posed.mean(axis=1, keepdims=True)
    before = before / np.linalg.norm(before)
    after = after / np.maximum(np.linalg.norm(after, axis=(1, 2), keepdims=True), 1e-300)
    turn = nearest_rotation(np.einsum("fji,jk->fik", after, before))
    off = np.linalg.norm(after - np.einsum("fik,jk->fji", turn, before), axis=(1, 2))
    spread = np.linalg.svd(before, compute_uv=False)[1]
    return turn, _belief(off, np.full(len(posed), spread), COLLINEAR)


def _levels(skeleton: StickSkeleton, root: int) -> list[list[tuple[int, int]]]:
    """Pairs of bones that meet, nearest to the root first: those at the root, then each bone with those behind it."""
    tree = skeleton.tree
    first = skeleton.bones_at(root).tolist()
    levels = [[(b, c) for i, b in enumerate(first) for c in first[i + 1 :]]]
    ring = set(first)
    for _ in range(DEPTH):
        pairs = [(int(tree.parent[b]), int(b)) for b in tree.order if int(tree.parent[b]) in ring]
        levels.append(pairs)
        ring = {c for _, c in pairs}
    return levels


def _votes(pairs: list[tuple[int, int]], rest: Float64, posed: Float64) -> tuple[Float64, Float64]:
    """(p,f,3,3) the rotation that takes both bones of each pair to their places, and (p,f) its weight 0 … 1."""
    votes, weights = [], []
    for b, c in pairs:
        before, spread_before, angle_before = _frame(rest[None, b], rest[None, c])
        after, spread_after, angle_after = _frame(posed[:, b], posed[:, c])
        votes.append(after @ before.swapaxes(1, 2))
        weights.append(_belief(angle_after - angle_before, np.minimum(spread_before, spread_after), STRAIGHT))
    return np.array(votes).reshape(-1, len(posed), 3, 3), np.array(weights).reshape(-1, len(posed))


def _belief(off: Float64, spread: Float64, straight: float) -> Float64:
    """(f,) 0 … 1: how far directions speak for a turn that they keep but for `off` radians.

    An error of that size turns a plane of that spread by off / spread. So the straighter they are, the more exactly
    they must be kept, and what is straight says nothing.
    """
    give = GIVE * np.minimum(spread / SPREAD, 1.0) ** 2
    kept = np.exp(-np.minimum((off / np.maximum(give, 1e-30)) ** 2, 700.0))
    return np.where(spread > straight, kept, 0.0)


def _frame(one: Float64, other: Float64) -> tuple[Float64, Float64, Float64]:
    """(f,3,3) a right-handed frame symmetric in both directions, the sine and the angle between them."""
    across = np.cross(one, other)
    sine = np.linalg.norm(across, axis=1)
    angle = np.arctan2(sine, np.einsum("fi,fi->f", one, other))
    normal = across / np.maximum(sine, 1e-300)[:, None]
    middle = one + other
    length = np.linalg.norm(middle, axis=1, keepdims=True)
    middle = np.where(length > 1e-6, middle / np.maximum(length, 1e-300), one)
    frame = np.stack([middle, np.cross(normal, middle), normal], axis=2)
    return np.where((sine > 1e-12)[:, None, None], frame, np.eye(3)), sine, angle


def _median(votes: Float64, weights: Float64) -> Float64:
    """(f,3,3) the geometric median of rotations, by iterated reweighting."""
    if len(votes) == 1:
        return np.array(votes[0])
    centre = nearest_rotation(np.einsum("pf,pfij->fij", weights + 1e-300, votes))
    for _ in range(30):
        distance = np.linalg.norm(votes - centre, axis=(2, 3))
        pull = weights / np.maximum(distance, 1e-12)
        pull /= np.maximum(pull.sum(axis=0), 1e-300)
        moved = np.einsum("pf,pfij->fij", pull + 1e-300, votes)
        last, centre = centre, nearest_rotation(moved)
        if np.abs(centre - last).max() < 1e-15:
            break
    return centre
