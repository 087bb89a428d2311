from __future__ import annotations

import re
from itertools import pairwise
from xml.etree import ElementTree

import pytest

from osteon.report.charts import HEIGHT, LETTER, WIDTH, Axis, Bar, Mark, Series, bar_chart, legend, line_chart
from osteon.report.page_parts import brief, log_ticks, nice_ticks, number, percent, share


def _chart(*series: Series, x: Axis | None = None, y: Axis | None = None, marks: tuple[Mark, ...] = ()) -> str:
    return line_chart(series, title="t", x=x or Axis("x"), y=y or Axis("y"), marks=marks)


def _path(svg: str, kind: int = 0) -> list[tuple[float, float]]:
    found = re.search(rf'class="line k{kind}" d="M([^"]*)"', svg)
    assert found
    return [tuple(float(v) for v in point.split()) for point in found[1].split("L")]


def _texts(svg: str, kind: str) -> list[tuple[float, float, str, str]]:
    root = ElementTree.fromstring(svg)
    return [
        (float(t.get("x")), float(t.get("y")), t.get("text-anchor"), t.text)
        for t in root.iter("text")
        if t.get("class") == kind
    ]


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0"),
        (0.99385, "0.994"),
        (12.0, "12"),
        (1234.5, "1,234"),
        (3.2e-5, "3.2e-5"),
        (8.1e8, "8.10e8"),
        (-2.5, "-2.5"),
    ],
)
def test_numbers_are_short(value: float, text: str) -> None:
    assert number(value) == text


def test_percent_stays_with_its_sign() -> None:
    assert percent(0.5) == "0.5\u00a0%"
    assert brief(0.8069) == "0.81\u00a0%"
    assert share(0.84) == "84\u00a0%"
    assert share(0.042) == "4.2\u00a0%"
    assert share(0) == "0\u00a0%"


@pytest.mark.parametrize(("low", "high"), [(0, 1), (0, 0.0007), (3, 4800), (-0.2, 1.06), (0, 1e-12)])
def test_ticks_are_round_and_inside(low: float, high: float) -> None:
    ticks = nice_ticks(low, high, 5)
    assert 2 <= len(ticks) <= 7 or high < 1e-9
    assert all(low - 1e-9 <= t <= high * (1 + 1e-9) for t in ticks)
    steps = {round(b - a, 9) for a, b in pairwise(ticks)}
    assert len(steps) <= 1


@pytest.mark.parametrize(("low", "high"), [(0.3, 130), (1, 64), (1e-6, 1e3), (0.02, 0.2)])
def test_log_ticks_are_round_and_few(low: float, high: float) -> None:
    ticks = log_ticks(low, high, 6)
    assert 1 < len(ticks) <= 6
    assert all(low * 0.999 <= t <= high * 1.001 for t in ticks)
    assert all(f"{t:e}"[0] in "1235" for t in ticks)


def test_line_lies_where_the_values_are() -> None:
    path = _path(_chart(Series("", [0, 10, 20], [0, 5, 10])))
    assert path[0][0] < path[1][0] < path[2][0]
    assert path[1][0] == pytest.approx((path[0][0] + path[2][0]) / 2, abs=0.1)
    assert path[0][1] > path[1][1] > path[2][1]  # y grows downwards
    assert all(0 <= x <= WIDTH and 0 <= y <= HEIGHT for x, y in path)


def test_log_where_values_span_decades() -> None:
    wide = _path(_chart(Series("", [0, 1, 2], [0.01, 1, 100]), y=Axis("y", log="auto")))
    assert wide[0][1] - wide[1][1] == pytest.approx(wide[1][1] - wide[2][1], abs=0.2)
    narrow = _path(_chart(Series("", [0, 1, 2], [1, 2, 4]), y=Axis("y", log="auto")))
    assert narrow[1][1] - narrow[2][1] == pytest.approx(2 * (narrow[0][1] - narrow[1][1]), abs=0.2)


def test_log_axis_takes_zeros() -> None:
    path = _path(_chart(Series("", [0, 1, 2], [0.0, 0.1, 100]), y=Axis("y", log=True)))
    assert all(0 <= y <= HEIGHT for _, y in path)


@pytest.mark.parametrize("values", [[1.0], [0.0], [2.0, 2.0], [1e-9, 1e-9], [-0.3, 1.2]])
def test_odd_data_stays_inside(values: list[float]) -> None:
    for log in (False, "auto"):
        path = _path(_chart(Series("", list(range(len(values))), values), y=Axis("y", log=log)))
        assert all(0 <= x <= WIDTH and 0 <= y <= HEIGHT for x, y in path)


