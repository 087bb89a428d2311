"""Which bones move a vertex, and how much: forward selection with exact weights at every step.

    for each vertex:  minimise w'G w  over at most k bones,  w >= 0,  sum w = 1
    G_bc = sum_f (T_b p - x)'(T_c p - x) = p'M_bc p - p'h_b - p'h_c + x'x

Based on: James and Twigg, Skinning Mesh Animations, 2005, section 5.1 (influence sets) and 5.2 (weights, eq. 8, 10).

Differs from the paper: bones are not ranked by their error alone (gamma, eq. 5: see solve_weights.py) but by what they
add. Start from the best bone; add the bone that lowers the constrained optimum most; stop at k bones or when
nothing helps; then exchange the bone that matters least for the one that would help most, as long as that helps.
The sum of one is exact instead of a row of the system. A round that starts from earlier influences begins with them.
A thorough search adds up to twice k bones, then drops the least needed: a bone that misled the first
choices goes when the right ones are there. Known weights of random models are found again that way and only that way.

| symbol | name |
| --- | --- |
| G      | gram (n,n) of the chosen bones; rows (n,b) the same against all bones |
| w'G w  | value, the squared error of the vertex |
| mu, m  | pull, wanted: smoothness adds mu |w - m|^2, with m the mean of the neighbours' weights. As sum w = 1 this is
           a quadratic form too: G_bc + mu (delta_bc - m_b - m_c + m'm) |

Notes, horse, 30 bones, 4 influences, one warm round: 32 ms on one thread, 19 ms on two.
"""

from __future__ import annotations

import numpy as np

from osteon.core.arrays import Float64, Int64
from osteon.core.kernels import kernel, part
from osteon.fit.skin.nonnegative import MAX_UNKNOWNS, minimise_rows

__all__ = ["select_forward"]

#: A bone must lower the squared error by this fraction to be added.
WORTH_ADDING = 1e-4
#: Weights below this are dropped.
SMALLEST_WEIGHT = 1e-6
MAX_EXCHANGES = 2


@part
def _fill_row(
    product: Float64,
    forms: Float64,
    cross: Float64,
    energy: float,
    pull: float,
    target: Float64,
    offset: float,
    bone: int,
    out: Float64,
) -> None:
    """G[bone, c] for every bone c of one vertex."""
    for c in range(forms.shape[0]):
        value = energy - cross[bone] - cross[c]
        for i in range(10):
            value += product[i] * forms[bone, c, i]
        if pull > 0:
            value += pull * (offset - target[bone] - target[c])
        out[c] = value
    out[bone] = max(out[bone] + pull, 0.0)


@part
def _fill_diagonal(
    product: Float64,
    forms: Float64,
    cross: Float64,
    energy: float,
    pull: float,
    target: Float64,
    offset: float,
    diagonal: Float64,
) -> int:
    """G[b, b] for every bone, and the bone of the least: the best alone."""
    first = 0
    for b in range(forms.shape[0]):
        value = energy - 2 * cross[b]
        for i in range(10):
            value += product[i] * forms[b, b, i]
        if pull > 0:
            value += pull * (offset - 2 * target[b] + 1)
        diagonal[b] = max(value, 0.0)
        if diagonal[b] < diagonal[first]:
            first = b
    return first


@part
def _drop_unused(chosen: Int64, w: Float64, rows: Float64, n: int) -> int:
    kept = 0
    for i in range(n):
        if w[i] > SMALLEST_WEIGHT:
            if kept != i:
                chosen[kept] = chosen[i]
                w[kept] = w[i]
                for c in range(rows.shape[1]):
                    rows[kept, c] = rows[i, c]
            kept += 1
    return kept


@part
def _invert(rows: Float64, chosen: Int64, n: int, work: Float64, inverse: Float64, sums: Float64) -> float:
    """inverse of the chosen bones' G (n,n), its row sums, and their sum."""
    trace = 0.0
    for i in range(n):
        trace += rows[i, chosen[i]]
    ridge = 1e-12 * trace + 1e-300
    for i in range(n):
        for j in range(n):
            work[i, j] = rows[i, chosen[j]]
            work[i, n + j] = 0.0
        work[i, i] += ridge
        work[i, n + i] = 1.0
    for k in range(n):
        pivot = 1.0 / max(work[k, k], 0.1 * ridge)
        for j in range(2 * n):
            work[k, j] *= pivot
        for i in range(n):
            factor = work[i, k]
            if i != k and factor != 0:
                for j in range(2 * n):
                    work[i, j] -= factor * work[k, j]
    total = 0.0
    for i in range(n):
        row = 0.0
        for j in range(n):
            inverse[i, j] = work[i, n + j]
            row += inverse[i, j]
        sums[i] = row
        total += row
    return total


