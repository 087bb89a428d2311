"""Influences of vertices by forward selection, with exact weights at every step.

    for each vertex:  minimise w'G w  over at most k bones,  w >= 0,  sum w = 1
    G_bc = sum_f (T_b p - x)'(T_c p - x) = p'M_bc p - p'h_b - p'h_c + x'x

Based on: James and Twigg, Skinning Mesh Animations, 2005, section 5.1 (influence sets) and 5.2 (weights, eq. 8, 10).

Differs from the paper: bones are not ranked by their single-bone error (gamma, eq. 5: see weights.py) but by their
gain. Start from the best bone; add the bone that lowers the constrained optimum most; stop at k bones or without gain;
then exchange the least needed bone for the one of the largest gain, while that lowers the error. The sum of one is
exact instead of a row of the system. Earlier influences are the start of the search where they are given. A thorough
search adds up to twice k bones, then drops the least needed, which corrects first choices; only that recovers the
weights of random models exactly.

| symbol | name |
| --- | --- |
| G      | gram (n,n) of the chosen bones; rows (n,b) the same against all bones |
| w'G w  | value, the squared error of the vertex |
| mu, m  | strength, wanted: smoothness adds mu |w - m|^2, with m the mean of the neighbours' weights. As sum w = 1
           this is a quadratic form too: G_bc + mu (delta_bc - m_b - m_c + m'm) |
| c      | penalty (v,b): adds c'w, for bones that are far away on the surface. As sum w = 1 this is a quadratic form
           too: G_bc + (c_b + c_c) / 2 |

Notes, horse, 30 bones, 4 influences, one warm round: 32 ms on one thread, 19 ms on two.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from osteon.core.arrays import Float64, Int64
from osteon.core.character import Skin
from osteon.core.errors import OptionError
from osteon.core.kernels import kernel, part
from osteon.core.parallel import for_blocks
from osteon.fit.moments import prediction_moments
from osteon.fit.problem import FitProblem
from osteon.fit.skin.nonnegative import MAX_UNKNOWNS, minimise_rows

MAX_INFLUENCES = 8
#: A bone must lower the squared error by this fraction to be added.
WORTH_ADDING = 1e-4
#: Weights below this are dropped.
SMALLEST_WEIGHT = 1e-6
MAX_EXCHANGES = 2


@part
def _fill_row(
    product: Float64, forms: Float64, cross: Float64, energy: float, strength: float, bone: int, out: Float64
) -> None:
    """G[bone, c] for every bone c of one vertex."""
    for c in range(forms.shape[0]):
        value = energy - cross[bone] - cross[c]
        for i in range(10):
            value += product[i] * forms[bone, c, i]
        out[c] = value
    out[bone] = max(out[bone] + strength, 0.0)


@part
def _to_simplex(gram: Float64, w: Float64, n: int) -> float:
    """Divide w by its sum; returns w'G w."""
    total, value = 0.0, 0.0
    for i in range(n):
        total += w[i]
    for i in range(n):
        w[i] /= total
    for i in range(n):
        for j in range(n):
            value += w[i] * w[j] * gram[0, i, j]
    return value


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


@kernel("f8.2 i8.1 i8 f8.2 f8.2 f8.1")
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


@kernel("f8.2r f8.1r i8.1r f8.1r i8 f8 f8.2r f8.1r f8 f8.1")
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


