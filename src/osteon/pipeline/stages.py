"""Data of the stages of skinning, and two of the stages: corrections, and shading."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace

import numpy as np

from osteon.core.animation import BoneType
from osteon.core.arrays import Int32
from osteon.core.character import Corrections, Deformer, Skeleton, Skin
from osteon.core.model import SkinnedModel
from osteon.core.normals import SourceNormals
from osteon.core.parallel import available_threads
from osteon.core.progress import FitReport, Progress, Stopwatch, report_progress
from osteon.core.sequence import MeshSequence
from osteon.core.skin_options import SkinOptions
from osteon.fit.clustering.cluster import Clustering
from osteon.fit.corrections.columns import ColumnFit, SkinState
from osteon.fit.corrections.corrected_skin import JointRefinementOptions, refine_corrected_skin
from osteon.fit.corrections.fit_corrections import (
    BLOCK_RANK,
    displacement_corrections,
    fit_corrections,
    without_flat_blends,
)
from osteon.fit.corrections.normals import fit_held_out, fit_model_normals
from osteon.fit.corrections.shared_normals import with_shared_normals
from osteon.fit.problem import FitProblem, InputTransforms, NormalRows
from osteon.fit.skin.influences import Influences
from osteon.fit.skin.shading import ShadingOptions, refine_shading
from osteon.measure.shading import source_normals_of
from osteon.measure.skin_report import SkinReport


@dataclass(frozen=True, slots=True)
class Start:
    """Results of an earlier fit of the same sequence."""

    transforms: InputTransforms
    near_rigid_fraction: float
    tolerance: float

    @staticmethod
    def from_fit(model: SkinnedModel, report: SkinReport) -> Start:
        return Start(InputTransforms.of(model.track), report.near_rigid_fraction, report.tolerance)


@dataclass(frozen=True, slots=True)
class SkinTask:
    """A prepared sequence."""

    sequence: MeshSequence  # the frames of the fit
    problem: FitProblem  # of the welded vertices
    vertices: Int32  # (u,) the representative of each welded vertex
    welded_of_vertex: Int32  # (v,)
    options: SkinOptions
    watch: Stopwatch
    progress: Progress | None
    start: Start | None = None
    source_normals: SourceNormals | None = None  # for the shading of the model; None: facets
    normals: NormalRows | None = None  # the same in the frames of the fit, for the welded vertices
    clustering: Clustering | None = None  # of an earlier fit with the paper preset

    @property
    def threads(self) -> int:
        return available_threads(self.options.threads)


@dataclass(frozen=True, slots=True)
class Solution:
    """Bones, influences and corrections of the welded vertices, before they become a model."""

    transforms: InputTransforms
    influences: Influences
    near_rigid_fraction: float
    tolerance: float
    labels: Int32
    stages: tuple[FitReport, ...]
    columns: ColumnFit | None = None  # in problem units
    bone_type: BoneType = "scaled"
    names: tuple[str, ...] = ()  # of the bones
    skeleton: Skeleton | None = None
    keeps_motion: bool = False  # a rig provides the transforms of all frames
    deformer: Deformer | None = None  # of the welded vertices; None: linear blending of the influences
    fallback: Skin | None = None  # of the welded vertices, if the deformer has no stock form
    warnings: tuple[str, ...] = ()
    normals: NormalRows | None = None  # with their weight, for corrections

    def skin_state(self, problem: FitProblem) -> SkinState:
        """Bones and weights in problem units."""
        return SkinState(problem.from_input(self.transforms), self.influences.bones, self.influences.weights)


# Corrections of a solution: refined together with its skin, or for a fixed skin.

#: Stiffness of flexible bones when they are refined with corrections, relative to that without.
JOINT_STIFFNESS = 0.2
#: Rounds of that refinement.
JOINT_ROUNDS = 16


def joint_options(options: SkinOptions) -> JointRefinementOptions:
    """Options of the joint refinement of skin and corrections."""
    return JointRefinementOptions(
        rank=min(options.rank, BLOCK_RANK),
        bone_type=options.bone_type,
        stiffness=JOINT_STIFFNESS * options.stiffness,
        rounds=min(options.rounds, JOINT_ROUNDS),
        hold_weights=options.smooth_weights > 0,
        seed=options.seed,
        threads=available_threads(options.threads),
    )


def correct_solution(task: SkinTask, solution: Solution) -> Solution:
    """Add corrections of the requested rank, refined together with the skin."""
    problem, options = task.problem.with_normals(solution.normals), task.options
    skin, errors = solution.skin_state(problem), solution.influences.errors
    rank, threads = min(options.rank, problem.n_frames), task.threads
    joint = joint_options(options)
    history: list[float] = []

    def on_error(error_percent: float) -> None:
        history.append(error_percent)
        report_progress(task.progress, "correct", min(1.0, len(history) / (joint.rounds + 4)), error_percent)

    report_progress(task.progress, "correct", 0.0)
    with task.watch.stage("correct"):
        if rank < problem.n_frames:
            fit = refine_corrected_skin(problem, skin, joint, on_error)
            skin, columns = fit.skin, fit.columns
            if rank > columns.rank:
                columns = fit_corrections(problem, skin, rank - columns.rank, fixed=columns, threads=threads)
        else:  # one column per frame are exact; refining the skin with them gains nothing
            skin = without_flat_blends(skin)
            columns = fit_corrections(problem, skin, rank, threads=threads)
    report = FitReport(
        "correct",
        task.watch.seconds["correct"],
        iterations=len(history),
        stopped_by="rounds" if len(history) >= joint.rounds else "tolerance",
        history=tuple(history),
        options=asdict(joint),
        seed=options.seed,
    )
    return replace(
        solution,
        transforms=problem.to_input(skin.transforms),
        influences=Influences(skin.bones, skin.weights, errors),
        columns=columns,
        stages=(*solution.stages, report),
    )


def correct_still_skin(task: SkinTask, solution: Solution) -> Solution:
    """Add corrections of the requested rank to fixed bones and weights."""
    with task.watch.stage("correct"):
        skin = solution.skin_state(task.problem)
        columns = fit_corrections(task.problem, skin, task.options.rank, threads=task.threads)
    return replace(solution, columns=columns)


def correct_as_paper(task: SkinTask, solution: Solution) -> Solution:
    """Add the paper's corrections to fixed bones and weights: the SVD of displacements in the rest frame (eq. 12)."""
    report_progress(task.progress, "correct", 0.0)
    with task.watch.stage("correct"):
        skin = solution.skin_state(task.problem)
        rank = min(task.options.rank, task.problem.n_frames)
        columns = displacement_corrections(task.problem, skin, rank, task.threads)
    return replace(solution, columns=columns)


