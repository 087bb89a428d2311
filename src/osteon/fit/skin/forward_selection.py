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
from numpy.typing import NDArray

from osteon.core.arrays import Float64
from osteon.core.kernels import kernel
from osteon.fit.skin.nonnegative import MAX_UNKNOWNS, minimise_on_simplex

__all__ = ["select_forward"]

#: A bone must lower the squared error by this fraction to be added.
WORTH_ADDING = 1e-4
#: Weights below this are dropped.
SMALLEST_WEIGHT = 1e-6
MAX_EXCHANGES = 2


@kernel
def _fill_row(
    product: Float64,
    forms: Float64,
    cross: Float64,
    energy: float,
    pull: float,
    wanted: Float64,
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
            value += pull * (offset - wanted[bone] - wanted[c])
        out[c] = value
    out[bone] = max(out[bone] + pull, 0.0)


@kernel
def _take_gram(rows: Float64, chosen: NDArray[np.int64], n: int, gram: Float64) -> None:
    for i in range(n):
        for j in range(n):
            gram[i, j] = rows[i, chosen[j]]


@kernel
def _drop_unused(chosen: NDArray[np.int64], w: Float64, rows: Float64, n: int) -> int:
    kept = 0
    for i in range(n):
        if w[i] > SMALLEST_WEIGHT:
            if kept != i:
                chosen[kept] = chosen[i]
                w[kept] = w[i]
                rows[kept] = rows[i]
            kept += 1
    return kept


@kernel
def _invert(gram: Float64, n: int, work: Float64, inverse: Float64, sums: Float64) -> float:
    """inverse of gram (n,n), its row sums, and their sum."""
    trace = 0.0
    for i in range(n):
        trace += gram[i, i]
    ridge = 1e-12 * trace + 1e-300
    for i in range(n):
        for j in range(n):
            work[i, j] = gram[i, j]
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
        sums[i] = 0.0
        for j in range(n):
            inverse[i, j] = work[i, n + j]
            sums[i] += inverse[i, j]
        total += sums[i]
    return total


@kernel
def _best_addition(
    rows: Float64,
    diagonal: Float64,
    chosen: NDArray[np.int64],
    w: Float64,
    n: int,
    value: float,
    inverse: Float64,
    sums: Float64,
    total: float,
) -> tuple[int, float]:
    """The bone that lowers the error most if added, and by how much.

    Adding bone c to the optimum w: with r = G[chosen, c] and d = value - r'w, the new optimum (sum one, signs free) is
    lower by d^2 / s, s = G_cc - r'G^-1 r + (1 - 1'G^-1 r)^2 / 1'G^-1 1. Where that makes a weight negative, a step
    straight towards bone c is taken instead, which is a lower bound.
    """
    best = -1
    best_gain = 0.0
    solved = np.empty(MAX_UNKNOWNS)
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
            solved[i] = 0.0
            for j in range(n):
                solved[i] += inverse[i, j] * rows[j, c]
            along += solved[i] * rows[i, c]
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


@kernel
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


@kernel
def _drop_least(
    rows: Float64,
    chosen: NDArray[np.int64],
    w: Float64,
    n: int,
    gram: Float64,
    inverse: Float64,
    work: Float64,
    sums: Float64,
    ones: Float64,
) -> tuple[int, float]:
    """Leave out the bone that is needed least; returns how many are left and their value."""
    _take_gram(rows, chosen, n, gram)
    total = _invert(gram, n, work, inverse, sums)
    w[_least_needed(w, n, inverse, sums, total)] = 0.0
    n = _drop_unused(chosen, w, rows, n)
    _take_gram(rows, chosen, n, gram)
    value = minimise_on_simplex(gram, n, ones, w)
    return _drop_unused(chosen, w, rows, n), value


@kernel
def _smoothness(chosen: NDArray[np.int64], w: Float64, n: int, target: Float64, offset: float) -> float:
    """|w - m|^2 over all bones, for w that is zero outside of the chosen."""
    total = offset
    for i in range(n):
        total += w[i] * w[i] - 2 * w[i] * target[chosen[i]]
    return total


@kernel
def select_forward(
    product: Float64,
    forms: Float64,
    cross: Float64,
    energy: Float64,
    pull: float,
    wanted: Float64,
    n_slots: int,
    n_search: int,
    warm: bool,
    start: int,
    stop: int,
    bones: NDArray[np.int64],
    weights: Float64,
    errors: Float64,
) -> None:
    n_bones = forms.shape[0]
    diagonal = np.empty(n_bones)
    rows = np.empty((MAX_UNKNOWNS, n_bones))
    gram = np.empty((MAX_UNKNOWNS, MAX_UNKNOWNS))
    inverse = np.empty((MAX_UNKNOWNS, MAX_UNKNOWNS))
    work = np.empty((MAX_UNKNOWNS, 2 * MAX_UNKNOWNS))
    sums = np.empty(MAX_UNKNOWNS)
    ones = np.ones(MAX_UNKNOWNS)
    w = np.empty(MAX_UNKNOWNS)
    chosen = np.empty(MAX_UNKNOWNS, np.int64)
    best_w = np.empty(MAX_UNKNOWNS)
    best_chosen = np.empty(MAX_UNKNOWNS, np.int64)
    for v in range(start, stop):
        target = wanted[v] if pull > 0 else wanted[0]
        offset = 0.0
        if pull > 0:
            for b in range(n_bones):
                offset += target[b] * target[b]
        first = 0
        for b in range(n_bones):
            value = energy[v] - 2 * cross[v, b]
            for i in range(10):
                value += product[v, i] * forms[b, b, i]
            if pull > 0:
                value += pull * (offset - 2 * target[b] + 1)
            diagonal[b] = max(value, 0.0)
            if diagonal[b] < diagonal[first]:
                first = b
        n = 0
        if warm:
            for k in range(n_slots):
                if weights[v, k] > 0:
                    chosen[n] = bones[v, k]
                    n += 1
        if n == 0:
            chosen[0] = first
            n = 1
        for i in range(n):
            _fill_row(product[v], forms, cross[v], energy[v], pull, target, offset, chosen[i], rows[i])
        _take_gram(rows, chosen, n, gram)
        value = minimise_on_simplex(gram, n, ones, w)
        best = np.inf
        n_best = 0
        exchanges = 0
        searching = n_search > n_slots
        for _ in range(4 * n_search + 4):
            n = _drop_unused(chosen, w, rows, n)
            if n <= n_slots and value < best:
                best = value
                n_best = n
                for i in range(n):
                    best_chosen[i] = chosen[i]
                    best_w[i] = w[i]
            elif n == n_slots and not searching:
                break
            if not searching and n == n_slots:
                if exchanges == MAX_EXCHANGES or n_slots >= n_bones or n == 1:
                    break
                exchanges += 1
                n, value = _drop_least(rows, chosen, w, n, gram, inverse, work, sums, ones)
            _take_gram(rows, chosen, n, gram)
            total = _invert(gram, n, work, inverse, sums)
            added, gain = _best_addition(rows, diagonal, chosen, w, n, value, inverse, sums, total)
            stuck = added < 0 or gain <= WORTH_ADDING * value
            if searching and (stuck or n == n_search):
                searching = False
                while n > n_slots:
                    n, value = _drop_least(rows, chosen, w, n, gram, inverse, work, sums, ones)
                continue
            if stuck:
                break
            chosen[n] = added
            _fill_row(product[v], forms, cross[v], energy[v], pull, target, offset, added, rows[n])
            n += 1
            _take_gram(rows, chosen, n, gram)
            value = minimise_on_simplex(gram, n, ones, w)
        if pull > 0:
            best -= pull * _smoothness(best_chosen, best_w, n_best, target, offset)
        _store(best_chosen, best_w, n_best, n_slots, v, bones, weights)
        errors[v] = max(best, 0.0)


@kernel
def _store(
    chosen: NDArray[np.int64], w: Float64, n: int, n_slots: int, v: int, bones: NDArray[np.int64], weights: Float64
) -> None:
    """Largest weight first; they sum to one; unused slots repeat the first bone with weight 0."""
    total = 0.0
    for i in range(n):
        total += w[i]
    for k in range(n_slots):
        largest = -1
        for i in range(n):
            if w[i] > 0 and (largest < 0 or w[i] > w[largest]):
                largest = i
        if largest >= 0:
            bones[v, k] = chosen[largest]
            weights[v, k] = w[largest] / total
            w[largest] = 0.0
        else:
            bones[v, k] = bones[v, 0]
            weights[v, k] = 0.0