@kernel("f8.2r f8.3r f8.2r f8.1r f8 f8.2r i8 i8.2 f8.2 f8.1 f8.2 f8.3 i8.2")
def _select(
    product: Float64,
    forms: Float64,
    cross: Float64,
    energy: Float64,
    strength: float,
    diagonals: Float64,
    n_search: int,
    bones: Int64,
    weights: Float64,
    errors: Float64,
    rows: Float64,
    space: Float64,
    marks: Int64,
) -> None:
    """Search all given vertices. An iteration solves weights, then adds a bone, or removes one for an exchange."""
    n_slots, n_bones = bones.shape[1], forms.shape[0]
    gram, ones, inverse, work, vectors = space[0:1], space[1], space[2], space[3], space[4]
    sums, solved, best_w, weighed = vectors[0], vectors[1], vectors[2], vectors[3:4]
    w = weighed[0]
    chosen, best_chosen, count, free = marks[0], marks[1], marks[2, 0:1], marks[3:5]
    for v in range(product.shape[0]):
        diagonal = diagonals[v]
        n = 0
        for k in range(n_slots):
            if weights[v, k] > 0:
                chosen[n] = bones[v, k]
                n += 1
        first = chosen[0]
        filled, n_best, steps, exchanges = 0, 0, 0, 0
        value, best = 0.0, np.inf
        searching, weighing, exchanging = n_search > n_slots, True, False
        while steps < 4 * n_search + 4:
            if weighing:
                while filled < n:
                    bone = chosen[filled]
                    _fill_row(product[v], forms, cross[v], energy[v], strength, bone, rows[filled])
                    filled += 1
                for i in range(n):
                    for j in range(n):
                        gram[0, i, j] = rows[i, chosen[j]]
                count[0] = n
                minimise_rows(gram, ones, count, weighed, work, free)
                value = _to_simplex(gram, w, n)
            n = _drop_unused(chosen, w, rows, n)
            filled = n
            if not weighing:
                weighing = True
                continue
            shrinking = n > n_slots and not searching
            if not shrinking and not exchanging:
                steps += 1
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
        if n_best == 0:  # errors within rounding
            n_best, best_chosen[0], best_w[0], best = 1, first, 1.0, diagonal[first]
        for k in range(n_slots):
            bones[v, k] = best_chosen[k] if k < n_best else best_chosen[0]
            weights[v, k] = best_w[k] if k < n_best else 0.0
        errors[v] = best


@dataclass(frozen=True, slots=True)
class Search:
    """The sums over all vertices that a search uses (moments.py)."""

    product: Float64  # (v,10)
    forms: Float64  # (b,b,10)
    cross: Float64  # (v,b)
    energy: Float64  # (v,)
    strength: float  # towards the wanted weights
    wanted: Float64  # (v,b); unused if strength is 0
    n_search: int  # largest number of bones during the search
    penalty: Float64 | None = None  # (v,b) cost of each weight; None: nothing


def select_forward(search: Search, block: slice, bones: Int64, weights: Float64, errors: Float64) -> None:
    """Update bones (v,k), weights (v,k) and squared errors (v,) of some vertices in place."""
    forms, strength, energy, cross = search.forms, search.strength, search.energy[block], search.cross[block]
    out = bones[block], weights[block], errors[block]
    if strength > 0:  # its part of G without the diagonal
        wanted = search.wanted[block]
        offsets = np.einsum("vb,vb->v", wanted, wanted)
        energy, cross = energy + strength * offsets, cross + strength * wanted
    penalty = None if search.penalty is None else search.penalty[block]
    if penalty is not None:
        cross = cross - penalty / 2
    sums = search.product[block], forms, cross, energy
    at = np.arange(len(forms))
    diagonals = np.maximum(energy[:, None] - 2 * cross + sums[0] @ forms[at, at].T + strength, 0)
    _begin_with_best(*out[:2], diagonals)
    rows, space = np.empty((MAX_UNKNOWNS, len(forms))), np.ones((5, MAX_UNKNOWNS, 2 * MAX_UNKNOWNS))
    _select(*sums, strength, diagonals, search.n_search, *out, rows, space, np.empty((5, MAX_UNKNOWNS), np.int64))
    if strength > 0:
        kept = np.take_along_axis(wanted, out[0], axis=1)
        errors[block] -= strength * (offsets + (out[1] ** 2 - 2 * out[1] * kept).sum(axis=1))
    if penalty is not None:
        errors[block] -= (np.take_along_axis(penalty, out[0], axis=1) * out[1]).sum(axis=1)
    np.maximum(out[2], 0, out=out[2])
    _largest_first(*out[:2])


def _begin_with_best(bones: Int64, weights: Float64, diagonals: Float64) -> None:
    """Vertices without influences start with the bone of the least single-bone error."""
    empty = np.flatnonzero(~(weights > 0).any(axis=1))
    bones[empty, 0], weights[empty, 0] = diagonals[empty].argmin(axis=1), 1.0


