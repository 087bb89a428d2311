"""The report of a skinned result, which `osteon skin --json` writes. Other programs read its keys: do not rename them.

| section | contents |
| --- | --- |
| quality | E, Karni-Gotsman, RMS, worst vertex and frame, normals, conditioning, held-out frames, size |
| method  | the kind of deformer, its options, every stage with its iterations and the reason why it stopped |
| ladder  | the error of the same result truncated to lower ranks |

The figures of the section `quality` are repeated at the top level.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, replace
from typing import Any, Self

import numpy as np

from osteon import __version__
from osteon.core.model import SkinnedModel
from osteon.core.progress import FitReport, peak_memory_mb
from osteon.core.sequence import MeshSequence
from osteon.core.skin_options import SkinOptions
from osteon.measure.distortion import (
    Conditioning,
    Distortion,
    error_percent_by_rank,
    measure_conditioning,
)
from osteon.measure.shading import Shading

#: Below this near-rigid fraction the paper calls a sequence a poor candidate for skinning (section 7).
LOW_NEAR_RIGID = 0.5
#: Above this E % the result shows little of the motion.
FAR_OFF = 50.0


@dataclass(frozen=True, slots=True)
class Quality:
    """Quality of a result: its distance from the source, and its size."""

    error_percent: float  # E
    karni_gotsman_percent: float
    rms: float  # units of the input
    worst: dict[str, float | int]  # distance, vertex and frame
    normal_deviation_degrees: dict[str, float]  # of the surfaces
    shading_deviation_degrees: dict[str, float]  # of the normals that players shade with: mean and 95th percentile
    smallest_singular_value: dict[str, float]  # of the blended transforms
    heldout_error_percent: float | None  # also None if the held-out frames do not differ
    fallback_error_percent: float | None  # E of the fallback that stock players show; None if there is no fallback
    compression_ratio: float  # floats of the source over floats of the result
    output_bytes: int | None = None  # of the first file written


@dataclass(frozen=True, slots=True)
class Method:
    """Method of a fit: the deformer, its options and the stages."""

    kind: str  # of the deformer
    options: dict[str, Any]
    stages: tuple[FitReport, ...]

    @property
    def last(self) -> FitReport:
        """The last stage that iterated on the full problem, or else the last stage.

        Shading does not count: it refines a finished fit in a fixed number of rounds. A fit without stages, such as
        that of an edited tree with free bones, has a fixed number of rounds only.
        """
        if not self.stages:
            return FitReport("fit", 0.0, converged=False, stopped_by="rounds")
        rounds = [s for s in self.stages if s.iterations and s.full_problem and s.stage != "shade"]
        return (rounds or list(self.stages))[-1]


@dataclass(frozen=True, slots=True)
class Rung:
    """The error of the result truncated to a lower rank."""

    of: str  # "rank"
    value: int
    error_percent: float


@dataclass(frozen=True, slots=True)
class FitFacts:
    """The figures of a report that only the fit provides."""

    near_rigid_fraction: float
    tolerance: float
    stages: tuple[FitReport, ...]
    n_degenerate: int  # triangles without area in the rest pose
    shading: Shading
    heldout_error_percent: float | None = None
    fallback_error_percent: float | None = None
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class SkinReport:
    """Report of a skinned sequence: its method and its quality."""

    input: dict[str, int]
    quality: Quality
    method: Method
    ladder: tuple[Rung, ...] = ()
    warnings: tuple[str, ...] = ()
    seconds: dict[str, float] = field(default_factory=dict)
    peak_memory_mb: float = 0.0
    seed: int = 0
    version: str = __version__
    preset: str
    bones: int
    bone_type: str
    influences: int
    rank: int  # columns of corrections
    normal_rank: int  # columns that correct normals only
    normal_bytes: int | None = None  # size of these in the first file written
    weights: str
    near_rigid_fraction: float  # eta
    tolerance: float  # eps

    @property
    def error_percent(self) -> float:
        return self.quality.error_percent

    @property
    def error_percent_by_rank(self) -> dict[str, float]:
        return {str(rung.value): rung.error_percent for rung in self.ladder if rung.of == "rank"}

    @property
    def karni_gotsman_percent(self) -> float:
        return self.quality.karni_gotsman_percent

    @property
    def rms(self) -> float:
        return self.quality.rms

    @property
    def normal_deviation_degrees(self) -> dict[str, float]:
        return self.quality.normal_deviation_degrees

    @property
    def shading_deviation_degrees(self) -> dict[str, float]:
        return self.quality.shading_deviation_degrees

    @property
    def smallest_singular_value(self) -> dict[str, float]:
        return self.quality.smallest_singular_value

    @property
    def compression_ratio(self) -> float:
        return self.quality.compression_ratio

    @property
    def worst(self) -> dict[str, float | int]:
        return self.quality.worst

    @property
    def heldout_error_percent(self) -> float | None:
        return self.quality.heldout_error_percent

    @property
    def output_bytes(self) -> int | None:
        return self.quality.output_bytes

    @property
    def rounds(self) -> int:
        return self.method.last.iterations

    @property
    def stopped_by(self) -> str:
        return self.method.last.stopped_by

    @property
    def has_rig(self) -> bool:
        """Whether the bones are those of a given rig."""
        return any(stage.stage == "rig" for stage in self.method.stages)

    def with_output_bytes(self, count: int) -> Self:
        """The same report of a result that has been written."""
        return replace(self, quality=replace(self.quality, output_bytes=count))

    def with_seconds(self, more: dict[str, float]) -> Self:
        """The same report with the seconds of further stages."""
        return replace(self, seconds={**self.seconds, **more})

    def to_json(self) -> dict[str, Any]:
        flat = asdict(self.quality) | {
            "error_percent_by_rank": self.error_percent_by_rank,
            "rounds": self.method.last.iterations,
            "stopped_by": self.method.last.stopped_by,
            "converged": self.method.last.converged,
            "verdict": asdict(grade_result(self.quality, has_rig=self.has_rig, preset=self.preset)),
        }
        return flat | asdict(self)


def write_skin_report(
    sequence: MeshSequence,
    model: SkinnedModel,
    distortion: Distortion,
    *,
    options: SkinOptions,
    facts: FitFacts,
    seconds: dict[str, float],
) -> SkinReport:
    """The report of a fit."""
    by_rank = error_percent_by_rank(model, sequence, threads=options.threads) if model.rank else np.zeros(1)
    by_rank[-1] = distortion.error_percent  # of the vertices as they are stored, which are rounded once more
    return SkinReport(
        input={
            "frames": sequence.n_frames,
            "vertices": sequence.n_vertices,
            "triangles": sequence.n_triangles,
            "degenerate_triangles": facts.n_degenerate,
            "clips": len(sequence.clips),
        },
        quality=_quality(model, distortion, measure_conditioning(model, threads=options.threads), facts),
        method=Method(model.deformer.kind, asdict(options), facts.stages),
        ladder=tuple(Rung("rank", r, float(by_rank[r])) for r in shown_ranks(model.rank)),
        warnings=far_off_warnings(distortion) + _warnings(sequence, facts, options) + facts.warnings,
        seconds=seconds,
        peak_memory_mb=peak_memory_mb(),
        seed=options.seed,
        preset=options.preset,
        bones=model.n_bones,
        bone_type=model.track.bone_type,
        influences=options.influences,
        rank=model.rank,
        normal_rank=model.normal_rank,
        weights=options.weights,
        near_rigid_fraction=facts.near_rigid_fraction,
        tolerance=facts.tolerance,
    )


def truncated_skin_report(
    report: SkinReport, model: SkinnedModel, distortion: Distortion, shading: Shading
) -> SkinReport:
    """The report of the same fit truncated to the rank of `model`."""
    facts = FitFacts(
        report.near_rigid_fraction,
        report.tolerance,
        report.method.stages,
        report.input["degenerate_triangles"],
        shading,
        report.quality.heldout_error_percent,
        report.quality.fallback_error_percent,
    )
    old = report.quality.smallest_singular_value
    kept = tuple(rung for rung in report.ladder if rung.value < model.rank)
    return replace(
        report,
        rank=model.rank,
        normal_rank=model.normal_rank,
        quality=_quality(model, distortion, Conditioning(old["min"], old["percentile_1"]), facts),
        ladder=(*kept, Rung("rank", model.rank, distortion.error_percent)),
    )


def _quality(model: SkinnedModel, distortion: Distortion, conditioning: Conditioning, facts: FitFacts) -> Quality:
    shading = facts.shading
    return Quality(
        error_percent=distortion.error_percent,
        karni_gotsman_percent=distortion.karni_gotsman_percent,
        rms=distortion.rms,
        worst=asdict(distortion.worst),
        normal_deviation_degrees={"mean": distortion.normal_mean, "max": distortion.normal_max},
        shading_deviation_degrees={
            "mean": shading.mean,
            "p95": shading.p95,
            "rank_0": shading.mean,  # corrections of positions do not change the shading, so every rank has the mean
            f"rank_{model.rank}": shading.mean,
        },
        smallest_singular_value={"min": conditioning.smallest, "percentile_1": conditioning.first_percentile},
        heldout_error_percent=facts.heldout_error_percent,
        fallback_error_percent=facts.fallback_error_percent,
        compression_ratio=compression_ratio(model),
    )


def compression_ratio(model: SkinnedModel) -> float:
    """Floats of the model's frames over floats of the model.

    3 N S / (3 N + k N + c S B) for rest pose, weights and bones, with c = 12 for a flexible bone and 7 for a rigid one
    (quaternion and translation): James and Twigg 2005, table 1. Displacements of rank r add r (3 N + S). Other
    deformers define their number of floats in place of k N.
    """
    frames, vertices = model.n_frames, model.n_vertices
    out = 3 * vertices + model.deformer.n_floats + model.animation.n_floats
    rank = sum(len(displacement.basis) for displacement in model.character.displacements)
    return 3 * vertices * frames / (out + rank * (3 * vertices + frames))


def shown_ranks(rank: int) -> list[int]:
    """Ranks to list: all up to 20, then about twenty per decade, and the last."""
    dense = list(range(min(rank, 20) + 1))
    sparse = [int(r) for r in np.geomspace(20, rank, 1 + int(20 * np.log10(rank / 20)))] if rank > 20 else []
    return sorted({*dense, *sparse, rank})


def far_off_warnings(measured: Distortion | Quality) -> tuple[str, ...]:
    """Warnings about a result that has little in common with its source."""
    if measured.karni_gotsman_percent >= 100:
        return ("the result is farther off than the centroid of every frame; inspect the input with osteon view",)
    if measured.error_percent > FAR_OFF:
        return (f"E is {measured.error_percent:.0f} %: the result shows little of the motion",)
    return ()


def _warnings(sequence: MeshSequence, facts: FitFacts, options: SkinOptions) -> tuple[str, ...]:
    out = []
    if facts.n_degenerate:
        out.append(f"{facts.n_degenerate} triangles have no area in the rest pose and were not used to find bones")
    unused = sequence.n_vertices - len(np.unique(sequence.faces))
    if unused:
        out.append(f"{unused} vertices belong to no triangle; they were skinned nevertheless")
    if options.rank > sequence.n_frames:
        out.append(f"--rank {options.rank} exceeds the number of frames; a rank of {sequence.n_frames} is exact")
    if facts.near_rigid_fraction < LOW_NEAR_RIGID:
        advice = "" if options.bones else "; choose a number with --bones"
        share = f"{facts.near_rigid_fraction:.0%}"
        out.append(f"only {share} of the triangles move nearly rigidly: expect to need many bones{advice}")
    return tuple(out)


# One word for a result: each figure gets a grade, and the worst grade is the verdict.

#: The words, best first, and the largest figure that each allows.
GRADES = ("Nearly exact", "Close", "Fair", "Rough", "Poor")
ERROR_PERCENT = (0.1, 1.5, 5.0, 15.0, 50.0)
MEAN_DEGREES = (1.0, 4.0, 8.0, 15.0, 30.0)  # between the normals that a stock player shades with and the source's
P95_DEGREES = (4.0, 15.0, 25.0, 45.0, 90.0)
WORST = "Far off"
#: From this grade on the verdict comes with advice.
FAIR = 2
#: Bounds that are suggested for a closer result.
GOOD_ERROR, GOOD_SHADING = 1, 3
#: Advice for a rig, with which bounds are refused: helper bones, and columns of normals.
MORE_HELPERS, MORE_NORMALS = 4, 5


@dataclass(frozen=True, slots=True)
class Verdict:
    """The grade of a result, the figure that determined it, and advice."""

    word: str  # one of GRADES, or WORST
    because: str  # "E" or "shading"
    advice: str = ""  # options to try, for a result that is fair or worse

    @property
    def is_good(self) -> bool:
        return self.word in GRADES[:FAIR]

    @property
    def is_bad(self) -> bool:
        return self.word in (GRADES[-1], WORST)

    def sentence(self) -> str:
        """For a table: `rough: try --max-error 1`."""
        return self.word.lower() + (f": try {self.advice}" if self.advice else "")


def grade_result(quality: Quality, *, has_rig: bool = False, preset: str = "default") -> Verdict:
    """The verdict on a result; with a rig the advice contains no bounds, which need free bones."""
    error = _grade(quality.error_percent, ERROR_PERCENT)
    if quality.karni_gotsman_percent >= 100:
        error = len(GRADES)
    degrees = quality.shading_deviation_degrees
    shading = max(_grade(degrees.get("mean", 0.0), MEAN_DEGREES), _grade(degrees.get("p95", 0.0), P95_DEGREES))
    worst = max(error, shading)
    word = GRADES[worst] if worst < len(GRADES) else WORST
    closer = f"--helpers {MORE_HELPERS}" if has_rig else f"--max-error {GOOD_ERROR}"
    if has_rig and preset == "paper":  # which adds no bones
        closer = "--preset default"
    smoother = f"--normal-rank {MORE_NORMALS}" if has_rig else f"--max-shading {GOOD_SHADING}"
    advice = [closer] * (error >= FAIR) + [smoother] * (shading >= FAIR)
    return Verdict(word, "E" if error >= shading else "shading", " ".join(advice))


def _grade(value: float, limits: tuple[float, ...]) -> int:
    """The first grade whose limit is not exceeded; the number of grades if all are exceeded."""
    return next((i for i, limit in enumerate(limits) if value <= limit), len(limits))
