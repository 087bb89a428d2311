"""One run of `osteon paper`: options, subjects and fits that several figures share, and the making of entries."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from osteon.core.compile_kernels import compile_kernels
from osteon.core.errors import OptionError
from osteon.core.options import check_options, option
from osteon.core.progress import Progress, ProgressEvent, report_progress
from osteon.fit.kernel_modules import ALL_KERNELS
from osteon.papers.entries import Entry, Kind, Made

if TYPE_CHECKING:
    from osteon.core.sequence import MeshSequence

T = TypeVar("T")
#: Where sequences are in the folder of `--data`.
SEQUENCES = "sequences"


def read_numbers(text: str) -> tuple[int, ...]:
    """'3,7' or '3-7' as numbers."""
    found: list[int] = []
    for part in text.replace(" ", "").split(","):
        first, dash, last = part.partition("-")
        last = last if dash else first
        if not (first.isdecimal() and last.isdecimal() and 0 < int(first) <= int(last) < 1000):
            raise OptionError(f"expected numbers such as 3,7 or 3-7, got '{text}'")
        found += range(int(first), int(last) + 1)
    return tuple(dict.fromkeys(found))


@dataclass(frozen=True, slots=True)
class PaperOptions:
    """Which figures and tables are made, and of what."""

    figures: tuple[int, ...] | None = option(
        None,
        help="Make only these figures.",
        flags=("--figures",),
        metavar="3,7-9",
        parse=read_numbers,
        shown_default="all, unless --table is given",
    )
    tables: tuple[int, ...] | None = option(
        None,
        help="Make only these tables.",
        flags=("--table",),
        metavar="1",
        parse=read_numbers,
        shown_default="all, unless --figures is given",
    )
    data: Path | None = option(
        None,
        help="Folder with measured subjects: sequences/NAME.npz and meshes/ take the place of built-in ones.",
        flags=("--data",),
        metavar="FOLDER",
        shown_default="built-in subjects",
    )
    quick: bool = option(
        False,
        help="Coarse subjects and few frames: seconds instead of minutes, with other numbers.",
        flags=("--quick",),
    )
    threads: int = option(0, help="0: all cores.", flags=("--threads",), minimum=0)

    def __post_init__(self) -> None:
        check_options(self)

    def chosen(self, entries: Sequence[Entry]) -> tuple[Entry, ...]:
        """The entries to make, in the order of the paper; refuses numbers that the paper does not have."""
        wanted: dict[Kind, tuple[int, ...] | None] = {"figure": self.figures, "table": self.tables}
        for kind, numbers in wanted.items():
            known = [e.number for e in entries if e.kind == kind]
            missing = [n for n in numbers or () if n not in known]
            if missing:
                flag = "--figures" if kind == "figure" else "--table"
                listed = ", ".join(map(str, known)) or "none"
                raise OptionError(f"{flag}: the paper has no {kind} {missing[0]} to make; its {kind}s are {listed}")
        every = self.figures is None and self.tables is None
        return tuple(e for e in entries if every or e.number in (wanted[e.kind] or ()))


@dataclass(slots=True)
class PaperRun:
    """The state of a run: everything that is made is kept until the end, under a name."""

    options: PaperOptions = PaperOptions()
    progress: Progress | None = None
    _kept: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        folder = self.options.data
        if folder is not None and not folder.is_dir():
            raise OptionError(f"--data: '{folder}' is not a folder; name one that holds {SEQUENCES}/NAME.npz")

    def once(self, name: str, make: Callable[[], T]) -> T:
        """The result of `make` when it was first called under this name."""
        if name not in self._kept:
            self._kept[name] = make()
        found: T = self._kept[name]
        return found

    def size(self, full: int, quick: int) -> int:
        """A number that defines the size of the work."""
        return quick if self.options.quick else full

    def measured(self, name: str) -> MeshSequence | None:
        """The sequence of that name in the folder of data; None if there is none."""
        if self.options.data is None:
            return None
        path = self.options.data / SEQUENCES / f"{name}.npz"
        if not path.is_file():
            return None
        from osteon.io import load_sequence

        return self.once(f"file {name}", lambda: load_sequence(path))

    def mesh_file(self, name: str) -> Path | None:
        """A file in meshes/ of the folder of data; None if there is none."""
        path = None if self.options.data is None else self.options.data / "meshes" / name
        return path if path is not None and path.is_file() else None

    def make(self, entries: Sequence[Entry]) -> tuple[Made, ...]:
        """Make entries one by one; the time of one includes what later ones share with it."""
        compile_kernels(ALL_KERNELS, self.progress)
        outer, made = self.progress, []
        try:
            for entry in entries:
                stage = f"{entry.label}, {entry.title}"
                report_progress(outer, stage, 0.0)
                self.progress = None if outer is None else _under(outer, stage)
                begin = time.perf_counter()
                made.append(Made(entry, entry.make(self), time.perf_counter() - begin))
        finally:
            self.progress = outer
        return tuple(made)


def _under(outer: Progress, stage: str) -> Progress:
    """Progress of the work for a figure, under the name of the figure."""
    return lambda event: outer(ProgressEvent(stage, event.fraction, event.error_percent))
