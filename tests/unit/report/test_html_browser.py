"""The report in a real browser: nothing is fetched, nothing complains, nothing sticks out, charts answer."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from osteon.core.animation import Clip
from osteon.core.skin_options import SkinOptions
from osteon.fit.models.registry import ContestantSweep
from osteon.pipeline.compare import compare_models
from osteon.pipeline.options import CompareOptions
from osteon.pipeline.skin import skin_sequence
from osteon.report import compare_page
from osteon.report.compare_page import write_comparison_page
from osteon.report.curves import ReportCurves, TolerancePoint, Trial
from osteon.report.html import write_html_report
from osteon_bench.players.tools import find_chromium

from ...subjects import bent_tube

CHROMIUM = find_chromium()
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no chromium on this system")

SIZES = {"desktop": (1280, 900), "phone": (390, 844)}
CURVES = ReportCurves(
    tolerances=tuple(TolerancePoint(e, round(0.2 / e), 0.5) for e in (0.02, 0.05, 0.1, 0.2)),
    trials=(Trial("4 bones", "--bones 4", 0.5, 60_000),),
    own=Trial("this model", "", 4.0, 50_000),
)
#: Pairs of texts of one chart whose boxes overlap by more than a rounding.
OVERLAPS = """() => [...document.querySelectorAll("svg.plot")].flatMap((plot) => {
  const texts = [...plot.querySelectorAll("text")].map((t) => [t.textContent, t.getBoundingClientRect()]);
  return texts.flatMap(([name, a], i) => texts.slice(i + 1)
    .filter(([, b]) => a.left < b.right - 1 && b.left < a.right - 1 && a.top < b.bottom - 3 && b.top < a.bottom - 3)
    .map(([other]) => `${name} / ${other}`));
})"""


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("report") / "tube.html"
    clips = (Clip("walk", 0, 16), Clip("a name that is long", 16, 40))
    sequence = replace(bent_tube(4, n_frames=40).sequence, name="tube", clips=clips)
    fit = skin_sequence(sequence, options=SkinOptions(bones=2, rounds=3, threads=1))
    write_html_report(path, fit, sequence, curves=CURVES)
    assert path.stat().st_size < 2_000_000
    return path


@pytest.fixture(scope="module")
def compared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page of a comparison, with a sweep."""
    sequence = bent_tube(3, n_frames=9).sequence
    found = compare_models(sequence, options=CompareOptions(models="ssd,dqs", train=4, bones=2, threads=1))
    sweep = ContestantSweep((1e-6, 1e-3, 1.0), (0.01, 0.1, 0.2), (0.5, 0.3, 0.4))
    results = (*found.results, replace(found.results[0], word="mwe", title="Multi-Weight Enveloping", sweep=sweep))
    path = tmp_path_factory.mktemp("compared") / "models.html"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(compare_page, "WIDTHS", {3: 90})
        write_comparison_page(path, replace(found, results=results))
    return path


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    sync_api = pytest.importorskip("playwright.sync_api")
    with sync_api.sync_playwright() as playwright:
        opened = playwright.chromium.launch(
            executable_path=str(CHROMIUM), args=["--no-sandbox", "--disable-background-networking"]
        )
        yield opened
        opened.close()


def _open(browser: Any, report: Path, size: str = "desktop", scheme: str = "light") -> tuple[Any, list[str]]:
    """The page, and everything that it complained about or asked the network for."""
    width, height = SIZES[size]
    page = browser.new_page(viewport={"width": width, "height": height}, color_scheme=scheme)
    noise: list[str] = []
    page.on("console", lambda message: noise.append(message.text))
    page.on("pageerror", lambda error: noise.append(str(error)))
    page.on("request", lambda request: noise.append(request.url) if not request.url.startswith("data:") else None)
    page.goto(report.as_uri())
    return page, [line for line in noise if line != report.as_uri()]


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("size", SIZES)
def test_quiet_and_within_its_width(browser: Any, report: Path, size: str, scheme: str) -> None:
    page, noise = _open(browser, report, size, scheme)
    assert noise == []
    assert page.evaluate("document.documentElement.scrollWidth") == SIZES[size][0]
    loaded = page.evaluate("[...document.images].map((i) => i.complete && i.naturalWidth > 0)")
    assert len(loaded) == 19
    assert all(loaded)
    assert page.evaluate(OVERLAPS) == []
    page.close()


