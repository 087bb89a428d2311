"""The one report of every method: how good the result is, how it was made, and what less of it would give.

| section | holds |
| --- | --- |
| quality | E, Karni-Gotsman, RMS, worst vertex and frame, normals, conditioning, held-out frames, size |
| method  | the kind of deformer, its options, every stage with iterations and why it stopped |
| ladder  | rungs: the same result cut to a rank, later to fewer bones or a level, with the error of each |
"""

from __future__ import annotations

import sys
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Self

from osteon import __version__
from osteon.core.fit_report import FitReport
from osteon.measure.conditioning import Conditioning
from osteon.measure.distortion import Distortion

__all__ = ["Method", "Quality", "Report", "Rung", "measured_quality", "peak_memory_mb"]


@dataclass(frozen=True, slots=True)
class Quality:
    """How far a result is from its source, and how large it is."""

    error_percent: float  # E
    karni_gotsman_percent: float
    rms: float  # units of the input
    worst: dict[str, float | int]  # distance, vertex and frame
    normal_deviation_degrees: dict[str, float]  # of the surfaces
    shading_deviation_degrees: dict[str, float]  # of the normals that players shade with: mean and 95th percentile
    smallest_singular_value: dict[str, float]  # of the blended transforms
    heldout_error_percent: float | None  # also None where the frames left out do not differ
    fallback_error_percent: float | None  # E of what stock players show instead; None where they show the result itself
    compression_ratio: float  # floats of the source over floats of the result
    output_bytes: int | None = None  # of the first file written


@dataclass(frozen=True, slots=True)
class Method:
    """How a result was made."""

    kind: str  # of the deformer
    options: dict[str, Any]
    stages: tuple[FitReport, ...]

    @property
    def last(self) -> FitReport:
        """The last stage that iterated on the full problem until it stopped by itself, or else the last of all.

        Shading is not one of them: it refines a finished fit in a fixed number of rounds.
        """
        rounds = [s for s in self.stages if s.iterations and s.full_problem and s.stage != "shade"]
        return (rounds or list(self.stages))[-1]


@dataclass(frozen=True, slots=True)
class Rung:
    """The result with less of something."""

    of: str  # what there is less of: "rank"
    value: int
    error_percent: float


@dataclass(frozen=True, slots=True)
class Report:
    """What is known about a result."""

    input: dict[str, int]
    quality: Quality
    method: Method
    ladder: tuple[Rung, ...] = ()
    warnings: tuple[str, ...] = ()
    seconds: dict[str, float] = field(default_factory=dict)
    peak_memory_mb: float = 0.0
    seed: int = 0
    version: str = __version__

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    def with_output_bytes(self, count: int) -> Self:
        """The same report of a result that has been written."""
        return replace(self, quality=replace(self.quality, output_bytes=count))

    def with_seconds(self, more: dict[str, float]) -> Self:
        """The same report with the seconds of what came before and after."""
        return replace(self, seconds={**self.seconds, **more})


def measured_quality(
    distortion: Distortion,
    conditioning: Conditioning,
    *,
    shading: dict[str, float],
    heldout_error_percent: float | None,
    fallback_error_percent: float | None,
    compression_ratio: float,
) -> Quality:
    """The quality of a result from its measures."""
    return Quality(
        error_percent=distortion.error_percent,
        karni_gotsman_percent=distortion.karni_gotsman_percent,
        rms=distortion.rms,
        worst=asdict(distortion.worst),
        normal_deviation_degrees={"mean": distortion.normal_mean, "max": distortion.normal_max},
        shading_deviation_degrees=shading,
        smallest_singular_value={"min": conditioning.smallest, "percentile_1": conditioning.first_percentile},
        heldout_error_percent=heldout_error_percent,
        fallback_error_percent=fallback_error_percent,
        compression_ratio=compression_ratio,
    )


def peak_memory_mb() -> float:
    """Largest resident size of this process so far; 0 where the system does not tell."""
    try:
        import resource
    except ImportError:  # Windows
        return 0.0
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (2**20 if sys.platform == "darwin" else 2**10)
