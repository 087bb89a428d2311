"""Shading of a solution: bones and weights that carry normals too, then the normals of the model itself."""

from __future__ import annotations

from dataclasses import asdict, replace

import numpy as np

from osteon.core.arrays import Int32
from osteon.core.corrections import Corrections
from osteon.core.fit_report import FitReport
from osteon.core.model import SkinnedModel
from osteon.core.options import SkinOptions
from osteon.core.progress import report_progress
from osteon.core.sequence import MeshSequence
from osteon.core.source_normals import SourceNormals
from osteon.fit.corrections.normals import fit_held_out, fit_model_normals
from osteon.fit.corrections.shared_normals import with_shared_normals
from osteon.fit.problem import NormalRows
from osteon.fit.skin.shading import ShadingOptions, refine_shading
from osteon.measure.shading import source_normals_of
from osteon.pipeline.task import SkinTask, Solution

__all__ = ["chosen_normals", "shade_model", "shade_solution"]

#: Rounds with the default growth of E, and with a larger one.
ROUNDS, MORE_ROUNDS, DEFAULT_SHADING = 10, 20, SkinOptions().shading
#: What counts as the same skin: weights of single precision.
SAME_WEIGHTS = 1e-5


def chosen_normals(sequence: MeshSequence, normals: str) -> SourceNormals | None:
    """The normals that a model of the sequence is to be shaded with; None: facets."""
    if normals == "faceted" or (normals == "keep" and sequence.asset.faceted):
        return None
    return source_normals_of(sequence, authored=normals == "keep")


def shade_solution(task: SkinTask, solution: Solution) -> Solution:
    """Bones and weights of the solution, refined so that shading follows the source; E grows by what is allowed."""
    options, rows = task.options, task.normals
    if rows is None or options.shading <= 0 or options.smooth_weights > 0:  # smooth weights are to stay so
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
    """The model whose corrections move normals too, learned from the frames that took part."""
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
    """Whether bones and weights are those that the rig came with."""
    ours, theirs = model.skin, rig.skin
    if model.n_bones != rig.n_bones or ours.weights.shape[0] != theirs.weights.shape[0]:
        return False
    rows = np.arange(len(ours.weights))[:, None]
    dense = [np.zeros((len(rows), model.n_bones), np.float32) for _ in range(2)]
    for out, skin in zip(dense, (ours, theirs), strict=True):
        np.add.at(out, (rows, skin.bones), skin.weights)
    return bool(np.abs(dense[0] - dense[1]).max(initial=0.0) <= SAME_WEIGHTS)
