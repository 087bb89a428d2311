"""The page of levels: a table, pictures and charts for every clip, and that it stands alone."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest

from osteon.lod.model_levels import Level
from osteon.lod.options import LodOptions
from osteon.pipeline.level_measures import BoneCosts
from osteon.pipeline.levels import LevelsFit, fit_levels
from osteon.report import lod_gallery
from osteon.report.lod_gallery import draw_levels
from osteon.report.lod_page import (
    bones_figures,
    build_levels_page,
    cost_figure,
    level_table,
    order_table,
    triangles_figure,
    write_levels_page,
)
from osteon_bench.subjects import JointedOptions, make_jointed
from tests.lod_rigs import two_clips

JOINTED = JointedOptions(joints=5, vertices=40)
COSTS = BoneCosts("one", np.array([1, 3, 5]), np.array([0.5, 1.0, 2.0]))


@pytest.fixture(scope="module")
def found() -> LevelsFit:
    model = two_clips(make_jointed(1, JOINTED), make_jointed(1, replace(JOINTED, swing=0.3)))
    return fit_levels(model.with_mesh(name="a <fox>"), options=LodOptions(bones="4,2", threads=1))


@pytest.fixture(autouse=True)
def small_pictures(monkeypatch: pytest.MonkeyPatch) -> None:
    """What pictures show is not looked at here."""
    monkeypatch.setattr(lod_gallery, "WIDE", {1: 60})
    monkeypatch.setattr(lod_gallery, "LARGEST", 40)


def test_the_page_stands_alone(found, tmp_path):
    write_levels_page(tmp_path / "a.html", found, (300, 200, 100))
    text = (tmp_path / "a.html").read_text()
    assert "a &lt;fox&gt;: levels of detail" in text
    assert "<fox>" not in text
    assert not re.search(r'(src|href)="(?!data:)', text)
    for key in ("levels", "pictures", "errors", "orders", "costs"):
        assert f'<section id="{key}">' in text
    assert "2 of 5 bones" in text


def test_notes_come_first(found):
    text = build_levels_page(replace(found, notes=("the <end> is near",)), (3, 2, 1))
    assert "The &lt;end&gt; is near." in text


def test_nothing_to_leave_out_is_said(found):
    first = found.levels.levels[0]
    same = replace(found, levels=replace(found.levels, levels=(first, first)))
    assert "Nothing can be removed" in build_levels_page(same, (3, 3))


def test_a_chart_for_every_clip_and_a_line_for_every_blend(found):
    figures = bones_figures(found)
    assert [figure.title.rpartition(": ")[2] for figure in figures] == ["one", "two", "all clips by one order"]
    assert figures[0].head == ("bones", *(f"RMS %, {k} blend{'s' if k > 1 else ''}" for k in (1, 2, 3)))
    assert len(figures[0].rows) == 5
    assert all(figure.chart.count('class="line') == 3 for figure in figures)


def test_one_clip_needs_no_order_for_all():
    alone = fit_levels(make_jointed(2, JOINTED), options=LodOptions(bones="2", levels=2, keep_mesh=True, threads=1))
    assert len(bones_figures(alone)) == 1
    assert "by one order" not in order_table(alone)
    assert triangles_figure(alone) is None


def test_the_table_tells_what_to_decide_from():
    levels = (Level(5, 4, 0, 900), Level(3, 2, 1, 450, 2.5, 0.5, 4.0, 200.0), Level(1, 1, 1, 450, 9.0, 1.0, 8.0, 100.0))
    text = level_table(levels, (5000, 2_500_000, 900), COSTS)
    rows = re.findall(r"<tr><th scope=\"row\">(.*?)</tr>", text)
    cells = [re.findall(r"<td[^>]*>(.*?)</td>", row) for row in rows]
    assert cells[0] == ["5", "4", "900", "", "", "", "any", "", "100 %", "5.0 kB"]
    assert cells[1] == ["3", "2", "450", "0.5", "4", "2.5", "200 px", "8.0 px", "50 %", "2.50 MB"]
    assert cells[2][-2:] == ["25 %", "900 bytes"]


def test_costs_and_triangles_are_drawn(found):
    assert "2 µs per character" in cost_figure(COSTS).note
    figure = triangles_figure(found)
    assert len(figure.rows) == len(found.offered)


def test_pictures_of_all_levels(found):
    gallery = draw_levels(found.levels, threads=1)
    assert len(gallery.meshes) == len(gallery.skeletons) == 3
    assert len(gallery.sizes) == 2
    assert "2 bones" in gallery.skeletons[-1].caption
    bare = replace(found.levels, model=found.levels.model.with_character(skeleton=None))
    assert len(draw_levels(bare, threads=1).skeletons) == 3


def test_of_many_levels_some_are_drawn(found):
    many = replace(found.levels, levels=found.levels.levels[:1] + found.levels.levels[1:2] * 8)
    assert len(draw_levels(many, threads=1).meshes) == 5