# Shading of a solution: bones and weights that fit normals too, then the normals of the model itself.

#: Rounds with the default growth of E, and with a larger one.
ROUNDS, MORE_ROUNDS, DEFAULT_SHADING = 10, 20, SkinOptions().shading
#: Tolerance of equal weights, in single precision.
SAME_WEIGHTS = 1e-5


def chosen_normals(sequence: MeshSequence, normals: str) -> SourceNormals | None:
    """The normals for the shading of a model of the sequence; None: facets."""
    if normals == "faceted" or (normals == "keep" and sequence.asset.faceted):
        return None
    return source_normals_of(sequence, authored=normals == "keep")


def shade_solution(task: SkinTask, solution: Solution) -> Solution:
    """The solution with bones and weights refined towards the normals of the source, within the allowed growth of E."""
    options, rows = task.options, task.normals
    if rows is None or options.shading <= 0 or options.smooth_weights > 0:  # would undo smooth weights
        return solution
    shading = ShadingOptions(
        allowed=options.shading / 100,
        rounds=ROUNDS if options.shading <= DEFAULT_SHADING else MORE_ROUNDS,
        bone_type=None if solution.keeps_motion else solution.bone_type,
        stiffness=options.stiffness,
        influences=options.influences,
        seed=options.seed,
        threads=task.threads,
    )
    history: list[float] = []

    def on_error(error_percent: float) -> None:
        history.append(error_percent)
        report_progress(task.progress, "shade", min(1.0, len(history) / (shading.rounds + 4)), error_percent)

    with task.watch.stage("shade"):
        problem = task.problem.with_normals(rows)
        start = problem.from_input(solution.transforms)
        fit = refine_shading(problem, start, solution.influences, shading, on_error)
    moved = solution.transforms if solution.keeps_motion else problem.to_input(fit.transforms)
    report = FitReport(
        "shade",
        task.watch.seconds["shade"],
        iterations=len(history),
        stopped_by="rounds",
        history=tuple(history),
        options=asdict(shading),
        seed=options.seed,
    )
    return replace(
        solution,
        transforms=moved,
        influences=fit.influences,
        normals=replace(rows, rest=fit.normals, weight=fit.weight),
        stages=(*solution.stages, report),
    )


