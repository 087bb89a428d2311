"""Weights for bones that are known, such as a rig's.

Based on: James and Twigg, Skinning Mesh Animations, 2005, section 5: given transforms, such as those of a kinematic
skeleton, one may proceed directly to the weights.
"""

from __future__ import annotations

from osteon.core.animation import BoneTrack
from osteon.core.errors import GeometryError
from osteon.core.options import SkinOptions
from osteon.core.parallel import available_threads, single_threaded_blas
from osteon.core.sequence import MeshSequence
from osteon.core.skin import Skin
from osteon.core.weld import weld_vertices
from osteon.fit.problem import FitProblem, pose_problem
from osteon.fit.skin.influences import Influences, select_influences
from osteon.fit.skin.solve_weights import solve_weights

__all__ = ["fit_weights", "weigh_bones"]


def weigh_bones(problem: FitProblem, track: BoneTrack, options: SkinOptions) -> Influences:
    """Influences for given bones: the paper's, or forward selection."""
    threads, transforms = available_threads(options.threads), problem.from_input(track)
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


def fit_weights(sequence: MeshSequence, track: BoneTrack, *, options: SkinOptions | None = None) -> Skin:
    """Weights for bones that are given, such as a rig's own."""
    options = options or SkinOptions()
    if track.n_bones == 0:
        raise GeometryError("track: there are no bones")
    if track.n_frames != sequence.n_frames:
        raise GeometryError(f"track: {track.n_frames} frames for a sequence of {sequence.n_frames}")
    vertices, welded_of_vertex = weld_vertices(sequence)
    with single_threaded_blas():
        problem = pose_problem(sequence, vertices, play_scale=sequence.play_scale)
        influences = weigh_bones(problem, track, options)
    return influences.to_skin().take(welded_of_vertex)
