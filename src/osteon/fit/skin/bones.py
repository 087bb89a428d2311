"""Bones of labelled vertices: initial bones by splitting, replacement of bones, and bones for given weights.

Initial bones:

    minimise over bones T and labels:   sum_v sum_f || T_label(v)^f p_v - x_v^f ||^2      (one rigid bone per vertex)

Based on: Linde, Buzo and Gray, An algorithm for vector quantizer design, 1980, in the form that Le and Deng, Smooth
Skinning Decomposition with Rigid Bones, 2012, use: fit, assign, split the worst, until there are enough.

Differs from them: as many clusters are split as bones are missing, at most all of them, each at its worst vertex
and the nearest quarter in the rest pose, so any number of bones is reached exactly.

Notes: E % after 30 rounds of refinement from the same number of bones, flexible / rigid, from the clusters of mean
shift (`clustering/cluster.py`) and from splitting:
|             | bones | mean shift start | splitting start |
| horse       | 31    | 1.61 / 2.18      | 1.37 / 1.77     |
| chicken     | 23    | 0.116 / 0.267    | 0.117 / 0.260   |
| elasticcow  | 29    | 0.426 / 0.731    | 0.388 / 0.689   |
| clothhorse  | 6     | 4.66 / 6.51      | 4.19 / 5.71     |
| cheburashka | 11    | 0.56 / 0.97      | 0.96 / 1.73     |
Mean shift groups triangles by rotation, splitting by positional error. The first suits articulated bodies, the second
soft ones: refine.py follows both for a few rounds and continues with the better.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from osteon.core.animation import BoneTrack, BoneType
from osteon.core.arrays import Float64
from osteon.core.character import Skin
from osteon.core.errors import GeometryError
from osteon.core.parallel import available_threads, single_threaded_blas
from osteon.core.sequence import MeshSequence
from osteon.core.skin_options import SkinOptions
from osteon.core.transforms import identity
from osteon.fit.moments import prediction_moments, squared_errors
from osteon.fit.problem import FitProblem, pose_problem
from osteon.fit.skin.influences import Influences
from osteon.fit.skin.scaled_bones import project_scaled
from osteon.fit.skin.solve_bones import solve_bones

#: Rounds of assigning and fitting after each split, and at the end.
ASSIGN_ROUNDS = 3
FINAL_ROUNDS = 6
#: A new bone takes at least this many vertices.
SMALLEST_SEED = 4


def bones_of_labels(problem: FitProblem, labels: NDArray[np.int64], n_bones: int, threads: int) -> Float64:
    """Rigid bones (f,b,3,4) of the vertices of each label; vertices labelled -1 are ignored."""
    weights = (labels >= 0).astype(np.float64)[:, None]
    bones = np.maximum(labels, 0)[:, None]
    start = identity(problem.n_frames, n_bones)
    return solve_bones(problem, bones, weights, start, "rigid", sweeps=1, threads=threads)


def seed_bones(problem: FitProblem, n_bones: int, threads: int) -> Float64:
    """Exactly `n_bones` rigid bones (f,b,3,4)."""
    labels = np.zeros(problem.n_vertices, np.int64)
    transforms = bones_of_labels(problem, labels, 1, threads)
    while (count := transforms.shape[1]) < n_bones:
        gamma = squared_errors(problem, transforms, threads)
        labels = _split_worst(problem, gamma, min(n_bones - count, max(1, count)))
        transforms = _assign_and_fit(problem, bones_of_labels(problem, labels, int(labels.max()) + 1, threads), threads)
    for _ in range(FINAL_ROUNDS):
        transforms = _assign_and_fit(problem, transforms, threads, rounds=1)
    return transforms


def complete_bones(problem: FitProblem, transforms: Float64, n_bones: int, threads: int) -> Float64:
    """Exactly `n_bones`: the first of the given ones, or all of them and new ones where the error is large."""
    while (count := transforms.shape[1]) < n_bones:
        labels = _split_worst(problem, squared_errors(problem, transforms, threads), n_bones - count)
        added = bones_of_labels(problem, labels, int(labels.max()) + 1, threads)[:, count:]
        transforms = np.concatenate([transforms, added], axis=1)
    return transforms[:, :n_bones]


def _assign_and_fit(problem: FitProblem, transforms: Float64, threads: int, rounds: int = ASSIGN_ROUNDS) -> Float64:
    """Assign every vertex to its best bone, and refit the bones."""
    for _ in range(rounds):
        labels = squared_errors(problem, transforms, threads).argmin(axis=1)
        moved = bones_of_labels(problem, labels, transforms.shape[1], threads)
        used = np.bincount(labels, minlength=transforms.shape[1]) > 0
        transforms = np.where(used[None, :, None, None], moved, transforms)
    return transforms


def _split_worst(problem: FitProblem, gamma: Float64, wanted: int) -> NDArray[np.int64]:
    """Labels with the worst region of each of the worst clusters assigned to a new bone."""
    labels: NDArray[np.int64] = gamma.argmin(axis=1)
    errors = gamma[np.arange(len(labels)), labels]
    n_bones = gamma.shape[1]
    blame = np.bincount(labels, weights=errors, minlength=n_bones)
    sizes = np.bincount(labels, minlength=n_bones)
    worst = [int(b) for b in np.argsort(-blame, kind="stable") if sizes[b] > 1][:wanted]
    for added, bone in enumerate(worst or [int(sizes.argmax())]):
        members = np.flatnonzero(labels == bone)
        center = problem.points[members[errors[members].argmax()]]
        far = ((problem.points[members] - center) ** 2).sum(axis=1)
        take = min(max(SMALLEST_SEED, len(members) // 4), max(1, len(members) - 1))
        labels[members[np.argsort(far, kind="stable")[:take]]] = n_bones + added
    return labels


# Replacement of the least useful bones by bones where the error is largest.
#
#     cost of a bone      = growth of the error of its vertices without it
#     place of a new bone = around the worst vertex of the group of vertices (by strongest bone) with the largest error
#
# The cost is an upper bound: the remaining weights of a vertex are only divided by their sum; a vertex with one bone
# takes its second best.

#: A moved bone is fitted to at least this many vertices.
SMALLEST_MOVED = 8


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
    """Transforms with the `count` least useful bones replaced."""
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
        take = min(max(SMALLEST_MOVED, len(group) // 4), len(far) - 1)
        labels = np.full(problem.n_vertices, -1, np.int64)
        labels[np.argpartition(far, take)[:take]] = 0
        added.append(bones_of_labels(problem, labels, 1, threads)[:, 0])
        free[group] = False
    return np.stack(added, axis=1) if added else np.empty((problem.n_frames, 0, 3, 4))


#: Rounds of bones for given weights.
REFIT_ROUNDS = 8


def refit_bones(
    problem: FitProblem,
    bones: np.ndarray,
    weights: Float64,
    start: Float64,
    options: SkinOptions,
    axes: Float64 | None = None,
) -> Float64:
    """Bones (f,b,3,4) for fixed weights, from a first guess. Scaled bones keep `axes` if given."""

    def solve(transforms: Float64, bone_type: BoneType) -> Float64:
        return solve_bones(
            problem,
            bones,
            weights,
            transforms,
            bone_type,
            stiffness=options.stiffness,
            axes=axes,
            sweeps=10,
            threads=available_threads(options.threads),
        )

    if options.bone_type == "scaled" and axes is None:
        start = project_scaled(solve(start, "flexible"))
    for _ in range(REFIT_ROUNDS):
        start = solve(start, options.bone_type)
    return start


def bones_for_skin(problem: FitProblem, skin: Skin, n_bones: int, options: SkinOptions) -> Float64:
    """Bones (f,b,3,4) in problem units for a skin, starting from the vertices of each bone."""
    bones, weights = skin.bones.astype(np.int64), skin.weights.astype(np.float64)
    strongest = np.take_along_axis(bones, weights.argmax(axis=1)[:, None], axis=1)[:, 0]
    start = bones_of_labels(problem, strongest, n_bones, available_threads(options.threads))
    return refit_bones(problem, bones, weights, start, options)


def fit_bones(sequence: MeshSequence, skin: Skin, *, options: SkinOptions | None = None) -> BoneTrack:
    """Fit bones to given weights, such as those of a painted skin."""
    options = options or SkinOptions()
    if len(skin.weights) != sequence.n_vertices:
        raise GeometryError(f"skin: {len(skin.weights)} rows for {sequence.n_vertices} vertices")
    with single_threaded_blas():
        problem = pose_problem(sequence, play_scale=sequence.play_scale)
        solved = bones_for_skin(problem, skin, int(skin.bones.max()) + 1, options)
    return problem.to_input(solved).to_track(options.bone_type)
