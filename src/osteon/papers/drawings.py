"""Charts and point clouds of a paper's figures as SVG, on the page and as files of their own."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from html import escape
from importlib.resources import files

import numpy as np

from osteon.core.arrays import FloatArray
from osteon.papers.entries import Drawing
from osteon.report.charts import HEIGHT, WIDTH, Axis, Mark, Series, line_chart
from osteon.report.page_parts import number

#: Height of a line of the legend in a file, in the chart's units.
LINE = 18
#: Beginnings of the rules of the style sheet that files of drawings need.
DRAWN = (
    *(".plot text", ".plot .axis", ".plot .mark", ".plot .quiet", ".plot .spot", ".grid", ".base", ".mark", ".quiet"),
    *(".line", ".bar", ".box", ".whisker", ".median", ".interval", ".mean", ".centre"),
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
    radius: float = 2.0,
    note: str = "",
) -> Drawing:
    """Points of the plane in colours, with paths of other points and large marked spots on top.

    The axes have one scale, so that distances are right in every direction.
    """
    cloud = np.concatenate([points, *paths] if paths else [points])
    low, high = cloud.min(axis=0), cloud.max(axis=0)
    room = np.array([WIDTH - 2 * _EDGE, HEIGHT + 40 - 2 * _EDGE])
    zoom = float((room / np.maximum(high - low, 1e-12)).min())
    middle, centre = (low + high) / 2, np.array([WIDTH, HEIGHT + 40]) / 2

    def place(values: FloatArray) -> FloatArray:
        return np.asarray(centre + (values - middle) * (zoom, -zoom))

    parts = [f'<rect class="box quiet" x="1" y="1" width="{WIDTH - 2}" height="{HEIGHT + 38}"/>']
    parts += [
        f'<circle cx="{px:.1f}" cy="{py:.1f}" r="{radius:g}" fill="{color}"/>'
        for (px, py), color in zip(place(points), colors, strict=True)
    ]
    for path in paths:
        text = "L".join(f"{px:.1f} {py:.1f}" for px, py in place(path))
        parts.append(f'<path class="base" d="M{text}"/>')
    if spots is not None:
        parts += [f'<circle class="centre" cx="{px:.1f}" cy="{py:.1f}" r="6"/>' for px, py in place(spots)]
    parts.append(f'<text class="axis" x="{WIDTH / 2}" y="{HEIGHT + 32}" text-anchor="middle">{escape(x.label)}</text>')
    parts.append(f'<text class="axis" x="10" y="18">{escape(y.label)}</text>')
    box = f'viewBox="0 0 {WIDTH} {HEIGHT + 40}"'
    svg = f'<svg class="plot" {box} role="img" aria-label="{escape(title)}">{"".join(parts)}</svg>'
    return Drawing(title, svg, note=note)


#: Free border of a point cloud.
_EDGE = 30


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
