"""Parts of a report's page as HTML. Every text from outside is escaped here."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from osteon.core.sequence import MeshSequence
from osteon.measure.skin_report import SkinReport
from osteon.report.advice import Advice
from osteon.report.curves import rank_of
from osteon.report.figures import Figure
from osteon.report.gallery import Picture, Spot
from osteon.report.numbers import brief, nice_ticks, number, percent, share
from osteon.report.picture import heat_colors

__all__ = ["advice_list", "chart_figure", "heat_scale", "picture_pairs", "picture_row", "readings", "table", "verdict"]

#: E % up to which a result earns each word.
GRADES = ((0.1, "Nearly exact"), (1.5, "Close"), (5.0, "Fair"), (15.0, "Rough"))
#: One vertex farther off than this (of the diagonal) is seen whatever the average says.
CONSPICUOUS = 0.03


def verdict(report: SkinReport, diagonal: float) -> str:
    """One sentence in plain words."""
    error, worst = report.error_percent, report.worst
    word = next((word for limit, word in GRADES if error <= limit), "Far off")
    off = worst["distance"] / max(diagonal, 1e-300)
    if word in ("Nearly exact", "Close") and off > CONSPICUOUS:
        word = "Close on the whole, with one bad spot"
    return (
        f"<strong>{word}</strong>: E {brief(error)}, the worst vertex is off by {brief(100 * off)} of the body’s "
        f"size in frame {worst['frame']}."
    )


def readings(report: SkinReport, sequence: MeshSequence) -> str:
    """The key figures in four groups."""
    diagonal = max(sequence.diagonal, 1e-300)
    worst, normals, seconds = report.worst, report.normal_deviation_degrees, report.seconds
    clips = f"{len(sequence.clips)} clips" if len(sequence.clips) > 1 else ""
    held = report.heldout_error_percent
    bytes_out = report.output_bytes
    groups = {
        "Input": [
            ("frames", f"{sequence.n_frames:,}", clips),
            ("vertices", f"{sequence.n_vertices:,}", ""),
            ("triangles", f"{sequence.n_triangles:,}", ""),
            ("diagonal", number(diagonal), "units of the file"),
            ("near-rigid", share(report.near_rigid_fraction), f"of the triangles, eps {number(report.tolerance)}"),
        ],
        "Model": [
            ("bones", str(report.bones), report.bone_type),
            ("influences", str(report.influences), "a vertex, at most"),
            ("corrections", f"rank {rank_of(report)}" if rank_of(report) else "none", ""),
            ("preset", report.preset, f"weights {report.weights}" if report.preset == "paper" else ""),
        ],
        "Closeness": [
            ("E", percent(report.error_percent), "of the motion"),
            ("held-out E", "" if held is None else percent(held), "frames not fitted"),
            ("RMS", percent(100 * report.rms / diagonal), f"{number(report.rms)} units"),
            (
                "worst",
                percent(100 * worst["distance"] / diagonal),
                f"{number(worst['distance'])} units, vertex {worst['vertex']}, frame {worst['frame']}",
            ),
            ("normals", f"{number(normals['mean'])}°", f"mean; worst {number(normals['max'])}°"),
        ],
        "Cost": [
            ("smaller by", f"{number(report.compression_ratio)} ×", "as floats"),
            ("file", "" if bytes_out is None else _bytes(bytes_out), ""),
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
    """Seconds of the stages that took any time worth telling."""
    parts = [f"{name} {s:.1f}" for name, s in seconds.items() if name not in ("fit", "total") and s >= 0.05]
    return ", ".join(parts)


def _bytes(count: int) -> str:
    return f"{count / 1e6:.2f} MB" if count >= 1e6 else f"{count / 1e3:.1f} kB" if count >= 1e3 else f"{count} bytes"


def picture_row(pictures: Sequence[Picture], columns: str) -> str:
    """Pictures side by side; `columns` is a class of the style sheet."""
    return f'<div class="pictures {columns}">{"".join(_picture(p) for p in pictures)}</div>'


def picture_pairs(pictures: Sequence[Picture]) -> str:
    """The first half of the pictures above the second half, pair by pair."""
    half = len(pictures) // 2
    pairs = zip(pictures[:half], pictures[half:], strict=True)
    columns = "".join(f'<div class="pair">{_picture(above)}{_picture(below)}</div>' for above, below in pairs)
    return f'<div class="pictures four">{columns}</div>'


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


def heat_scale(maximum: float, name: str) -> str:
    """What the colours of a heat map mean, with numbers."""
    width, left = 380, 14
    stops = "".join(
        f'<stop offset="{i / 12:.3f}" stop-color="rgb({r},{g},{b})"/>'
        for i, (r, g, b) in enumerate((255 * heat_colors([j / 12 for j in range(13)], 1.0)).round().astype(int))
    )
    ticks = [t for t in nice_ticks(0, maximum, 4) if t < 0.88 * maximum] + [maximum]
    marks = "".join(
        f'<path class="base" d="M{left + width * t / maximum:.1f} 18v5"/>'
        f'<text x="{left + width * t / maximum:.1f}" y="36" text-anchor="middle">{percent(t)}</text>'
        for t in ticks
    )
    key = "heat-" + "".join(c for c in name if c.isalpha())
    return (
        f'<div class="scale"><svg viewBox="0 0 430 40" role="img" '
        f'aria-label="Scale from 0 to {percent(maximum)} of the diagonal, from light blue to dark red">'
        f'<defs><linearGradient id="{key}">{stops}</linearGradient></defs>'
        f'<rect x="{left}" y="4" width="{width}" height="14" fill="url(#{key})"/>{marks}</svg>'
        f"<span>{escape(name)}, % of the diagonal. Darker is worse; the ring marks the worst vertex.</span></div>"
    )


def chart_figure(figure: Figure) -> str:
    """A chart with its title, legend, the line that says values, its note and its table."""
    return (
        f"<figure><h3>{escape(figure.title)}</h3>{figure.legend}{figure.chart}"
        f'<p class="readout" aria-live="polite"></p><figcaption>{escape(figure.note)}</figcaption>'
        f"<details><summary>Numbers</summary>{table(figure.head, figure.rows)}</details></figure>"
    )


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A plain table."""
    top = "".join(f'<th scope="col">{escape(cell)}</th>' for cell in head)
    body = "".join(f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in row)}</tr>" for row in rows)
    return f'<div class="rows" tabindex="0"><table><thead><tr>{top}</tr></thead><tbody>{body}</tbody></table></div>'


def advice_list(advice: Sequence[Advice]) -> str:
    """What to change, in order, each with its option."""
    if not advice:
        return (
            "<p>Nothing stands out: no measurement points to one cause. More bones, or corrections, lower the error at "
            "the price of a larger file.</p>"
        )
    items = "".join(
        f"<li>{escape(a.sentence)}{f' <code>{escape(a.option)}</code>' if a.option else ''}</li>" for a in advice
    )
    return f'<ol class="advice">{items}</ol>'
