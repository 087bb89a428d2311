"""Charts and point clouds of a paper's figures as SVG, on the page and as files of their own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from html import escape
from importlib.resources import files

import numpy as np

from osteon.core.arrays import FloatArray
from osteon.papers.entries import Drawing
from osteon.report.charts import HEIGHT, WIDTH, Axis, Mark, Series, line_chart
from osteon.report.page_parts import number

#: Height of a drawing of the plane, and its free border.
TALL, EDGE = HEIGHT + 40, 34
#: Height of a line of the legend in a file, in the chart's units.
LINE = 18
#: Beginnings of the rules of the style sheet that files of drawings need.
DRAWN = (
    *(".plot text", ".plot .axis", ".plot .mark", ".plot .quiet", ".plot .spot", ".grid", ".base", ".mark", ".quiet"),
    *(".line", ".bar", ".box", ".whisker", ".median", ".interval", ".mean", ".centre", ".shade", ".frame-line"),
)


def curves(
    title: str, series: Sequence[Series], x: Axis, y: Axis, *, marks: Sequence[Mark] = (), note: str = ""
) -> Drawing:
    """A line chart with its legend, and its values as a table."""
    svg = line_chart(series, title=title, x=x, y=y, marks=marks)
    legend = tuple((s.kind, s.name) for s in series) if len(series) > 1 else ()
    at = sorted({float(v) for s in series for v in s.x})
    by_x = [dict(zip(map(float, s.x), s.y, strict=True)) for s in series]
    rows = tuple((number(v), *(number(values[v]) if v in values else "" for values in by_x)) for v in at)
    head = (x.label, *(s.name or y.label for s in series))
    return Drawing(title, svg, legend, note, head, rows)


def points_drawing(
    title: str,
    points: FloatArray,
    colors: Sequence[str],
    x: Axis,
    y: Axis,
    *,
    paths: Sequence[FloatArray] = (),
    spots: FloatArray | None = None,
    field: tuple[FloatArray, FloatArray] | None = None,
    radius: float = 2.0,
    note: str = "",
) -> Drawing:
    """Points of the plane in colours, paths and large marked spots on top, and a field (places, 0 … 1) below.

    The axes have one scale, so that distances are right in every direction.
    """
    place, zoom = _placing(np.concatenate([points, *paths]))
    parts = []
    if field is not None:
        at, values = field
        steps = [np.diff(np.unique(at[:, i])).min() * zoom + 0.5 for i in range(2)]
        parts += [
            f'<rect class="shade" x="{px - steps[0] / 2:.1f}" y="{py - steps[1] / 2:.1f}" width="{steps[0]:.1f}" '
            f'height="{steps[1]:.1f}" opacity="{value:.2f}"/>'
            for (px, py), value in zip(place(at), values, strict=True)
            if value > 0.01
        ]
    parts += [
        f'<circle cx="{px:.1f}" cy="{py:.1f}" r="{radius:g}" fill="{color}"/>'
        for (px, py), color in zip(place(points), colors, strict=True)
        if color != "none"
    ]
    for path in paths:
        text = "L".join(f"{px:.1f} {py:.1f}" for px, py in place(path))
        parts.append(f'<path class="base" d="M{text}"/>')
    if spots is not None:
        parts += [f'<circle class="centre" cx="{px:.1f}" cy="{py:.1f}" r="6"/>' for px, py in place(spots)]
    parts.append(f'<text class="axis" x="{WIDTH / 2}" y="{TALL - 8}" text-anchor="middle">{escape(x.label)}</text>')
    parts.append(f'<text class="axis" x="10" y="18">{escape(y.label)}</text>')
    return Drawing(title, _framed(title, parts), note=note)


def plane_drawing(
    title: str, shapes: Sequence[tuple[FloatArray, str]], labels: Sequence[tuple[FloatArray, str]], *, note: str = ""
) -> Drawing:
    """Filled polygons of the plane, each with a colour, and texts centred at places."""
    place, _ = _placing(np.concatenate([*(points for points, _ in shapes), *(at[None] for at, _ in labels)]))
    parts = []
    for points, color in shapes:
        text = "L".join(f"{px:.1f} {py:.1f}" for px, py in place(points))
        parts.append(f'<path d="M{text}Z" fill="{color}" fill-opacity="0.45" stroke="{color}" stroke-width="2"/>')
    for at, words in labels:
        ((px, py),) = place(at[None])
        parts.append(f'<text class="axis" x="{px:.1f}" y="{py:.1f}" text-anchor="middle">{escape(words)}</text>')
    return Drawing(title, _framed(title, parts), note=note)


def _placing(cloud: FloatArray) -> tuple[Callable[[FloatArray], FloatArray], float]:
    """The map from the plane to a drawing that shows all points, and its scale."""
    low, high = cloud.min(axis=0), cloud.max(axis=0)
    size = np.array([WIDTH, TALL])
    zoom = float(((size - 2 * EDGE) / np.maximum(high - low, 1e-12)).min())

    def place(values: FloatArray) -> FloatArray:
        return np.asarray(size / 2 + (values - (low + high) / 2) * (zoom, -zoom))

    return place, zoom


def _framed(title: str, parts: Sequence[str]) -> str:
    body = f'<rect class="frame-line" x="1" y="1" width="{WIDTH - 2}" height="{TALL - 2}"/>{"".join(parts)}'
    return f'<svg class="plot" viewBox="0 0 {WIDTH} {TALL}" role="img" aria-label="{escape(title)}">{body}</svg>'


def css_color(color: FloatArray) -> str:
    """An sRGB colour in 0 … 1 for SVG."""
    red, green, blue = (int(v) for v in (255 * np.clip(color, 0, 1)).round())
    return f"rgb({red},{green},{blue})"


def legend_html(drawing: Drawing) -> str:
    """The legend below the title."""
    items = "".join(f"<li>{_key(kind)}{escape(name)}</li>" for kind, name in drawing.legend)
    return f'<ul class="legend">{items}</ul>' if items else ""


def _key(kind: int) -> str:
    return f'<svg class="key" viewBox="0 0 26 8" aria-hidden="true"><path class="line k{kind}" d="M1 4H25"/></svg>'


def whole_svg(drawing: Drawing) -> str:
    """The drawing as a file: its title, its legend and the style that it needs, in light and dark."""
    inner = drawing.svg.split(">", 1)[1].rpartition("</svg>")[0]
    high = float(drawing.svg.split('viewBox="0 0 ', 1)[1].split('"', 1)[0].split()[1])
    above = 32 + LINE * len(drawing.legend)
    keys = "".join(
        f'<path class="line k{kind}" d="M10 {34 + LINE * i}h26"/>'
        f'<text class="axis" x="44" y="{38 + LINE * i}">{escape(name)}</text>'
        for i, (kind, name) in enumerate(drawing.legend)
    )
    size = f'width="{WIDTH + 20}" height="{high + above + 10:g}" viewBox="0 0 {WIDTH + 20} {high + above + 10:g}"'
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="plot" {size} role="img" aria-label="{escape(drawing.title)}">'
        f'<style>{_style()}</style><rect width="100%" height="100%" fill="var(--paper)"/>'
        f'<text class="axis title" x="10" y="20">{escape(drawing.title)}</text>{keys}'
        f'<g transform="translate(10 {above})">{inner}</g></svg>\n'
    )


@lru_cache(maxsize=1)
def _style() -> str:
    """The colours of the page's style sheet in both schemes, and its rules for drawings."""
    sheet = files("osteon.report").joinpath("page.css").read_text(encoding="utf-8")
    colors, _, rules = sheet.partition("* {")
    kept = [line for line in rules.splitlines() if line.startswith(DRAWN)]
    more = ".hit, .cursor { display: none; } .plot .title { font-size: 15px; font-weight: 600; }"
    return escape("\n".join([colors, *kept, more]), quote=False)
