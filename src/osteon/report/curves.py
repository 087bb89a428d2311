"""What a report knows beyond its model: whole fits with something changed, and clusterings at other tolerances.

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

__all__ = [
    "Change",
    "ReportCurves",
    "TolerancePoint",
    "Trial",
    "changes_to_try",
    "file_bytes",
    "proposals",
    "rank_of",
    "report_curves",
    "rig_changes",
    "run_trials",
    "tolerance_curve",
]

# What another choice of options gives: whole fits of the whole sequence, made while the report is written.
#
# A proposal is something that was done. A trial is the fit that the command line would make with one thing changed: all
# vertices, all frames, all rounds, the same seed. So its E is the E that whoever follows the proposal gets, and its
# size is that of a file which was written and weighed.
#
# Notes: what was tried to make trials cheaper, E of the trial over E of the fit that follows the advice:
# | way                                                            | off by                                  |
# | -------------------------------------------------------------- | --------------------------------------- |
# | ratio of quick fits on 300 triangles and 32 frames             | 0.84 … 1.17; 16 bones: 1.9 % for 20.2 % |
# | all vertices, 3 rounds, cloth; 0.5 … 1 of the whole fit's time | 1.2 … 2.2                               |
# | all vertices, 6 rounds, cloth                                  | 1.09 … 1.84                             |
# | all vertices, 4 rounds, horse                                  | 0.95 … 1.03                             |
# | cut to a lower rank, for a fit with that rank; cloth and ball  | 1.05 … 1.3                              |
# | from the model's own bones, 4 rounds                           | 0.95 … 1.13 on five sequences           |
# | the same without shading, built-in ball and cylinder           | 3.4, 2.9                                |
# None of them keeps within a tenth everywhere, so there are fewer trials, and they are whole.

SizeOf = Callable[[SkinnedModel], int]

#: What all trials may cost beyond the first, in fits, and what corrections cost, in fits without them (horse, 20 bones:
#: 10.4 and 3.2 s of processor). Bones count, not seconds: the same fit is always followed by the same trials.
MOST_WORK, CORRECTED = 1.25, 4.0
#: How many times the bones are tried, by the E % from which on.
GROWTH = ((15.0, 3.0), (5.0, 2.0), (0.1, 1.5))
#: A poor result is tried with at least so many.
SOME_BONES = 8
#: Bones in place of corrections: how many times the model's own.
INSTEAD_OF_RANK = (2.0, 3.0)
#: A smaller model has this part of the bones.
FEWER = 2 / 3
#: A proposal takes away at least this part of the error or of the file.
WORTH = 0.1


@dataclass(frozen=True, slots=True)
class Change:
    """Something to try."""

    name: str  # in words
    option: str  # on the command line
    options: SkinOptions


@dataclass(frozen=True, slots=True)
class Trial:
    """A fit with something changed, done and measured."""

    name: str
    option: str
    error_percent: float  # E of all vertices and frames
    bytes: int  # of the file that was written

    def beats(self, other: Trial) -> bool:
        """Whether it is no worse in error and size, and better in one of them."""
        mine, its = (self.error_percent, self.bytes), (other.error_percent, other.bytes)
        return mine != its and mine[0] <= its[0] and mine[1] <= its[1]


def file_bytes(model: SkinnedModel, suffix: str = ".glb", options: SaveOptions | None = None) -> int:
    """Bytes of the file that a model becomes."""
    with scratch_folder() as folder:
        path = folder / f"model{suffix}"
        save_model(model, path, options=options or SaveOptions())
        return path.stat().st_size


def proposals(own: Trial, trials: Sequence[Trial], max_bytes: int | None = None) -> tuple[Trial, ...]:
    """Trials worth following, the smallest error first: nothing beats them, neither another one nor the model `own`.

    None is larger than the size that was asked for.
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
    """Make the fits one after the other, as many as take about the time of a fit with the options `own`."""
    found: list[Trial] = []
    work, most = 0.0, MOST_WORK * _work(own)
    for change in changes:
        work += _work(change.options)
        if found and work > most:
            break
        try:
            fit = skin_sequence(sequence, options=change.options, rig=rig, progress=_named(change, progress))
        except (GeometryError, OptionError):  # such as more bones than distinct vertices
            continue
        found.append(Trial(change.name, change.option, fit.report.error_percent, size_of(fit.model)))
    return tuple(found)


def _work(options: SkinOptions) -> float:
    """How much a fit is to do, in bones."""
    return max(1, options.bones) * (CORRECTED if options.rank else 1.0)


def _named(change: Change, progress: Progress | None) -> Progress | None:
    """Progress that says what is tried."""
    if progress is None:
        return None
    return lambda event: progress(ProgressEvent(f"try {change.option}", event.fraction, event.error_percent))


def changes_to_try(report: SkinReport, options: SkinOptions, sequence: MeshSequence) -> tuple[Change, ...]:
    """What may do better than a fit with these options, the most telling first."""
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
    """What may do better where the joints of a rig are kept: bones beside them, and no corrections."""
    helpers = 2 * options.helpers or max(2, report.bones // 8)
    return (_other(options, helpers=helpers, **({"rank": 0} if report.rank else {})),)


def _counts(report: SkinReport, sequence: MeshSequence, growth: Sequence[float]) -> list[int]:
    """Numbers of bones to try, each once; a bone needs two vertices of its own and a triangle."""
    most = min(len(np.unique(sequence.rest, axis=0)) // 2, sequence.n_triangles)
    wanted = (min(most, max(1, round(times * report.bones))) for times in growth)
    return [count for count in dict.fromkeys(wanted) if count not in (0, report.bones)]


def _other(options: SkinOptions, **changed: int) -> Change:
    words = {"bones": "{} bones", "helpers": "{} helper bones", "rank": "corrections of rank {}"}
    named = [words[key].format(value) if value else "no corrections" for key, value in changed.items()]
    flags = [f"--{key} {value}" for key, value in changed.items()]
    return Change(" and ".join(named), " ".join(flags), change_options(options, **changed))


def _refined(report: SkinReport, options: SkinOptions) -> Change:
    """The default preset with as many bones, in place of the paper's."""
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
