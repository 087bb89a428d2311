"""Influences of vertices for given bones (the search itself: forward_selection.py)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from osteon.core.arrays import Float64
from osteon.core.character import Skin
from osteon.core.errors import OptionError
from osteon.core.parallel import for_blocks
from osteon.fit.moments import prediction_moments
from osteon.fit.problem import FitProblem
from osteon.fit.skin.forward_selection import Search, select_forward
from osteon.fit.skin.nonnegative import MAX_UNKNOWNS

MAX_INFLUENCES = 8


@dataclass(frozen=True, slots=True)
class Influences:
    """Bones, weights and errors of every vertex of a problem. Unused slots have weight 0."""

    bones: NDArray[np.int64]  # (v,k)
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
    threads: int = 1,
) -> Influences:
    """At most `n_influences` bones per vertex with non-negative weights that sum to one.

    The search starts from `earlier` influences and is longer with `thorough`. With `strength` > 0 the weights are
    regularised towards `wanted` (v,b); the errors exclude this term.
    """
    if not 1 <= n_influences <= MAX_INFLUENCES:
        raise OptionError(f"influences: expected 1 … {MAX_INFLUENCES}, got {n_influences}")
    n_slots = min(n_influences, transforms.shape[1])
    n_search = min(2 * n_slots, MAX_UNKNOWNS - 1, transforms.shape[1]) if thorough else n_slots
    sums = prediction_moments(problem, transforms, threads)
    if strength > 0 and (wanted is None or wanted.shape != sums.cross.shape):
        raise OptionError(f"wanted: with a strength above 0, expected weights of shape {sums.cross.shape}")
    target = np.zeros((1, 1)) if wanted is None else np.ascontiguousarray(wanted, np.float64)
    search = Search(np.ascontiguousarray(sums.product), sums.forms, sums.cross, sums.energy, strength, target, n_search)
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
