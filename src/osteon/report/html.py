"""A report of one skinned sequence as a single HTML file: no network, no fonts, nothing beside it."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from importlib.resources import files

from osteon.core.sequence import MeshSequence
from osteon.io.doors.atomic import atomic_file
from osteon.io.doors.marks import MARK
from osteon.io.doors.source import PathLike
from osteon.pipeline import SkinFit
from osteon.report.advice import advise
from osteon.report.curves import ReportCurves
from osteon.report.evidence import Evidence, gather_evidence
from osteon.report.figures import Figure, frames_figure, motion_figure, shares_figure, vertices_figure
from osteon.report.gallery import Gallery, UpAxis, draw_gallery
from osteon.report.numbers import percent
from osteon.report.paper_figures import (
    bones_figures,
    influences_figure,
    rank_figure,
    tolerance_figure,
    weights_figure,
)
from osteon.report.sections import (
    advice_list,
    chart_figure,
    heat_scale,
    picture_pairs,
    picture_row,
    readings,
    table,
    verdict,
)

__all__ = ["build_page", "write_html_report"]

#: Nothing may be fetched: only what is inside the file is shown and run.
POLICY = "default-src 'none'; img-src data:; style-src 'unsafe-inline'; script-src 'unsafe-inline'"

_TRIALS_NOTE = '<p class="note">From quick fits on a sample, carried over to the whole by their ratio.</p>'


def write_html_report(
    path: PathLike, fit: SkinFit, sequence: MeshSequence, *, curves: ReportCurves, up: UpAxis = "y"
) -> None:
    """Write the report of a fit; the file appears whole or not at all."""
    with atomic_file(path) as temporary:
        temporary.write_text(build_page(fit, sequence, curves=curves, up=up), encoding="utf-8")


def build_page(fit: SkinFit, sequence: MeshSequence, *, curves: ReportCurves, up: UpAxis = "y") -> str:
    """The whole page as text."""
    gallery, evidence = draw_gallery(fit, sequence, up=up), gather_evidence(fit, sequence, curves)
    name = escape(sequence.name)
    sections = (
        _section("bones", "The bones", _bones(fit, gallery)),
        _section("where", "Where the error is", _where(fit, sequence, gallery, evidence)),
        _section("when", "When it is worst", _when(fit, sequence, gallery, evidence)),
        _section("advice", "If this is not good enough", advice_list(advise(evidence))),
        _section("change", "What would change it", _change(fit, curves, evidence)),
        _section(
            "weights", "The weights", _charts([weights_figure(fit.model.skin), influences_figure(fit.model.skin)])
        ),
    )
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f'<meta name="generator" content="{MARK}">'
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">'
        f"<title>{name}: skin report</title><style>{_asset('page.css')}</style></head><body>"
        f'<header><h1>{name}</h1><p class="verdict">{verdict(fit.report, sequence.diagonal)}</p>'
        f"{readings(fit.report, sequence)}</header><main>{''.join(sections)}</main>"
        f"{_footer(fit)}<script>{_asset('page.js')}</script></body></html>\n"
    )


def _asset(name: str) -> str:
    return files("osteon.report").joinpath(name).read_text(encoding="utf-8")


def _section(key: str, title: str, body: str) -> str:
    return f'<section id="{key}"><h2>{escape(title)}</h2>{body}</section>' if body else ""


def _charts(figures: Sequence[Figure], after: str = "") -> str:
    body = "".join(chart_figure(figure) for figure in figures) + after
    return f'<div class="charts">{body}</div>' if body else ""


def _bones(fit: SkinFit, gallery: Gallery) -> str:
    return (
        f"<p>Each of the {fit.model.n_bones} bones has a colour and a number; colours mix where weights do.</p>"
        f"{picture_row(gallery.bones, 'two')}"
        "<p>The source, and what the model plays.</p>"
        f"{picture_pairs(gallery.strip)}"
    )


def _where(fit: SkinFit, sequence: MeshSequence, gallery: Gallery, evidence: Evidence) -> str:
    figures = [vertices_figure(fit.distortion, sequence.diagonal)]
    if evidence.shares and evidence.error_percent > 0:
        figures.append(shares_figure(evidence.shares, fit.model.n_bones))
    return picture_row(gallery.heat, "two") + heat_scale(gallery.heat_maximum, "RMS over all frames") + _charts(figures)


def _when(fit: SkinFit, sequence: MeshSequence, gallery: Gallery, evidence: Evidence) -> str:
    jumps = sorted({*evidence.lone_frames, *evidence.cuts})
    figures = [frames_figure(fit.distortion, sequence), motion_figure(evidence.steps, sequence, jumps)]
    worst = fit.distortion.worst
    worst_vertex = f"<p>Of all vertices and frames, vertex {worst.vertex} in frame {worst.frame} is farthest off.</p>"
    scale = heat_scale(gallery.worst_maximum, "distance in this frame")
    return worst_vertex + picture_row(gallery.worst, "three") + scale + _charts(figures)


def _change(fit: SkinFit, curves: ReportCurves, evidence: Evidence) -> str:
    report = fit.report
    found = (rank_figure(report, curves), *bones_figures(report, curves), tolerance_figure(report, curves))
    trials = ""
    if evidence.trials:
        rows = [(change, option, percent(error)) for change, option, error in evidence.trials]
        now = ("this model", "", percent(report.error_percent))
        head = ("change", "option", "E, expected")
        trials = f"<div><h3>One option changed</h3>{table(head, [now, *rows])}{_TRIALS_NOTE}</div>"
    return _charts([figure for figure in found if figure is not None], trials)


def _footer(fit: SkinFit) -> str:
    report = fit.report
    warnings = "".join(f"<p>Note: {escape(warning)}.</p>" for warning in report.warnings)
    return (
        "<footer><p>E = 100 ‖P − A‖ / ‖P − P̄‖: the distance between source P and result A, relative to how far the "
        "source moves about its mean over time P̄. Distances in % are of the diagonal of the rest pose’s bounding box."
        f"</p>{warnings}<p>Osteon {escape(report.version)}, seed {report.seed}, {report.rounds} rounds of "
        "refinement.</p></footer>"
    )