@pytest.mark.parametrize("most", [7, 48, 53, 400, 12345])
def test_ticks_below_do_not_overlap(most: int) -> None:
    svg = _chart(Series("", [0, most], [0, 1]), x=Axis("frame", whole=True))
    row = [t for t in _texts(svg, "tick") if t[2] == "middle"]
    assert len(row) >= 3
    for (x, _, _, text), (x2, _, _, text2) in pairwise(row):
        assert x2 - x >= LETTER * (len(text) + len(text2)) / 2


def test_every_point_has_words_and_areas_cover_the_width() -> None:
    svg = _chart(Series("", [0, 1, 4], [1, 2, 3], ["one", "two", "three"]))
    root = ElementTree.fromstring(svg)
    areas = [r for r in root.iter("rect") if r.get("class") == "hit"]
    assert [r.find("title").text for r in areas] == ["one", "two", "three"]
    for left, right in pairwise(areas):
        assert float(left.get("x")) + float(left.get("width")) == pytest.approx(float(right.get("x")), abs=0.2)


def test_words_name_all_lines() -> None:
    svg = _chart(Series("bare", [1, 2], [3, 4]), Series("rank 5", [1, 2], [0.5, 0.25], kind=1), x=Axis("bones"))
    assert "bones 2: bare 4, rank 5 0.25" in svg
    assert _path(svg, 1)


def test_legend_only_for_several() -> None:
    one, two = Series("a <b>", [0], [0]), Series("c", [0], [0], kind=1)
    assert legend([one]) == ""
    assert "a &lt;b&gt;" in legend([one, two])
    assert legend([one, two]).count("<li>") == 2


def test_mark_keeps_inside_and_away_from_the_line() -> None:
    line = Series("", [0, 10], [1, 1])
    right, left = (_texts(_chart(line, marks=(Mark(at, "worst", 1.0),)), "mark-text")[0] for at in (10, 0))
    assert (right[2], left[2]) == ("end", "start")
    height = _path(_chart(line))[0][1]
    assert abs(right[1] - height) > 40


def test_words_of_marks_keep_apart() -> None:
    line = Series("", list(range(140)), [0.1 if i < 83 else 0.3 for i in range(140)])
    marks = tuple(Mark(x, name, quiet=True) for x, name in ((0, "Survey"), (83, "Walk"), (90, "Trot"), (101, "Run")))
    svg = _chart(line, marks=(*marks, Mark(95, "largest: 95", 0.3)))
    texts = _texts(svg, "quiet-text") + _texts(svg, "mark-text")
    boxes = [
        (y, x - (LETTER * len(t) if a == "end" else 0), x + (LETTER * len(t) if a == "start" else 0))
        for x, y, a, t in texts
    ]
    assert len(boxes) == 5
    for i, (y, left, right) in enumerate(boxes):
        assert all(abs(y - y2) >= 12 or right < left2 or right2 < left for y2, left2, right2 in boxes[i + 1 :])


def test_bars_stand_on_the_base() -> None:
    svg = bar_chart([Bar("1", 10, "ten", "rgb(1,2,3)"), Bar("2", 5, "five")], title="t", x=Axis("x"), y=Axis("y"))
    bars = [r for r in ElementTree.fromstring(svg).iter("rect") if r.get("class") == "bar"]
    tops, heights = [float(b.get("y")) for b in bars], [float(b.get("height")) for b in bars]
    assert heights[0] == pytest.approx(2 * heights[1], abs=0.2)
    assert tops[0] + heights[0] == pytest.approx(tops[1] + heights[1], abs=0.2)
    assert "fill:rgb(1,2,3)" in svg


def test_many_bars_drop_labels_not_bars() -> None:
    svg = bar_chart([Bar(f"bone{i}", 1, "w") for i in range(40)], title="t", x=Axis("x"), y=Axis("y"))
    assert svg.count('class="bar"') == 40
    assert 3 <= svg.count(">bone") < 15


def test_text_from_outside_is_escaped() -> None:
    evil = '<script>"&'
    svg = line_chart(
        [Series("", [0, 1], [0, 1], [evil, evil])], title=evil, x=Axis(evil), y=Axis(evil), marks=[Mark(0, evil)]
    )
    assert "<script" not in svg
    ElementTree.fromstring(svg)
