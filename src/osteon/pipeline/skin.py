"""From a mesh sequence to a skinned model: prepare - fit (presets.py) - build - measure."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace

import numpy as np

from osteon.core.arrays import Int32
from osteon.core.bone_axes import axes_of_bones
from osteon.core.character import BoneLimits, Corrections
from osteon.core.compile_kernels import compile_kernels
from osteon.core.errors import GeometryError, OptionError
from osteon.core.mesh import scale_of_frames
from osteon.core.model import SkinnedModel
from osteon.core.options import check_used, takes_options
from osteon.core.parallel import available_threads, single_threaded_blas
from osteon.core.progress import FitReport, Progress, Stopwatch, report_progress
from osteon.core.sequence import MeshSequence
from osteon.core.skin_options import SkinOptions
from osteon.core.topology import degenerate_triangles, weld_vertices
from osteon.deform.linear_blend import LinearBlend, linear_blend_model
from osteon.deform.pose import pose_frames
from osteon.fit.clustering.cluster import Clustering
from osteon.fit.corrections.columns import ColumnFit, SkinState, no_columns, solve_coefficients
from osteon.fit.corrections.corrected_skin import CorrectedSkin, fit_frames
from osteon.fit.corrections.normals import fit_within, normal_rows
from osteon.fit.kernel_modules import kernels_for
from osteon.fit.models.registry import ModelFitOptions, family_fit
from osteon.fit.naming import name_bones
from osteon.fit.problem import InputTransforms, pose_problem
from osteon.fit.skin.bones import refit_bones
from osteon.fit.skin.influences import select_influences
from osteon.measure.distortion import Distortion, measure_distortion
from osteon.measure.shading import Shading, measure_facets, measure_shading, source_normals_of, stock_shown
from osteon.measure.skin_report import FitFacts, SkinReport, truncated_skin_report, write_skin_report
from osteon.pipeline.presets import fit_default, fit_paper
from osteon.pipeline.rig import default_rig_options, fit_to_rig, limit_bones, posed_by_rig
from osteon.pipeline.stages import SkinTask, Solution, Start, chosen_normals, joint_options, shade_model

#: Warning for inputs without normals.
FACETS = "the input has no normals, so players show facets, as for the input; --normals smooth smooths them"


@dataclass(frozen=True, slots=True, repr=False)
class SkinFit:
    """A skinned model, its quality, and the reports of its stages."""

    model: SkinnedModel
    report: SkinReport
    distortion: Distortion
    labels: Int32  # (t,) core bone of each triangle in the paper preset, -1 outlier; empty in the default preset
    stages: tuple[FitReport, ...] = ()

    def __repr__(self) -> str:
        report, worst = self.report, self.distortion.worst
        corrections = f", rank {report.rank}" if report.rank else ""
        return (
            f"SkinFit('{self.model.name}': {self.model.n_frames} frames, {self.model.n_vertices:,} vertices; "
            f"{report.bones} {report.bone_type} bones, {report.influences} influences{corrections}; "
            f"E {report.error_percent:.3f} %, worst {worst.distance:.4g} at vertex {worst.vertex}, frame {worst.frame})"
        )


@takes_options(SkinOptions)
def skin_sequence(
    sequence: MeshSequence,
    *,
    options: SkinOptions | None = None,
    rig: SkinnedModel | None = None,
    start: SkinFit | None = None,
    limits: BoneLimits | None = None,
    clustering: Clustering | None = None,
    progress: Progress | None = None,
) -> SkinFit:
    """Find bones, weights and corrections that reproduce the sequence; with a `rig`, weights for its joints.

    `start` is an earlier fit of the same sequence, whose bones are the initial guess of the default preset. `limits`
    lists the joints of the rig that each vertex may follow, if its file does not allow all. Without options the bones
    of a rig are rigid. `clustering` are core triangles of the sequence for the paper preset, such as those of a fit
    with other weights.
    """
    if options is None:
        options = SkinOptions() if rig is None else default_rig_options(sequence, rig)
    compile_kernels(kernels_for(options), progress)
    watch = Stopwatch()
    started = time.perf_counter()
    scaled: tuple[str, ...] = ()
    if rig is None:
        check_used(options, rig=False)
    else:
        sequence = posed_by_rig(sequence, rig, options)
    n_degenerate = check_sequence(sequence, options)
    kept = _kept_frames(sequence, options)
    if rig is None:
        sequence, scaled = at_play_size(sequence, kept)
    with single_threaded_blas():
        with watch.stage("prepare"):
            vertices, welded_of_vertex = weld_vertices(sequence)
            play_scale = 1.0 if rig is None else sequence.play_scale
            problem = pose_problem(sequence, vertices, kept if options.holdout else None, play_scale=play_scale)
            source_normals = chosen_normals(sequence, options.normals)
        fitted = sequence.take_frames(kept) if options.holdout else sequence
        rows = None
        if source_normals is not None and options.shading > 0 and options.preset == "default":
            with watch.stage("prepare"):
                rows = normal_rows(source_normals, fitted.source, welded_of_vertex, options.threads)
        first = None if start is None or options.holdout else Start.from_fit(start.model, start.report)
        task = SkinTask(
            *(fitted, problem, vertices, welded_of_vertex, options, watch, progress, first, source_normals, rows),
            clustering,
        )
        if rig is not None:
            solution = fit_to_rig(task, rig)
        else:
            solution = fit_paper(task) if options.preset == "paper" else fit_default(task)
        facets = (FACETS,) if source_normals is None and options.normals == "keep" and sequence.asset.faceted else ()
        solution = replace(solution, warnings=(*scaled, *facets, *solution.warnings))
        if options.model != "lbs":
            solution = fit_model(task, solution)
        if options.holdout:
            with watch.stage("heldout"):
                solution = _fit_heldout(sequence, vertices, kept, solution, options)
        model = _with_names(build_model(sequence, task, solution), options.prefix)
        if limits is not None and options.model == "lbs":
            model = limit_bones(model, task, limits)
        model = shade_model(model, sequence, task, rig, kept, solution.normals)
    watch.seconds["fit"] = time.perf_counter() - started
    return measure_fit(sequence, model, solution, task, n_degenerate, kept)


def at_play_size(sequence: MeshSequence, kept: Int32) -> tuple[MeshSequence, tuple[str, ...]]:
    """The sequence with its rest pose scaled to the size of its frames, so that bones need no scale, and a note."""
    scale = scale_of_frames(sequence.rest, sequence.faces, sequence.source.take(kept))
    if scale == 1:
        return sequence, ()
    times, way = (1 / scale, "larger") if scale < 1 else (scale, "smaller")
    note = f"the rest pose is {times:.4g} times {way} than the frames; that of the model is scaled to their size"
    return sequence.with_parts(rest=scale * sequence.rest.astype(np.float64)), (note,)


def measure_fit(
    sequence: MeshSequence, model: SkinnedModel, solution: Solution, task: SkinTask, n_degenerate: int, kept: Int32
) -> SkinFit:
    options, watch = task.options, task.watch
    report_progress(task.progress, "measure", 0.0)
    with watch.stage("measure"):
        distortion = measure_distortion(
            sequence, sequence.faces, lambda a, b: pose_frames(model, a, b, threads=options.threads)
        )
        facts = FitFacts(
            solution.near_rigid_fraction,
            solution.tolerance,
            solution.stages,
            n_degenerate,
            _shading(sequence, model, options.threads),
            _heldout_error(sequence, model, kept) if options.holdout else None,
            _fallback_error(sequence, model, options.threads),
            solution.warnings,
        )
        report = write_skin_report(sequence, model, distortion, options=options, facts=facts, seconds=watch.seconds)
    watch.seconds["total"] = watch.seconds["fit"] + watch.seconds["measure"]
    report_progress(task.progress, "measure", 1.0, distortion.error_percent)
    return SkinFit(model, report, distortion, solution.labels, solution.stages)


def _shading(sequence: MeshSequence, model: SkinnedModel, threads: int = 0) -> Shading:
    """Error of the shading of a stock player."""
    if model.asset.faceted:
        return measure_facets(model, sequence)
    return measure_shading(stock_shown(model), sequence, source_normals_of(sequence), threads=threads)


def check_sequence(sequence: MeshSequence, options: SkinOptions) -> int:
    """Refuse sequences that cannot be skinned; returns the number of degenerate triangles."""
    if sequence.n_triangles == 0:
        raise GeometryError(f"'{sequence.name}' has no triangles; give a mesh with faces")
    if sequence.n_frames < 2:
        raise GeometryError(
            f"'{sequence.name}' has one frame; a sequence needs at least two: name all files of it, or a folder"
        )
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
        raise OptionError(f"holdout: every {options.holdout}th of {len(frames)} frames leaves none to fit or to test")
    return kept


def _fit_heldout(
    sequence: MeshSequence, vertices: Int32, kept: Int32, solution: Solution, options: SkinOptions
) -> Solution:
    """Bones and coefficients for held-out frames, with fixed weights and basis."""
    held_out = np.setdiff1d(np.arange(sequence.n_frames, dtype=np.int32), kept)
    nearest = np.abs(kept[None] - held_out[:, None]).argmin(axis=1)
    problem = pose_problem(sequence, vertices, held_out, still=True)
    bones, weights = solution.influences.bones, solution.influences.weights
    start = problem.from_input(solution.transforms.take_frames(nearest))
    axes = axes_of_bones(solution.transforms.values) if options.bone_type == "scaled" else None
    solved = refit_bones(problem, bones, weights, start, options, axes)
    if solution.deformer is not None:
        threads = available_threads(options.threads)
        solved = family_fit(options.model).refit_bones(problem, solution.deformer, solved, threads)
    columns = solution.columns
    if columns is not None:
        skin = SkinState(solved, bones, weights)
        q = solve_coefficients(problem, skin, columns.basis, no_columns(problem), available_threads(options.threads))
        state = fit_frames(problem, CorrectedSkin(skin, ColumnFit(columns.basis, q)), joint_options(options), axes)
        solved = state.skin.transforms
        coefficients = np.empty((sequence.n_frames, columns.rank))
        coefficients[kept], coefficients[held_out] = columns.coefficients, state.columns.coefficients
        columns = ColumnFit(columns.basis, coefficients)
    transforms = np.empty((sequence.n_frames, *solved.shape[1:]))
    transforms[kept], transforms[held_out] = solution.transforms.values, problem.to_input(solved).values
    return replace(solution, transforms=InputTransforms(transforms), columns=columns)


def build_model(sequence: MeshSequence, task: SkinTask, solution: Solution) -> SkinnedModel:
    """The solution of the welded vertices as a model of all vertices and frames."""
    welded, corrections = task.welded_of_vertex, None
    if solution.columns is not None:
        basis = task.problem.rest_scale * solution.columns.basis[welded].transpose(1, 0, 2)
        corrections = Corrections(
            np.ascontiguousarray(basis, np.float32), solution.columns.coefficients.astype(np.float32)
        )
    model = linear_blend_model(
        rest=sequence.rest,
        faces=sequence.faces,
        skin=solution.influences.to_skin().take(welded),
        track=solution.transforms.to_track(solution.bone_type, solution.names),
        clips=sequence.clips,
        corrections=corrections,
        skeleton=solution.skeleton,
        asset=sequence.asset,
        name=sequence.name,
    )
    if solution.deformer is None:
        return model
    fallback = None if solution.fallback is None else solution.fallback.take(welded)
    return model.with_character(deformer=solution.deformer.take(welded), fallback=fallback)


def _with_names(model: SkinnedModel, prefix: str | None) -> SkinnedModel:
    """The model with names for its bones, where they are requested."""
    if prefix is None:
        return model
    names = name_bones(model.mesh, model.skin, model.n_bones, prefix)
    return model.with_animation(track=replace(model.track, names=names))


def _fallback_error(sequence: MeshSequence, model: SkinnedModel, threads: int) -> float | None:
    """E % in stock players; None if they show the model itself."""
    shown = model.character.fallback
    if shown is None or model.deformer.stock_skin() is not None:
        return None
    stock = model.with_character(deformer=LinearBlend(shown))
    return measure_distortion(
        sequence.frames, sequence.faces, lambda a, b: pose_frames(stock, a, b, threads=threads)
    ).error_percent


def _heldout_error(sequence: MeshSequence, model: SkinnedModel, kept: Int32) -> float | None:
    """E % of the held-out frames; None if they are equal, such as a single one."""
    held_out = np.setdiff1d(np.arange(sequence.n_frames), kept)

    def posed(start: int, stop: int) -> np.ndarray:
        return np.concatenate([pose_frames(model, int(f), int(f) + 1) for f in held_out[start:stop]])

    error = measure_distortion(sequence.source.take(held_out), sequence.faces, posed).error_percent
    return error if np.isfinite(error) else None


def shade_fit(fit: SkinFit, sequence: MeshSequence, degrees: float, options: SkinOptions) -> SkinFit:
    """The fit with the fewest corrections of normals for a mean shading error of at most `degrees`."""
    if fit.report.shading_deviation_degrees["mean"] <= degrees or fit.model.asset.faceted:
        return fit
    source = chosen_normals(sequence, options.normals)
    if source is None:
        return fit
    model = fit_within(fit.model, source, sequence.source, degrees, threads=options.threads)
    report = truncated_skin_report(fit.report, model, fit.distortion, _shading(sequence, model, options.threads))
    return replace(fit, model=model, report=report)


def truncate_fit(fit: SkinFit, sequence: MeshSequence, rank: int) -> SkinFit:
    """The fit with only its first `rank` corrections, measured again."""
    model = fit.model.truncate(rank)
    if model is fit.model:
        return fit
    distortion = measure_distortion(sequence, sequence.faces, lambda a, b: pose_frames(model, a, b))
    report = truncated_skin_report(fit.report, model, distortion, _shading(sequence, model))
    return replace(fit, model=model, report=report, distortion=distortion)


# From a linear blend skin to another family: its data, its bones, and a fallback skin for stock players.


def fit_model(task: SkinTask, solution: Solution) -> Solution:
    """The requested family, fitted from the linear blend skin of `solution`."""
    options, problem = task.options, task.problem
    fit_options = ModelFitOptions(
        influences=options.influences,
        rounds=min(options.rounds, ModelFitOptions().rounds),
        keep_bones=solution.keeps_motion,
        seed=options.seed,
        threads=task.threads,
        on_round=lambda fraction, error: report_progress(task.progress, "model", fraction, error),
    )
    report_progress(task.progress, "model", 0.0)
    with task.watch.stage("model"):
        fit = family_fit(options.model).fit(problem, problem.from_input(solution.transforms), fit_options)
        moved = solution.transforms if solution.keeps_motion else problem.to_input(fit.transforms)
        # The bones have moved: stock players get the best linear weights for where they are now.
        shown = select_influences(problem, fit.transforms, options.influences, thorough=True, threads=task.threads)
    return replace(
        solution,
        transforms=moved,
        deformer=fit.deformer,
        fallback=shown.to_skin(),
        stages=(*solution.stages, fit.report),
    )
