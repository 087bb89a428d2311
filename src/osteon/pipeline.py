"""From a mesh sequence to a skinned model: the one place that knows the order of stages.

default:  mean shift on a sample (counts bones if no number is asked for) - seed - refine - measure
paper:    rotations - mean shift - bones of core triangles - influences by gamma - weights - measure
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from osteon.core.arrays import Float64, Int32
from osteon.core.errors import GeometryError, OptionError
from osteon.core.fit_report import FitReport, Stopwatch
from osteon.core.model import BoneTrack, Skin, SkinnedModel
from osteon.core.options import SkinOptions
from osteon.core.parallel import available_threads, single_threaded_blas
from osteon.core.progress import Progress, report_progress
from osteon.core.sequence import MeshSequence
from osteon.core.topology import degenerate_triangles, vertex_graph
from osteon.core.weld import weld_vertices
from osteon.deform.linear_blend import pose_frames
from osteon.fit.bones import fit_core_bones
from osteon.fit.cluster import Clustering, ClusterOptions, cluster_triangles
from osteon.fit.cluster_count import cluster_exactly, sample_triangles
from osteon.fit.given import settle_bones, weigh_bones
from osteon.fit.influences import Influences
from osteon.fit.problem import FitProblem, pose_problem
from osteon.fit.refine import RefineOptions, refine_skin
from osteon.fit.seed import complete_bones, seed_bones
from osteon.measure.distortion import Distortion, measure_distortion
from osteon.measure.skin_report import SkinReport, write_skin_report

__all__ = ["SkinFit", "check_sequence", "skin_sequence"]

#: Bones taken where mean shift finds no structure and no number was asked for.
FALLBACK_BONES = 16
#: Triangles and frames that the default preset looks at to count bones.
COUNT_TRIANGLES = 2048
COUNT_FRAMES = 48


@dataclass(frozen=True, slots=True)
class SkinFit:
    """A skinned model, how good it is, and what happened on the way."""

    model: SkinnedModel
    report: SkinReport
    distortion: Distortion
    labels: Int32  # (t,) core bone of each triangle in the paper preset, -1 outlier; empty in the default preset
    stages: tuple[FitReport, ...] = ()


@dataclass(frozen=True, slots=True)
class _Solution:
    """Bones and influences of the welded vertices, before they become a model."""

    transforms: Float64  # (f,b,3,4) in the input's units
    influences: Influences
    near_rigid_fraction: float
    tolerance: float
    labels: Int32
    stages: tuple[FitReport, ...]


def skin_sequence(
    sequence: MeshSequence, *, options: SkinOptions | None = None, progress: Progress | None = None
) -> SkinFit:
    """Find bones and weights that play the sequence."""
    options = options or SkinOptions()
    watch = Stopwatch()
    started = time.perf_counter()
    n_degenerate = check_sequence(sequence, options)
    kept = _kept_frames(sequence, options)
    with single_threaded_blas():
        with watch.stage("prepare"):
            vertices, which = weld_vertices(sequence)
            problem = pose_problem(sequence, vertices, kept if options.holdout else None)
        fitted = sequence.take_frames(kept) if options.holdout else sequence
        solve = _fit_paper if options.preset == "paper" else _fit_default
        solution = solve(fitted, problem, vertices, which, options, watch, progress)
        if options.holdout:
            with watch.stage("heldout"):
                solution = _fit_heldout(sequence, vertices, kept, solution, options)
    model = _build_model(sequence, which, solution, options)
    watch.seconds["fit"] = time.perf_counter() - started
    report_progress(progress, "measure", 0.0)
    with watch.stage("measure"):
        distortion = measure_distortion(
            sequence.frames, sequence.faces, lambda a, b: pose_frames(model, a, b, threads=options.threads)
        )
        report = write_skin_report(
            sequence,
            model,
            distortion,
            options=options,
            near_rigid_fraction=solution.near_rigid_fraction,
            tolerance=solution.tolerance,
            last_stage=solution.stages[-1],
            n_degenerate=n_degenerate,
            heldout_error_percent=_heldout_error(sequence, model, kept) if options.holdout else None,
            seconds=watch.seconds,
        )
    watch.seconds["total"] = time.perf_counter() - started
    report_progress(progress, "measure", 1.0, distortion.error_percent)
    return SkinFit(model, report, distortion, solution.labels, solution.stages)


def check_sequence(sequence: MeshSequence, options: SkinOptions) -> int:
    """Refuse what cannot be skinned, with one line that says why; returns the number of degenerate triangles."""
    if sequence.n_triangles == 0:
        raise GeometryError(f"'{sequence.name}' has no triangles; give a mesh with faces")
    if sequence.n_frames < 2:
        raise GeometryError(f"'{sequence.name}' has one frame; a sequence needs at least two")
    if options.bones > sequence.n_triangles:
        raise OptionError(f"bones: {options.bones} asked for, but the mesh has only {sequence.n_triangles} triangles")
    degenerate = int(degenerate_triangles(sequence.rest, sequence.faces).sum())
    if degenerate == sequence.n_triangles:
        raise GeometryError(
            f"'{sequence.name}': every triangle of the rest pose has zero area; choose another frame with --rest"
        )
    return degenerate


def _kept_frames(sequence: MeshSequence, options: SkinOptions) -> Int32:
    frames = np.arange(sequence.n_frames, dtype=np.int32)
    if not options.holdout:
        return frames
    kept: Int32 = frames[(frames + 1) % options.holdout != 0]
    if len(kept) < 2 or len(kept) == len(frames):
        raise OptionError(
            f"holdout: every {options.holdout}th of {len(frames)} frames leaves nothing to fit or to test"
        )
    return kept


def _cluster_options(options: SkinOptions) -> ClusterOptions:
    return ClusterOptions(tolerance=options.tolerance, seed=options.seed, threads=options.threads)


def _fit_default(
    sequence: MeshSequence,
    problem: FitProblem,
    vertices: Int32,
    which: Int32,
    options: SkinOptions,
    watch: Stopwatch,
    progress: Progress | None,
) -> _Solution:
    threads = available_threads(options.threads)
    with watch.stage("count"):
        sample = sample_triangles(sequence.n_triangles, COUNT_TRIANGLES, options.seed)
        counting = replace(_cluster_options(options), max_frames=COUNT_FRAMES)
        clustering = cluster_triangles(sequence, options=counting, triangles=sample, progress=progress)
    wanted = options.bones or clustering.n_bones or FALLBACK_BONES
    n_bones = min(wanted, problem.n_vertices)
    if options.bones > n_bones:
        raise OptionError(f"bones: {options.bones} asked for, but the mesh has only {n_bones} distinct vertices")
    refine = RefineOptions(
        bone_type=options.bone_type,
        influences=options.influences,
        rounds=options.rounds,
        stiffness=options.stiffness,
        smooth=options.smooth_weights,
        seed=options.seed,
        threads=options.threads,
    )
    report_progress(progress, "seed", 0.0)
    with watch.stage("seed"):
        coarse = problem.sampled(refine.sample, options.seed)
        starts = [seed_bones(coarse, n_bones, threads)]
        if clustering.n_bones:
            core = problem.from_world(fit_core_bones(sequence, clustering.labels, "rigid").transforms)
            starts.append(complete_bones(coarse, core, n_bones, threads))
    with watch.stage("refine"):
        graph = _neighbor_mean(sequence, vertices, which) if options.smooth_weights > 0 else None
        fit = refine_skin(problem, starts, options=refine, graph=graph, progress=progress)
    return _Solution(
        problem.to_world(fit.transforms),
        fit.influences,
        clustering.near_rigid_fraction,
        clustering.tolerance,
        np.empty(0, np.int32),
        (clustering.report, fit.report),
    )


def _neighbor_mean(sequence: MeshSequence, vertices: Int32, which: Int32) -> Any:
    """(u,u) sparse: the mean over the neighbours of every welded vertex; one without neighbours keeps its own."""
    graph = vertex_graph(which[sequence.faces], len(vertices))
    degree = np.asarray(graph.sum(axis=1)).ravel()
    graph.setdiag(np.where(degree == 0, 1.0, 0.0))
    graph.eliminate_zeros()
    graph.data /= np.repeat(np.maximum(degree, 1), np.diff(graph.indptr))
    return graph


def _fit_paper(
    sequence: MeshSequence,
    problem: FitProblem,
    vertices: Int32,
    which: Int32,
    options: SkinOptions,
    watch: Stopwatch,
    progress: Progress | None,
) -> _Solution:
    with watch.stage("clusters"):
        clustering = _paper_clusters(sequence, options, progress)
    with watch.stage("bones"):
        track = fit_core_bones(sequence, clustering.labels, options.bone_type)
    report_progress(progress, "weights", 0.0)
    with watch.stage("weights"):
        influences = weigh_bones(problem, problem.from_world(track.transforms), options)
    return _Solution(
        track.transforms.astype(np.float64),
        influences,
        clustering.near_rigid_fraction,
        clustering.tolerance,
        clustering.labels,
        (clustering.report,),
    )


def _paper_clusters(sequence: MeshSequence, options: SkinOptions, progress: Progress | None) -> Clustering:
    if options.bones:
        return cluster_exactly(sequence, options.bones, options=_cluster_options(options), progress=progress)
    clustering = cluster_triangles(sequence, options=_cluster_options(options), progress=progress)
    if clustering.n_bones == 0:
        raise OptionError(
            f"tolerance: mean shift found no bones at {options.tolerance}; raise it, or ask for a number with --bones"
        )
    return clustering


def _fit_heldout(
    sequence: MeshSequence, vertices: Int32, kept: Int32, solution: _Solution, options: SkinOptions
) -> _Solution:
    """Bones for the frames that took no part, from the weights found without them."""
    left_out = np.setdiff1d(np.arange(sequence.n_frames, dtype=np.int32), kept)
    nearest = np.abs(kept[None] - left_out[:, None]).argmin(axis=1)
    problem = pose_problem(sequence, vertices, left_out)
    bones, weights, _ = solution.influences
    start = problem.from_world(solution.transforms[nearest])
    solved = settle_bones(problem, bones, weights, start, options.bone_type, options)
    transforms = np.empty((sequence.n_frames, *solution.transforms.shape[1:]))
    transforms[kept], transforms[left_out] = solution.transforms, problem.to_world(solved)
    return replace(solution, transforms=transforms)


def _build_model(sequence: MeshSequence, which: Int32, solution: _Solution, options: SkinOptions) -> SkinnedModel:
    bones, weights, _ = solution.influences
    return SkinnedModel(
        rest=sequence.rest,
        faces=sequence.faces,
        skin=Skin(bones[which].astype(np.int32), weights[which].astype(np.float32)),
        track=BoneTrack(solution.transforms.astype(np.float32), options.bone_type),
        clips=sequence.clips,
        asset=sequence.asset,
        name=sequence.name,
    )


def _heldout_error(sequence: MeshSequence, model: SkinnedModel, kept: Int32) -> float:
    """E % of the frames that took no part in the fit."""
    left_out = np.setdiff1d(np.arange(sequence.n_frames), kept)

    def posed(start: int, stop: int) -> np.ndarray:
        return np.concatenate([pose_frames(model, int(f), int(f) + 1) for f in left_out[start:stop]])

    return measure_distortion(sequence.frames[left_out], sequence.faces, posed).error_percent
