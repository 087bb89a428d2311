from __future__ import annotations

import base64
import io
import re
from collections.abc import Iterator
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from osteon.core.animation import Clip
from osteon.core.character import Corrections
from osteon.core.errors import FileFormatError
from osteon.core.sequence import MeshSequence
from osteon.core.skin_options import SkinOptions
from osteon.measure.skin_report import Rung, grade_result
from osteon.pipeline.rig import default_rig_options
from osteon.pipeline.skin import SkinFit, skin_sequence
from osteon.report import gallery
from osteon.report.curves import ReportCurves, TolerancePoint, Trial
from osteon.report.html import build_page, write_html_report
from osteon.report.raster import DrawOptions
from osteon.report.sections import verdict

from ...subjects import bent_tube

CURVES = ReportCurves(
    tolerances=(TolerancePoint(0.02, 6, 0.5), TolerancePoint(0.05, 4, 0.8), TolerancePoint(0.2, 1, 1.0)),
    trials=(Trial("4 bones", "--bones 4", 0.5, 60_000),),
    own=Trial("this model", "", 4.0, 50_000),
)
EVIL = '<img src=x onerror=alert(1)> & "co"'
VOID = {"meta", "img", "source"}


class _Page(HTMLParser):
    """Checks that tags close in order, and keeps what a test may ask for."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.words: list[str] = []
        self.feed(text)
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open[-1:] not in (["style"], ["script"]):
            self.words.append(data)

    @property
    def text(self) -> str:
        return " ".join(self.words)


@pytest.fixture(scope="module", autouse=True)
def _small_pictures() -> Iterator[None]:
    """Most tests do not look at the pictures; drawing is what takes time."""
    with pytest.MonkeyPatch.context() as patch:
        for name in ("LARGE", "SMALL"):
            patch.setattr(gallery, name, DrawOptions(width=64, height=48, samples=1, shadow=False))
        yield


@pytest.fixture(scope="module")
def tube() -> tuple[SkinFit, MeshSequence]:
    sequence = replace(bent_tube(4, n_frames=12).sequence, name="tube", clips=(Clip("up", 0, 5), Clip("down", 5, 12)))
    return skin_sequence(sequence, options=SkinOptions(bones=2, rounds=4, holdout=4, threads=1)), sequence


@pytest.fixture(scope="module")
def page(tube: tuple[SkinFit, MeshSequence]) -> _Page:
    fit, sequence = tube
    ladder = tuple(Rung("rank", r, e) for r, e in ((0, 4.0), (1, 2.0), (5, 0.1)))
    report = replace(fit.report, ladder=ladder).with_output_bytes(123_456)
    return _Page(build_page(replace(fit, report=report), sequence, curves=CURVES))


def test_says_what_was_measured(page: _Page, tube: tuple[SkinFit, MeshSequence]) -> None:
    fit, sequence = tube
    worst = fit.distortion.worst
    wanted = ("tube", f"{sequence.n_vertices:,}", "12", "2 clips", "rank 5", "123.5 kB", f"vertex {worst.vertex}")
    for part in (
        *wanted,
        f"frame {worst.frame}",
        "held-out E",
        "How to make it closer, or smaller",
        "Bones found by tolerance",
    ):
        assert part in page.text, part


def test_has_every_chart_and_its_numbers(page: _Page) -> None:
    titles = [
        "Error by vertex, sorted",
        "Error by bone",
        "Error by frame",
        "Motion of the source by frame",
        "Error by rank of the corrections",
        "Bones found by tolerance",
        "Weights, sorted",
        "Bones per vertex",
    ]
    for title in titles:
        assert title in page.text, title
    plots = [a for tag, a in page.tags if tag == "svg" and a.get("class") == "plot"]
    assert len(plots) == len(titles) == sum(tag == "details" for tag, _ in page.tags)
    assert all(a["tabindex"] == "0" and a["aria-label"] for a in plots)


def test_fetches_nothing_and_describes_every_picture(page: _Page) -> None:
    images = [a for tag, a in page.tags if tag == "img"]
    assert len(images) == 2 + 12 + 2 + 3
    assert all(str(a["src"]).startswith("data:image/png;base64,") and a["alt"] for a in images)
    for tag, attributes in page.tags:
        assert tag not in ("link", "iframe", "object", "base")
        for key in ("src", "href", "srcset"):
            assert str(attributes.get(key) or "data:").startswith(("data:", "#")), (tag, key)
    policy = next(a["content"] for tag, a in page.tags if a.get("http-equiv") == "Content-Security-Policy")
    assert "default-src 'none'" in str(policy)


def test_names_from_files_cannot_speak_html(tube: tuple[SkinFit, MeshSequence]) -> None:
    fit, sequence = tube
    named = replace(sequence, name=EVIL, clips=(Clip(EVIL, 0, 5), Clip("down", 5, 12)))
    method = replace(fit.report.method, stages=(replace(fit.report.method.last, stopped_by=EVIL),))
    report = replace(fit.report, warnings=(EVIL,), method=method, preset=EVIL)
    text = build_page(replace(fit, report=report), named, curves=ReportCurves())
    assert "<img src=x" not in text
    assert not [a for tag, a in _Page(text).tags if "onerror" in a]
    assert _Page(text).text.count(EVIL[:20]) >= 3


def test_leaves_out_what_is_not_known(tube: tuple[SkinFit, MeshSequence]) -> None:
    fit, sequence = tube
    quality = replace(fit.report.quality, heldout_error_percent=None, output_bytes=None)
    report = replace(fit.report, quality=quality, peak_memory_mb=0.0)
    page = _Page(build_page(replace(fit, report=report), sequence, curves=ReportCurves()))
    for part in ("held-out E", "by tolerance", "rank of the corrections", "Measured, not guessed"):
        assert part not in page.text


def test_two_frames_and_no_error() -> None:
    """The shortest sequence there is, played exactly."""
    sequence = bent_tube(2, n_frames=2).sequence
    fit = skin_sequence(sequence, options=SkinOptions(bones=2, rounds=2, threads=1))
    exact = replace(fit.distortion, per_frame=np.zeros(2), per_vertex=np.zeros(sequence.n_vertices), error_percent=0.0)
    exact = replace(exact, worst=replace(exact.worst, distance=0.0), rms=0.0)
    worst = {"distance": 0.0, "vertex": 0, "frame": 0}
    report = replace(fit.report, quality=replace(fit.report.quality, error_percent=0.0, rms=0.0, worst=worst))
    page = _Page(build_page(replace(fit, distortion=exact, report=report), sequence, curves=ReportCurves()))
    assert "Nearly exact" in page.text
    assert len([a for tag, a in page.tags if tag == "img"]) == 2 + 6 + 2 + 3
    assert "nan" not in page.text


def test_corrections_are_played_in_the_pictures(tube: tuple[SkinFit, MeshSequence]) -> None:
    fit, sequence = tube
    basis = np.zeros((1, sequence.n_vertices, 3))
    basis[0, :, 1] = 0.2
    model = fit.model.with_corrections(Corrections(basis, np.ones((sequence.n_frames, 1))))
    bare, moved = (build_page(replace(fit, model=m), sequence, curves=ReportCurves()) for m in (fit.model, model))
    assert re.findall(r'<img src="([^"]*)" alt="result', bare) != re.findall(r'<img src="([^"]*)" alt="result', moved)


def test_advice_stands_before_pictures_and_charts(page: _Page) -> None:
    heads = [a["id"] for tag, a in page.tags if tag == "section"]
    assert heads == ["advice", "bones", "where", "when", "change", "weights"]
    assert "4 bones" in page.text
    assert "60.0 kB" in page.text
    assert "0.5\u00a0%" in page.text


def test_result_in_grey_beside_the_source_and_in_bone_colors(tube: tuple[SkinFit, MeshSequence]) -> None:
    fit, sequence = tube
    text = build_page(fit, sequence, curves=ReportCurves())
    pictures = {name: re.findall(rf'<img src="([^"]*)" alt="{name}, frame', text) for name in PAINTED}
    assert [len(found) for found in pictures.values()] == [4, 4, 4]
    tints = {name: max(_tint(uri) for uri in found) for name, found in pictures.items()}
    assert tints["source"] < 0.15
    assert tints["result"] < 0.15
    assert tints["result by bone"] > 0.3


PAINTED = ("source", "result", "result by bone")


def _tint(uri: str) -> float:
    """The largest difference between red, green and blue of a pixel, 0 … 1."""
    image = Image.open(io.BytesIO(base64.b64decode(uri.split(",")[1]))).convert("RGB")
    return float(np.ptp(np.asarray(image, np.float64), axis=2).max() / 255)


@pytest.mark.parametrize(("error", "middle"), [(80.0, 30.0), (20.0, 120.0)])
def test_far_off_is_the_first_thing_to_see(tube: tuple[SkinFit, MeshSequence], error: float, middle: float) -> None:
    fit, sequence = tube
    quality = replace(fit.report.quality, error_percent=error, karni_gotsman_percent=middle)
    text = build_page(replace(fit, report=replace(fit.report, quality=quality)), sequence, curves=ReportCurves())
    assert '<body><div class="banner" role="alert"><p><strong>Far off' in text
    assert '<strong class="bad">Far off' in text
    assert 'class="banner"' not in build_page(fit, sequence, curves=ReportCurves())


def test_percentages_are_of_the_body_as_it_plays() -> None:
    """A rest pose a hundred times larger than what plays changes no figure of the page."""
    sequence = replace(bent_tube(4, n_frames=12).sequence, name="tube")
    large = sequence.with_parts(rest=100 * sequence.rest)
    pages = []
    for one in (sequence, large):
        fit = skin_sequence(one, options=SkinOptions(bones=2, rounds=4, threads=1))
        fit = replace(fit, report=replace(fit.report, seconds={}, peak_memory_mb=0.0, warnings=()))
        pages.append(_Page(build_page(fit, one, curves=ReportCurves())))
    small, scaled = (re.findall(r"(?<![\d.])\d+(?:\.\d+)?(?![\d.]*\d)", page.text) for page in pages)
    assert len(small) == len(scaled) > 300
    np.testing.assert_allclose([float(v) for v in scaled], [float(v) for v in small], rtol=0.02, atol=0.011)


def test_every_scale_and_heat_picture_says_its_unit(page: _Page) -> None:
    captions = [word for word in page.words if re.match("RMS .|distance", word)]
    assert len(captions) >= 8
    assert [text for text in captions if "% of the body’s size" not in text and "units" not in text] == []
    assert "diagonal" not in page.text.replace("is the diagonal of the rest pose’s bounding box", "")


@pytest.mark.parametrize(
    ("error", "off", "word"),
    [
        (0.05, 0.001, "Nearly exact"),
        (0.99, 0.012, "Close"),
        (0.9, 0.2, "one bad spot"),
        (3, 0.1, "Fair"),
        (40, 1, "Poor"),
        (80, 1, "Far off"),
    ],
)
def test_verdict_in_plain_words(tube: tuple[SkinFit, MeshSequence], error: float, off: float, word: str) -> None:
    worst: dict[str, float | int] = {"distance": 2 * off, "vertex": 7, "frame": 31}
    report, shading = tube[0].report, {"mean": 0.5, "p95": 2.0}
    quality = replace(report.quality, error_percent=error, worst=worst, shading_deviation_degrees=shading)
    sentence = verdict(replace(report, quality=quality), 2.0)
    assert word in sentence
    assert "in frame 31" in sentence


@pytest.mark.parametrize(
    ("mean", "p95", "word", "advice"),
    [
        (0.5, 2.0, "Close", ""),
        (3.9, 14.0, "Close", ""),
        (3.9, 20.0, "Fair", "--max-shading 3"),
        (7.0, 14.0, "Fair", "--max-shading 3"),
        (12.0, 40.0, "Rough", "--max-shading 3"),
        (45.0, 99.0, "Far off", "--max-shading 3"),
    ],
)
def test_verdict_sees_shading(
    tube: tuple[SkinFit, MeshSequence], mean: float, p95: float, word: str, advice: str
) -> None:
    """A close result with bad shading is not close."""
    degrees = {"mean": mean, "p95": p95}
    quality = replace(tube[0].report.quality, error_percent=0.5, shading_deviation_degrees=degrees)
    found = grade_result(quality)
    assert (found.word, found.advice) == (word, advice)
    assert found.because == ("shading" if word != "Close" else "E")


def test_advice_with_a_rig_is_allowed_there(tube: tuple[SkinFit, MeshSequence]) -> None:
    """Bounds are refused with a rig."""
    quality = replace(tube[0].report.quality, error_percent=9.0, shading_deviation_degrees={"mean": 12.0, "p95": 40.0})
    assert grade_result(quality).advice == "--max-error 1 --max-shading 3"
    assert grade_result(quality, has_rig=True).advice == "--helpers 4 --normal-rank 5"
    baked = bent_tube(2, 8)
    options = default_rig_options(baked.sequence, baked.model)
    assert skin_sequence(baked.sequence, options=options, rig=baked.model).report.has_rig
    assert not tube[0].report.has_rig


def test_file_is_small_and_appears_whole(tube: tuple[SkinFit, MeshSequence], tmp_path: Path) -> None:
    path = tmp_path / "new" / "report.html"
    write_html_report(path, *tube, curves=CURVES)
    assert [p.name for p in path.parent.iterdir()] == ["report.html"]
    assert path.read_text(encoding="utf-8").endswith("</html>\n")
    assert 50_000 < path.stat().st_size < 500_000
    with pytest.raises(FileFormatError):
        write_html_report(tmp_path, *tube, curves=CURVES)


def test_same_input_same_page(tube: tuple[SkinFit, MeshSequence]) -> None:
    assert build_page(*tube, curves=CURVES) == build_page(*tube, curves=CURVES)
