"""Sort the slots of every vertex so that fewer blends cause the least error over all clips.

    minimise over the order of slots    sum_{n < k} sum_f || sum_j (w_j(n) - w_j) T_j^f p ||^2

w(n) are the weights after the last slots transferred theirs by a fixed table of heirs. With the k x k Gram matrix of a
vertex, G_ij = sum_f (T_i p)'(T_j p) = p' N_ij p, every order takes a few products, and no frame is read:

    error = d' G d,   d = w(n) - w                 N_ij: `pair_moments`

All orders of up to four slots are tried for every vertex, with every table; the table that is best for the character is
kept. With more than four slots, each is tried as the first; the others transfer their weights to it, cheapest first,
until four are left, and the orders of these are tried.

Based on: Pilgrim, Steed and Aguado, Progressive Skinning, 2007, sections 4.2 and 4.3 ("sorted to minimize vertex error
across all the animations").

Notes, squared error over that of keeping the largest weights, renormalised, at 3, 2, 1 blends. All to the first slot:
Soldier .42, .65, .89, CesiumMan .33, .43, .95, FpsArms .39, .66, .78, Fox .84, 1.40, 1.00. Fourth to the first, third
to the second: 1.4, .84, .91; 1.4, .53, .96; 3.0, .51, .78; .84, 1.00, 1.00. Descending weights instead of a chosen
order are worse than renormalising. Weighting the three levels equally, not by their error, ends at .97 with one blend.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import permutations, product

import numpy as np

from osteon.core.arrays import Float64, Int64
from osteon.core.character import Skin
from osteon.lod.progressive_skin import BlendOrder, blend_shares
from osteon.lod.search.pair_moments import motion_grams
from osteon.lod.search.skin_motion import SkinMotion

#: Number of slots for which all orders are tried.
TRIED = 4
#: Vertices per block.
BLOCK = 16384


def fit_blends(motion: SkinMotion, skin: Skin) -> BlendOrder:
    """The skin with its slots sorted, and the best table of heirs."""
    grams, weights, tables = (
        motion_grams(motion.transforms),
        skin.weights.astype(np.float64),
        _tables(skin.n_influences),
    )
    orders = np.empty((len(tables), *weights.shape), np.int8)
    losses = np.zeros((len(tables), skin.n_influences))
    for start in range(0, len(weights), BLOCK):
        block = slice(start, start + BLOCK)
        forms = slot_grams(motion, weights, grams, block)
        for i, heirs in enumerate(tables):
            orders[i, block], lost = _sorted_slots(weights[block], forms, heirs)
            losses[i] += lost
    best = int(losses.sum(axis=1).argmin())
    order = orders[best].astype(np.int64)
    sorted_skin = Skin(np.take_along_axis(skin.bones, order, axis=1), np.take_along_axis(skin.weights, order, axis=1))
    return BlendOrder(sorted_skin, tables[best].astype(np.int32), motion.squared_unit * losses[best])


def slot_grams(motion: SkinMotion, weights: Float64, grams: Float64, block: slice) -> Float64:
    """(v,k,k) G of a block of vertices, relative to the mean slot: only differences of slots matter."""
    w = weights[block, :, None]
    points = np.where(w != 0, motion.holds[block] / np.where(w != 0, w, 1), 0)
    points[..., 3] = 1
    owners = motion.owners[block]
    forms = np.empty((len(owners), owners.shape[1], owners.shape[1]))
    for i, j in product(range(owners.shape[1]), repeat=2):
        if i <= j:
            shared = grams[owners[:, i], owners[:, j]]
            forms[:, i, j] = forms[:, j, i] = np.einsum("vx,vxy,vy->v", points[:, i], shared, points[:, j])
    middle = forms.mean(axis=1, keepdims=True)
    return np.asarray(forms - middle - middle.swapaxes(1, 2) + forms.mean(axis=(1, 2), keepdims=True))


def _tables(n_slots: int) -> list[Int64]:
    """All tables of heirs of up to four slots; further slots transfer to the first."""
    tried = min(n_slots, TRIED)
    found = product(*(range(max(slot, 1)) for slot in range(tried)))
    return [np.array([*heirs, *[0] * (n_slots - tried)]) for heirs in found]


def _sorted_slots(weights: Float64, forms: Float64, heirs: Int64) -> tuple[Int64, Float64]:
    """(v,k) the best order of slots of every vertex, and (k,) the squared errors of 1 … k blends over all vertices."""
    n_vertices, n_slots = weights.shape
    changes = np.stack([blend_shares(heirs, n) for n in range(1, n_slots + 1)]) - np.eye(n_slots)  # (n,k,k)
    least, order = np.full(n_vertices, np.inf), np.zeros((n_vertices, n_slots), np.int64)
    losses = np.zeros((n_vertices, n_slots))
    for tried in _orders(weights, forms):
        held = np.take_along_axis(weights, tried, axis=1)
        forms_of_order = np.take_along_axis(np.take_along_axis(forms, tried[:, :, None], 1), tried[:, None], 2)
        moved = np.einsum("vj,njk->vnk", held, changes, optimize=True)
        lost = np.einsum("vnj,vnj->vn", moved @ forms_of_order, moved)
        unused_first = ((held[:, :-1] == 0) & (held[:, 1:] != 0)).any(axis=1)
        total = np.where(unused_first, np.inf, lost.sum(axis=1))
        better = total < least
        least[better], order[better], losses[better] = total[better], tried[better], lost[better]
    return order, np.maximum(losses, 0).sum(axis=0)


def _orders(weights: Float64, forms: Float64) -> Iterator[Int64]:
    """(v,k) the candidate orders of slots, beginning with descending weights."""
    n_slots = weights.shape[1]
    descending = np.argsort(-weights, axis=1, kind="stable")
    if n_slots <= TRIED:
        yield from (descending[:, tried] for tried in permutations(range(n_slots)))
        return
    for first in range(n_slots):
        order = _dropped_last(weights, forms, descending, first)
        for tried in permutations(range(1, TRIED)):
            yield order[:, [0, *tried, *range(TRIED, n_slots)]]


def _dropped_last(weights: Float64, forms: Float64, descending: Int64, first: int) -> Int64:
    """(v,k) an order that begins with one slot and ends with those that transfer to it at the least error."""
    n_vertices, n_slots = weights.shape
    rows, kept_slot = np.arange(n_vertices), descending[:, first]
    left = np.ones((n_vertices, n_slots), bool)
    left[rows, kept_slot] = False
    moved, tail = np.zeros((n_vertices, n_slots)), list[Int64]()
    for _ in range(n_slots - TRIED):
        costs = np.full((n_vertices, n_slots), np.inf)
        for slot in range(n_slots):
            step = moved.copy()
            step[:, slot] -= weights[:, slot]
            step[rows, kept_slot] += weights[:, slot]
            costs[:, slot] = np.einsum("vi,vij,vj->v", step, forms, step, optimize=True)
        dropped = np.where(left, costs, np.inf).argmin(axis=1)
        left[rows, dropped] = False
        moved[rows, dropped] -= weights[rows, dropped]
        moved[rows, kept_slot] += weights[rows, dropped]
        tail.insert(0, dropped)
    middle = np.argsort(np.where(left, -weights, np.inf), axis=1, kind="stable")[:, : TRIED - 1]
    return np.concatenate([kept_slot[:, None], middle, np.stack(tail, axis=1)], axis=1)
