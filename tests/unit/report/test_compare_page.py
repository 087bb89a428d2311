"""The page of a comparison: what it says first, its tables and pictures, and that it stands alone."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from osteon.fit.models.registry import ContestantSweep
from osteon.measure.deviation import Deviation
from osteon.pipeline.compare import compare_models
from osteon.pipeline.comparison import Comparison, ModelResult
from osteon.pipeline.options import CompareOptions
from osteon.report import compare_page
from osteon.report.compare_figures import (
    best_choice,
    compare_verdict,
    measure_table,
    poses_figure,
    sweep_figures,
    verdict_lines,
)
from osteon.report.compare_page import build_comparison_page, write_comparison_page

from ...subjects import bent_tube


@pytest.fixture(scope="module")
def found() -> Comparison:
    sequence = bent_tube(3, n_frames=9).sequence.with_parts(name="a <tube>")
    rough = sequence.frames + 2e-3 * np.random.default_rng(0).normal(size=sequence.frames.shape)
    options = CompareOptions(models="ssd,dqs", train=4, bones=2, threads=1)
    return compare_models(sequence.with_parts(frames=rough), options=options)


@pytest.fixture(autouse=True)
def small_pictures(monkeypatch: pytest.MonkeyPatch) -> None:
    """What pictures show is not looked at here."""
    monkeypatch.setattr(compare_page, "WIDTHS", {1: 60, 2: 60})


@pytest.fixture
def page(found: Comparison) -> str:
    return build_comparison_page(found)


def off_by(result: ModelResult, unseen: float, training: float, normals: float = 1.0, **more: object) -> ModelResult:
    """A result with these mean deviations, in percent of the diagonal, and other parts."""

    def deviation(of: Deviation, mean: float) -> Deviation:
        return replace(of, mean=mean * of.diagonal / 100, normal_mean=normals)

    return replace(
        result,
        unseen=replace(result.unseen, deviation=deviation(result.unseen.deviation, unseen)),
        training=replace(result.training, deviation=deviation(result.training.deviation, training)),
        **more,
    )


def three(found: Comparison, *means: tuple[float, float]) -> Comparison:
    """Linear blending and two others that hold more numbers."""
    base = found.results[0]
    cost = base.cost
    models = (
        off_by(base, *means[0]),
        off_by(base, *means[1], word="as", title="Animation Space", cost=replace(cost, floats=8 * cost.floats)),
        off_by(base, *means[2], word="mwe", title="Multi-Weight", cost=replace(cost, floats=24 * cost.floats)),
    )
    return replace(found, results=models)


def test_the_closest_is_named_first(found: Comparison) -> None:
    told = three(found, (0.4, 0.35), (0.3, 0.25), (0.6, 0.5))
    assert best_choice(told).word == "as"
    assert compare_verdict(told).replace("\u00a0", " ") == (
        "Animation Space is closest in the 5 unseen poses: off by 0.3 % of the body’s size on average, "
        "25 % less than linear blending (SSD)."
    )
    assert any("numbers per vertex" in line for line in verdict_lines(told))
    assert not any("overfitted" in line for line in verdict_lines(told))


def test_of_equals_the_smaller_is_taken(found: Comparison) -> None:
    told = three(found, (0.4, 0.35), (0.301, 0.25), (0.3, 0.25))
    assert best_choice(told).word == "as"
    assert compare_verdict(told).replace("\u00a0", " ") == (
        "Animation Space is the best choice: in the 5 unseen poses it is off by 0.3 % of the body’s size "
        "on average, 25 % less than linear blending (SSD). Multi-Weight is closest, off by 0.3 %, an invisible "
        "difference."
    )
    assert any(line.startswith("Multi-Weight is as close") for line in verdict_lines(told))


def test_differences_that_nobody_sees(found: Comparison) -> None:
    told = three(found, (0.004, 0.004), (0.002, 0.002), (0.011, 0.002))
    assert compare_verdict(told).startswith("All models are equally good: all 3 ")
    assert best_choice(told).word == "ssd"


def test_overfitting_is_told(found: Comparison) -> None:
    told = three(found, (0.4, 0.35), (0.3, 0.25), (0.6, 0.05))
    assert [line for line in verdict_lines(told) if line.startswith("Multi-Weight") and "overfitted" in line]


def test_normals_may_disagree(found: Comparison) -> None:
    told = three(found, (0.4, 0.35), (0.3, 0.25), (0.6, 0.5))
    told = replace(told, results=(off_by(told.results[0], 0.4, 0.35, normals=0.5), *told.results[1:]))
    assert any("Normals" in line and "linear blending" in line for line in verdict_lines(told))


def test_one_model_alone(found: Comparison) -> None:
    alone = replace(found, results=found.results[:1])
    assert compare_verdict(alone).startswith("Linear blending (SSD) is off by ")
    assert build_comparison_page(alone).count("<img ") == 12


def test_the_page_says_it_first_and_stands_alone(page: str, found: Comparison) -> None:
    verdict = page.index('class="verdict"')
    assert verdict < page.index("<section")
    assert "a &lt;tube&gt;: models compared" in page
    assert "a <tube>" not in page
    assert not re.findall(r"(?:src|href)=\"(?!data:)", page)
    assert page.count("<img ") == 2 * 6 * len(found.results)  # both kinds, three poses seen and three unseen
    assert page.count('class="scale"') == 12
    names = re.findall(r'<linearGradient id="([^"]+)"', page)
    assert len(names) == len(set(names)) == 12


def test_tables_mark_the_best(found: Comparison) -> None:
    for unseen in (True, False):
        table = measure_table(found, unseen=unseen)
        assert table.count("<tr>") == 4  # two lines of headings, two models
        assert table.count("<strong>") >= 8  # one at least in every column


def test_every_pose_is_in_the_chart(found: Comparison) -> None:
    figure = poses_figure(found)
    assert [row[0] for row in figure.rows] == [str(f) for f in found.distinct]
    assert sum(row[1] == "training" for row in figure.rows) == 4


def test_sweeps_are_drawn(found: Comparison) -> None:
    assert sweep_figures(found) == []
    sweep = ContestantSweep((1e-3, 1e-2, 1e-1), (1.0, 2.0, 3.0), (5.0, 4.0, 6.0))
    swept = replace(found.results[0], sweep=sweep, strength=1e-2)
    figures = sweep_figures(replace(found, results=(swept,)))
    assert [figure.title for figure in figures] == ["Strength of regularisation, linear blending (SSD)"]
    assert "chosen: 0.01" in figures[0].chart
    kept = sweep_figures(replace(found, results=(replace(swept, strength=float("inf")),)))[0]
    assert "chosen" not in kept.chart
    assert "the start, which was kept" in kept.note


def test_the_page_is_written_whole(found: Comparison, tmp_path: Path) -> None:
    path = tmp_path / "page.html"
    write_comparison_page(path, found)
    assert path.read_text(encoding="utf-8").endswith("</html>\n")
    assert path.stat().st_size < 2_000_000