@part
def _best_addition(
    rows: Float64,
    diagonal: Float64,
    chosen: Int64,
    w: Float64,
    n: int,
    value: float,
    inverse: Float64,
    sums: Float64,
    total: float,
    solved: Float64,
) -> tuple[int, float]:
    """The bone that lowers the error most if added, and by how much.

    Adding bone c to the optimum w: with r = G[chosen, c] and d = value - r'w, the new optimum (sum one, signs free) is
    lower by d^2 / s, s = G_cc - r'G^-1 r + (1 - 1'G^-1 r)^2 / 1'G^-1 1. Where that makes a weight negative, a step
    straight towards bone c is taken instead, which is a lower bound.
    """
    best = -1
    best_gain = 0.0
    for c in range(diagonal.shape[0]):
        slope = value
        taken = False
        for i in range(n):
            slope -= rows[i, c] * w[i]
            taken = taken or chosen[i] == c
        if taken or slope <= 0:
            continue
        straight = diagonal[c] - value + 2 * slope
        gain = slope * slope / max(straight, 1e-300) if slope < straight else 2 * slope - straight
        along = 0.0
        shift = 1.0
        for i in range(n):
            one = 0.0
            for j in range(n):
                one += inverse[i, j] * rows[j, c]
            solved[i] = one
            along += one * rows[i, c]
            shift -= sums[i] * rows[i, c]
        schur = diagonal[c] - along + shift * shift / total
        if schur > 1e-12 * diagonal[c] and slope <= schur:
            amount = slope / schur
            feasible = True
            for i in range(n):
                if w[i] < (solved[i] + sums[i] * shift / total) * amount:
                    feasible = False
                    break
            if feasible:
                gain = slope * amount
        if gain > best_gain:
            best_gain = gain
            best = c
    return best, best_gain


@part
def _least_needed(w: Float64, n: int, inverse: Float64, sums: Float64, total: float) -> int:
    """The chosen bone whose removal raises the error least (to second order)."""
    least = 0
    least_cost = np.inf
    for i in range(n):
        cost = w[i] * w[i] / max(inverse[i, i] - sums[i] * sums[i] / total, 1e-300)
        if cost < least_cost:
            least_cost = cost
            least = i
    return least


@part
def _smoothness(chosen: Int64, w: Float64, n: int, target: Float64, offset: float) -> float:
    """|w - m|^2 over all bones, for w that is zero outside of the chosen."""
    total = offset
    for i in range(n):
        total += w[i] * w[i] - 2 * w[i] * target[chosen[i]]
    return total


@part
def _store(chosen: Int64, w: Float64, n: int, bones: Int64, weights: Float64) -> None:
    """Largest weight first; they sum to one; unused slots repeat the first bone with weight 0."""
    total = 0.0
    for i in range(n):
        total += w[i]
    for k in range(bones.shape[0]):
        largest = -1
        for i in range(n):
            if w[i] > 0 and (largest < 0 or w[i] > w[largest]):
                largest = i
        if largest >= 0:
            bones[k] = chosen[largest]
            weights[k] = w[largest] / total
            w[largest] = 0.0
        else:
            bones[k] = bones[0]
            weights[k] = 0.0


