"""What every report's page is made of: its head and style, sections, rows of charts. One file, nothing is fetched."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from importlib.resources import files

from osteon.io.doors.marks import MARK
from osteon.report.figures import Figure
from osteon.report.sections import chart_figure

__all__ = ["POLICY", "charts", "page", "section"]

#: Nothing may be fetched: only what is inside the file is shown and run.
POLICY = "default-src 'none'; img-src data:; style-src 'unsafe-inline'; script-src 'unsafe-inline'"


def page(title: str, body: str) -> str:
    """The whole page as text, from its title and the HTML of its body."""
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f'<meta name="generator" content="{MARK}">'
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">'
        f"<title>{escape(title)}</title><style>{_asset('page.css')}</style></head><body>{body}"
        f"<script>{_asset('page.js')}</script></body></html>\n"
    )


def _asset(name: str) -> str:
    return files("osteon.report").joinpath(name).read_text(encoding="utf-8")


def section(key: str, title: str, body: str) -> str:
    """A part of the page with its heading; nothing where there is nothing to show."""
    return f'<section id="{key}"><h2>{escape(title)}</h2>{body}</section>' if body else ""


def charts(figures: Sequence[Figure]) -> str:
    """Charts side by side."""
    body = "".join(chart_figure(figure) for figure in figures)
    return f'<div class="charts">{body}</div>' if body else ""
