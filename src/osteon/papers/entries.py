"""Figures and tables of a paper, and the parts that are made for them: pictures, drawings, tables, comparisons."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from osteon.core.errors import OptionError
from osteon.report.gallery import Picture
from osteon.report.page_parts import number
from osteon.report.picture import HeatScale

if TYPE_CHECKING:
    from osteon.papers.run import PaperRun

Kind = Literal["figure", "table"]
Row = tuple[str, ...]
#: Columns of pictures for which the page has a layout.
COLUMNS = {1: "one", 2: "two", 3: "three", 4: "four", 5: "five"}


@dataclass(frozen=True, slots=True)
class Entry:
    """A figure or a table of a paper, and the function that makes it."""

    kind: Kind
    number: int
    title: str
    shows: str  # what the one in the paper shows, in our words
    maker: str  # "module:function" below osteon.papers, PaperRun -> Shown

    @property
    def key(self) -> str:
        """`figure-5`: the name of its files, its place on the page and its key in JSON."""
        return f"{self.kind}-{self.number}"

    @property
    def label(self) -> str:
        return f"{self.kind.capitalize()} {self.number}"

    def make(self, run: PaperRun) -> Shown:
        module, _, function = self.maker.partition(":")
        shown: Shown = getattr(import_module(f"osteon.papers.{module}"), function)(run)
        return shown


@dataclass(frozen=True, slots=True)
class Panels:
    """Pictures in rows of `columns`."""

    pictures: tuple[Picture, ...]
    columns: int
    scale: HeatScale | None = None  # of heat maps
    title: str = ""

    def __post_init__(self) -> None:
        if not self.pictures or self.columns not in COLUMNS:
            raise OptionError(f"panels: expected pictures in 1 … 5 columns, got {len(self.pictures)}, {self.columns}")


@dataclass(frozen=True, slots=True)
class Drawing:
    """A chart or a diagram as SVG, with its legend and the table of its numbers."""

    title: str
    svg: str  # an element `svg` in the classes of the page's style sheet
    legend: tuple[tuple[int, str], ...] = ()  # kind of line (`charts.Series`), name
    note: str = ""
    head: Row = ()
    rows: tuple[Row, ...] = ()


@dataclass(frozen=True, slots=True)
class Table:
    """A table; rows that `printed` names by number are those of the paper."""

    head: Row
    rows: tuple[Row, ...]
    printed: frozenset[int] = frozenset()
    title: str = ""
    note: str = ""

    def __post_init__(self) -> None:
        if any(len(row) != len(self.head) for row in self.rows):
            raise OptionError(f"table: expected {len(self.head)} cells in every row")


Part = Panels | Drawing | Table


@dataclass(frozen=True, slots=True)
class Compared:
    """A number that the paper prints, beside ours."""

    what: str
    printed: float
    ours: float
    source: str  # where the paper prints it
    unit: str = ""
    why: str = ""  # one sentence, needed where the two differ

    def __post_init__(self) -> None:
        if not np.isfinite(self.ours):
            raise OptionError(f"{self.what}: expected a finite number, got {self.ours}")
        if self.differs and not self.why:
            raise OptionError(f"{self.what}: {self.ours} differs from the printed {self.printed}; say why")

    @property
    def differs(self) -> bool:
        """Whether the numbers differ when they are written with the digits that are shown."""
        return number(self.printed) != number(self.ours)


@dataclass(frozen=True, slots=True)
class Shown:
    """A figure or a table as made now."""

    text: str  # what is drawn, with its subject
    parts: tuple[Part, ...]
    compared: tuple[Compared, ...] = ()
    numbers: Mapping[str, Any] = field(default_factory=dict)  # for machines: numbers, texts, lists of them

    def __post_init__(self) -> None:
        if not self.parts:
            raise OptionError("figure: expected at least one picture, drawing or table")


@dataclass(frozen=True, slots=True)
class Made:
    """An entry with what was made, and how long that took."""

    entry: Entry
    shown: Shown
    seconds: float

    def to_json(self) -> dict[str, Any]:
        compared = [
            {"what": c.what, "paper": c.printed, "osteon": float(c.ours), "unit": c.unit, "source": c.source}
            | ({"why": c.why} if c.differs else {})
            for c in self.shown.compared
        ]
        return {
            "title": self.entry.title,
            "text": self.shown.text,
            "seconds": round(self.seconds, 2),
            "compared": compared,
            "numbers": plain_json(self.shown.numbers),
        }


def plain_json(value: Any) -> Any:
    """NumPy numbers and arrays as plain numbers and lists, six digits each; what is not finite becomes None."""
    if isinstance(value, Mapping):
        return {str(key): plain_json(one) for key, one in value.items()}
    if isinstance(value, np.ndarray):
        return plain_json(value.tolist())
    if isinstance(value, (float, np.floating)):
        return float(f"{float(value):.6g}") if np.isfinite(value) else None
    if isinstance(value, np.integer):
        return int(value)
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [plain_json(one) for one in value]
    return value
