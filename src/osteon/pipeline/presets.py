"""Bones, weights and corrections of a sequence: the stages of each preset, in order.

default:  mean shift on a sample (counts bones if no number is requested) - seed - refine - corrections with the skin
paper:    rotations - mean shift - bones of core triangles - influences by gamma - weights - SVD of displacements
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from osteon.core.arrays import Float64
from osteon.core.errors import OptionError
from osteon.core.progress import FitReport, Progress, report_progress
from osteon.core.sequence import MeshSequence
from osteon.core.skin_options import SkinOptions
from osteon.core.topology import vertex_graph
from osteon.fit.clustering.cluster import (
    Clustering,
    ClusterOptions,
    cluster_exactly,
    cluster_triangles,
    sample_triangles,
)
from osteon.fit.clustering.core_bones import fit_core_bones
from osteon.fit.problem import FitProblem, InputTransforms
from osteon.fit.skin.bones import complete_bones, removal_costs, seed_bones
from osteon.fit.skin.influences import select_influences
from osteon.fit.skin.refine import FULL_ROUNDS, RefineOptions, choose_bone_count, refine_skin
from osteon.fit.skin.weights import fit_influences
from osteon.pipeline.stages import SkinTask, Solution, Start, correct_as_paper, correct_solution, shade_solution

#: Bones where mean shift finds no clusters and no number is requested; more follow if E is large.
FALLBACK_BONES = 16
#: Rounds on all vertices if those of shading follow, which also improve positions.
SHADED_FULL_ROUNDS = 9
#: Triangles and frames of the count of bones in the default preset.
COUNT_TRIANGLES = 2048
COUNT_FRAMES = 48


def _cluster_options(options: SkinOptions) -> ClusterOptions:
    return ClusterOptions(
        tolerance=options.tolerance, search=options.search, seed=options.seed, threads=options.threads
    )


def refine_options(options: SkinOptions) -> RefineOptions:
    """Options of the refinement of bones and weights."""
    return RefineOptions(
        bone_type=options.bone_type,
        influences=options.influences,
        rounds=options.rounds,
        stiffness=options.stiffness,
        smooth=options.smooth_weights,
        full_rounds=SHADED_FULL_ROUNDS if options.shading > 0 else FULL_ROUNDS,
        seed=options.seed,
        threads=options.threads,
    )


def fit_default(task: SkinTask) -> Solution:
    """The default preset."""
    problem, options = task.problem, task.options
    refine = refine_options(options)
    coarse = problem.sampled(refine.sample, options.seed)
    begun = _count_and_seed(task, coarse) if task.start is None else _start_again(task, coarse, task.start)
    with task.watch.stage("refine"):
        graph = _neighbor_mean(task) if options.smooth_weights > 0 else None
        fit = refine_skin(problem, begun.starts, options=refine, graph=graph, progress=task.progress)
    solution = Solution(
        problem.to_input(fit.transforms),
        fit.influences,
        begun.near_rigid_fraction,
        begun.tolerance,
        np.empty(0, np.int32),
        (*begun.stages, *fit.reports),
        bone_type=options.bone_type,
    )
    solution = shade_solution(task, solution)
    return correct_solution(task, solution) if options.rank else solution


@dataclass(frozen=True, slots=True)
class _Begun:
    """Initial bones, and the results of the clustering that found them."""

    starts: list[Float64]
    near_rigid_fraction: float
    tolerance: float
    stages: tuple[FitReport, ...] = ()


def cluster_sample(task: SkinTask) -> Clustering:
    """Mean shift on some triangles and frames: the number of bones, and how nearly rigid the motion is."""
    options = task.options
    with task.watch.stage("count"):
        sample = sample_triangles(task.sequence.n_triangles, COUNT_TRIANGLES, options.seed)
        counting = replace(_cluster_options(options), max_frames=COUNT_FRAMES)
        return cluster_triangles(task.sequence, options=counting, triangles=sample, progress=task.progress)


def _count_and_seed(task: SkinTask, coarse: FitProblem) -> _Begun:
    """The number of bones by mean shift on a sample, and initial bones by splitting and from its clusters."""
    sequence, problem, options = task.sequence, task.problem, task.options
    clustering, threads = cluster_sample(task), task.threads
    n_bones = _bones_that_fit(problem, options, clustering.n_bones)
    core = None
    if clustering.n_bones:
        with task.watch.stage("seed"):
            core = problem.from_input(fit_core_bones(sequence, clustering.labels, "rigid"))
    if not options.bones:
        with task.watch.stage("count"):
            n_bones = choose_bone_count(problem, n_bones, options.bone_type, core, seed=options.seed, threads=threads)
    report_progress(task.progress, "seed", 0.0)
    with task.watch.stage("seed"):
        starts = [seed_bones(coarse, n_bones, threads)]
        if core is not None:
            starts.append(complete_bones(coarse, core, n_bones, threads))
    return _Begun(starts, clustering.near_rigid_fraction, clustering.tolerance, (clustering.report,))


def _start_again(task: SkinTask, coarse: FitProblem, start: Start) -> _Begun:
    """The bones of an earlier fit: the most useful of them, or all of them and new ones where the error is large."""
    threads = task.threads
    with task.watch.stage("seed"):
        transforms = task.problem.from_input(start.transforms)
        n_bones = _bones_that_fit(task.problem, task.options, transforms.shape[1])
        if transforms.shape[1] > n_bones:
            influences = select_influences(coarse, transforms, task.options.influences, threads=threads)
            costs = removal_costs(coarse, transforms, influences, threads)
            transforms = transforms[:, np.sort(np.argsort(-costs, kind="stable")[:n_bones])]
        # Bones that grew from very few may be in a poor local minimum, so a new splitting is a second start.
        starts = [complete_bones(coarse, transforms, n_bones, threads), seed_bones(coarse, n_bones, threads)]
    return _Begun(starts, start.near_rigid_fraction, start.tolerance)


def _bones_that_fit(problem: FitProblem, options: SkinOptions, found: int) -> int:
    n_bones = min(options.bones or found or FALLBACK_BONES, problem.n_vertices)
    if options.bones > n_bones:
        raise OptionError(f"bones: {options.bones} asked for, but the mesh has only {n_bones} distinct vertices")
    return n_bones


def _neighbor_mean(task: SkinTask) -> Any:
    """(u,u) sparse mean over the neighbours of every welded vertex, or the vertex itself without neighbours."""
    graph = vertex_graph(task.welded_of_vertex[task.sequence.faces], len(task.vertices))
    degree = np.asarray(graph.sum(axis=1)).ravel()
    graph.setdiag(np.where(degree == 0, 1.0, 0.0))
    graph.eliminate_zeros()
    graph.data /= np.repeat(np.maximum(degree, 1), np.diff(graph.indptr))
    return graph


def fit_paper(task: SkinTask) -> Solution:
    """The paper preset."""
    sequence, problem, options, progress, watch = task.sequence, task.problem, task.options, task.progress, task.watch
    with watch.stage("clusters"):
        clustering = task.clustering or _paper_clusters(sequence, options, progress)
    with watch.stage("bones"):
        track = fit_core_bones(sequence, clustering.labels, options.bone_type)
    report_progress(progress, "weights", 0.0)
    with watch.stage("weights"):
        influences = fit_influences(problem, track, options)
    solution = Solution(
        InputTransforms.of(track),
        influences,
        clustering.near_rigid_fraction,
        clustering.tolerance,
        clustering.labels,
        (clustering.report,),
        bone_type=options.bone_type,
    )
    return correct_as_paper(task, solution) if options.rank else solution


def _paper_clusters(sequence: MeshSequence, options: SkinOptions, progress: Progress | None) -> Clustering:
    if options.bones:
        return cluster_exactly(sequence, options.bones, options=_cluster_options(options), progress=progress)
    clustering = cluster_triangles(sequence, options=_cluster_options(options), progress=progress)
    if clustering.n_bones == 0:
        raise OptionError(
            f"tolerance: mean shift found no bones at {options.tolerance}; raise it, or set a number with --bones"
        )
    return clustering
