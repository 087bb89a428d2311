"""From a mesh sequence to a skinned model: the one place that knows the order of stages.

default:  count bones (mean shift on a sample, unless a number is asked for) - seed - refine - measure
paper:    rotations - mean shift - bones of core triangles - influences by gamma - weights - measure
"""

from __future__ import annotations

import sys
import time
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal

import numpy as np

from osteon import __version__
from osteon.core.arrays import Float64, Int32
from osteon.core.errors import GeometryError, OptionError
from osteon.core.fit_report import FitReport, Stopwatch
from osteon.core.model import BoneTrack, BoneType, Skin, SkinnedModel
from osteon.core.parallel import available_threads, single_threaded_blas
from osteon.core.progress import Progress, report_progress
from osteon.core.sequence import MeshSequence
from osteon.core.topology import degenerate_triangles, vertex_graph
from osteon.core.weld import weld_vertices
from osteon.deform.linear_blend import pose_frames
from osteon.fit.bones import fit_core_bones
from osteon.fit.cluster import ClusterOptions, Clustering, cluster_triangles
from osteon.fit.cluster_count import cluster_exactly, sample_triangles
from osteon.fit.influences import Influences, select_influences
from osteon.fit.problem import FitProblem, pose_problem
from osteon.fit.refine import RefineOptions, refine_skin
from osteon.fit.seed import bones_of_labels, seed_bones
from osteon.fit.solve_bones import solve_bones
from osteon.fit.weights import TSVD_THRESHOLD, WeightMethod, solve_weights
from osteon.measure.conditioning import measure_conditioning
from osteon.measure.distortion import Distortion, measure_distortion
from osteon.measure.size import compression_ratio

__all__ = ["Preset", "SkinFit", "SkinOptions", "SkinReport", "fit_bones", "fit_weights", "skin_sequence"]

Preset = Literal["default", "paper"]

#: Bones taken where mean shift finds no structure and no number was asked for.
FALLBACK_BONES = 16
#: Triangles and frames that the default preset looks at to count bones.
COUNT_TRIANGLES = 2048
COUNT_FRAMES = 48
#: Rounds that fit the bones of frames which took no part in the fit.
HELDOUT_ROUNDS = 8
#: Below this near-rigid fraction the paper calls a sequence a poor candidate for skinning (section 7).
LOW_NEAR_RIGID = 0.5


@dataclass(frozen=True, slots=True)
class SkinOptions:
    """How a sequence is skinned. The command line reads its defaults from here."""

    preset: Preset = "default"
    bones: int = 0  # exactly this many; 0: as many as mean shift finds
    bone_type: BoneType = "flexible"
    influences: int = 4  # bones a vertex, 1 … 8
    tolerance: float = 0.05  # eps of mean shift: rotation-matrix entries, 0 … 2
    weights: WeightMethod = "nnls"  # tsvd and bounded need the paper preset
    delta: float = 0.0  # weights >= -delta with 'bounded'
    tsvd_threshold: float = TSVD_THRESHOLD  # of the largest singular value
    rounds: int = 30  # of refinement
    stiffness: float = 1e-4  # pull of flexible bones towards their rotation
    smooth_weights: float = 0.0  # pull of weights towards their neighbours', 0: none
    holdout: int = 0  # leave every K-th frame out of the fit; 0: none
    seed: int = 0
    threads: int = 0  # 0: all

    def __post_init__(self) -> None:
        if self.preset not in ("default", "paper"):
            raise OptionError(f"preset: expected default or paper, got {self.preset!r}")
        if self.bone_type not in ("rigid", "flexible"):
            raise OptionError(f"bone_type: expected rigid or flexible, got {self.bone_type!r}")
        if self.bones < 0:
            raise OptionError(f"bones: expected 1 or more (or 0 to find the number), got {self.bones}")
        if not 1 <= self.influences <= 8:
            raise OptionError(f"influences: expected 1 … 8, got {self.influences}")
        if self.preset == "default" and self.weights != "nnls":
            raise OptionError(f"weights: '{self.weights}' needs --preset paper; the default preset keeps weights >= 0")
        if self.weights not in ("tsvd", "nnls", "bounded"):
            raise OptionError(f"weights: expected tsvd, nnls or bounded, got {self.weights!r}")
        if self.preset == "paper" and self.smooth_weights > 0:
            raise OptionError("smooth_weights: the paper preset has no smoothness term; use the default preset")
        if self.holdout == 1 or self.holdout < 0:
            raise OptionError(f"holdout: expected 0 (none) or 2 and more, got {self.holdout}")


