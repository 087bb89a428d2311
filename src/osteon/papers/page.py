"""The page of a paper: its figures and tables in order, each with our numbers beside the printed ones."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from html import escape

from osteon import __version__
from osteon.io.load.source import PathLike
from osteon.io.save.atomic import atomic_file
from osteon.papers.drawings import legend_html
from osteon.papers.entries import COLUMNS, Compared, Drawing, Made, Panels, Part, Table
from osteon.papers.registry import Paper
from osteon.report.page_parts import number, percent, section, table, whole_page
from osteon.report.sections import ScaleWords, heat_scale, picture_row

#: Columns of a table beyond which it is set in small letters.
MANY = 8
STYLE = (
    ".contents { columns: 2 22rem; padding-left: 0; list-style: none; margin: 1.2rem 0 0; }"
    ".contents li { padding: .12rem 0; break-inside: avoid; }"
    ".contents a { color: var(--accent); text-decoration: none; }"
    ".contents a:hover { text-decoration: underline; }"
    ".contents small, h2 small { color: var(--soft); font-weight: 400; font-size: .88rem; }"
    ".shows { color: var(--soft); }"
    ".measures .printed > * { color: var(--soft); }"
    ".measures.compared :is(td, th):nth-child(n+4) { text-align: left; white-space: normal; }"
    ".measures.compared td:last-child { min-width: 16rem; } .measures.compared td:nth-child(4) { white-space: nowrap; }"
    ".measures.dense { font-size: .8rem; } .measures.dense thead th { white-space: normal; vertical-align: bottom; }"
    ".measures.dense :is(th, td) { padding: .3rem 0 .3rem .7rem; } .measures.dense :first-child { padding-left: 0; }"
    ".pictures.one { max-width: 70rem; }"
    ".part { margin: 1rem 0 1.4rem; } .part > figure { max-width: 36rem; }"
    "@media (max-width: 640px) { .measures.compared :is(th, td) { white-space: normal; padding-left: .6rem; }"
    ".measures.compared td:last-child { min-width: 11rem; }"
    ".four, .five { grid-template-columns: repeat(2, minmax(0, 1fr)); } }"
)


def write_paper_page(path: PathLike, number_of: int, paper: Paper, made: Sequence[Made], *, subjects: str) -> None:
    """Write the page; the file appears whole or not at all."""
    with atomic_file(path) as temporary:
        temporary.write_text(build_paper_page(number_of, paper, made, subjects=subjects), encoding="utf-8")


def build_paper_page(number_of: int, paper: Paper, made: Sequence[Made], *, subjects: str) -> str:
    """The whole page as text; `subjects` says what the figures are made of."""
    items = "".join(
        f'<li><a href="#{one.entry.key}">{one.entry.label}</a> {escape(one.entry.title)}</li>' for one in made
    )
    head = (
        f"<header><h1>{escape(paper.title)}</h1>"
        f'<p class="verdict">{escape(paper.authors)}, {escape(paper.published)}: its figures and tables, made again '
        f"by Osteon.</p><p>{escape(subjects)} Our numbers are measured in this run; numbers of the paper are those "
        f'that it prints.</p><nav><ul class="contents">{items}</ul></nav></header>'
    )
    body = "".join(section(f"{one.entry.label}. {one.entry.title}", _entry(one), one.entry.key) for one in made)
    seconds = sum(one.seconds for one in made)
    footer = f"<footer><p>Made by osteon paper {number_of}, Osteon {__version__}, in {seconds:.0f} s.</p></footer>"
    return whole_page(f"{paper.title}: figures", f"{head}<main>{body}</main>{footer}", STYLE)


def _entry(made: Made) -> str:
    shown = made.shown
    lead = f'<p class="shows">In the paper: {escape(made.entry.shows)}</p><p>{escape(shown.text)}</p>'
    drawings = [part for part in shown.parts if isinstance(part, Drawing)]
    others = "".join(_part(part) for part in shown.parts if not isinstance(part, Drawing))
    charts = "".join(_drawing(part) for part in drawings)
    charts = f'<div class="charts">{charts}</div>' if len(drawings) > 1 else f'<div class="part">{charts}</div>'
    compared = _comparison(shown.compared)
    if compared and made.entry.kind == "table":  # whose rows hold most of these numbers already
        compared = f"<details><summary>Differences, one by one</summary>{compared}</details>"
    return f"{lead}{others}{charts if drawings else ''}{compared}"


def _part(part: Part) -> str:
    if isinstance(part, Panels):
        title = f"<h3>{escape(part.title)}</h3>" if part.title else ""
        body = title + picture_row(part.pictures, COLUMNS[part.columns])
        if part.scale is not None:
            unit = part.scale.unit
            words = ScaleWords(_written(unit), unit=unit, spoken=unit, more="Darker is more.")
            body += heat_scale(part.scale.maximum, part.scale.label, words)
        return body
    if isinstance(part, Table):
        return _table(part)
    return _drawing(part)


def _written(unit: str) -> Callable[[float], str]:
    """How values of a scale are written."""
    return percent if unit.startswith("%") else number


def _drawing(part: Drawing) -> str:
    numbers = ""
    if part.rows:
        numbers = f"<details><summary>Numbers</summary>{table(part.head, part.rows)}</details>"
    return (
        f'<figure><h3>{escape(part.title)}</h3>{legend_html(part)}{part.svg}<p class="readout" aria-live="polite"></p>'
        f"<figcaption>{escape(part.note)}</figcaption>{numbers}</figure>"
    )


def _table(part: Table) -> str:
    head = "".join(f'<th scope="col">{escape(cell)}</th>' for cell in part.head)
    rows = ""
    for i, (first, *cells) in enumerate(part.rows):
        kind = ' class="printed"' if i in part.printed else ""
        rows += f'<tr{kind}><th scope="row">{escape(first)}</th>' + "".join(f"<td>{escape(c)}</td>" for c in cells)
        rows += "</tr>"
    title = f"<h3>{escape(part.title)}</h3>" if part.title else ""
    note = f'<p class="note">{escape(part.note)}</p>' if part.note else ""
    kind = "measures dense" if len(part.head) > MANY else "measures"
    return (
        f'{title}<div class="{kind}" tabindex="0"><table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>'
        f"</div>{note}"
    )


def _comparison(compared: Sequence[Compared]) -> str:
    """The printed numbers beside ours."""
    if not compared:
        return ""
    rows = ""
    for c in compared:
        cells = (
            _value(c.printed, c.unit),
            _value(c.ours, c.unit),
            escape(c.source),
            escape(c.why if c.differs else ""),
        )
        rows += f'<tr><th scope="row">{escape(c.what)}</th>{"".join(f"<td>{cell}</td>" for cell in cells)}</tr>'
    head = "".join(f'<th scope="col">{name}</th>' for name in ("", "paper", "Osteon", "printed in", "difference"))
    body = f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"
    return f'<div class="measures compared" tabindex="0">{body}</div>'


def _value(value: float, unit: str) -> str:
    return f"{number(value)}\u00a0{escape(unit)}" if unit else number(value)
