"""Bones, weights and corrections of a sequence: the stages of each preset, in order.

default:  mean shift on a sample (counts bones if no number is asked for) - seed - refine - corrections with the skin
paper:    rotations - mean shift - bones of core triangles - influences by gamma - weights - SVD of displacements
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from osteon.core.animation import BoneType
from osteon.core.arrays import Float64, Int32
from osteon.core.deformer import Deformer
from osteon.core.errors import OptionError
from osteon.core.fit_report import FitReport, Stopwatch
from osteon.core.model import SkinnedModel
from osteon.core.options import SkinOptions
from osteon.core.parallel import available_threads
from osteon.core.progress import Progress, report_progress
from osteon.core.sequence import MeshSequence
from osteon.core.skeleton import Skeleton
from osteon.core.skin import Skin
from osteon.core.topology import vertex_graph
from osteon.fit.clustering.cluster import Clustering, ClusterOptions, cluster_triangles
from osteon.fit.clustering.cluster_count import cluster_exactly, sample_triangles
from osteon.fit.clustering.core_bones import fit_core_bones
from osteon.fit.corrections.columns import ColumnFit, SkinState
from osteon.fit.corrections.corrected_skin import JointOptions, refine_corrected_skin
from osteon.fit.corrections.corrections import BLOCK_RANK, displacement_corrections, fit_corrections
from osteon.fit.problem import FitProblem
from osteon.fit.skin.influences import Influences, select_influences
from osteon.fit.skin.refine import RefineOptions, refine_skin
from osteon.fit.skin.relocate import removal_costs
from osteon.fit.skin.seed import complete_bones, seed_bones
from osteon.fit.skin.weights import weigh_bones
from osteon.measure.skin_report import SkinReport

__all__ = [
    "Job",
    "Solution",
    "Start",
    "cluster_sample",
    "correct_solution",
    "fit_default",
    "fit_paper",
    "joint_options",
]

#: Bones taken where mean shift finds no structure and no number was asked for.
FALLBACK_BONES = 16
#: Triangles and frames that the default preset looks at to count bones.
COUNT_TRIANGLES = 2048
COUNT_FRAMES = 48


#: Pull of flexible bones when corrections are refined with them, of the pull without.
JOINT_STIFFNESS = 0.2
#: Rounds of that refinement.
JOINT_ROUNDS = 16


@dataclass(frozen=True, slots=True)
class Start:
    """What an earlier fit of the same sequence knows already."""

    transforms: Float64  # (f,b,3,4) in the input's units
    near_rigid_fraction: float
    tolerance: float

    @staticmethod
    def from_fit(model: SkinnedModel, report: SkinReport) -> Start:
        return Start(model.track.transforms.astype(np.float64), report.near_rigid_fraction, report.tolerance)


@dataclass(frozen=True, slots=True)
class Job:
    """A sequence to skin, prepared."""

    sequence: MeshSequence  # the frames that take part
    problem: FitProblem  # of the welded vertices
    vertices: Int32  # (u,) the vertex that stands for each welded one
    which: Int32  # (v,) the welded vertex of each
    options: SkinOptions
    watch: Stopwatch
    progress: Progress | None
    start: Start | None = None


@dataclass(frozen=True, slots=True)
class Solution:
    """Bones, influences and corrections of the welded vertices, before they become a model."""

    transforms: Float64  # (f,b,3,4) in the input's units
    influences: Influences
    near_rigid_fraction: float
    tolerance: float
    labels: Int32
    stages: tuple[FitReport, ...]
    columns: ColumnFit | None = None  # in the problem's units
    bone_type: BoneType = "flexible"
    names: tuple[str, ...] = ()  # of the bones
    skeleton: Skeleton | None = None
    given_bones: bool = False  # transforms of all frames came with a rig
    deformer: Deformer | None = None  # of the welded vertices; None: linear blending of the influences
    fallback: Skin | None = None  # of the welded vertices, where the deformer has no stock form
    warnings: tuple[str, ...] = ()


def _cluster_options(options: SkinOptions) -> ClusterOptions:
    return ClusterOptions(tolerance=options.tolerance, seed=options.seed, threads=options.threads)


def fit_default(job: Job) -> Solution:
    """The default preset."""
    problem, options = job.problem, job.options
    refine = RefineOptions(
        bone_type=options.bone_type,
        influences=options.influences,
        rounds=options.rounds,
        stiffness=options.stiffness,
        smooth=options.smooth_weights,
        seed=options.seed,
        threads=options.threads,
    )
    coarse = problem.sampled(refine.sample, options.seed)
    begun = _count_and_seed(job, coarse) if job.start is None else _start_again(job, coarse, job.start)
    with job.watch.stage("refine"):
        graph = _neighbor_mean(job) if options.smooth_weights > 0 else None
        fit = refine_skin(problem, begun.starts, options=refine, graph=graph, progress=job.progress)
    solution = Solution(
        problem.to_world(fit.transforms),
        fit.influences,
        begun.near_rigid_fraction,
        begun.tolerance,
        np.empty(0, np.int32),
        (*begun.stages, *fit.reports),
        bone_type=options.bone_type,
    )
    return correct_solution(job, solution) if options.rank else solution


@dataclass(frozen=True, slots=True)
class _Begun:
    """First bones, and what finding them has told."""

    starts: list[Float64]
    near_rigid_fraction: float
    tolerance: float
    stages: tuple[FitReport, ...] = ()


def cluster_sample(job: Job) -> Clustering:
    """Mean shift on some triangles and frames: how many bones there are, and how nearly rigid the motion is."""
    options = job.options
    with job.watch.stage("count"):
        sample = sample_triangles(job.sequence.n_triangles, COUNT_TRIANGLES, options.seed)
        counting = replace(_cluster_options(options), max_frames=COUNT_FRAMES)
        return cluster_triangles(job.sequence, options=counting, triangles=sample, progress=job.progress)


def _count_and_seed(job: Job, coarse: FitProblem) -> _Begun:
    """Mean shift on a sample tells the number of bones; first bones by splitting and by its clusters."""
    sequence, problem, options = job.sequence, job.problem, job.options
    threads = available_threads(options.threads)
    clustering = cluster_sample(job)
    n_bones = _bones_that_fit(problem, options, clustering.n_bones)
    report_progress(job.progress, "seed", 0.0)
    with job.watch.stage("seed"):
        starts = [seed_bones(coarse, n_bones, threads)]
        if clustering.n_bones:
            core = problem.from_world(fit_core_bones(sequence, clustering.labels, "rigid").transforms)
            starts.append(complete_bones(coarse, core, n_bones, threads))
    return _Begun(starts, clustering.near_rigid_fraction, clustering.tolerance, (clustering.report,))


def _start_again(job: Job, coarse: FitProblem, start: Start) -> _Begun:
    """The bones of an earlier fit: the most useful of them, or all of them and more where the error is."""
    threads = available_threads(job.options.threads)
    with job.watch.stage("seed"):
        transforms = job.problem.from_world(start.transforms)
        n_bones = _bones_that_fit(job.problem, job.options, transforms.shape[1])
        if transforms.shape[1] > n_bones:
            influences = select_influences(coarse, transforms, job.options.influences, threads=threads)
            costs = removal_costs(coarse, transforms, influences, threads)
            transforms = transforms[:, np.sort(np.argsort(-costs, kind="stable")[:n_bones])]
        # Bones that grew out of very few may end in a poor valley: splitting afresh is followed for a few rounds too.
        starts = [complete_bones(coarse, transforms, n_bones, threads), seed_bones(coarse, n_bones, threads)]
    return _Begun(starts, start.near_rigid_fraction, start.tolerance)


def _bones_that_fit(problem: FitProblem, options: SkinOptions, found: int) -> int:
    n_bones = min(options.bones or found or FALLBACK_BONES, problem.n_vertices)
    if options.bones > n_bones:
        raise OptionError(f"bones: {options.bones} asked for, but the mesh has only {n_bones} distinct vertices")
    return n_bones


def joint_options(options: SkinOptions) -> JointOptions:
    """How skin and corrections are refined together."""
    return JointOptions(
        rank=min(options.rank, BLOCK_RANK),
        bone_type=options.bone_type,
        stiffness=JOINT_STIFFNESS * options.stiffness,
        rounds=min(options.rounds, JOINT_ROUNDS),
        hold_weights=options.smooth_weights > 0,
        seed=options.seed,
        threads=available_threads(options.threads),
    )


def correct_solution(job: Job, solution: Solution) -> Solution:
    """Add corrections of the asked rank, refined together with the skin as far as that is useful."""
    problem, options = job.problem, job.options
    bones, weights, errors = solution.influences
    skin = SkinState(problem.from_world(solution.transforms), bones, weights)
    rank, threads = min(options.rank, problem.n_frames), available_threads(options.threads)
    joint = joint_options(options)
    history: list[float] = []

    def tell(error_percent: float) -> None:
        history.append(error_percent)
        report_progress(job.progress, "correct", min(1.0, len(history) / (joint.rounds + 4)), error_percent)

    report_progress(job.progress, "correct", 0.0)
    with job.watch.stage("correct"):
        if rank < problem.n_frames:
            fit = refine_corrected_skin(problem, skin, joint, tell)
            skin, columns = fit.skin, fit.columns
            if rank > columns.rank:
                columns = fit_corrections(problem, skin, rank - columns.rank, fixed=columns, threads=threads)
        else:  # as many columns as frames are exact; the skin has nothing left to learn from them
            columns = fit_corrections(problem, skin, rank, threads=threads)
    report = FitReport(
        "correct",
        job.watch.seconds["correct"],
        iterations=len(history),
        stopped_by="rounds" if len(history) >= joint.rounds else "tolerance",
        history=tuple(history),
        options=asdict(joint),
        seed=options.seed,
    )
    return replace(
        solution,
        transforms=problem.to_world(skin.transforms),
        influences=(skin.bones, skin.weights, errors),
        columns=columns,
        stages=(*solution.stages, report),
    )


def _neighbor_mean(job: Job) -> Any:
    """(u,u) sparse: the mean over the neighbours of every welded vertex; one without neighbours keeps its own."""
    graph = vertex_graph(job.which[job.sequence.faces], len(job.vertices))
    degree = np.asarray(graph.sum(axis=1)).ravel()
    graph.setdiag(np.where(degree == 0, 1.0, 0.0))
    graph.eliminate_zeros()
    graph.data /= np.repeat(np.maximum(degree, 1), np.diff(graph.indptr))
    return graph


def fit_paper(job: Job) -> Solution:
    """The paper preset."""
    sequence, problem, options, progress, watch = job.sequence, job.problem, job.options, job.progress, job.watch
    with watch.stage("clusters"):
        clustering = _paper_clusters(sequence, options, progress)
    with watch.stage("bones"):
        track = fit_core_bones(sequence, clustering.labels, options.bone_type)
    report_progress(progress, "weights", 0.0)
    with watch.stage("weights"):
        influences = weigh_bones(problem, problem.from_world(track.transforms), options)
    columns = None
    if options.rank:
        report_progress(progress, "correct", 0.0)
        with watch.stage("correct"):
            skin = SkinState(problem.from_world(track.transforms), influences[0], influences[1])
            rank = min(options.rank, problem.n_frames)
            columns = displacement_corrections(problem, skin, rank, available_threads(options.threads))
    return Solution(
        track.transforms.astype(np.float64),
        influences,
        clustering.near_rigid_fraction,
        clustering.tolerance,
        clustering.labels,
        (clustering.report,),
        columns,
        options.bone_type,
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