@dataclass(frozen=True, slots=True)
class SkinReport:
    """What `osteon skin --json` writes; the keys are stable."""

    input: dict[str, int]
    preset: str
    bones: int
    bone_type: str
    influences: int
    weights: str
    near_rigid_fraction: float
    tolerance: float
    error_percent: float
    error_percent_by_rank: dict[str, float]
    karni_gotsman_percent: float
    rms: float
    worst: dict[str, float | int]
    normal_deviation_degrees: dict[str, float]
    smallest_singular_value: dict[str, float]
    heldout_error_percent: float | None
    compression_ratio: float
    output_bytes: int | None
    seconds: dict[str, float]
    peak_memory_mb: float
    rounds: int
    stopped_by: str
    warnings: tuple[str, ...]
    seed: int
    version: str

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


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
    with single_threaded_blas():
        kept = _kept_frames(sequence, options)
        vertices, which = weld_vertices(sequence)
        with watch.stage("prepare"):
            problem = pose_problem(sequence, vertices, kept if options.holdout else None)
        fitted = sequence if not options.holdout else sequence.take_frames(kept)
        solve = _fit_paper if options.preset == "paper" else _fit_default
        solution = solve(fitted, problem, vertices, which, options, watch, progress)
        if options.holdout:
            with watch.stage("heldout"):
                solution = _fit_heldout(sequence, vertices, kept, solution, options)
        model = _build_model(sequence, which, solution, options)
        fit_seconds = time.perf_counter() - started
        report_progress(progress, "measure", 0.0)
        with watch.stage("measure"):
            distortion = measure_distortion(
                sequence.frames, sequence.faces, lambda a, b: pose_frames(model, a, b, threads=options.threads)
            )
            report = _write_report(sequence, model, solution, distortion, options, n_degenerate, kept)
        report_progress(progress, "measure", 1.0, distortion.error_percent)
    seconds = {**watch.seconds, "fit": fit_seconds, "total": time.perf_counter() - started}
    report = replace(report, seconds=seconds, peak_memory_mb=peak_memory_mb())
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
    kept = frames[(frames + 1) % options.holdout != 0]
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
    report_progress(progress, "seed", 0.0)
    with watch.stage("seed"):
        seeds = seed_bones(problem, n_bones, threads)
    refine = RefineOptions(
        bone_type=options.bone_type,
        influences=options.influences,
        rounds=options.rounds,
        stiffness=options.stiffness,
        smooth=options.smooth_weights,
        seed=options.seed,
        threads=options.threads,
    )
    with watch.stage("refine"):
        graph = _neighbor_mean(sequence, vertices, which) if options.smooth_weights > 0 else None
        fit = refine_skin(problem, seeds, options=refine, graph=graph, progress=progress)
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
        influences = _paper_weights(problem, track, options)
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


def _paper_weights(problem: FitProblem, track: BoneTrack, options: SkinOptions) -> Influences:
    return solve_weights(
        problem,
        problem.from_world(track.transforms),
        options.influences,
        method=options.weights,
        threshold=options.tsvd_threshold,
        delta=options.delta,
        threads=available_threads(options.threads),
    )


def _fit_heldout(
    sequence: MeshSequence, vertices: Int32, kept: Int32, solution: _Solution, options: SkinOptions
) -> _Solution:
    """Bones for the frames that took no part, from the weights found without them."""
    left_out = np.setdiff1d(np.arange(sequence.n_frames, dtype=np.int32), kept)
    nearest = np.abs(kept[None] - left_out[:, None]).argmin(axis=1)
    problem = pose_problem(sequence, vertices, left_out)
    bones, weights, _ = solution.influences
    solved = _solve_bones_for(problem, bones, weights, problem.from_world(solution.transforms[nearest]), options)
    transforms = np.empty((sequence.n_frames, *solution.transforms.shape[1:]))
    transforms[kept], transforms[left_out] = solution.transforms, problem.to_world(solved)
    return replace(solution, transforms=transforms)


def _solve_bones_for(
    problem: FitProblem, bones: np.ndarray, weights: Float64, start: Float64, options: SkinOptions
) -> Float64:
    for _ in range(HELDOUT_ROUNDS):
        start = solve_bones(
            problem,
            bones,
            weights,
            start,
            options.bone_type,
            stiffness=options.stiffness,
            sweeps=10,
            threads=available_threads(options.threads),
        )
    return start


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
    left_out = np.setdiff1d(np.arange(sequence.n_frames), kept)
    frames = sequence.frames[left_out]

    def posed(start: int, stop: int) -> np.ndarray:
        return np.concatenate([pose_frames(model, int(f), int(f) + 1) for f in left_out[start:stop]])

    return measure_distortion(frames, sequence.faces, posed).error_percent


