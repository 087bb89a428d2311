"""Charts as SVG text: small, sharp at any size, and styled by the page's style sheet.

Every value has a hit area with a readout. Without a script a browser shows readouts as tooltips; the page's script
shows them below the chart, for the pointer or the arrow keys.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from itertools import pairwise
from typing import Literal

import numpy as np

from osteon.report.page_parts import log_ticks, nice_ticks, number

WIDTH, HEIGHT = 440, 260  # user units; a page scales them
LEFT, RIGHT, TOP, BOTTOM = 50, 14, 26, 44
#: Ratio of values above which an automatic axis is logarithmic.
DECADES = 20.0
LEVELS = (TOP + 9, HEIGHT - BOTTOM - 7, TOP + 25, HEIGHT - BOTTOM - 23, TOP + 41)  # heights for the labels of marks
NEAR, PHONE = 20, 1.4  # least distance of label heights; scale of the text on a phone
LETTER = 6.4  # width of a letter of chart text, a conservative estimate


@dataclass(frozen=True, slots=True)
class Axis:
    """One direction of a chart."""

    label: str
    log: bool | Literal["auto"] = False  # auto: if positive values differ by more than a factor of DECADES
    whole: bool = False  # ticks at integers only
    low: float | None = None  # the smallest value shown; None: of the data, and 0 on a linear y axis


@dataclass(frozen=True, slots=True)
class Series:
    """A line through points."""

    name: str
    x: Sequence[float]
    y: Sequence[float]
    readouts: Sequence[str] = ()  # shown for each point; () shows the values
    dots: bool = False
    kind: int = 0  # 0 … 4: colour and dashes


@dataclass(frozen=True, slots=True)
class Mark:
    """A marked position: a vertical line at `x`, with a dot if `y` is given."""

    x: float
    label: str
    y: float | None = None
    quiet: bool = False


@dataclass(frozen=True, slots=True)
class Bar:
    """One bar of a bar chart."""

    label: str
    value: float
    readout: str
    color: str = ""  # CSS; "" is the default


@dataclass(frozen=True, slots=True)
class Scale:
    """Maps values to user units."""

    low: float
    high: float
    start: float
    end: float
    log: bool = False

    def at(self, value: float) -> float:
        low, high = self.low, self.high
        if self.log:
            value, low, high = (float(np.log10(max(v, self.low))) for v in (value, low, high))
        return self.start + (value - low) / (high - low) * (self.end - self.start)

    def ticks(self, count: int, whole: bool = False) -> list[float]:
        found = log_ticks(self.low, self.high, count) if self.log else nice_ticks(self.low, self.high, count)
        return [t for t in found if not whole or t == round(t)]


def _scale(axis: Axis, values: Sequence[float], start: float, end: float, from_zero: bool) -> Scale:
    array = np.asarray([v for v in values if np.isfinite(v)] or [0.0, 1.0], np.float64)
    low, high = float(array.min()), float(array.max())
    positive = array[array > 0]
    log = axis.log if axis.log != "auto" else bool(len(positive) and high > DECADES * float(positive.min()))
    if log and len(positive):
        bottom = float(positive.min())
        pad = (high / bottom) ** 0.04 if high > bottom else 1.5
        return Scale(
            bottom / pad if from_zero else bottom, high * pad if from_zero else high * 1.0000001, start, end, True
        )
    low = axis.low if axis.low is not None else min(0.0, 1.05 * low) if from_zero else low
    high = 1.06 * high if from_zero else high
    return Scale(low, high if high > low else low + 1, start, end)


def line_chart(series: Sequence[Series], *, title: str, x: Axis, y: Axis, marks: Sequence[Mark] = ()) -> str:
    """Lines over a common x axis; readouts are those of the first line."""
    across = _scale(x, [v for s in series for v in s.x], LEFT, WIDTH - RIGHT, False)
    upward = _scale(y, [v for s in series for v in s.y], HEIGHT - BOTTOM, TOP, True)
    parts = [_axes(across, upward, x, y)]
    for s in series:
        places = [(across.at(a), upward.at(b)) for a, b in zip(s.x, s.y, strict=True)]
        path = "M" + "L".join(f"{px:.1f} {py:.1f}" for px, py in places)
        parts.append(f'<path class="line k{s.kind}" d="{path}"/>')
        if s.dots:
            parts += [f'<circle class="dot k{s.kind}" cx="{px:.1f}" cy="{py:.1f}" r="3"/>' for px, py in places]
    parts.append(_marks(marks, across, upward, series[0]))
    parts.append(_hits(series, across, x, y))
    return chart_svg(title, parts)


def bar_chart(bars: Sequence[Bar], *, title: str, x: Axis, y: Axis) -> str:
    """Vertical bars with a label below each."""
    upward = _scale(y, [bar.value for bar in bars], HEIGHT - BOTTOM, TOP, True)
    slot = (WIDTH - LEFT - RIGHT) / max(1, len(bars))
    room = max(1, int(-(-max(len(bar.label) for bar in bars) * LETTER // slot)))  # every room-th label fits
    parts = [value_rows(upward, y)]
    hits = []
    for i, bar in enumerate(bars):
        left, top = LEFT + i * slot, upward.at(bar.value)
        style = f' style="fill:{escape(bar.color)}"' if bar.color else ""
        parts.append(
            f'<rect class="bar"{style} x="{left + 0.14 * slot:.1f}" y="{top:.1f}" '
            f'width="{0.72 * slot:.1f}" height="{max(0.0, HEIGHT - BOTTOM - top):.1f}"/>'
        )
        if i % room == 0:
            parts.append(chart_text(left + slot / 2, HEIGHT - BOTTOM + 17, bar.label))
        hits.append((left, slot, left + slot / 2, bar.readout))
    parts.append(axis_label(x))
    parts.append(hit_areas(hits))
    return chart_svg(title, parts)


def legend(series: Sequence[Series]) -> str:
    """The legend of the lines; empty for one line."""
    if len(series) < 2:
        return ""
    items = "".join(
        f'<li><svg class="key" viewBox="0 0 26 8" aria-hidden="true"><path class="line k{s.kind}" d="M1 4H25"/></svg>'
        f"{escape(s.name)}</li>"
        for s in series
    )
    return f'<ul class="legend">{items}</ul>'


def chart_svg(title: str, parts: Sequence[str]) -> str:
    """The SVG element of a chart, which can be focused for the arrow keys."""
    body = "".join(parts)
    return (
        f'<svg class="plot" viewBox="0 0 {WIDTH} {HEIGHT}" role="group" tabindex="0" '
        f'aria-label="{escape(title)}. Arrow keys read the values.">{body}'
        f'<line class="cursor" y1="{TOP}" y2="{HEIGHT - BOTTOM}" visibility="hidden"/></svg>'
    )


def chart_text(x: float, y: float, text: str, anchor: str = "middle", kind: str = "tick") -> str:
    """Text in a chart."""
    return f'<text class="{kind}" x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(text)}</text>'


def value_rows(upward: Scale, y: Axis) -> str:
    """Grid lines, their numbers, the base line and the name of the y axis."""
    parts = []
    for tick in upward.ticks(5, y.whole):
        level = upward.at(tick)
        parts.append(f'<path class="grid" d="M{LEFT} {level:.1f}H{WIDTH - RIGHT}"/>')
        parts.append(chart_text(LEFT - 6, level + 4, number(tick), "end"))
    parts.append(f'<path class="base" d="M{LEFT} {HEIGHT - BOTTOM}H{WIDTH - RIGHT}"/>')
    parts.append(chart_text(2, 11, y.label, "start", "axis"))
    return "".join(parts)


def axis_label(x: Axis) -> str:
    """The name of the x axis."""
    return chart_text((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 5, x.label, kind="axis")


def _axes(across: Scale, upward: Scale, x: Axis, y: Axis) -> str:
    parts, taken = [value_rows(upward, y)], -np.inf
    for tick in across.ticks(7, x.whole):
        place, text = across.at(tick), number(tick)
        half = LETTER * len(text) / 2
        if place - half > taken:
            parts.append(f'<path class="base" d="M{place:.1f} {HEIGHT - BOTTOM}v4"/>')
            parts.append(chart_text(place, HEIGHT - BOTTOM + 19, text))
            taken = place + half + 4
    parts.append(axis_label(x))
    return "".join(parts)


def _marks(marks: Sequence[Mark], across: Scale, upward: Scale, first: Series) -> str:
    """Thin lines with labels on the side that has room, away from the first line and from each other."""
    out = ""
    taken: list[tuple[int, float, float]] = []
    for mark in marks:
        place, width = across.at(mark.x), LETTER * len(mark.label)
        left = place + width + 6 > WIDTH - RIGHT
        start, end = (place - 5 - width, place - 5) if left else (place + 5, place + 5 + width)
        line = [upward.at(y) for x, y in zip(first.x, first.y, strict=True) if start <= across.at(x) <= end]
        line.append(upward.at(float(np.interp(mark.x, first.x, first.y))))
        apart = [y for y in LEVELS if all(abs(y - t[0]) > NEAR or end < t[1] or start > t[2] for t in taken)]
        free = apart or [y for y in LEVELS if all(y != t[0] for t in taken)] or [LEVELS[0]]
        level = max(free, key=lambda y: min(20.0, *(abs(y - 4 - h) for h in line)))
        more = (PHONE - 1) * width  # on the side of the label
        taken.append((level, start - 6 - more * left, end + 6 + more * (not left)))
        kind = "quiet" if mark.quiet else "mark"
        out += f'<path class="{kind}" d="M{place:.1f} {TOP}V{HEIGHT - BOTTOM}"/>'
        if mark.y is not None:
            out += f'<circle class="spot" cx="{place:.1f}" cy="{upward.at(mark.y):.1f}" r="4.5"/>'
        out += chart_text(end if left else start, level, mark.label, "end" if left else "start", f"{kind}-text")
    return out


def _hits(series: Sequence[Series], across: Scale, x: Axis, y: Axis) -> str:
    """Hit areas between the midpoints of neighbouring points of the first line."""
    first = series[0]
    places = [across.at(value) for value in first.x]
    edges = [float(LEFT), *((a + b) / 2 for a, b in pairwise(places)), float(WIDTH - RIGHT)]
    readouts = first.readouts or [
        f"{x.label} {number(a)}: " + ", ".join(f"{s.name or y.label} {number(s.y[i])}" for s in series if i < len(s.y))
        for i, a in enumerate(first.x)
    ]
    return hit_areas([(edges[i], edges[i + 1] - edges[i], place, readouts[i]) for i, place in enumerate(places)])


def hit_areas(hits: Sequence[tuple[float, float, float, str]]) -> str:
    """Hit areas from left side, width, cursor position and readout."""
    high = HEIGHT - BOTTOM - TOP
    return "".join(
        f'<rect class="hit" x="{left:.1f}" y="{TOP}" width="{max(0.1, width):.1f}" height="{high}" '
        f'data-at="{at:.1f}"><title>{escape(readout)}</title></rect>'
        for left, width, at, readout in hits
    )


# Box plots over a common scale: quartiles, whiskers and the mean with its interval.

#: Largest width of a box, in user units.
WIDEST = 54.0
#: Margin above and below the scale, so that values at its ends are visible.
MARGIN = 7.0


@dataclass(frozen=True, slots=True)
class Box:
    """The statistics of one group."""

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
    """Boxes side by side with labels below; the scale runs from the axis's low, or 0, to `high`."""
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
    """A diamond at the mean, with its interval between two bars."""
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
