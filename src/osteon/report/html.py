"""A report of one skinned sequence as a single HTML file: no network, no fonts, nothing beside it."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from osteon.core.sequence import MeshSequence
from osteon.io.load.source import PathLike
from osteon.io.save.atomic import atomic_file
from osteon.pipeline.options import Try
from osteon.pipeline.skin import SkinFit
from osteon.report.advice import Advice, Evidence, advise, gather_evidence
from osteon.report.curves import ReportCurves, Trial, proposals
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
from osteon.report.page_parts import percent, section, share, whole_page
from osteon.report.sections import (
    banner,
    bytes_text,
    charts,
    heat_scale,
    picture_columns,
    picture_row,
    readings,
    verdict,
)


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
        section("How to make it closer, or smaller", _advice(curves, evidence), "advice"),
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
        "<p>Source frames, the same frames of the model, and the model in the colours of its bones.</p>"
        f"{picture_columns(gallery.strip, 3)}"
        f"<p>Each of the {fit.model.n_bones} bones has a colour and a number; colours mix where weights do.</p>"
        f"{picture_row(gallery.bones, 'two')}"
    )


def _advice(curves: ReportCurves, evidence: Evidence) -> str:
    found = _proposal_table(curves.own, curves.trials, curves.max_bytes) + _tries_table(curves.tries)
    found += _advice_list(advise(evidence))
    none = "<p>No measurement indicates a single cause, and no other options were tried.</p>"
    return f'<div class="beside">{found or none}</div>'


def _proposal_table(own: Trial | None, trials: Sequence[Trial], max_bytes: int | None = None) -> str:
    """Changes worth making, each with its measured error and file size; none larger than `max_bytes`."""
    if own is None or not trials:
        return ""
    kept = proposals(own, trials, max_bytes)
    fits = "a whole fit" if len(trials) == 1 else f"{len(trials)} whole fits"
    if not kept:
        tried = " and ".join(f"<code>{escape(trial.option)}</code>" for trial in trials)
        return f"<p>Tried: {tried}. Neither clearly closer to the source nor clearly smaller than this model.</p>"
    rows = "".join(_proposal(trial, own) for trial in (own, *kept))
    return (
        '<div class="proposals"><table><thead><tr><th scope="col">change</th>'
        '<th scope="col">E<small>% of the motion</small></th><th scope="col">file</th></tr></thead>'
        f"<tbody>{rows}</tbody></table>"
        f'<p class="note">Measured with {fits} of all vertices and frames, and the file written for each. Add '
        "the option to the same command, in place of what it changes there; small figures are relative to this model."
        "</p></div>"
    )


def _tries_table(tries: Sequence[Try]) -> str:
    """The files that a search measured, sorted by size."""
    if not tries:
        return ""
    rows = "".join(
        f"<tr><td>{t.bones}</td><td>{t.rank}</td><td>{t.normal_rank}</td><td>{percent(t.error_percent)}</td>"
        f"<td>{t.shading:.3g}°</td><td>{bytes_text(t.bytes)}</td></tr>"
        for t in sorted(set(tries), key=lambda t: t.bytes)
    )
    heads = "".join(f'<th scope="col">{head}</th>' for head in ("bones", "rank", "normal rank", "E", "shading", "file"))
    return (
        f'<div class="proposals"><h3>What the search measured</h3><table><thead><tr>{heads}</tr></thead>'
        f"<tbody>{rows}</tbody></table></div>"
    )


def _proposal(trial: Trial, own: Trial) -> str:
    code = f" <code>{escape(trial.option)}</code>" if trial.option else ""
    error = _difference(trial.error_percent, own.error_percent)
    size = _difference(trial.bytes, own.bytes)
    return (
        f"<tr><td>{escape(trial.name)}{code}</td><td>{percent(trial.error_percent)}{error}</td>"
        f"<td>{bytes_text(trial.bytes)}{size}</td></tr>"
    )


def _difference(value: float, own: float) -> str:
    """The relative difference from the model's own value; empty for the model itself."""
    if value == own or own <= 0:
        return ""
    more = value / own - 1
    return f"<small>{'+' if more > 0 else '−'}{share(abs(more))}</small>"


def _advice_list(advice: Sequence[Advice]) -> str:
    """The causes of error, in order."""
    items = "".join(f"<li>{escape(a.sentence)}</li>" for a in advice)
    return f'<div><h3>Findings</h3><ul class="advice">{items}</ul></div>' if items else ""


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
    worst_vertex = (
        f"<p>Of all vertices and frames, vertex {worst.vertex} in frame {worst.frame} has the largest distance.</p>"
    )
    scale = heat_scale(gallery.worst_maximum, "distance in this frame")
    return worst_vertex + picture_row(gallery.worst, "three") + scale + charts(figures)


def _change(fit: SkinFit, curves: ReportCurves) -> str:
    found = (rank_figure(fit.report), tolerance_figure(fit.report, curves))
    return charts([figure for figure in found if figure is not None])


def _footer(fit: SkinFit) -> str:
    report = fit.report
    warnings = "".join(f"<p>Note: {escape(warning)}.</p>" for warning in report.warnings)
    return (
        "<footer><p>E = 100 ‖P − A‖ / ‖P − P̄‖: the distance between source P and result A, relative to the motion "
        "of the source about its mean over time P̄. The body’s size is the diagonal of the rest pose’s bounding box, at "
        "the size of the body as it plays."
        f"</p>{warnings}<p>Osteon {escape(report.version)}, seed {report.seed}, {report.rounds} rounds of "
        "refinement.</p></footer>"
    )
