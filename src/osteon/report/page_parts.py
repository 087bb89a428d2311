"""Building blocks of all reports: the HTML page with its style and script inside, tables, and formatted numbers."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from importlib.resources import files

import numpy as np

from osteon.io.save import GENERATOR

#: Nothing is fetched: only what is inside the file is shown and run.
POLICY = "default-src 'none'; img-src data:; style-src 'unsafe-inline'; script-src 'unsafe-inline'"


def whole_page(title: str, body: str, style: str = "") -> str:
    """The page as text; `title` is plain text, `body` is HTML, `style` is appended to the common style sheet."""
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f'<meta name="generator" content="{GENERATOR}">'
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">'
        f"<title>{escape(title)}</title><style>{_asset('page.css')}{style}</style></head><body>{body}"
        f"<script>{_asset('page.js')}</script></body></html>\n"
    )


def section(title: str, body: str, key: str = "") -> str:
    """A section of a page with its heading; empty without a body."""
    name = f' id="{key}"' if key else ""
    return f"<section{name}><h2>{escape(title)}</h2>{body}</section>" if body else ""


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A plain table."""
    top = "".join(f'<th scope="col">{escape(cell)}</th>' for cell in head)
    body = "".join(f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in row)}</tr>" for row in rows)
    return f'<div class="rows" tabindex="0"><table><thead><tr>{top}</tr></thead><tbody>{body}</tbody></table></div>'


def grouped_table(
    groups: Sequence[tuple[str, int]], head: Sequence[str], corner: str, rows: Sequence[tuple[str, Sequence[str]]]
) -> str:
    """A table with two lines of headings; rows are the HTML of a heading and of the cells."""
    starts = {sum(count for _, count in groups[:i]) for i in range(len(groups))}
    begins = [' class="begins"' if i in starts else "" for i in range(len(head))]
    above = "".join(f'<th scope="colgroup" colspan="{count}">{escape(name)}</th>' for name, count in groups)
    top = "".join(f'<th scope="col"{begins[i]}>{escape(name)}</th>' for i, name in enumerate(head))
    body = "".join(
        f'<tr><th scope="row">{name}</th>'
        + "".join(f"<td{begins[i]}>{cell}</td>" for i, cell in enumerate(cells))
        + "</tr>"
        for name, cells in rows
    )
    return (
        '<div class="measures" tabindex="0"><table><thead>'
        f'<tr><td></td>{above}</tr><tr><th scope="col">{corner}</th>{top}</tr></thead>'
        f"<tbody>{body}</tbody></table></div>"
    )


def _asset(name: str) -> str:
    return files("osteon.report").joinpath(name).read_text(encoding="utf-8")


def number(value: float) -> str:
    """Three significant digits; an exponent only for very small and very large values."""
    size = abs(value)
    if size == 0 or 1e-4 <= size < 1000:
        return f"{value:.3g}"
    if size < 1e7:
        return f"{value:,.0f}" if size >= 1000 else f"{value:.1e}".replace("e-0", "e-")
    return f"{value:.2e}".replace("e+0", "e")


def percent(value: float) -> str:
    """A number of percent, joined with its sign by a no-break space."""
    return f"{number(value)}\u00a0%"


def brief(value: float) -> str:
    """Percent with two significant digits, or an integer from a hundred on, for use in a sentence."""
    return percent(float(f"{value:.2g}") if abs(value) < 100 else float(round(value)))


def share(fraction: float) -> str:
    """A fraction as integer percent, or with one decimal if it is small."""
    return f"{100 * fraction:.{0 if fraction >= 0.1 or fraction == 0 else 1}f}\u00a0%"


def nice_ticks(low: float, high: float, count: int = 5) -> list[float]:
    """Up to about `count` round values in low … high: steps of one, two or five times a power of ten."""
    rough = max(high - low, 1e-300) / max(1, count)
    power = 10.0 ** float(np.floor(np.log10(rough)))
    step = next(m * power for m in (1, 2, 5, 10) if m * power >= rough * (1 - 1e-9))
    first = int(np.ceil(low / step - 1e-9))
    return [float(f"{i * step:.12g}") for i in range(first, int(np.floor(high / step + 1e-9)) + 1)]


def log_ticks(low: float, high: float, count: int = 6) -> list[float]:
    """Round values in low … high for a logarithmic axis: multiples of 1, 2 and 5, or fewer if these are too many."""
    powers = range(int(np.floor(np.log10(low))), int(np.ceil(np.log10(high))) + 1)
    inside: list[float] = []
    for digits in ((1, 2, 5), (1, 3), (1,)):
        values = (float(f"{d}e{p}") for p in powers for d in digits)
        inside = [v for v in values if low * (1 - 1e-9) <= v <= high * (1 + 1e-9)]
        if len(inside) <= count:
            return inside
    return inside[:: -(-len(inside) // count)]
