"""The page of interpenetration: its sentences and charts, the frames that are drawn, and views in which red is seen."""

from __future__ import annotations

import re

import numpy as np
import pytest

from osteon.apply.collide.collider import Collider
from osteon.apply.collide.contact_types import SurfaceContacts
from osteon.apply.collide.interpenetration import FrameOverlap, Overlaps, find_overlaps
from osteon.report.collide_gallery import best_view, worst_frames
from osteon.report.collide_page import build_overlap_page, depth_figure, pairs_figure
from osteon.report.raster import DrawOptions, draw_mesh
from osteon.synth.shapes import make_ball
from tests.subjects import bent_tube
from tests.unit.cli.test_collide import moved


@pytest.fixture(scope="module", name="tubes")
def _tubes():
    """A tube that passes through one that stands still."""
    tube = bent_tube(2).model
    away = np.zeros((5, 3))
    away[:, 1] = [1.0, 0.25, 0.1, 0.25, 1.0]
    models = [moved(tube, away), moved(tube, np.zeros((1, 3)))]
    first, second = (Collider.of(model) for model in models)
    return find_overlaps(first, second, range(5)), models


def test_the_page_says_which_frames_and_how_deep(tubes):
    found, models = tubes
    page = build_overlap_page(found, models)
    assert "3 of 5 frames" in page
    assert "1–3" in page
    assert "The deepest is frame 2" in page
    assert page.count("<figure><div") == 3 * 3
    assert "A alone" in page
    assert "B alone" in page
    assert "<script>" in page
    assert not re.search(r"(src|href)=\"http", page)


def test_charts_have_a_value_for_every_frame(tubes):
    found, models = tubes
    depth, pairs = depth_figure(found, models[0]), pairs_figure(found, models[0])
    assert [row[0] for row in depth.rows] == list("01234")
    assert [row[2] for row in pairs.rows] == ["0", *(f"{len(one.contacts):,}" for one in found.found), "0"]
    assert float(depth.rows[2][2]) == pytest.approx(100 * found.found[1].depth / found.diagonal, rel=5e-3)
    assert "deepest: 2" in depth.chart


def test_nothing_found_is_said_without_pictures(tubes):
    _, models = tubes
    page = build_overlap_page(Overlaps((0, 1), (), 1.0), models)
    assert "No triangles intersect" in page
    assert "<img" not in page


def overlap(frame: int, depth: float) -> FrameOverlap:
    none = np.zeros((0, 3), np.float32)
    empty = np.zeros(0, np.int32)
    return FrameOverlap(frame, SurfaceContacts(empty, empty, none, none, np.zeros(0, np.float32)), depth)


def test_worst_frames_are_apart_where_there_are_enough():
    depths = [5, 4.9, 4.8, 1, 2, 1, 1, 3, 2.9, 0.5]
    found = Overlaps(tuple(range(10)), tuple(overlap(f, d) for f, d in enumerate(depths)), 1.0)
    assert [one.frame for one in worst_frames(found, 3)] == [0, 7, 4]
    assert [one.frame for one in worst_frames(found, 4)] == [0, 1, 7, 4]
    few = Overlaps((0, 1, 2), tuple(overlap(f, 1.0 - f) for f in range(3)), 1.0)
    assert [one.frame for one in worst_frames(few, 2)] == [0, 1]


@pytest.mark.parametrize("towards", [(1.0, 0, 0), (-1.0, 0, 0), (0, 0, 1.0), (0, 0, -1.0)])
def test_the_view_is_from_the_side_that_is_red(towards):
    ball = make_ball(12)
    middles = ball.vertices[ball.faces].mean(axis=1)
    red = np.flatnonzero(middles @ np.array(towards) > 0.6 * np.abs(middles).max()).astype(np.int32)
    options = best_view(ball.vertices, ball.faces, red, DrawOptions(width=80, height=60))
    paint = np.zeros((len(ball.faces), 3), np.uint8)
    paint[red] = (255, 0, 0)
    flat = DrawOptions(
        80, 60, options.azimuth, options.elevation, samples=1, shading="none", shadow=False, color_per="triangle"
    )
    image = draw_mesh(ball.vertices, ball.faces, paint, options=flat).astype(int)
    assert ((image[..., 0] > 200) & (image[..., 1] < 60)).sum() > 100
