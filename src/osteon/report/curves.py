"""What the result would be with other options: quick fits on a sample of the sequence.

The paper's figure 12 (error against the number of bones) and figure 5 (bones against the tolerance), for this asset,
and one try for each option that may help. A sample has few vertices, which bones follow a little too well: the fits are
to be compared with each other, and `ReportCurves` carries their ratio over to the whole.

Based on: James and Twigg, Skinning Mesh Animations, 2005, figures 5 and 12.

Notes: expected / true E % after one change:
|            | now              | half as many bones more | 8 influences | rank 5      |
| horse      | 0.99 at 30 bones | 0.42 / 0.50             | 0.52 / 0.56  | 0.50 / 0.57 |
| fox        | 0.81 at 32 bones | 0.48 / 0.54             | 0.39 / 0.36  | 0.23 / 0.24 |
| clothhorse | 2.41 at 12 bones | 1.78 / 1.83             | 1.39 / 1.32  | 0.90 / 0.77 |
Time on two busy cores, fox: the fit 5.1 s, all quick fits 6.6 s. They do not grow with the mesh.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from osteon.core.arrays import Int32
from osteon.core.asset import Asset
from osteon.core.clips import Clip
from osteon.core.errors import GeometryError
from osteon.core.option_checks import change_options
from osteon.core.options import SkinOptions
from osteon.core.progress import Progress, report_progress
from osteon.core.sequence import MeshSequence
from osteon.core.topology import degenerate_triangles
from osteon.fit.clustering.cluster import ClusterOptions, cluster_triangles
from osteon.fit.clustering.cluster_count import sample_triangles
from osteon.measure.skin_report import SkinReport
from osteon.pipeline import skin_sequence

__all__ = [
    "BonesPoint",
    "ReportCurves",
    "TolerancePoint",
    "Trial",
    "bone_counts",
    "bones_curve",
    "option_trials",
    "quick_rank",
    "rank_of",
    "report_curves",
    "sample_sequence",
    "tolerance_curve",
]

#: Triangles, frames and rounds of a quick fit.
QUICK_TRIANGLES = 300
QUICK_FRAMES = 32
QUICK_ROUNDS = 4
#: Corrections of a quick fit where the model has none, and the frames that a sequence needs for each.
QUICK_RANK = 5
FRAMES_A_RANK = 4
#: Vertices that a bone of a quick fit has at least: with fewer its error says nothing about the whole.
VERTICES_A_BONE = 8
#: Triangles and frames of the clusterings of figure 5.
CLUSTER_TRIANGLES = 1024
CLUSTER_FRAMES = 24
TOLERANCES = (0.02, 0.03, 0.05, 0.08, 0.12, 0.2)


@dataclass(frozen=True, slots=True)
class BonesPoint:
    """One quick fit of figure 12."""

    bones: int
    error_percent: float  # E without corrections
    corrected_percent: float | None  # E with corrections; None without any
    normal_degrees: float  # mean angle between triangle normals, with corrections
    by_rank: tuple[tuple[int, float], ...] = ()  # rank and E, of the same fit cut to fewer corrections


@dataclass(frozen=True, slots=True)
class TolerancePoint:
    """One clustering of figure 5."""

    tolerance: float  # eps
    bones: int
    near_rigid_fraction: float  # eta


@dataclass(frozen=True, slots=True)
class Trial:
    """A quick fit with one option changed."""

    change: str  # in words
    option: str  # on the command line
    error_percent: float  # of the sample
    base_percent: float | None  # of the sample without the change; None where the two cannot be compared


@dataclass(frozen=True, slots=True)
class ReportCurves:
    """All quick fits of a report; empty parts are left out of it."""

    bones: tuple[BonesPoint, ...] = ()
    tolerances: tuple[TolerancePoint, ...] = ()
    trials: tuple[Trial, ...] = ()
    rank: int = 0  # of the corrections in `bones`

    def like(self, report: SkinReport) -> BonesPoint | None:
        """The quick fit with the model's number of bones."""
        return next((point for point in self.bones if point.bones == report.bones), None)

    def by_bones(self, report: SkinReport) -> dict[int, float]:
        """Expected E % of the whole by number of bones: the sample's, times the ratio of the two at the model's own."""
        same = self.like(report)
        base = 0.0 if same is None else _like_model(same, report)
        return {p.bones: report.error_percent * _like_model(p, report) / base for p in self.bones} if base > 0 else {}

    def by_trial(self, report: SkinReport) -> tuple[tuple[str, str, float], ...]:
        """Change, option and expected E % of the whole for every trial."""
        ratios = [(t, t.error_percent / t.base_percent if t.base_percent else None) for t in self.trials]
        return tuple(
            (t.change, t.option, t.error_percent if ratio is None else report.error_percent * ratio)
            for t, ratio in ratios
        )


def _like_model(point: BonesPoint, report: SkinReport) -> float:
    """E of a quick fit with corrections if the model has any."""
    return point.corrected_percent if rank_of(report) and point.corrected_percent is not None else point.error_percent


def report_curves(
    sequence: MeshSequence, report: SkinReport, options: SkinOptions, progress: Progress | None = None
) -> ReportCurves:
    """Everything that a report compares its model with."""
    counts = bone_counts(report.bones, sequence)
    curves = ReportCurves(bones_curve(sequence, options, counts, progress), rank=quick_rank(sequence, options))
    unchanged = curves.like(report)
    trials: tuple[Trial, ...] = ()
    if unchanged is not None:
        trials = option_trials(sequence, change_options(options, bones=report.bones), unchanged, progress)
    return replace(curves, trials=trials, tolerances=tolerance_curve(sequence, options, progress=progress))


