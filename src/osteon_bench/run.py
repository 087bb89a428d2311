"""What every bench gets: where its data lies, how much it may use, and where it says what it misses."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from osteon.core.sequence import MeshSequence

__all__ = ["BenchRun", "find_sequence", "horse_or_fox"]


def _silent(text: str) -> None:
    """Progress that nobody wants to hear."""


@dataclass(frozen=True, slots=True)
class BenchRun:
    """One run of a bench. It measures what it can; whatever it lacks is a line in `missing`."""

    data: Path  # folder of sequences
    threads: int
    say: Callable[[str], None] = _silent  # progress: what is measured now
    missing: list[str] = field(default_factory=list)
    inputs: int | None = None  # of what is counted, a trial's number instead of the bench's own
    search: bool = False  # for the best options of a peer, instead of those found before
    against: Path | None = None  # another checkout, to compare with

    def miss(self, line: str) -> None:
        """Something is not there, so that rows are left out; said once however often it is missed."""
        if line not in self.missing:
            self.missing.append(line)


def find_sequence(run: BenchRun, name: str) -> MeshSequence | None:
    """The measured sequence of that name; None, and missed, where it is not in the folder of data."""
    from osteon.io import load_sequence

    path = run.data / f"{name}.npz"
    if path.is_file():
        return load_sequence(path)
    run.miss(f"'{path}' is not there; name the folder of {path.name} with --data")
    return None


def horse_or_fox(run: BenchRun) -> MeshSequence:
    """The horse that bounds are made for; where it is missed, the built-in fox stands in."""
    from osteon.synth import SUBJECTS

    horse = find_sequence(run, "horse")
    if horse is not None:
        return horse
    run.say("the built-in fox stands in for the horse")
    return SUBJECTS["creature"]()
