"""Move the least useful bones to where the error is largest.

    cost of a bone  = what the error grows by if its vertices had to do without it
    place for a new = around the worst vertex of the group of vertices (by strongest bone) with the largest total error

The cost is an upper bound: the remaining weights of a vertex are only divided by their sum; a vertex with one bone
takes its second best.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from osteon.core.arrays import Float64
from osteon.fit.moments import prediction_moments
from osteon.fit.problem import FitProblem
from osteon.fit.skin.influences import Influences
from osteon.fit.skin.seed import bones_of_labels

__all__ = ["place_bones", "relocate_bones", "removal_costs"]

#: A moved bone is fitted to at least this many vertices.
SMALLEST_SEED = 8


def removal_costs(problem: FitProblem, transforms: Float64, influences: Influences, threads: int) -> Float64:
    """(b,) growth of the squared error without each bone."""
    bones, weights, errors = influences.bones, influences.weights, influences.errors
    n_bones = transforms.shape[1]
    sums = prediction_moments(problem, transforms, threads)
    chosen_cross, forms = np.take_along_axis(sums.cross, bones, axis=1), sums.forms
    gram = np.einsum("vi,vabi->vab", sums.product, forms[bones[:, :, None], bones[:, None, :]], optimize=True)
    gram += sums.energy[:, None, None] - chosen_cross[:, :, None] - chosen_cross[:, None, :]
    costs = np.zeros(n_bones)
    for slot in range(bones.shape[1]):
        rest = weights.copy()
        rest[:, slot] = 0
        total = rest.sum(axis=1)
        used, alone = weights[:, slot] > 0, total <= 1e-6
        rest /= np.where(alone, 1, total)[:, None]
        without = np.einsum("va,vb,vab->v", rest, rest, gram, optimize=True)
        if (lonely := used & alone).any():
            gamma = sums.product[lonely] @ forms[np.arange(n_bones), np.arange(n_bones)].T
            gamma += sums.energy[lonely, None] - 2 * sums.cross[lonely]
            gamma[np.arange(len(gamma)), bones[lonely, slot]] = np.inf
            without[lonely] = gamma.min(axis=1) if n_bones > 1 else sums.energy[lonely]
        growth = np.where(used, without - errors, 0)
        costs += np.bincount(bones[:, slot], weights=growth, minlength=n_bones)
    return costs


def relocate_bones(
    problem: FitProblem, transforms: Float64, influences: Influences, count: int, threads: int
) -> Float64:
    """Transforms in which the `count` least useful bones stand elsewhere."""
    leaving = np.argsort(removal_costs(problem, transforms, influences, threads), kind="stable")[:count]
    added = place_bones(problem, influences, count, ~np.isin(influences.bones[:, 0], leaving), threads)
    out = transforms.copy()
    out[:, leaving[: added.shape[1]]] = added
    return out


def place_bones(
    problem: FitProblem, influences: Influences, count: int, free: NDArray[np.bool_], threads: int
) -> Float64:
    """Up to `count` rigid bones (f,b,3,4), each where the error of the free vertices (v,) is largest."""
    strongest, errors = influences.bones[:, 0], influences.errors
    free = free.copy()
    added: list[Float64] = []
    while len(added) < count and free.any():
        blame = np.bincount(strongest[free], weights=errors[free])
        group = np.flatnonzero(free & (strongest == int(blame.argmax())))
        center = problem.points[group[errors[group].argmax()]]
        far = ((problem.points - center) ** 2).sum(axis=1)
        take = min(max(SMALLEST_SEED, len(group) // 4), len(far) - 1)
        labels = np.full(problem.n_vertices, -1, np.int64)
        labels[np.argpartition(far, take)[:take]] = 0
        added.append(bones_of_labels(problem, labels, 1, threads)[:, 0])
        free[group] = False
    return np.stack(added, axis=1) if added else np.empty((problem.n_frames, 0, 3, 4))
