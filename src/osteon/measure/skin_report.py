"""What `osteon skin --json` writes. Other programs read these keys: add, but do not rename."""

from __future__ import annotations

import sys
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from osteon import __version__
from osteon.core.fit_report import FitReport
from osteon.core.model import SkinnedModel
from osteon.core.options import SkinOptions
from osteon.core.sequence import MeshSequence
from osteon.measure.by_rank import error_percent_by_rank
from osteon.measure.conditioning import measure_conditioning
from osteon.measure.distortion import Distortion
from osteon.measure.size import compression_ratio

__all__ = ["SkinReport", "peak_memory_mb", "write_skin_report"]

#: Below this near-rigid fraction the paper calls a sequence a poor candidate for skinning (section 7).
LOW_NEAR_RIGID = 0.5


@dataclass(frozen=True, slots=True)
class SkinReport:
    """How a sequence was skinned and how close the result is."""

    input: dict[str, int]
    preset: str
    bones: int
    bone_type: str
    influences: int
    rank: int  # columns of corrections
    weights: str
    near_rigid_fraction: float  # eta
    tolerance: float  # eps
    error_percent: float  # E
    error_percent_by_rank: dict[str, float]
    karni_gotsman_percent: float
    rms: float  # units of the input
    worst: dict[str, float | int]
    normal_deviation_degrees: dict[str, float]  # of the surfaces
    shading_deviation_degrees: dict[str, float]  # of the normals a player shows, without and with corrections
    smallest_singular_value: dict[str, float]  # of the blended transforms
    heldout_error_percent: float | None  # also None where the frames left out do not differ
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


def write_skin_report(
    sequence: MeshSequence,
    model: SkinnedModel,
    distortion: Distortion,
    *,
    options: SkinOptions,
    near_rigid_fraction: float,
    tolerance: float,
    last_stage: FitReport,
    n_degenerate: int,
    heldout_error_percent: float | None,
    shading: dict[str, float],
    warnings: tuple[str, ...],
    seconds: dict[str, float],
) -> SkinReport:
    """Gather what is known about a fit."""
    conditioning = measure_conditioning(model)
    by_rank = error_percent_by_rank(model, sequence, threads=options.threads)
    by_rank[-1] = distortion.error_percent  # of the vertices as they are stored, which are rounded once more
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
        bone_type=model.track.bone_type,
        influences=options.influences,
        rank=model.rank,
        weights=options.weights,
        near_rigid_fraction=near_rigid_fraction,
        tolerance=tolerance,
        error_percent=distortion.error_percent,
        error_percent_by_rank={str(r): float(by_rank[r]) for r in shown_ranks(model.rank)},
        karni_gotsman_percent=distortion.karni_gotsman_percent,
        rms=distortion.rms,
        worst=asdict(distortion.worst),
        normal_deviation_degrees={"mean": distortion.normal_mean, "max": distortion.normal_max},
        shading_deviation_degrees=shading,
        smallest_singular_value={"min": conditioning.smallest, "percentile_1": conditioning.first_percentile},
        heldout_error_percent=heldout_error_percent,
        compression_ratio=compression_ratio(
            sequence.n_vertices,
            sequence.n_frames,
            model.n_bones,
            options.influences,
            model.track.bone_type,
            model.rank,
        ),
        output_bytes=None,
        seconds=seconds,
        peak_memory_mb=peak_memory_mb(),
        rounds=last_stage.iterations,
        stopped_by=last_stage.stopped_by,
        warnings=_warnings(sequence, near_rigid_fraction, n_degenerate, options) + warnings,
        seed=options.seed,
        version=__version__,
    )


def shown_ranks(rank: int) -> list[int]:
    """Ranks worth a line: every one up to 20, then about twenty to a decade, and the last."""
    dense = list(range(min(rank, 20) + 1))
    sparse = [int(r) for r in np.geomspace(20, rank, 1 + int(20 * np.log10(rank / 20)))] if rank > 20 else []
    return sorted({*dense, *sparse, rank})


def _warnings(sequence: MeshSequence, eta: float, n_degenerate: int, options: SkinOptions) -> tuple[str, ...]:
    out = []
    if n_degenerate:
        out.append(f"{n_degenerate} triangles have no area in the rest pose and took no part in finding bones")
    unused = sequence.n_vertices - len(np.unique(sequence.faces))
    if unused:
        out.append(f"{unused} vertices belong to no triangle; they were skinned all the same")
    if options.rank > sequence.n_frames:
        out.append(f"rank {options.rank} asked for, but {sequence.n_frames} frames need no more than as many")
    if eta < LOW_NEAR_RIGID:
        advice = "" if options.bones else "; ask for a number with --bones"
        out.append(f"only {eta:.0%} of the triangles move nearly rigidly: expect to need many bones{advice}")
    return tuple(out)


def peak_memory_mb() -> float:
    """Largest resident size of this process so far; 0 where the system does not tell."""
    try:
        import resource
    except ImportError:  # Windows
        return 0.0
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (2**20 if sys.platform == "darwin" else 2**10)
