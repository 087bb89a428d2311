"""A surface over a grid of two numbers, as a drawing seen from above at an angle."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from html import escape

import numpy as np

from osteon.core.arrays import Float64
from osteon.papers.drawings import css_color
from osteon.papers.entries import Drawing
from osteon.report.charts import HEIGHT, WIDTH, chart_svg
from osteon.report.page_parts import number
from osteon.report.picture import heat_colors

#: From places of the grid and a height to the drawing.
Place = Callable[[float, float, float], tuple[float, float]]
#: Screen steps of the two directions of the grid, and of the height, in units of the drawing.
ACROSS, ASIDE, RISE = (0.56, -0.10), (0.30, 0.22), 0.55


def surface_drawing(
    title: str, x: Sequence[float], y: Sequence[float], values: Float64, names: tuple[str, str, str], *, note: str = ""
) -> Drawing:
    """The surface values (n_x,n_y) over x and y; `names` are those of x, y and the values."""
    high = float(values.max())
    shade = heat_colors((high - values).ravel(), 1.35 * high).reshape(*values.shape, 3)
    place = _placing(len(x), len(y), high)
    parts = [_floor(place, len(x), len(y))]
    for j in range(len(y) - 1):  # y points towards the viewer
        for i in range(len(x) - 1):
            corners = [(i, j), (i + 1, j), (i + 1, j + 1), (i, j + 1)]
            points = " ".join("{:.1f},{:.1f}".format(*place(a, b, float(values[a, b]))) for a, b in corners)
            color = css_color(np.mean([shade[a, b] for a, b in corners], axis=0))
            parts.append(f'<polygon points="{points}" fill="{color}" stroke="#222" stroke-width="0.5"/>')
    parts += _labels(place, x, y, names, high)
    rows = tuple((number(a), *(number(float(v)) for v in values[i])) for i, a in enumerate(x))
    head = (names[0], *(f"{number(b)} {names[1]}" for b in y))
    return Drawing(title, chart_svg(title, parts), (), note, head, rows)


def _placing(n_x: int, n_y: int, high: float) -> Place:
    """Screen positions of places of the grid with a height."""
    size = np.array([WIDTH - 150, HEIGHT - 40])
    base = np.array([70.0, 0.66 * HEIGHT])

    def place(i: float, j: float, value: float) -> tuple[float, float]:
        u, v = i / max(1, n_x - 1), j / max(1, n_y - 1)
        right = base[0] + size[0] * (ACROSS[0] * u + ASIDE[0] * v) / (ACROSS[0] + ASIDE[0])
        down = base[1] + size[1] * (ACROSS[1] * u + ASIDE[1] * v) - size[1] * RISE * value / high
        return float(right), float(down)

    return place


def _floor(place: Place, n_x: int, n_y: int) -> str:
    """The outline of the ground, and the upright that carries the scale."""
    corners = [(0, 0), (n_x - 1, 0), (n_x - 1, n_y - 1), (0, n_y - 1), (0, 0)]
    line = "L".join("{:.1f} {:.1f}".format(*place(i, j, 0.0)) for i, j in corners)
    return f'<path class="grid" d="M{line}"/>'


def _labels(
    place: Place, x: Sequence[float], y: Sequence[float], names: tuple[str, str, str], high: float
) -> list[str]:
    """Numbers at the edges of the ground and along the upright, and the names of the axes."""
    n_x, n_y = len(x), len(y)
    found = []

    def text(at: tuple[float, float], words: str, anchor: str = "middle") -> None:
        found.append(
            f'<text class="axis" x="{at[0]:.1f}" y="{at[1]:.1f}" text-anchor="{anchor}">{escape(words)}</text>'
        )

    for i in np.unique(np.linspace(0, n_x - 1, min(6, n_x)).round().astype(int)):
        right, down = place(i, n_y - 1, 0.0)
        text((right + 4, down + 18), number(x[i]))
    right, down = place((n_x - 1) / 2, n_y - 1, 0.0)
    text((right + 12, down + 40), names[0])
    for j in range(n_y):
        right, down = place(0, j, 0.0)
        text((right - 10, down + 8), number(y[j]), "end")
    right, down = place(0, (n_y - 1) / 2, 0.0)
    text((right - 26, down + 26), names[1], "end")
    for part in (1 / 3, 2 / 3, 1.0):
        value = float(f"{part * high:.2g}")
        right, down = place(0, 0, value)
        found.append(f'<path class="grid" d="M{right:.1f} {down:.1f}h-6"/>')
        text((right - 10, down + 4), number(value), "end")
    right, down = place(0, 0, high)
    found.append('<path class="grid" d="M{:.1f} {:.1f}V{:.1f}"/>'.format(*place(0, 0, 0.0), down))
    text((10, down - 16), names[2], "start")
    return found