def quick_rank(sequence: MeshSequence, options: SkinOptions) -> int:
    """The rank of quick fits: the model's, or a small one; never so high that a few frames would be played exactly."""
    frames = min(sequence.n_frames, QUICK_FRAMES)
    return min(options.rank or QUICK_RANK, frames // FRAMES_A_RANK)


def rank_of(report: SkinReport) -> int:
    """The rank of the model's corrections: the largest that the report knows."""
    return max((int(rank) for rank in report.error_percent_by_rank), default=0)


def bone_counts(n_bones: int, sequence: MeshSequence) -> tuple[int, ...]:
    """A handful of bone counts around the model's own, as far as a sample can tell them apart."""
    sample = min(sequence.n_vertices, 2 * QUICK_TRIANGLES)
    most = max(n_bones, sample // VERTICES_A_BONE)
    wanted = (1, n_bones // 3, n_bones, n_bones + (n_bones + 1) // 2, 2 * n_bones)
    return tuple(sorted({min(max(1, count), most) for count in wanted}))


def sample_sequence(sequence: MeshSequence, n_triangles: int, n_frames: int, seed: int = 0) -> MeshSequence:
    """Only the corners of some triangles, in evenly spaced frames."""
    solid = np.flatnonzero(~degenerate_triangles(sequence.rest, sequence.faces))
    faces = sequence.faces[solid[sample_triangles(len(solid), n_triangles, seed)]]
    vertices, corners = np.unique(faces, return_inverse=True)
    frames: Int32 = np.unique(np.linspace(0, sequence.n_frames - 1, n_frames).round().astype(np.int32))
    return MeshSequence(
        np.stack([sequence.frame(int(f))[vertices] for f in frames]),
        corners.reshape(-1, 3).astype(np.int32),
        sequence.rest[vertices],
        (Clip("sample", 0, len(frames)),),
        Asset(),
        sequence.name,
    )


def bones_curve(
    sequence: MeshSequence, options: SkinOptions, counts: Sequence[int], progress: Progress | None = None
) -> tuple[BonesPoint, ...]:
    """E % for several numbers of bones, without corrections and with a few."""
    points = []
    sample = sample_sequence(sequence, QUICK_TRIANGLES, QUICK_FRAMES, options.seed)
    rank = quick_rank(sequence, options)
    for done, count in enumerate(counts):
        report_progress(progress, "curves", done / len(counts))
        quick = _quick_fit(sample, change_options(options, bones=count, rank=rank))
        if quick is None:
            continue
        bare = quick.error_percent_by_rank["0"]
        corrected = quick.error_percent if rank_of(quick) else None
        by_rank = tuple(sorted((int(r), error) for r, error in quick.error_percent_by_rank.items()))
        points.append(BonesPoint(count, bare, corrected, quick.normal_deviation_degrees["mean"], by_rank))
    return tuple(points)


def option_trials(
    sequence: MeshSequence, options: SkinOptions, unchanged: BonesPoint, progress: Progress | None = None
) -> tuple[Trial, ...]:
    """Quick fits with one option changed, where the change makes sense; `unchanged` is the one without."""
    tries = []
    if options.bone_type == "rigid":
        tries.append(("flexible bones", "--bone-type flexible", replace(options, bone_type="flexible")))
    if options.influences < 8:
        more = 4 if options.influences < 4 else 8
        tries.append((f"{more} influences a vertex", f"--influences {more}", replace(options, influences=more)))
    if options.preset == "paper":
        tries.append(("refined bones and weights", "--preset default", _refined(options)))
    sample = sample_sequence(sequence, QUICK_TRIANGLES, QUICK_FRAMES, options.seed)
    rank = quick_rank(sequence, options)
    trials = []
    bare, corrected = unchanged.error_percent, unchanged.corrected_percent
    if not options.rank and corrected is not None:
        trials.append(Trial(f"corrections of rank {rank}", f"--rank {rank}", corrected, bare))
    for done, (change, option, changed) in enumerate(tries):
        report_progress(progress, "curves", done / len(tries))
        quick = _quick_fit(sample, replace(changed, rank=rank if options.rank else 0))
        if quick is not None:
            base = corrected if options.rank else bare
            trials.append(
                Trial(change, option, quick.error_percent, base if changed.preset == options.preset else None)
            )
    return tuple(trials)


def _refined(options: SkinOptions) -> SkinOptions:
    """The default preset in place of the paper's."""
    return change_options(options, preset="default")


def tolerance_curve(
    sequence: MeshSequence,
    options: SkinOptions,
    tolerances: Sequence[float] = TOLERANCES,
    progress: Progress | None = None,
) -> tuple[TolerancePoint, ...]:
    """Number of bones and near-rigid fraction that mean shift finds for several tolerances."""
    sample = sample_triangles(sequence.n_triangles, CLUSTER_TRIANGLES, options.seed)
    points = []
    for done, tolerance in enumerate(sorted({*tolerances, options.tolerance})):
        report_progress(progress, "curves", done / len(tolerances))
        clustering = ClusterOptions(
            tolerance=tolerance, max_frames=CLUSTER_FRAMES, seed=options.seed, threads=options.threads
        )
        found = cluster_triangles(sequence, options=clustering, triangles=sample)
        points.append(TolerancePoint(tolerance, found.n_bones, found.near_rigid_fraction))
    return tuple(points)


def _quick_fit(sample: MeshSequence, options: SkinOptions) -> SkinReport | None:
    """The report of a short fit, or None where the sample shows nothing that moves."""
    quick = change_options(options, rounds=min(options.rounds, QUICK_ROUNDS), holdout=0, smooth_weights=0.0)
    try:
        return skin_sequence(sample, options=quick).report
    except GeometryError:  # few triangles of a large mesh may all be at rest
        return None
