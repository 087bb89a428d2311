"""The input of every benchmark: folder of data, threads, progress and the list of missing items."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from osteon.core.sequence import MeshSequence


def _silent(text: str) -> None:
    """Progress that is not shown."""


@dataclass(frozen=True, slots=True)
class BenchRun:
    """One run of a benchmark. It measures what it can; missing data and players are listed in `missing`."""

    data: Path  # folder of sequences
    threads: int
    report: Callable[[str], None] = _silent  # progress: what is measured now
    missing: list[str] = field(default_factory=list)
    inputs: int | None = None  # number of inputs of a trial, instead of the default
    search: bool = False  # repeat the search for a peer's best options
    against: Path | None = None  # another checkout, to compare with
    small: bool = False  # a tenth of the work, for a quick pass

    def report_missing(self, line: str) -> None:
        """Report a missing item, whose rows are omitted; each line is listed once."""
        if line not in self.missing:
            self.missing.append(line)


def find_sequence(run: BenchRun, name: str) -> MeshSequence | None:
    """The measured sequence of that name; None, and reported, if it is not in the folder of data."""
    from osteon.io import load_sequence

    path = run.data / f"{name}.npz"
    if path.is_file():
        return load_sequence(path)
    run.report_missing(f"'{path}' is missing; name the folder of {path.name} with --data")
    return None


def horse_or_fox(run: BenchRun) -> MeshSequence:
    """The horse, for which bounds are defined; if it is missing, the built-in fox."""
    from osteon.synth import SUBJECTS

    horse = find_sequence(run, "horse")
    if horse is not None:
        return horse
    run.report("the built-in fox replaces the horse")
    return SUBJECTS["creature"]()
