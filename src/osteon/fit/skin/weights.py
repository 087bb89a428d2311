"""Weights for given bones, such as those of a rig.

Based on: James and Twigg, Skinning Mesh Animations, 2005, section 5: given transforms, such as those of a kinematic
skeleton, one may proceed directly to the weights.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from osteon.core.animation import BoneTrack
from osteon.core.arrays import Float64
from osteon.core.character import Skin
from osteon.core.errors import GeometryError, OptionError
from osteon.core.parallel import available_threads, single_threaded_blas
from osteon.core.sequence import MeshSequence
from osteon.core.skin_options import SkinOptions, WeightMethod
from osteon.core.topology import weld_vertices
from osteon.fit.moments import prediction_moments
from osteon.fit.problem import FitProblem, pose_problem
from osteon.fit.skin.influences import MAX_INFLUENCES, Influences, select_influences
from osteon.fit.skin.nonnegative import minimise_nonnegative

# Influences by single-bone error, and weights by TSVD, NNLS or bounded least squares.
#
#     influences:  the k bones with the least  gamma_bv = sum_f || x_v^f - T_b^f p_v ||^2                   (eq. 5)
#     weights:     least squares of  [ c A ; 1 … 1 ] w = [ c x ; 1 ],   c = 1 / || x ||                      (eq. 9)
#       tsvd       drop singular values below 1e-5 of the largest
#       nnls       w >= 0                                                                                   (eq. 10)
#       bounded    w >= -delta, by the substitution w = u - delta, u >= 0                                   (eq. 11)
#     then divide by the sum                                                                                (eq. 8)
#
# Based on: James and Twigg, Skinning Mesh Animations, 2005, sections 5.1 and 5.2.
#
# Differs from the paper: positions are measured from each frame's centroid, so the result does not depend on the
# position of the character. A and x enter through A'A and A'x (moments.py): squares of singular values, whose 1e-10 is
# far above rounding in float64. If weights sum to (nearly) zero, which TSVD allows, the vertex follows its best bone.

#: Least squared norm of a vertex's motion in the scaling, relative to the mean.
STILL = 1e-9
#: Weights whose sum is smaller than this cannot be normalised.
SMALLEST_SUM = 1e-3


def nearest_influences(gamma: Float64, n_influences: int) -> NDArray[np.int64]:
    """(v,k) the bones with the least single-bone error, best first (section 5.1)."""
    if not 1 <= n_influences <= MAX_INFLUENCES:
        raise OptionError(f"influences: expected 1 … {MAX_INFLUENCES}, got {n_influences}")
    return np.argsort(gamma, axis=1, kind="stable")[:, :n_influences].astype(np.int64)


def solve_weights(
    problem: FitProblem,
    transforms: Float64,
    n_influences: int,
    *,
    method: WeightMethod = "nnls",
    threshold: float = 1e-5,
    delta: float = 0.0,
    threads: int = 1,
) -> Influences:
    """The paper's influences and weights for given bones."""
    if delta < 0:
        raise OptionError(f"delta: expected 0 or more, got {delta}")
    sums = prediction_moments(problem.with_normals(None), transforms, threads)
    bones = nearest_influences(sums.gamma, n_influences)
    chosen_cross = np.take_along_axis(sums.cross, bones, axis=1)
    raw = np.einsum("vi,vabi->vab", sums.product, sums.forms[bones[:, :, None], bones[:, None, :]], optimize=True)

    scale = 1 / np.maximum(problem.energy, STILL * problem.energy.mean())  # c squared
    gram = scale[:, None, None] * raw + 1  # [cA; 1]'[cA; 1]
    right = scale[:, None] * chosen_cross + 1
    weights = _solve(gram, right, method, threshold, delta)
    weights = _normalise(weights)
    errors = np.einsum("va,vb,vab->v", weights, weights, raw, optimize=True) - 2 * (weights * chosen_cross).sum(axis=1)
    return Influences(bones, weights, np.maximum(errors + problem.energy, 0))


def _solve(gram: Float64, right: Float64, method: WeightMethod, threshold: float, delta: float) -> Float64:
    if method == "tsvd":
        values, vectors = np.linalg.eigh(gram)
        keep = values > threshold**2 * values[:, -1:]
        inverse = np.where(keep, 1 / np.where(keep, values, 1), 0)
        return np.asarray(np.einsum("vij,vj,vkj,vk->vi", vectors, inverse, vectors, right, optimize=True))
    if method in ("nnls", "bounded"):
        shift = delta if method == "bounded" else 0.0
        return minimise_nonnegative(gram, right + shift * gram.sum(axis=2)) - shift
    raise OptionError(f"weights: expected tsvd, nnls or bounded, got {method!r}")


def _normalise(weights: Float64) -> Float64:
    total = weights.sum(axis=1, keepdims=True)
    first = np.zeros_like(weights)
    first[:, 0] = 1
    usable = np.abs(total) > SMALLEST_SUM
    return np.where(usable, weights / np.where(usable, total, 1), first)


def paper_influences(problem: FitProblem, transforms: Float64, options: SkinOptions) -> Influences:
    """The paper's influences and weights with the method of the options."""
    return solve_weights(
        problem,
        transforms,
        options.influences,
        method=options.weights,
        threshold=options.tsvd_threshold,
        delta=options.delta,
        threads=available_threads(options.threads),
    )


def fit_influences(problem: FitProblem, track: BoneTrack, options: SkinOptions) -> Influences:
    """Influences for given bones: the paper's, or forward selection."""
    threads, transforms = available_threads(options.threads), problem.from_input(track)
    if options.preset == "paper":
        return paper_influences(problem, transforms, options)
    return select_influences(problem, transforms, options.influences, thorough=True, threads=threads)


def fit_weights(sequence: MeshSequence, track: BoneTrack, *, options: SkinOptions | None = None) -> Skin:
    """Fit weights to given bones, such as those of a rig."""
    options = options or SkinOptions()
    if track.n_bones == 0:
        raise GeometryError("track: there are no bones")
    if track.n_frames != sequence.n_frames:
        raise GeometryError(f"track: {track.n_frames} frames for a sequence of {sequence.n_frames}")
    vertices, welded_of_vertex = weld_vertices(sequence)
    with single_threaded_blas():
        problem = pose_problem(sequence, vertices, play_scale=sequence.play_scale)
        influences = fit_influences(problem, track, options)
    return influences.to_skin().take(welded_of_vertex)
