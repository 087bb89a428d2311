"""Third-party files: every file below `--data` is read, skinned and played by the command line.

A file is rejected in one clear line, or it works: no traceback, and below 10 MB no command takes more than 60 s or 1
GB. `info` and `skin` agree: both read a file or both reject it, and files that `info` calls animated are skinned.
Characters of rigid joints with up to four influences are sampled to frames and skinned again on their own rig
(`--rig`): E of this round trip is measured between the frames of both files.
"""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory

from osteon_bench.foreign.sources import ForeignSource, find_sources
from osteon_bench.foreign.trial import Trial, try_source
from osteon_bench.rows import Row, at_most, figure
from osteon_bench.run import BenchRun

#: Bounds for files below this many bytes: seconds and megabytes of any command.
SMALL, SECONDS, MEGABYTES = 10_000_000, 60.0, 1000.0
ROUND_TRIP = 0.1  # E %


def bench_strangers(run: BenchRun) -> list[Row]:
    """Rows of each animated file, then a summary."""
    sources = find_sources(run.data) if run.data.is_dir() else []
    if not sources:
        run.report_missing(f"'{run.data}' holds no file of a known format; name a folder with --data")
        return []
    trials = [_tried(run, source) for source in sources]
    return [row for trial in trials for row in _rows(trial)] + _totals(trials)


def _tried(run: BenchRun, source: ForeignSource) -> Trial:
    with TemporaryDirectory(prefix="osteon-strangers-") as folder:
        trial = try_source(source, Path(folder), run.threads)
    if not trial.agrees:
        run.report(f"{source.name}: osteon info and osteon skin disagree: {trial.runs[-1].reason}")
    for broken in trial.broken:
        run.report(f"{source.name}: osteon {broken.words[0]} broke: {broken.reason}")
    if trial.refused is not None:
        run.report(f"{source.name}: osteon {trial.refused.words[0]} refused: {trial.refused.reason}")
    elif not trial.broken:
        run.report(f"{source.name}: {_story(trial)}, {trial.seconds:.1f} s, {trial.megabytes:.0f} MB")
    return trial


def _story(trial: Trial) -> str:
    if not trial.animated:
        return "still"
    own = "" if trial.round_trip_percent is None else f", {trial.round_trip_percent:.2g} % on its own rig"
    return f"E {trial.error_percent:.3g} %{own}"


def _rows(trial: Trial) -> list[Row]:
    case = trial.source.name
    small = trial.source.bytes < SMALL
    cost = [("seconds of the slowest command", trial.seconds, SECONDS), ("MB at most", trial.megabytes, MEGABYTES)]
    rows = [at_most(case, what, value, bound) if small else figure(case, what, value) for what, value, bound in cost]
    if trial.error_percent is not None:
        rows.append(figure(case, "E %", trial.error_percent))
    if trial.round_trip_percent is not None:
        rows.append(at_most(case, "E % on its own rig", trial.round_trip_percent, ROUND_TRIP))
    return rows


def _totals(trials: list[Trial]) -> list[Row]:
    refused = [trial for trial in trials if trial.refused is not None]
    reasons = Counter(_reason(trial) for trial in refused)
    return [
        figure("all", "files", len(trials)),
        figure("all", "animated", sum(trial.animated for trial in trials)),
        figure("all", "skinned and played", sum(trial.animated and _went_well(trial) for trial in trials)),
        figure("all", "refused", len(refused)),
        at_most("all", "tracebacks, signals and wrong codes", sum(len(trial.broken) for trial in trials), 0),
        at_most("all", "files on which info and skin disagree", sum(not trial.agrees for trial in trials), 0),
        at_most("all", "refusals that do not name the file", sum(not _names_file(trial) for trial in refused), 0),
        *(figure("refused", reason, count) for reason, count in reasons.most_common()),
    ]


def _went_well(trial: Trial) -> bool:
    return all(run.done for run in trial.runs)


def _reason(trial: Trial) -> str:
    """The message without file names and numbers, so that equal reasons are counted together."""
    assert trial.refused is not None
    text = trial.refused.reason.removeprefix("osteon: ")
    for file in trial.source.files:
        text = text.replace(str(file), "FILE").replace(file.name, "FILE")
    return re.sub(r"\d+", "N", text)


def _names_file(trial: Trial) -> bool:
    assert trial.refused is not None
    return any(
        file.stem in trial.refused.reason or file.parent.name in trial.refused.reason for file in trial.source.files
    )
