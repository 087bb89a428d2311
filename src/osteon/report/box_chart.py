"""Boxes with whiskers over a common scale: the middle half of the values, how far the others reach, and the mean."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from osteon.report.charts import (
    BOTTOM,
    HEIGHT,
    LEFT,
    LETTER,
    RIGHT,
    TOP,
    WIDTH,
    Axis,
    Scale,
    axis_label,
    chart_svg,
    chart_text,
    hit_areas,
    value_rows,
)

__all__ = ["Box", "box_chart"]

#: Widest box, user units; with two or three it would be a wall otherwise.
WIDEST = 54.0
#: Above and below the scale, so that what lies at its ends is seen.
MARGIN = 7.0


@dataclass(frozen=True, slots=True)
class Box:
    """The values of one group. Quartiles are given by who knows the values."""

    label: str
    low: float  # ends of the whiskers
    first: float  # sides of the box
    median: float
    third: float
    high: float
    mean: float
    interval: tuple[float, float] | None = None  # of the mean
    outliers: Sequence[float] = ()  # values beyond the whiskers
    readout: str = ""


def box_chart(boxes: Sequence[Box], *, title: str, x: Axis, y: Axis, high: float) -> str:
    """Boxes side by side, each with its name below; the scale goes from the axis's low, or 0, to `high`."""
    upward = Scale(0.0 if y.low is None else y.low, high, HEIGHT - BOTTOM - MARGIN, TOP + MARGIN)
    slot = (WIDTH - LEFT - RIGHT) / max(1, len(boxes))
    parts, hits = [value_rows(upward, y)], []
    for i, box in enumerate(boxes):
        left = LEFT + i * slot
        parts.append(_box(box, left + slot / 2, min(0.5 * slot, WIDEST) / 2, upward))
        parts.append(chart_text(left + slot / 2, HEIGHT - BOTTOM + 17, _shortened(box.label, slot), kind="axis"))
        hits.append((left, slot, left + slot / 2, box.readout))
    parts += [axis_label(x), hit_areas(hits)]
    return chart_svg(title, parts)


def _box(box: Box, x: float, half: float, upward: Scale) -> str:
    low, first, median, third, high = (upward.at(v) for v in (box.low, box.first, box.median, box.third, box.high))
    cap = 0.45 * half
    whiskers = (
        f"M{x:.1f} {first:.1f}V{low:.1f}M{x - cap:.1f} {low:.1f}h{2 * cap:.1f}"
        f"M{x:.1f} {third:.1f}V{high:.1f}M{x - cap:.1f} {high:.1f}h{2 * cap:.1f}"
    )
    dots = "".join(f'<circle class="outlier" cx="{x:.1f}" cy="{upward.at(v):.1f}" r="3"/>' for v in box.outliers)
    return (
        f'<path class="whisker" d="{whiskers}"/>'
        f'<rect class="box" x="{x - half:.1f}" y="{third:.1f}" width="{2 * half:.1f}" height="{first - third:.1f}"/>'
        f'<path class="median" d="M{x - half:.1f} {median:.1f}h{2 * half:.1f}"/>{dots}{_mean(box, x, upward)}'
    )


def _mean(box: Box, x: float, upward: Scale) -> str:
    """A diamond, with its interval between two bars."""
    y = upward.at(box.mean)
    line = ""
    if box.interval is not None:
        start, end = (upward.at(v) for v in box.interval)
        bars = f"M{x - 8:.1f} {start:.1f}h16M{x - 8:.1f} {end:.1f}h16"
        line = f'<path class="interval" d="M{x:.1f} {start:.1f}V{end:.1f}{bars}"/>'
    return f'{line}<path class="mean" d="M{x:.1f} {y - 4:.1f}l4 4l-4 4l-4 -4z"/>'


def _shortened(text: str, width: float) -> str:
    most = max(3, int(width / LETTER))
    return text if len(text) <= most else f"{text[: most - 1]}…"
