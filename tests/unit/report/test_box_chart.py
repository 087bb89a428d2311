"""Boxes with whiskers: where their parts lie, and that names are never markup."""

from __future__ import annotations

import re
from xml.etree import ElementTree

import pytest

from osteon.report.charts import BOTTOM, HEIGHT, MARGIN, TOP, Axis, Box, box_chart


def drawn(*boxes: Box) -> str:
    return box_chart(boxes, title="Ratings", x=Axis("candidate"), y=Axis("rating"), high=10)


def level(value: float) -> float:
    """Where a rating of 0 … 10 lies."""
    low, high = HEIGHT - BOTTOM - MARGIN, TOP + MARGIN
    return low + value / 10 * (high - low)


BOX = Box("as", 2, 6, 8, 9, 10, mean=7.5, interval=(7, 8), outliers=(0,), readout="as: mean 7.5")


def test_parts_lie_where_their_values_are():
    chart = ElementTree.fromstring(drawn(BOX))
    (box,) = [e for e in chart.iter() if e.get("class") == "box"]
    assert float(box.get("y")) == pytest.approx(level(9), abs=0.06)
    assert float(box.get("height")) == pytest.approx(level(6) - level(9), abs=0.06)
    (dot,) = [e for e in chart.iter() if e.get("class") == "outlier"]
    assert float(dot.get("cy")) == pytest.approx(level(0), abs=0.06)
    (median,) = [e for e in chart.iter() if e.get("class") == "median"]
    assert f" {level(8):.1f}h" in median.get("d")
    (interval,) = [e for e in chart.iter() if e.get("class") == "interval"]
    assert f" {level(7):.1f}V{level(8):.1f}" in interval.get("d")


def test_the_scale_has_whole_steps():
    assert re.findall(r'text-anchor="end">([^<]+)<', drawn(BOX)) == ["0", "2", "4", "6", "8", "10"]


def test_without_an_interval_only_the_mean():
    chart = drawn(Box("one", 5, 5, 5, 5, 5, mean=5))
    assert 'class="mean"' in chart
    assert 'class="interval"' not in chart


def test_long_and_nasty_names():
    boxes = [Box(f"<b>{'name ' * 30}{i}", 1, 2, 3, 4, 5, mean=3, readout="<i>") for i in range(6)]
    chart = drawn(*boxes)
    ElementTree.fromstring(chart)
    assert "<b>" not in chart
    assert "<i>" not in chart
    assert "…" in chart
