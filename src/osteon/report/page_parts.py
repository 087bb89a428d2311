"""What all reports share as pages: one HTML file with its style and script inside, sections, plain tables."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from importlib.resources import files

from osteon.io.save import GENERATOR

__all__ = ["POLICY", "section", "table", "whole_page"]

#: Nothing may be fetched: only what is inside the file is shown and run.
POLICY = "default-src 'none'; img-src data:; style-src 'unsafe-inline'; script-src 'unsafe-inline'"


def whole_page(title: str, body: str, style: str = "") -> str:
    """The page as text; `title` is plain text, `body` is HTML, `style` is added to that of all reports."""
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f'<meta name="generator" content="{GENERATOR}">'
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">'
        f"<title>{escape(title)}</title><style>{_asset('page.css')}{style}</style></head><body>{body}"
        f"<script>{_asset('page.js')}</script></body></html>\n"
    )


def section(title: str, body: str, key: str = "") -> str:
    """A part of a page with its heading; nothing without a body."""
    name = f' id="{key}"' if key else ""
    return f"<section{name}><h2>{escape(title)}</h2>{body}</section>" if body else ""


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A plain table."""
    top = "".join(f'<th scope="col">{escape(cell)}</th>' for cell in head)
    body = "".join(f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in row)}</tr>" for row in rows)
    return f'<div class="rows" tabindex="0"><table><thead><tr>{top}</tr></thead><tbody>{body}</tbody></table></div>'


def _asset(name: str) -> str:
    return files("osteon.report").joinpath(name).read_text(encoding="utf-8")
