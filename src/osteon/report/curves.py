"""Measurements of a report beyond its model: complete fits with changed options, and clusterings at other tolerances.

Based on: James and Twigg, Skinning Mesh Animations, 2005, figure 5.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from osteon.core.errors import GeometryError, OptionError
from osteon.core.model import SkinnedModel
from osteon.core.options import change_options
from osteon.core.progress import Progress, ProgressEvent, report_progress
from osteon.core.sequence import MeshSequence
from osteon.core.skin_options import SkinOptions
from osteon.fit.clustering.cluster import ClusterOptions, cluster_triangles, sample_triangles
from osteon.io import SaveOptions, save_model
from osteon.io.save.atomic import scratch_folder
from osteon.measure.skin_report import SkinReport
from osteon.pipeline.options import Try
from osteon.pipeline.skin import SkinFit, skin_sequence

# Results with other options: complete fits of the whole sequence, made while the report is written.
#
# A trial is the fit of the command line with one option changed: all vertices, all frames, all rounds, the same seed.
# So its E is the E that a user who follows the proposal gets, and its size is that of a file that was written.
#
# Notes: cheaper trials, with E of the trial over E of the complete fit:
# | way                                                            | off by                                  |
# | -------------------------------------------------------------- | --------------------------------------- |
# | ratio of quick fits on 300 triangles and 32 frames             | 0.84 … 1.17; 16 bones: 1.9 % for 20.2 % |
# | all vertices, 3 rounds, cloth; 0.5 … 1 of the whole fit's time | 1.2 … 2.2                               |
# | all vertices, 6 rounds, cloth                                  | 1.09 … 1.84                             |
# | all vertices, 4 rounds, horse                                  | 0.95 … 1.03                             |
# | cut to a lower rank, for a fit with that rank; cloth and ball  | 1.05 … 1.3                              |
# | from the model's own bones, 4 rounds                           | 0.95 … 1.13 on five sequences           |
# | the same without shading, built-in ball and cylinder           | 3.4, 2.9                                |
# None of them stays within a tenth everywhere, so there are fewer trials, and they are complete.

SizeOf = Callable[[SkinnedModel], int]

#: Largest cost of all trials beyond the first, in fits; and cost of a fit with corrections, in fits without them
#: (horse, 20 bones: 10.4 and 3.2 s of processor time). Costs count bones, not seconds, so that trials are reproducible.
MOST_WORK, CORRECTED = 1.25, 4.0
#: Factors of the number of bones to try, by the E % above which they apply.
GROWTH = ((15.0, 3.0), (5.0, 2.0), (0.1, 1.5))
#: Least number of bones to try for a poor result.
SOME_BONES = 8
#: Bones in place of corrections: factors of the model's number.
INSTEAD_OF_RANK = (2.0, 3.0)
#: Fraction of the bones for a smaller model.
FEWER = 2 / 3
#: A proposal reduces the error or the file by at least this fraction.
WORTH = 0.1


@dataclass(frozen=True, slots=True)
class Change:
    """Changed options for a trial."""

    name: str  # in words
    option: str  # on the command line
    options: SkinOptions


@dataclass(frozen=True, slots=True)
class Trial:
    """A measured fit with changed options."""

    name: str
    option: str
    error_percent: float  # E of all vertices and frames
    bytes: int  # of the file that was written

    def beats(self, other: Trial) -> bool:
        """Whether it is no worse in error and size, and better in one of them."""
        mine, its = (self.error_percent, self.bytes), (other.error_percent, other.bytes)
        return mine != its and mine[0] <= its[0] and mine[1] <= its[1]


def file_bytes(model: SkinnedModel, suffix: str = ".glb", options: SaveOptions | None = None) -> int:
    """Size of a model's file in bytes."""
    with scratch_folder() as folder:
        path = folder / f"model{suffix}"
        save_model(model, path, options=options or SaveOptions())
        return path.stat().st_size


def proposals(own: Trial, trials: Sequence[Trial], max_bytes: int | None = None) -> tuple[Trial, ...]:
    """Trials worth following, sorted by error: neither another trial nor the model `own` is better in both measures.

    None is larger than `max_bytes`.
    """
    worth = [t for t in trials if _worth_following(t, own) and (max_bytes is None or t.bytes <= max_bytes)]
    kept = [t for t in worth if not any(other.beats(t) for other in (own, *worth))]
    return tuple(sorted(kept, key=lambda trial: trial.error_percent))


def _worth_following(trial: Trial, own: Trial) -> bool:
    less = (1 - WORTH) * own.error_percent, (1 - WORTH) * own.bytes
    return trial.error_percent <= less[0] or trial.bytes <= less[1]


