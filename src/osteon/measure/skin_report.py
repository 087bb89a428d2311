"""What `osteon skin --json` writes. Other programs read these keys: add, but do not rename.

The sections of every report (`report.py`) are there, and their figures once more at the top, where they always were.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from osteon.core.arrays import Int32
from osteon.core.fit_report import FitReport
from osteon.core.model import SkinnedModel
from osteon.core.options import SkinOptions
from osteon.core.sequence import MeshSequence
from osteon.measure.by_rank import error_percent_by_rank
from osteon.measure.conditioning import Conditioning, measure_conditioning
from osteon.measure.distortion import Distortion
from osteon.measure.report import Method, Quality, Report, Rung, measured_quality, peak_memory_mb
from osteon.measure.shading import Shading
from osteon.measure.size import compression_ratio
from osteon.measure.verdict import judge

__all__ = ["FitFacts", "SkinReport", "cut_skin_report", "far_off_warnings", "write_skin_report"]

#: Below this near-rigid fraction the paper calls a sequence a poor candidate for skinning (section 7).
LOW_NEAR_RIGID = 0.5
#: Above this E % the motion is hardly there.
FAR_OFF = 50.0


@dataclass(frozen=True, slots=True, kw_only=True)
class SkinReport(Report):
    """How a sequence was skinned and how close the result is."""

    preset: str
    bones: int
    bone_type: str
    influences: int
    rank: int  # columns of corrections
    normal_rank: int  # columns that correct normals only
    normal_bytes: int | None = None  # of the first file written, that these take
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
        """Whether the bones are those of a rig that was given."""
        return any(stage.stage == "rig" for stage in self.method.stages)

    def to_json(self) -> dict[str, Any]:
        sections = asdict(self)
        flat = asdict(self.quality) | {
            "error_percent_by_rank": self.error_percent_by_rank,
            "rounds": self.rounds,
            "stopped_by": self.stopped_by,
            "converged": self.method.last.converged,
            "verdict": asdict(judge(self.quality, has_rig=self.has_rig)),
        }
        return flat | sections


@dataclass(frozen=True, slots=True)
class FitFacts:
    """What only the fit can tell about a result."""

    near_rigid_fraction: float
    tolerance: float
    stages: tuple[FitReport, ...]
    n_degenerate: int  # triangles without area in the rest pose
    shading: Shading
    heldout_error_percent: float | None = None
    fallback_error_percent: float | None = None
    warnings: tuple[str, ...] = ()


def write_skin_report(
    sequence: MeshSequence,
    model: SkinnedModel,
    distortion: Distortion,
    *,
    options: SkinOptions,
    facts: FitFacts,
    seconds: dict[str, float],
) -> SkinReport:
    """Gather what is known about a fit."""
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


def _quality(model: SkinnedModel, distortion: Distortion, conditioning: Conditioning, facts: FitFacts) -> Quality:
    return measured_quality(
        distortion,
        conditioning,
        shading=_shading_degrees(facts.shading, model.rank),
        heldout_error_percent=facts.heldout_error_percent,
        fallback_error_percent=facts.fallback_error_percent,
        compression_ratio=compression_ratio(model),
    )


def _shading_degrees(shading: Shading, rank: int) -> dict[str, float]:
    """Mean and 95th percentile; corrections of positions do not change it, so every rank has the mean."""
    return {"mean": shading.mean, "p95": shading.p95, "rank_0": shading.mean, f"rank_{rank}": shading.mean}


def cut_skin_report(report: SkinReport, model: SkinnedModel, distortion: Distortion, shading: Shading) -> SkinReport:
    """The report of the same fit cut to the rank of `model`."""
    old = report.quality.smallest_singular_value
    facts = FitFacts(
        report.near_rigid_fraction,
        report.tolerance,
        report.method.stages,
        report.input["degenerate_triangles"],
        shading,
        report.quality.heldout_error_percent,
        report.quality.fallback_error_percent,
    )
    kept = tuple(rung for rung in report.ladder if rung.value < model.rank)
    return replace(
        report,
        rank=model.rank,
        normal_rank=model.normal_rank,
        quality=_quality(model, distortion, Conditioning(old["min"], old["percentile_1"]), facts),
        ladder=(*kept, Rung("rank", model.rank, distortion.error_percent)),
    )


def shown_ranks(rank: int) -> list[int]:
    """Ranks worth a line: every one up to 20, then about twenty to a decade, and the last."""
    dense = list(range(min(rank, 20) + 1))
    sparse = [int(r) for r in np.geomspace(20, rank, 1 + int(20 * np.log10(rank / 20)))] if rank > 20 else []
    return sorted({*dense, *sparse, rank})


def far_off_warnings(measured: Distortion | Quality) -> tuple[str, ...]:
    """A result that has little to do with its source is never silent."""
    if measured.karni_gotsman_percent >= 100:
        return ("the result is farther off than the middle of every frame; look at the input with osteon view",)
    if measured.error_percent > FAR_OFF:
        return (f"E is {measured.error_percent:.0f} %: the result shows little of the motion",)
    return ()


def _warnings(sequence: MeshSequence, facts: FitFacts, options: SkinOptions) -> tuple[str, ...]:
    out = []
    if facts.n_degenerate:
        out.append(f"{facts.n_degenerate} triangles have no area in the rest pose and took no part in finding bones")
    unused = sequence.n_vertices - len(_used_vertices(sequence.faces))
    if unused:
        out.append(f"{unused} vertices belong to no triangle; they were skinned all the same")
    if options.rank > sequence.n_frames:
        out.append(f"rank {options.rank} asked for, but {sequence.n_frames} frames need no more than as many")
    if facts.near_rigid_fraction < LOW_NEAR_RIGID:
        advice = "" if options.bones else "; ask for a number with --bones"
        share = f"{facts.near_rigid_fraction:.0%}"
        out.append(f"only {share} of the triangles move nearly rigidly: expect to need many bones{advice}")
    return tuple(out)


def _used_vertices(faces: Int32) -> Int32:
    return np.unique(faces)