def _write_report(
    sequence: MeshSequence,
    model: SkinnedModel,
    solution: _Solution,
    distortion: Distortion,
    options: SkinOptions,
    n_degenerate: int,
    kept: Int32,
) -> SkinReport:
    conditioning = measure_conditioning(model)
    last = solution.stages[-1]
    return SkinReport(
        input={
            "frames": sequence.n_frames,
            "vertices": sequence.n_vertices,
            "triangles": sequence.n_triangles,
            "degenerate_triangles": n_degenerate,
            "clips": len(sequence.clips),
        },
        preset=options.preset,
        bones=model.n_bones,
        bone_type=options.bone_type,
        influences=options.influences,
        weights=options.weights,
        near_rigid_fraction=solution.near_rigid_fraction,
        tolerance=solution.tolerance,
        error_percent=distortion.error_percent,
        error_percent_by_rank={"0": distortion.error_percent},
        karni_gotsman_percent=distortion.karni_gotsman_percent,
        rms=distortion.rms,
        worst=asdict(distortion.worst),
        normal_deviation_degrees={"mean": distortion.normal_mean, "max": distortion.normal_max},
        smallest_singular_value={"min": conditioning.smallest, "percentile_1": conditioning.first_percentile},
        heldout_error_percent=_heldout_error(sequence, model, kept) if options.holdout else None,
        compression_ratio=compression_ratio(
            sequence.n_vertices, sequence.n_frames, model.n_bones, options.influences, options.bone_type
        ),
        output_bytes=None,
        seconds={},
        peak_memory_mb=0.0,
        rounds=last.iterations,
        stopped_by=last.stopped_by,
        warnings=_warnings(sequence, solution, n_degenerate, options),
        seed=options.seed,
        version=__version__,
    )


def _warnings(sequence: MeshSequence, solution: _Solution, n_degenerate: int, options: SkinOptions) -> tuple[str, ...]:
    out = []
    if n_degenerate:
        out.append(f"{n_degenerate} triangles have no area in the rest pose and took no part in counting bones")
    unused = sequence.n_vertices - len(np.unique(sequence.faces))
    if unused:
        out.append(f"{unused} vertices belong to no triangle; they were skinned all the same")
    if solution.near_rigid_fraction < LOW_NEAR_RIGID:
        out.append(
            f"only {solution.near_rigid_fraction:.0%} of the triangles move nearly rigidly: expect to need many bones"
            + ("" if options.bones else ", ask for a number with --bones")
        )
    return tuple(out)


def peak_memory_mb() -> float:
    """Largest resident size of this process so far."""
    import resource

    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / (2**20 if sys.platform == "darwin" else 2**10)


def fit_weights(sequence: MeshSequence, track: BoneTrack, *, options: SkinOptions | None = None) -> SkinnedModel:
    """Weights for bones that are given, such as a rig's own: only section 5 of the paper runs."""
    options = options or SkinOptions()
    check_sequence(sequence, replace(options, bones=0))
    if track.n_frames != sequence.n_frames:
        raise GeometryError(f"track: {track.n_frames} frames for a sequence of {sequence.n_frames}")
    vertices, which = weld_vertices(sequence)
    with single_threaded_blas():
        problem = pose_problem(sequence, vertices)
        if options.preset == "paper":
            influences = _paper_weights(problem, track, options)
        else:
            influences = select_influences(
                problem,
                problem.from_world(track.transforms),
                options.influences,
                threads=available_threads(options.threads),
            )
    transforms = track.transforms.astype(np.float64)
    solution = _Solution(transforms, influences, 1.0, options.tolerance, np.empty(0, np.int32), ())
    model = _build_model(sequence, which, solution, replace(options, bone_type=track.bone_type))
    return replace(model, track=track)


def fit_bones(sequence: MeshSequence, skin: Skin, *, options: SkinOptions | None = None) -> BoneTrack:
    """Bones for weights that are given, such as a painted skin's."""
    options = options or SkinOptions()
    if len(skin.weights) != sequence.n_vertices:
        raise GeometryError(f"skin: {len(skin.weights)} rows for {sequence.n_vertices} vertices")
    with single_threaded_blas():
        problem = pose_problem(sequence)
        bones, weights = skin.bones.astype(np.int64), skin.weights.astype(np.float64)
        n_bones = int(bones.max()) + 1
        strongest = np.take_along_axis(bones, weights.argmax(axis=1)[:, None], axis=1)[:, 0]
        start = bones_of_labels(problem, strongest, n_bones, available_threads(options.threads))
        solved = _solve_bones_for(problem, bones, weights, start, options)
    return BoneTrack(problem.to_world(solved).astype(np.float32), options.bone_type)