def run_trials(
    sequence: MeshSequence,
    changes: Sequence[Change],
    *,
    own: SkinOptions,
    size_of: SizeOf = file_bytes,
    rig: SkinnedModel | None = None,
    progress: Progress | None = None,
) -> tuple[Trial, ...]:
    """Run trials within the budget of about one fit with the options `own`."""
    found: list[Trial] = []
    work, most = 0.0, MOST_WORK * _work(own)
    for change in changes:
        work += _work(change.options)
        if found and work > most:
            break
        try:
            fit = skin_sequence(sequence, options=change.options, rig=rig, progress=_named(change, progress))
        except (GeometryError, OptionError):  # for example more bones than distinct vertices
            continue
        found.append(Trial(change.name, change.option, fit.report.error_percent, size_of(fit.model)))
    return tuple(found)


def _work(options: SkinOptions) -> float:
    """The cost of a fit, in bones."""
    return max(1, options.bones) * (CORRECTED if options.rank else 1.0)


def _named(change: Change, progress: Progress | None) -> Progress | None:
    """Progress events with the changed option as their stage."""
    if progress is None:
        return None
    return lambda event: progress(ProgressEvent(f"try {change.option}", event.fraction, event.error_percent))


def changes_to_try(report: SkinReport, options: SkinOptions, sequence: MeshSequence) -> tuple[Change, ...]:
    """Options that may improve a fit, most informative first."""
    if options.preset == "paper":
        return (_refined(report, options),)
    if report.rank:
        counts = _counts(report, sequence, INSTEAD_OF_RANK)
        return tuple(_other(options, bones=count, rank=0) for count in counts)
    grown = next((growth for error, growth in GROWTH if report.error_percent > error), FEWER)
    if report.error_percent > GROWTH[0][0]:
        grown = max(grown, SOME_BONES / report.bones)
    counts = _counts(report, sequence, (grown, FEWER))
    return tuple(_other(options, bones=count) for count in counts)


def rig_changes(report: SkinReport, options: SkinOptions) -> tuple[Change, ...]:
    """Options that may improve a fit to a rig: helper bones, and no corrections; or weights other than the paper's."""
    if options.preset == "paper":
        return (Change("weights by forward selection", "--preset default", change_options(options, preset="default")),)
    helpers = 2 * options.helpers or max(2, report.bones // 8)
    return (_other(options, helpers=helpers, **({"rank": 0} if report.rank else {})),)


def _counts(report: SkinReport, sequence: MeshSequence, growth: Sequence[float]) -> list[int]:
    """Distinct numbers of bones to try; a bone needs two distinct vertices and a triangle."""
    most = min(len(np.unique(sequence.rest, axis=0)) // 2, sequence.n_triangles)
    wanted = (min(most, max(1, round(times * report.bones))) for times in growth)
    return [count for count in dict.fromkeys(wanted) if count not in (0, report.bones)]


def _other(options: SkinOptions, **changed: int) -> Change:
    words = {"bones": "{} bones", "helpers": "{} helper bones", "rank": "corrections of rank {}"}
    named = [words[key].format(value) if value else "no corrections" for key, value in changed.items()]
    flags = [f"--{key} {value}" for key, value in changed.items()]
    return Change(" and ".join(named), " ".join(flags), change_options(options, **changed))


def _refined(report: SkinReport, options: SkinOptions) -> Change:
    """The default preset with the same number of bones, in place of the paper's."""
    refined = change_options(options, preset="default", bones=report.bones)
    option = f"--preset default --bones {report.bones} --bone-type {options.bone_type}"
    return Change("refined bones and weights", option, refined)


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
    """All additional fits; empty parts are omitted from the report."""

    tolerances: tuple[TolerancePoint, ...] = ()
    trials: tuple[Trial, ...] = ()
    own: Trial | None = None  # the model itself, measured as a trial
    tries: tuple[Try, ...] = ()  # measurements of a search
    max_bytes: int | None = None  # the requested size


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
    """The measurements to which a report compares its model; takes about as long as the fit.

    After a search, which has already measured many files (`tries`), there are no trials.
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
    """The rank of the model's corrections: the largest in the report."""
    return max((int(rank) for rank in report.error_percent_by_rank), default=0)


def tolerance_curve(
    sequence: MeshSequence,
    options: SkinOptions,
    tolerances: Sequence[float] = TOLERANCES,
    progress: Progress | None = None,
) -> tuple[TolerancePoint, ...]:
    """Number of bones and near-rigid fraction from mean shift for several tolerances."""
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