@kernel("f8.2 f8.3 f8.2 f8.1 f8 f8.2 i8 b1 i8 i8 i8.2 f8.2 f8.1 f8.2 f8.3 i8.2")
def _select(
    product: Float64,
    forms: Float64,
    cross: Float64,
    energy: Float64,
    pull: float,
    wanted: Float64,
    n_search: int,
    warm: bool,
    start: int,
    stop: int,
    bones: Int64,
    weights: Float64,
    errors: Float64,
    rows: Float64,
    space: Float64,
    marks: Int64,
) -> None:
    """Vertices start … stop. A turn weighs the chosen bones, then adds one, or takes one out to exchange it."""
    n_slots, n_bones = bones.shape[1], forms.shape[0]
    diagonal = rows[MAX_UNKNOWNS]
    gram, inverse, work, vectors = space[0:1], space[1], space[2], space[3]
    sums, solved, best_w, value_of, weighed = vectors[0], vectors[1], vectors[2], vectors[3], vectors[4:5]
    w = weighed[0]
    chosen, best_chosen, count, free = marks[0], marks[1], marks[2, 0:1], marks[3:5]
    for v in range(start, stop):
        target = wanted[v] if pull > 0 else wanted[0]
        offset = 0.0
        if pull > 0:
            for b in range(n_bones):
                offset += target[b] * target[b]
        chosen[0] = _fill_diagonal(product[v], forms, cross[v], energy[v], pull, target, offset, diagonal)
        n = 0
        if warm:
            for k in range(n_slots):
                if weights[v, k] > 0:
                    chosen[n] = bones[v, k]
                    n += 1
        n = max(n, 1)
        filled, n_best, turns, exchanges = 0, 0, 0, 0
        value, best = 0.0, np.inf
        searching, weighing, exchanging = n_search > n_slots, True, False
        while turns < 4 * n_search + 4:
            if weighing:
                while filled < n:
                    bone = chosen[filled]
                    _fill_row(product[v], forms, cross[v], energy[v], pull, target, offset, bone, rows[filled])
                    filled += 1
                for i in range(n):
                    for j in range(n):
                        gram[0, i, j] = rows[i, chosen[j]]
                count[0] = n
                minimise_rows(gram, gram[0], count, True, weighed, work, free, value_of)
                value = value_of[0]
            n = _drop_unused(chosen, w, rows, n)
            filled = n
            if not weighing:
                weighing = True
                continue
            shrinking = n > n_slots and not searching
            if not shrinking and not exchanging:
                turns += 1
                if n <= n_slots and value < best:
                    best = value
                    n_best = n
                    for i in range(n):
                        best_chosen[i] = chosen[i]
                        best_w[i] = w[i]
                elif n == n_slots and not searching:
                    break
            leaving = shrinking
            if n == n_slots and not searching and not exchanging:
                if exchanges == MAX_EXCHANGES or n_slots >= n_bones or n == 1:
                    break
                exchanges += 1
                leaving = exchanging = True
            total = _invert(rows, chosen, n, work, inverse, sums)
            if not leaving:
                added, gain = _best_addition(rows, diagonal, chosen, w, n, value, inverse, sums, total, solved)
                stuck = added < 0 or gain <= WORTH_ADDING * value
                if searching and (stuck or n == n_search):
                    searching = False
                    leaving = n > n_slots
                    if not leaving:
                        break
                elif stuck:
                    break
                else:
                    exchanging = False
                    chosen[n] = added
                    w[n] = 1.0
                    n += 1
            if leaving:
                w[_least_needed(w, n, inverse, sums, total)] = 0.0
                weighing = False
        if pull > 0:
            best -= pull * _smoothness(best_chosen, best_w, n_best, target, offset)
        _store(best_chosen, best_w, n_best, bones[v], weights[v])
        errors[v] = max(best, 0.0)


def select_forward(
    sums: tuple[Float64, Float64, Float64, Float64],
    smooth: tuple[float, Float64],
    search: tuple[int, bool],
    vertices: tuple[int, int],
    out: tuple[Int64, Float64, Float64],
) -> None:
    """Bones (v,k), weights (v,k) and squared errors (v,) of some vertices: `out` is written, and read if warm.

    sums: product (v,10), forms (b,b,10), cross (v,b) and energy (v,), see moments.py; smooth: pull and wanted (v,b);
    search: how many bones are tried at a time, and whether to begin with those of `out`.
    """
    rows = np.empty((MAX_UNKNOWNS + 1, len(sums[1])))  # and the diagonal
    space = np.empty((4, MAX_UNKNOWNS, 2 * MAX_UNKNOWNS))
    marks = np.empty((5, MAX_UNKNOWNS), np.int64)
    _select(*sums, *smooth, *search, *vertices, *out, rows, space, marks)
