from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from PIL import Image as Canvas

from osteon.core.errors import FileFormatError, GeometryError, OptionError
from osteon.report.picture import (
    OUTLIER_COLOR,
    HeatScale,
    PanelOptions,
    bone_colors,
    draw_heat_scale,
    heat_colors,
    oklab,
    panel_grid,
    panel_row,
    save_png,
)


def _flat(height: int, width: int, color: tuple[int, int, int]) -> np.ndarray:
    return np.full((height, width, 3), color, np.uint8)


RED, BLUE = _flat(60, 200, (255, 0, 0)), _flat(60, 200, (0, 0, 255))


def _box(image: np.ndarray, color: tuple[int, int, int]) -> tuple[int, int, int, int]:
    """Top, left, bottom, right of the pixels of one colour."""
    rows, columns = np.nonzero((image == color).all(axis=2))
    return int(rows.min()), int(columns.min()), int(rows.max()) + 1, int(columns.max()) + 1


def test_heat_runs_from_blue_to_red_and_only_darkens() -> None:
    colors = heat_colors(np.linspace(0, 2.0, 200), 2.0)
    assert colors[0].argmax() == 2
    assert colors[-1].argmax() == 0
    assert colors[-1, 2] < 0.2
    lightness = oklab(colors)[:, 0]
    assert (np.diff(lightness) < 1e-3).all()
    assert lightness[0] - lightness[-1] > 0.35
    steps = np.linalg.norm(np.diff(oklab(colors), axis=0), axis=1)
    assert steps.max() < 4 * np.median(steps)  # no visible jump


def test_heat_stops_at_the_maximum_and_marks_the_unknown() -> None:
    colors = heat_colors([0.0, 1.0, 5.0, np.nan], 1.0)
    assert np.array_equal(colors[1], colors[2])
    assert not colors[3].any()
    with pytest.raises(OptionError):
        heat_colors([1.0], 0.0)


@pytest.mark.parametrize(("n", "apart"), [(8, 0.15), (16, 0.12), (32, 0.09), (64, 0.05)])
def test_bone_colours_are_apart(n: int, apart: float) -> None:
    lab = oklab(np.concatenate([bone_colors(n), [OUTLIER_COLOR]]))
    distance = np.linalg.norm(lab[:, None] - lab, axis=2) + np.eye(n + 1)
    assert distance.min() > apart


def test_bone_colours_are_stable_and_endless() -> None:
    assert np.array_equal(bone_colors(64)[:10], bone_colors(10))
    assert bone_colors(0).shape == (0, 3)
    assert bone_colors(1000).shape == (1000, 3)
    with pytest.raises(OptionError):
        bone_colors(-1)


def test_oklab_of_black_white_and_red() -> None:
    np.testing.assert_allclose(oklab([(0, 0, 0), (1, 1, 1)]), [[0, 0, 0], [1, 0, 0]], atol=1e-3)
    np.testing.assert_allclose(oklab((1, 0, 0)), [0.628, 0.225, 0.126], atol=2e-3)


def test_row_without_text_is_pictures_and_gaps() -> None:
    row = panel_row([RED, BLUE], options=PanelOptions(gap=10))
    assert row.shape == (80, 430, 3)
    assert _box(row, (255, 0, 0)) == (10, 10, 70, 210)
    assert _box(row, (0, 0, 255)) == (10, 220, 70, 420)


def test_caption_stays_below_its_own_picture() -> None:
    long = "a caption that is much too long for one line below so narrow a picture\nE = 1.234 %"
    bare, row = panel_row([RED, BLUE]), panel_row([RED, BLUE], [long, ""])
    assert row.shape[1] == bare.shape[1]
    assert row.shape[0] > bare.shape[0] + 60
    ink = (row != 255).any(axis=2)
    gap = PanelOptions().gap
    assert ink[gap + 60 :, gap : gap + 200].any()
    assert not ink[gap + 60 :, gap + 200 :].any()
    assert not ink[-gap:].any()


def test_word_wider_than_its_picture_is_broken_not_cut() -> None:
    narrow = _flat(20, 60, (255, 0, 0))
    assert panel_row([narrow], ["x" * 80]).shape[0] > panel_row([narrow], ["x" * 8]).shape[0] + 100


def test_title_and_footer_make_the_picture_higher_only() -> None:
    plain = panel_row([RED, BLUE], ["a", "b"])
    whole = panel_row([RED, BLUE], ["a", "b"], title="Title", footer="Footer")
    assert whole.shape[1] == plain.shape[1]
    assert whole.shape[0] > plain.shape[0] + 40
    assert _box(whole, (255, 0, 0))[0] > _box(plain, (255, 0, 0))[0]


def test_grid_aligns_columns_of_different_pictures() -> None:
    wide = _flat(30, 300, (0, 255, 0))
    grid = panel_grid([RED, BLUE, wide, BLUE], columns=2, options=PanelOptions(gap=10))
    assert grid.shape == (10 + 60 + 10 + 60 + 10, 10 + 300 + 10 + 200 + 10, 3)
    top, left, bottom, right = _box(grid, (0, 0, 255))
    assert (left, right) == (320, 520)
    assert (top, bottom) == (10, 140)


def test_scale_shows_both_ends_of_the_colours() -> None:
    bar = draw_heat_scale(HeatScale(0.42, "mm"), 300)
    ends = (255 * heat_colors([0.0, 1.0], 1.0)).round().astype(int)
    assert bar.shape[0] == 300
    blue, red = (np.nonzero((np.abs(bar[:, 3] - end) <= 1).all(axis=1))[0] for end in ends)
    assert blue.min() > red.max()
    assert np.array_equal(bar[:, 0][red[0]], bar[:, 8][red[0]])


@pytest.mark.parametrize("maximum", [1e-7, 0.3, 1.0, 9.99, 1234.5])
@pytest.mark.parametrize("height", [130, 400])
def test_ticks_never_overlap(maximum: float, height: int) -> None:
    bar = draw_heat_scale(HeatScale(maximum), height)
    size = PanelOptions().text_size
    text = (bar[round(2.2 * size) :, round(1.2 * size) + 9 :] < 128).all(axis=2).any(axis=1)
    runs = np.diff(np.concatenate([[0], text.astype(int), [0]]))
    heights = np.nonzero(runs == -1)[0] - np.nonzero(runs == 1)[0]
    assert len(heights) >= 1
    assert heights.max() <= 1.2 * size


def test_panels_with_scale_in_dark() -> None:
    options = PanelOptions(background="dark")
    row = panel_row([RED], ["a"], scale=HeatScale(2.0, "%"), title="t", options=options)
    assert row[0, 0].max() < 40
    assert row.shape[1] > 200 + 60


def test_png_comes_back_and_appears_whole(tmp_path: Path) -> None:
    path = tmp_path / "new" / "picture.png"
    save_png(RED, path)
    assert np.array_equal(np.asarray(Canvas.open(path)), RED)
    assert [p.name for p in path.parent.iterdir()] == ["picture.png"]
    save_png(BLUE, path)
    assert np.array_equal(np.asarray(Canvas.open(path)), BLUE)
    with pytest.raises(FileFormatError):
        save_png(RED, tmp_path)


def test_refuses() -> None:
    with pytest.raises(OptionError):
        panel_row([])
    with pytest.raises(OptionError):
        panel_row([RED, BLUE], ["only one"])
    with pytest.raises(OptionError):
        HeatScale(float("nan"))
    with pytest.raises(GeometryError):
        panel_row([np.zeros((4, 4))])
    with pytest.raises(GeometryError):
        save_png(np.zeros((4, 4, 3)), "unused.png")