def _largest_first(bones: Int64, weights: Float64) -> None:
    """Sort slots; weights sum to one; unused slots repeat the first bone with weight 0."""
    order = np.argsort(-weights, axis=1, kind="stable")
    bones[:], weights[:] = np.take_along_axis(bones, order, axis=1), np.take_along_axis(weights, order, axis=1)
    bones[:] = np.where(weights > 0, bones, bones[:, :1])
    weights /= weights.sum(axis=1, keepdims=True)


@dataclass(frozen=True, slots=True)
class Influences:
    """Bones, weights and errors of every vertex of a problem. Unused slots have weight 0."""

    bones: Int64  # (v,k)
    weights: Float64  # (v,k)
    errors: Float64  # (v,) squared, of positions
    normal_errors: Float64 | None = None  # (v,) squared, of normals in the problem, without their weight

    @property
    def squared_error(self) -> float:
        """Of all vertices."""
        return float(self.errors.sum())

    def dense(self, n_bones: int) -> Float64:
        """(v,b) weights with a column for every bone."""
        out = np.zeros((len(self.bones), n_bones))
        np.add.at(out, (np.arange(len(out))[:, None], self.bones), self.weights)
        return out

    def to_skin(self) -> Skin:
        """The skin of a model, in single precision."""
        return Skin(self.bones.astype(np.int32), self.weights.astype(np.float32))


def better_of(first: Influences, second: Influences) -> Influences:
    """The influences of the smaller error for every vertex; those of `first` where both are equal."""
    better = second.errors < first.errors
    bones, weights = (
        np.where(better[:, None], b, a) for a, b in ((first.bones, second.bones), (first.weights, second.weights))
    )
    return Influences(bones, weights, np.where(better, second.errors, first.errors))


def select_influences(
    problem: FitProblem,
    transforms: Float64,
    n_influences: int,
    *,
    earlier: Influences | None = None,
    thorough: bool = False,
    strength: float = 0.0,
    wanted: Float64 | None = None,
    penalty: Float64 | None = None,
    threads: int = 1,
) -> Influences:
    """At most `n_influences` bones per vertex with non-negative weights that sum to one.

    The search starts from `earlier` influences and is longer with `thorough`. With `strength` > 0 the weights are
    regularised towards `wanted` (v,b), and each weight costs its `penalty` (v,b); the errors exclude these terms.
    """
    if not 1 <= n_influences <= MAX_INFLUENCES:
        raise OptionError(f"influences: expected 1 … {MAX_INFLUENCES}, got {n_influences}")
    n_slots = min(n_influences, transforms.shape[1])
    n_search = min(2 * n_slots, MAX_UNKNOWNS - 1, transforms.shape[1]) if thorough else n_slots
    sums = prediction_moments(problem, transforms, threads)
    if strength > 0 and (wanted is None or wanted.shape != sums.cross.shape):
        raise OptionError(f"wanted: with a strength above 0, expected weights of shape {sums.cross.shape}")
    if penalty is not None and penalty.shape != sums.cross.shape:
        raise OptionError(f"penalty: expected costs of shape {sums.cross.shape}, got {penalty.shape}")
    target = np.zeros((1, 1)) if wanted is None else np.ascontiguousarray(wanted, np.float64)
    product = np.ascontiguousarray(sums.product)
    search = Search(product, sums.forms, sums.cross, sums.energy, strength, target, n_search, penalty)
    errors = np.empty(problem.n_vertices)
    bones = np.zeros((problem.n_vertices, n_slots), np.int64)
    weights = np.zeros((problem.n_vertices, n_slots))
    if earlier is not None:
        kept = min(n_slots, earlier.bones.shape[1])
        bones[:, :kept], weights[:, :kept] = earlier.bones[:, :kept], earlier.weights[:, :kept]

    def work(start: int, stop: int) -> None:
        select_forward(search, slice(start, stop), bones, weights, errors)

    for_blocks(work, problem.n_vertices, 512, threads)
    if problem.normals is None or sums.of_normals is None:
        return Influences(bones, weights, errors)
    of_normals = sums.of_normals.errors(bones, weights)
    return Influences(bones, weights, np.maximum(errors - problem.normals.weight * of_normals, 0), of_normals)
