"""Bones for weights that are known, such as a painted skin's."""

from __future__ import annotations

import numpy as np

from osteon.core.animation import BoneTrack, BoneType
from osteon.core.arrays import Float64
from osteon.core.errors import GeometryError
from osteon.core.options import SkinOptions
from osteon.core.parallel import available_threads, single_threaded_blas
from osteon.core.sequence import MeshSequence
from osteon.core.skin import Skin
from osteon.fit.problem import FitProblem, pose_problem
from osteon.fit.skin.scaled_bones import project_scaled
from osteon.fit.skin.seed import bones_of_labels
from osteon.fit.skin.solve_bones import solve_bones

__all__ = ["bones_of_skin", "fit_bones", "settle_bones"]

#: Rounds that settle the bones of given weights: rigid and scaled bones sweep, flexible ones follow their own rotation.
SETTLE_ROUNDS = 8


def settle_bones(
    problem: FitProblem,
    bones: np.ndarray,
    weights: Float64,
    start: Float64,
    options: SkinOptions,
    axes: Float64 | None = None,
) -> Float64:
    """Bones (f,b,3,4) for fixed weights, from a first guess. Scaled bones keep the axes given, or find some."""

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
    for _ in range(SETTLE_ROUNDS):
        start = solve(start, options.bone_type)
    return start


def bones_of_skin(problem: FitProblem, skin: Skin, n_bones: int, options: SkinOptions) -> Float64:
    """Bones (f,b,3,4) in the problem's units for fixed weights, from where the vertices of each bone go."""
    bones, weights = skin.bones.astype(np.int64), skin.weights.astype(np.float64)
    strongest = np.take_along_axis(bones, weights.argmax(axis=1)[:, None], axis=1)[:, 0]
    start = bones_of_labels(problem, strongest, n_bones, available_threads(options.threads))
    return settle_bones(problem, bones, weights, start, options)


def fit_bones(sequence: MeshSequence, skin: Skin, *, options: SkinOptions | None = None) -> BoneTrack:
    """Bones for weights that are given, such as a painted skin's."""
    options = options or SkinOptions()
    if len(skin.weights) != sequence.n_vertices:
        raise GeometryError(f"skin: {len(skin.weights)} rows for {sequence.n_vertices} vertices")
    with single_threaded_blas():
        problem = pose_problem(sequence, play_scale=sequence.play_scale)
        solved = bones_of_skin(problem, skin, int(skin.bones.max()) + 1, options)
    return problem.to_input(solved).to_track(options.bone_type)