@pytest.mark.parametrize("size", SIZES)
def test_a_comparison_is_quiet_and_within_its_width(browser: Any, compared: Path, size: str) -> None:
    page, noise = _open(browser, compared, size)
    assert noise == []
    assert page.evaluate("document.documentElement.scrollWidth") == SIZES[size][0]
    loaded = page.evaluate("[...document.images].map((i) => i.complete && i.naturalWidth > 0)")
    assert len(loaded) == 2 * 6 * 3
    assert all(loaded)
    assert page.evaluate(OVERLAPS) == []
    page.close()


def test_a_table_that_is_too_wide_says_so_until_its_end_is_seen(browser: Any, compared: Path) -> None:
    page, _ = _open(browser, compared, "phone")
    box = page.locator(".measures").first
    cue = page.locator(".scroll-cue").first
    assert box.evaluate("(b) => b.scrollWidth > b.clientWidth")
    assert cue.is_visible()
    assert "scroll sideways" in cue.text_content()
    box.focus()
    box.evaluate("(b) => { b.scrollLeft = b.scrollWidth; }")
    cue.wait_for(state="hidden")
    first = box.locator("tbody th").first.bounding_box()
    assert first["x"] >= 0, "the name of the row stays"
    page.close()
    page, _ = _open(browser, compared, "desktop")
    assert not any(cue.is_visible() for cue in page.locator(".scroll-cue").all())
    page.close()


def test_paper_and_ink_change_with_the_scheme(browser: Any, report: Path) -> None:
    brightness = []
    for scheme in ("light", "dark"):
        page, _ = _open(browser, report, scheme=scheme)
        style = page.evaluate("(s => [s.backgroundColor, s.color])(getComputedStyle(document.body))")
        brightness.append([sum(int(v) for v in color[4:-1].split(",")) for color in style])
        assert page.evaluate("document.images[0].currentSrc").startswith("data:image/png")
        page.close()
    (paper, ink), (dark_paper, dark_ink) = brightness
    assert paper - ink > 500
    assert dark_ink - dark_paper > 500


def test_charts_answer_the_pointer_and_the_keys(browser: Any, report: Path) -> None:
    page, _ = _open(browser, report)
    figure = page.locator("figure", has=page.get_by_role("heading", name="Error by frame"))
    readout, plot = figure.locator(".readout"), figure.locator("svg.plot")
    plot.hover()
    assert readout.text_content().startswith("frame ")
    page.mouse.move(0, 0)
    assert readout.text_content() == ""
    plot.focus()
    said = []
    for key in ("Home", "ArrowRight", "End", "ArrowLeft", "Escape"):
        page.keyboard.press(key)
        said.append(readout.text_content().split(":")[0])
    assert said == ["frame 0 (walk)", "frame 1 (walk)", *(f"frame {f} (a name that is long)" for f in (39, 38)), ""]
    page.close()


def test_tables_open_and_prints_on_paper(browser: Any, report: Path) -> None:
    page, _ = _open(browser, report)
    first = page.locator("details").first
    assert not first.locator("table").is_visible()
    first.locator("summary").press("Enter")
    assert first.locator("table").is_visible()
    assert page.pdf(format="A4")[:4] == b"%PDF"
    page.close()


def test_paper_is_white_whatever_the_screen(browser: Any, report: Path) -> None:
    page, _ = _open(browser, report, scheme="dark")
    page.emulate_media(media="print", color_scheme="dark")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(251, 251, 249)"
    light = page.evaluate("[...document.images].every((image) => image.currentSrc === image.getAttribute('src'))")
    assert light
    page.close()


def test_text_is_large_enough_on_a_phone(browser: Any, report: Path) -> None:
    page, _ = _open(browser, report, "phone")
    heights = page.evaluate(
        "[...document.querySelectorAll('svg.plot text')].map(t => t.getBoundingClientRect().height)"
    )
    assert np.min(heights) > 10
    page.close()
