"""One half of a skin when the other is given: weights for a rig's own bones, bones for a painted skin.

Based on: James and Twigg, Skinning Mesh Animations, 2005, section 5: given transforms, such as those of a kinematic
skeleton, one may proceed directly to the weights.
"""

from __future__ import annotations

import numpy as np

from osteon.core.arrays import Float64
from osteon.core.errors import GeometryError
from osteon.core.model import BoneTrack, BoneType, Skin
from osteon.core.options import SkinOptions
from osteon.core.parallel import available_threads, single_threaded_blas
from osteon.core.sequence import MeshSequence
from osteon.core.weld import weld_vertices
from osteon.fit.influences import Influences, select_influences
from osteon.fit.problem import FitProblem, pose_problem
from osteon.fit.seed import bones_of_labels
from osteon.fit.solve_bones import solve_bones
from osteon.fit.weights import solve_weights

__all__ = ["fit_bones", "fit_weights", "settle_bones", "weigh_bones"]

#: Rounds that settle the bones of given weights: rigid bones sweep, flexible ones follow their own rotation.
SETTLE_ROUNDS = 8


def weigh_bones(problem: FitProblem, transforms: Float64, options: SkinOptions) -> Influences:
    """Influences for bones (f,b,3,4) in the problem's units: the paper's, or forward selection."""
    threads = available_threads(options.threads)
    if options.preset == "paper":
        return solve_weights(
            problem,
            transforms,
            options.influences,
            method=options.weights,
            threshold=options.tsvd_threshold,
            delta=options.delta,
            threads=threads,
        )
    return select_influences(problem, transforms, options.influences, thorough=True, threads=threads)


def settle_bones(
    problem: FitProblem, bones: np.ndarray, weights: Float64, start: Float64, bone_type: BoneType, options: SkinOptions
) -> Float64:
    """Bones (f,b,3,4) for fixed weights, from a first guess."""
    for _ in range(SETTLE_ROUNDS):
        start = solve_bones(
            problem,
            bones,
            weights,
            start,
            bone_type,
            stiffness=options.stiffness,
            sweeps=10,
            threads=available_threads(options.threads),
        )
    return start


def fit_weights(sequence: MeshSequence, track: BoneTrack, *, options: SkinOptions | None = None) -> Skin:
    """Weights for bones that are given, such as a rig's own."""
    options = options or SkinOptions()
    if track.n_bones == 0:
        raise GeometryError("track: there are no bones")
    if track.n_frames != sequence.n_frames:
        raise GeometryError(f"track: {track.n_frames} frames for a sequence of {sequence.n_frames}")
    vertices, which = weld_vertices(sequence)
    with single_threaded_blas():
        problem = pose_problem(sequence, vertices)
        bones, weights, _ = weigh_bones(problem, problem.from_world(track.transforms), options)
    return Skin(bones[which].astype(np.int32), weights[which].astype(np.float32))


def fit_bones(sequence: MeshSequence, skin: Skin, *, options: SkinOptions | None = None) -> BoneTrack:
    """Bones for weights that are given, such as a painted skin's."""
    options = options or SkinOptions()
    if len(skin.weights) != sequence.n_vertices:
        raise GeometryError(f"skin: {len(skin.weights)} rows for {sequence.n_vertices} vertices")
    bones, weights = skin.bones.astype(np.int64), skin.weights.astype(np.float64)
    strongest = np.take_along_axis(bones, weights.argmax(axis=1)[:, None], axis=1)[:, 0]
    with single_threaded_blas():
        problem = pose_problem(sequence)
        start = bones_of_labels(problem, strongest, int(bones.max()) + 1, available_threads(options.threads))
        solved = settle_bones(problem, bones, weights, start, options.bone_type, options)
    return BoneTrack(problem.to_world(solved).astype(np.float32), options.bone_type)
