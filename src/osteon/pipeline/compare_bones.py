"""The skeleton that all models of a comparison share: found in the training poses alone, then in the poses unseen.

In unseen poses its joints turn so that the linear blend skin of the training poses comes closest to them, each starting
from the training pose most like it, turned over it. No weight of any model sees these poses.

Based on: Reid, Jacka, Gain and Merry, Mesh Approximation for Animated Characters, section 3.1 and figure 2.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from osteon.core.arrays import Float64, Int32
from osteon.core.compare_options import CompareOptions
from osteon.core.parallel import available_threads
from osteon.core.progress import Progress, report_progress
from osteon.core.rig_options import RigOptions
from osteon.core.sequence import MeshSequence
from osteon.core.skeleton import Skeleton
from osteon.core.weld import weld_vertices
from osteon.fit.poses.distances import PoseDistances, pose_distances
from osteon.fit.problem import FitProblem, pose_problem
from osteon.fit.skeleton.articulated import settle_articulated
from osteon.fit.skin.influences import Influences, select_influences
from osteon.pipeline.skeleton import rig_sequence

__all__ = ["ComparisonBones", "bones_for_comparison"]


@dataclass(frozen=True, slots=True)
class ComparisonBones:
    """Bones of all poses, the linear blend skin that found them, and the problem that models are fitted to."""

    sequence: MeshSequence  # all poses; its rest pose is what the bones move
    transforms: Float64  # (f,b,3,4) posed_from_rest of all poses, units of the input
    training: Int32  # (n,) poses
    problem: FitProblem  # of the training poses and the welded vertices
    influences: Influences  # of the welded vertices
    welded_of_vertex: Int32  # (v,)
    skeleton: Skeleton  # of the bones, at rest

    @property
    def n_bones(self) -> int:
        return int(self.transforms.shape[1])


def bones_for_comparison(
    sequence: MeshSequence, training: Int32, options: CompareOptions, progress: Progress | None = None
) -> ComparisonBones:
    """Bones of an articulated skeleton for every frame of the sequence, learned from the frames in `training`."""
    asked = RigOptions(bones=options.bones, influences=options.influences, seed=options.seed, threads=options.threads)
    fit = rig_sequence(sequence.take_frames(training), options=asked, progress=progress)
    sequence = sequence.with_parts(rest=fit.model.rest)  # at the size that plays
    report_progress(progress, "bones", 0.0)
    vertices, welded_of_vertex = weld_vertices(sequence)
    problem = pose_problem(sequence, vertices, training)
    threads = available_threads(options.threads)
    trained = problem.from_world(fit.model.track.transforms)
    influences = select_influences(problem, trained, options.influences, thorough=True, threads=threads)
    transforms = np.empty((sequence.n_frames, *trained.shape[1:]))
    transforms[training] = fit.model.track.transforms
    unseen = np.setdiff1d(np.arange(sequence.n_frames, dtype=np.int32), training)
    if len(unseen):
        report_progress(progress, "bones", 0.2)
        others = pose_problem(sequence, vertices, unseen, still=True)
        start = _first_guess(pose_distances(sequence), trained, training, unseen)
        parents = fit.skeleton.parents.astype(np.int64)
        joints = (fit.skeleton.world_from_joint[:, :, 3] - others.rest_center) / others.rest_scale
        solved = settle_articulated(others, parents, joints, influences, start, threads=threads)
        transforms[unseen] = others.to_world(solved.transforms())
    report_progress(progress, "bones", 1.0)
    return ComparisonBones(sequence, transforms, training, problem, influences, welded_of_vertex, fit.skeleton)


def _first_guess(distances: PoseDistances, trained: Float64, training: Int32, unseen: Int32) -> Float64:
    """(n,b,3,4) for every unseen pose the bones of the training pose most like it, turned as that must be turned.

    All in the units of a problem, in which every frame lies about its own centre.
    """
    out = np.empty((len(unseen), *trained.shape[1:]))
    for i, frame in enumerate(unseen):
        likest = int(distances.between(int(frame))[training].argmin())
        out[i] = distances.turn(int(frame), int(training[likest])) @ trained[likest]
    return out
