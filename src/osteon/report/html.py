"""A report of one skinned sequence as a single HTML file: no network, no fonts, nothing beside it."""

from __future__ import annotations

from html import escape

from osteon.core.sequence import MeshSequence
from osteon.io.load.source import PathLike
from osteon.io.save.atomic import atomic_file
from osteon.pipeline.skin import SkinFit
from osteon.report.advice import advise
from osteon.report.curves import ReportCurves
from osteon.report.evidence import Evidence, gather_evidence
from osteon.report.figures import (
    frames_figure,
    influences_figure,
    motion_figure,
    rank_figure,
    shares_figure,
    tolerance_figure,
    vertices_figure,
    weights_figure,
)
from osteon.report.gallery import Gallery, UpAxis, draw_gallery
from osteon.report.page_parts import section, whole_page
from osteon.report.proposal_table import advice_list, proposal_table, tries_table
from osteon.report.sections import (
    banner,
    charts,
    heat_scale,
    picture_columns,
    picture_row,
    readings,
    verdict,
)

__all__ = ["build_page", "write_html_report"]


def write_html_report(
    path: PathLike, fit: SkinFit, sequence: MeshSequence, *, curves: ReportCurves, up: UpAxis = "y"
) -> None:
    """Write the report of a fit; the file appears whole or not at all."""
    with atomic_file(path) as temporary:
        temporary.write_text(build_page(fit, sequence, curves=curves, up=up), encoding="utf-8")


def build_page(fit: SkinFit, sequence: MeshSequence, *, curves: ReportCurves, up: UpAxis = "y") -> str:
    """The whole page as text."""
    gallery, evidence = draw_gallery(fit, sequence, up=up), gather_evidence(fit, sequence)
    name = escape(sequence.name)
    weights = charts([weights_figure(fit.model.skin), influences_figure(fit.model.skin)])
    sections = (
        section("What would make it better, or smaller", _advice(curves, evidence), "advice"),
        section("Source, result and bones", _bones(fit, gallery), "bones"),
        section("Where the error is", _where(fit, sequence, gallery, evidence), "where"),
        section("When it is worst", _when(fit, sequence, gallery, evidence), "when"),
        section("Corrections and bones", _change(fit, curves), "change"),
        section("The weights", weights, "weights"),
    )
    head = (
        f'<header><h1>{name}</h1><p class="verdict">{verdict(fit.report, sequence.diagonal)}</p>'
        f"{readings(fit.report, sequence)}</header>"
    )
    body = f"{banner(fit.report)}{head}<main>{''.join(sections)}</main>{_footer(fit)}"
    return whole_page(f"{sequence.name}: skin report", body)


def _bones(fit: SkinFit, gallery: Gallery) -> str:
    return (
        "<p>Source frames, what the model plays in the same grey, and the same in the colours of the bones.</p>"
        f"{picture_columns(gallery.strip, 3)}"
        f"<p>Each of the {fit.model.n_bones} bones has a colour and a number; colours mix where weights do.</p>"
        f"{picture_row(gallery.bones, 'two')}"
    )


def _advice(curves: ReportCurves, evidence: Evidence) -> str:
    found = proposal_table(curves.own, curves.trials, curves.max_bytes) + tries_table(curves.tries)
    found += advice_list(advise(evidence))
    none = "<p>Nothing stands out: no measurement points to one cause, and nothing else was tried.</p>"
    return f'<div class="beside">{found or none}</div>'


def _where(fit: SkinFit, sequence: MeshSequence, gallery: Gallery, evidence: Evidence) -> str:
    figures = [vertices_figure(fit.distortion, sequence.diagonal)]
    if evidence.shares and evidence.error_percent > 0:
        figures.append(shares_figure(evidence.shares, fit.model.n_bones))
    return (
        picture_row(gallery.heat, "two")
        + heat_scale(gallery.heat_maximum, "RMS distance over all frames")
        + charts(figures)
    )


def _when(fit: SkinFit, sequence: MeshSequence, gallery: Gallery, evidence: Evidence) -> str:
    jumps = sorted({*evidence.lone_frames, *evidence.cuts})
    figures = [frames_figure(fit.distortion, sequence), motion_figure(evidence.steps, sequence, jumps)]
    worst = fit.distortion.worst
    worst_vertex = f"<p>Of all vertices and frames, vertex {worst.vertex} in frame {worst.frame} is farthest off.</p>"
    scale = heat_scale(gallery.worst_maximum, "distance in this frame")
    return worst_vertex + picture_row(gallery.worst, "three") + scale + charts(figures)


def _change(fit: SkinFit, curves: ReportCurves) -> str:
    found = (rank_figure(fit.report), tolerance_figure(fit.report, curves))
    return charts([figure for figure in found if figure is not None])


def _footer(fit: SkinFit) -> str:
    report = fit.report
    warnings = "".join(f"<p>Note: {escape(warning)}.</p>" for warning in report.warnings)
    return (
        "<footer><p>E = 100 ‖P − A‖ / ‖P − P̄‖: the distance between source P and result A, relative to how far the "
        "source moves about its mean over time P̄. The body’s size is the diagonal of the rest pose’s bounding box, at "
        "the size of the body as it plays."
        f"</p>{warnings}<p>Osteon {escape(report.version)}, seed {report.seed}, {report.rounds} rounds of "
        "refinement.</p></footer>"
    )
