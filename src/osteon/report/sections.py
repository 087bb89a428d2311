"""Parts of a report's page as HTML. All external text is escaped here."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from html import escape

from osteon.core.sequence import MeshSequence
from osteon.measure.skin_report import SkinReport, far_off_warnings, grade_result
from osteon.report.curves import rank_of
from osteon.report.figures import Figure
from osteon.report.gallery import Picture, Spot
from osteon.report.page_parts import brief, nice_ticks, number, percent, share, table
from osteon.report.picture import heat_colors

#: A larger distance of a single vertex (in body sizes) is visible independently of the average.
CONSPICUOUS = 0.03


def verdict(report: SkinReport, diagonal: float) -> str:
    """One sentence about the quality, in the colour of its grade."""
    error, worst, found = (
        report.error_percent,
        report.worst,
        grade_result(report.quality, has_rig=report.has_rig, preset=report.preset),
    )
    off = worst["distance"] / max(diagonal, 1e-300)
    word, style = found.word, "good" if found.is_good else "bad" if found.is_bad else "fair"
    if found.is_good and off > CONSPICUOUS:
        word, style = "Close overall, with one bad spot", "fair"
    degrees = report.shading_deviation_degrees
    tries = f" Try <code>{escape(found.advice)}</code>." if found.advice else ""
    return (
        f'<strong class="{style}">{word}</strong>: E {brief(error)} of the motion, the shading that players show is '
        f"off by {number(degrees['mean'])}° on average ({number(degrees['p95'])}° at the 95th percentile), the worst "
        f"vertex by {brief(100 * off)} of the body’s size in frame {worst['frame']}.{tries}"
    )


def readings(report: SkinReport, sequence: MeshSequence) -> str:
    """The key figures in four groups."""
    diagonal = max(sequence.diagonal, 1e-300)
    worst, normals, seconds = report.worst, report.normal_deviation_degrees, report.seconds
    shading = report.shading_deviation_degrees
    clips = f"{len(sequence.clips)} clips" if len(sequence.clips) > 1 else ""
    held = report.heldout_error_percent
    bytes_out = report.output_bytes
    groups = {
        "Input": [
            ("frames", f"{sequence.n_frames:,}", clips),
            ("vertices", f"{sequence.n_vertices:,}", ""),
            ("triangles", f"{sequence.n_triangles:,}", ""),
            ("body’s size", number(diagonal), "units of the file, as it plays"),
            ("near-rigid", share(report.near_rigid_fraction), f"of the triangles, eps {number(report.tolerance)}"),
        ],
        "Model": [
            ("bones", str(report.bones), report.bone_type),
            ("influences", str(report.influences), "per vertex, at most"),
            ("corrections", f"rank {rank_of(report)}" if rank_of(report) else "none", "of positions"),
            ("normals", f"rank {report.normal_rank}" if report.normal_rank else "none", "corrections of normals"),
            ("preset", report.preset, f"weights {report.weights}" if report.preset == "paper" else ""),
        ],
        "Closeness": [
            ("E", percent(report.error_percent), "of the motion"),
            ("held-out E", "" if held is None else percent(held), "frames not fitted"),
            ("RMS", percent(100 * report.rms / diagonal), f"of the body’s size; {number(report.rms)} units"),
            (
                "worst",
                percent(100 * worst["distance"] / diagonal),
                f"of the body’s size; {number(worst['distance'])} units, "
                f"vertex {worst['vertex']}, frame {worst['frame']}",
            ),
            (
                "shading",
                f"{number(shading['mean'])}°",
                f"mean, as players show it; 95 % below {number(shading['p95'])}°",
            ),
            ("surface", f"{number(normals['mean'])}°", f"mean angle of its normals; worst {number(normals['max'])}°"),
        ],
        "Cost": [
            ("smaller by", f"{number(report.compression_ratio)} ×", "as floats"),
            ("file", "" if bytes_out is None else bytes_text(bytes_out), ""),
            ("fit", f"{number(seconds.get('fit', 0.0))} s", _stages(seconds)),
            ("memory", f"{number(report.peak_memory_mb)} MB" if report.peak_memory_mb else "", "at the peak"),
        ],
    }
    return f'<div class="readings">{"".join(_group(name, rows) for name, rows in groups.items())}</div>'


def _group(name: str, rows: Sequence[tuple[str, str, str]]) -> str:
    lines = "".join(
        f"<div><dt>{escape(label)}</dt><dd>{escape(value)}{f'<small>{escape(more)}</small>' if more else ''}</dd></div>"
        for label, value, more in rows
        if value
    )
    return f"<div><h3>{escape(name)}</h3><dl>{lines}</dl></div>"


def _stages(seconds: dict[str, float]) -> str:
    """Seconds of the stages with at least 0.05 s."""
    parts = [f"{name} {s:.1f}" for name, s in seconds.items() if name not in ("fit", "total") and s >= 0.05]
    return ", ".join(parts)


def bytes_text(count: int) -> str:
    return f"{count / 1e6:.2f} MB" if count >= 1e6 else f"{count / 1e3:.1f} kB" if count >= 1e3 else f"{count} bytes"


def picture_row(pictures: Sequence[Picture], columns: str) -> str:
    """Pictures side by side; `columns` is a class of the style sheet."""
    return f'<div class="pictures {columns}">{"".join(_picture(p) for p in pictures)}</div>'


def picture_columns(pictures: Sequence[Picture], rows: int) -> str:
    """Pictures given row by row, laid out in columns that stay together on a phone."""
    width = len(pictures) // rows
    columns = (pictures[i::width] for i in range(width))
    body = "".join(f'<div class="column">{"".join(_picture(p) for p in column)}</div>' for column in columns)
    return f'<div class="pictures four">{body}</div>'


def _picture(picture: Picture) -> str:
    alt, size = escape(picture.alt), f'width="{picture.width}" height="{picture.height}"'
    return (
        '<figure><div class="frame"><picture>'
        f'<source media="screen and (prefers-color-scheme: dark)" srcset="{picture.dark}">'
        f'<img src="{picture.light}" alt="{alt}" {size}></picture>{_spots(picture)}</div>'
        f"<figcaption>{escape(picture.caption)}</figcaption></figure>"
    )


def _spots(picture: Picture) -> str:
    if not picture.spots:
        return ""
    body = "".join(_spot(spot, picture) for spot in picture.spots)
    box = f'viewBox="0 0 {picture.width} {picture.height}"'
    return f'<svg class="spots" {box} aria-hidden="true">{body}</svg>'


def _spot(spot: Spot, picture: Picture) -> str:
    x, y = spot.x * picture.width, spot.y * picture.height
    if spot.kind == "bone":
        return f'<text class="bone" x="{x:.1f}" y="{y:.1f}">{escape(spot.label)}</text>'
    kind = "spot hidden-spot" if spot.kind == "hidden" else "spot"
    left = spot.x > 0.75
    label = f"{spot.label} (behind)" if spot.label and spot.kind == "hidden" else spot.label
    return (
        f'<circle class="halo" cx="{x:.1f}" cy="{y:.1f}" r="13"/>'
        f'<circle class="{kind}" cx="{x:.1f}" cy="{y:.1f}" r="13"/>'
        f'<text x="{x + (-20 if left else 20):.1f}" y="{y + 6:.1f}" text-anchor="{"end" if left else "start"}">'
        f"{escape(label)}</text>"
    )


@dataclass(frozen=True, slots=True)
class ScaleWords:
    """The texts of a scale."""

    write: Callable[[float], str] = percent
    unit: str = "% of the body’s size"
    spoken: str = "of the body’s size"
    more: str = "Darker is worse; the ring marks the worst vertex."


DISTANCE_WORDS = ScaleWords()


def heat_scale(maximum: float, name: str, words: ScaleWords = DISTANCE_WORDS, key: str = "") -> str:
    """The scale of a heat map; `key` distinguishes scales of the same name."""
    width, left = 380, 14
    stops = "".join(
        f'<stop offset="{i / 12:.3f}" stop-color="rgb({r},{g},{b})"/>'
        for i, (r, g, b) in enumerate((255 * heat_colors([j / 12 for j in range(13)], 1.0)).round().astype(int))
    )
    ticks = [t for t in nice_ticks(0, maximum, 4) if t < 0.88 * maximum] + [maximum]
    marks = "".join(
        f'<path class="base" d="M{left + width * t / maximum:.1f} 18v5"/>'
        f'<text x="{left + width * t / maximum:.1f}" y="36" text-anchor="middle">{words.write(t)}</text>'
        for t in ticks
    )
    key = "heat-" + "".join(c for c in name if c.isalpha()) + key
    return (
        f'<div class="scale"><svg viewBox="0 0 430 40" role="img" '
        f'aria-label="Scale from 0 to {words.write(maximum)} {words.spoken}, from light blue to dark red">'
        f'<defs><linearGradient id="{key}">{stops}</linearGradient></defs>'
        f'<rect x="{left}" y="4" width="{width}" height="14" fill="url(#{key})"/>{marks}</svg>'
        f"<span>{escape(name)}, {words.unit}. {words.more}</span></div>"
    )


def charts(figures: Sequence[Figure]) -> str:
    """Charts side by side."""
    body = "".join(chart_figure(figure) for figure in figures)
    return f'<div class="charts">{body}</div>' if body else ""


def chart_figure(figure: Figure) -> str:
    """A chart with its title, legend, readout, note and table."""
    return (
        f"<figure><h3>{escape(figure.title)}</h3>{figure.legend}{figure.chart}"
        f'<p class="readout" aria-live="polite"></p><figcaption>{escape(figure.note)}</figcaption>'
        f"<details><summary>Numbers</summary>{table(figure.head, figure.rows)}</details></figure>"
    )


def banner(report: SkinReport) -> str:
    """A warning for a result that has little in common with its source."""
    sentences = "".join(f"<p>{escape(text[:1].upper() + text[1:])}.</p>" for text in far_off_warnings(report.quality))
    return f'<div class="banner" role="alert"><p><strong>Far off.</strong></p>{sentences}</div>' if sentences else ""
