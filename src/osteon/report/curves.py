"""What a report knows beyond its model: whole fits with something changed, and clusterings at other tolerances.

Based on: James and Twigg, Skinning Mesh Animations, 2005, figure 5.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from osteon.core.budget import Try
from osteon.core.model import SkinnedModel
from osteon.core.options import SkinOptions
from osteon.core.progress import Progress, report_progress
from osteon.core.sequence import MeshSequence
from osteon.fit.clustering.cluster import ClusterOptions, cluster_triangles
from osteon.fit.clustering.cluster_count import sample_triangles
from osteon.measure.skin_report import SkinReport
from osteon.pipeline.skin import SkinFit
from osteon.report.trials import SizeOf, Trial, changes_to_try, file_bytes, rig_changes, run_trials

__all__ = ["ReportCurves", "TolerancePoint", "rank_of", "report_curves", "tolerance_curve"]

#: Triangles and frames of the clusterings of figure 5.
CLUSTER_TRIANGLES = 512
CLUSTER_FRAMES = 16
TOLERANCES = (0.02, 0.05, 0.1, 0.2)


@dataclass(frozen=True, slots=True)
class TolerancePoint:
    """One clustering of figure 5."""

    tolerance: float  # eps
    bones: int
    near_rigid_fraction: float  # eta


@dataclass(frozen=True, slots=True)
class ReportCurves:
    """All that was fitted beside the model; empty parts are left out of the report."""

    tolerances: tuple[TolerancePoint, ...] = ()
    trials: tuple[Trial, ...] = ()
    own: Trial | None = None  # the model itself, weighed as the trials were
    tries: tuple[Try, ...] = ()  # what a search measured on its way
    max_bytes: int | None = None  # the size that was asked for


def report_curves(
    sequence: MeshSequence,
    fit: SkinFit,
    options: SkinOptions,
    *,
    size_of: SizeOf = file_bytes,
    rig: SkinnedModel | None = None,
    tries: Sequence[Try] = (),
    max_bytes: int | None = None,
    progress: Progress | None = None,
) -> ReportCurves:
    """Everything that a report compares its model with; takes about as long as the fit did.

    After a search, which measured many files already (`tries`), nothing else is tried.
    """
    report = fit.report
    trials: tuple[Trial, ...] = ()
    if not tries:
        changes = changes_to_try(report, options, sequence) if rig is None else rig_changes(report, options)
        made = replace(options, bones=report.bones) if rig is None else options
        trials = run_trials(sequence, changes, own=made, size_of=size_of, rig=rig, progress=progress)
    own = Trial("this model", "", report.error_percent, size_of(fit.model))
    tolerances = tolerance_curve(sequence, options, progress=progress) if rig is None else ()
    return ReportCurves(tolerances, trials, own, tuple(tries), max_bytes)


def rank_of(report: SkinReport) -> int:
    """The rank of the model's corrections: the largest that the report knows."""
    return max((int(rank) for rank in report.error_percent_by_rank), default=0)


def tolerance_curve(
    sequence: MeshSequence,
    options: SkinOptions,
    tolerances: Sequence[float] = TOLERANCES,
    progress: Progress | None = None,
) -> tuple[TolerancePoint, ...]:
    """Number of bones and near-rigid fraction that mean shift finds for several tolerances."""
    sample = sample_triangles(sequence.n_triangles, CLUSTER_TRIANGLES, options.seed)
    wanted = sorted({*tolerances, options.tolerance})
    points = []
    for done, tolerance in enumerate(wanted):
        report_progress(progress, "try tolerances", done / len(wanted))
        clustering = ClusterOptions(
            tolerance=tolerance, max_frames=CLUSTER_FRAMES, seed=options.seed, threads=options.threads
        )
        found = cluster_triangles(sequence, options=clustering, triangles=sample)
        points.append(TolerancePoint(tolerance, found.n_bones, found.near_rigid_fraction))
    return tuple(points)