def shade_model(
    model: SkinnedModel,
    sequence: MeshSequence,
    task: SkinTask,
    rig: SkinnedModel | None,
    kept: Int32,
    fitted: NormalRows | None = None,
) -> SkinnedModel:
    """The model with the normals that its options request, fitted to the frames of the fit, `kept`.

    `fitted` normals are those of `shade_solution`, which need not be fitted again.
    """
    options, source = task.options, task.source_normals
    if source is None:
        return model.with_mesh(asset=replace(model.asset, normals=None, faceted=True))
    plain = model.with_mesh(asset=replace(model.asset, faceted=False))
    if rig is not None and _same_skin(model, rig) and options.normal_rank <= 0:
        return plain.with_mesh(asset=replace(plain.asset, normals=rig.asset.normals))
    shades = options.shading > 0 and options.preset == "default"
    if not shades and options.normal_rank <= 0:
        own = None if options.normals == "smooth" else model.asset.normals
        plain = plain.with_mesh(asset=replace(plain.asset, normals=own))
        shared = own is None and model.corrections is not None
        return _with_shared(plain, task, kept) if shared else plain
    rank = None if options.normal_rank < 0 else options.normal_rank
    with task.watch.stage("normals"):
        report_progress(task.progress, "normals", 0.0)
        known = None if options.holdout else _in_source_order(task, source, fitted or task.normals)
        if not options.holdout:
            return fit_model_normals(plain, source, sequence.source, rank=rank, known=known, threads=options.threads)
        some = plain.take_frames(kept)
        learned = fit_model_normals(some, source, task.sequence.source, rank=rank, threads=options.threads)
        return fit_held_out(plain, learned, source, sequence.source, threads=options.threads)


def _with_shared(model: SkinnedModel, task: SkinTask, kept: Int32) -> SkinnedModel:
    """The model whose corrections also move normals, fitted to the frames of the fit."""
    threads = task.options.threads
    if not task.options.holdout:
        return with_shared_normals(model, task.sequence.source, threads=threads)
    learned = with_shared_normals(model.take_frames(kept), task.sequence.source, threads=threads).corrections
    known = model.corrections
    if learned is None or known is None:
        return model
    return model.with_corrections(Corrections(known.basis, known.coefficients, learned.normal_basis))


def _in_source_order(task: SkinTask, source: SourceNormals, rows: NormalRows | None) -> NormalRows | None:
    """The rows of the fit as rows of the model, if both list the normals in the same order."""
    if rows is None or not np.array_equal(rows.vertex, task.welded_of_vertex[source.vertex]):
        return None
    return replace(rows, vertex=source.vertex.astype(np.int64))


def _same_skin(model: SkinnedModel, rig: SkinnedModel) -> bool:
    """Whether bones and weights equal those of the rig."""
    ours, theirs = model.skin, rig.skin
    if model.n_bones != rig.n_bones or ours.weights.shape[0] != theirs.weights.shape[0]:
        return False
    rows = np.arange(len(ours.weights))[:, None]
    dense = [np.zeros((len(rows), model.n_bones), np.float32) for _ in range(2)]
    for out, skin in zip(dense, (ours, theirs), strict=True):
        np.add.at(out, (rows, skin.bones), skin.weights)
    return bool(np.abs(dense[0] - dense[1]).max(initial=0.0) <= SAME_WEIGHTS)
